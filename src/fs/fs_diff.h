/* SPDX-License-Identifier: MIT */
/* fs_diff: changes as a patch in git's format, which `git apply` takes whole and `patch -p1` but
 * for binary files. What the format cannot say is counted instead: directories and special files,
 * owners, extended attributes and names of one file (the first are named),
 * files inside a .git directory (git apply refuses them), files of more than FS_DIFF_BYTES_MAX, and
 * writes outside the worktree. `vitro apply` does them all. */
#pragma once
#include "base/buf.h"
#include "fs/fs_blobs.h"
#include "fs/fs_changes.h"

enum { FS_DIFF_BYTES_MAX = 64 * 1024 * 1024 };

struct fs_diff_counts {
    size_t files; /* in the patch */
    size_t lines_added, lines_removed;
    size_t in_git, outside, too_large; /* not in it */
    size_t unsaid; /* directories, permissions beyond the executable bit, fifos, sockets */
    /* In the patch or not; their lines are in the summary, or in `--stat`. */
    size_t owners, xattrs, links;
};

/* Appends the patch of one change, nothing if it has none, and counts it. -errno if a content
 * cannot be had. */
int fs_diff_add(struct buf *buf, const struct fs_change *change, struct fs_blobs *blobs,
                bool colour, struct fs_diff_counts *counts, struct err *err);

/* One change as a line of `--stat`: path, added and removed lines as numbers. */
int fs_diff_add_stat(struct buf *buf, const struct fs_change *change, struct fs_blobs *blobs,
                     struct fs_diff_counts *counts, struct err *err);
/* " 3 files changed, 4 insertions(+), 1 deletion(-)" and lines about what is not in the patch. */
void fs_diff_add_summary(struct buf *buf, const struct fs_diff_counts *counts);

/* fs_diff_beside.c: "owner of PATH: 0:0 -> 1000:1000", "attributes of PATH: user.a added", "PATH is
 * another name of PATH"; nothing if none of them changed. */
bool fs_diff_is_beside(const struct fs_change *change);
void fs_diff_add_beside(struct buf *buf, const struct fs_change *change);
/* Those of the first ten in the worktree, and how many more there are. */
void fs_diff_add_all_beside(struct buf *buf, const struct fs_changes *changes);

/* fs_diff_names.c: a path as git writes it, in C quotes if it must be. */
void fs_diff_add_name(struct buf *buf, const char *prefix, const char *path);
bool fs_diff_name_is_plain(const char *path);

/* fs_diff_binary.c: "GIT binary patch" with both contents. */
void fs_diff_add_binary(struct buf *buf, const struct buf *old_content,
                        const struct buf *new_content);
