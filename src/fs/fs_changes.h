/* SPDX-License-Identifier: MIT */
/* fs_changes: the list of what a run changed, and the contents it speaks of.
 *
 * One list type for the kernel's overlay (fs_gather), the in-process overlay (vitro/overlay.h) and
 * bundles. Entries are sorted by path bytes; a path appears once. Paths of the worktree are
 * relative to it, others are absolute. */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "base/hash.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum fs_type { FS_NONE, FS_FILE, FS_DIR, FS_SYMLINK, FS_FIFO, FS_SOCKET, FS_DEVICE };

/* Who a node belongs to, by the numbers of the host. Told only where it is a change: `is_told` on
 * both sides when they differ, and on that of a new node that is not of the user who ran. */
struct fs_owner {
    bool is_told;
    uid_t uid;
    gid_t gid;
};

/* One side of a change. */
struct fs_node {
    enum fs_type type; /* FS_NONE: not there */
    mode_t mode;       /* permission bits, 07777 */
    uint64_t size;     /* of a file or symlink target, in bytes */
    struct hash hash;  /* of the stored form of a file or a symlink target */
    bool sparse;       /* the stored form is a sparse image (fs_blobs.h) */
    bool has_blob;     /* the content is in the blobs */
    struct fs_owner owner;
    const char *xattrs; /* text of fs_xattrs.h, told only where it is a change; NULL otherwise */
};

struct fs_change {
    char *path;
    char *from;   /* for a rename: where it was; NULL otherwise */
    char *link;   /* another name of the same file, which is there after the run; NULL otherwise */
    bool outside; /* not in the worktree */
    bool stale;   /* the real file changed while the run went on */
    struct fs_node before, after;
};

struct fs_changes {
    struct arena arena; /* owns all texts and `items` */
    struct fs_change *items;
    size_t count, capacity;
    char *worktree; /* absolute path on the host it was gathered on */
    char **notes;   /* sentences about what could not be shown or had to be read-only */
    size_t note_count;
    const char *refused; /* the note about what could not be changed; NULL without one */
};

struct fs_blobs; /* contents by SHA-256: fs_blobs.h */

struct fs_changes *fs_changes_new(const char *worktree);
struct fs_changes *fs_changes_free(struct fs_changes *changes); /* accepts NULL, returns NULL */
DEFINE_CLEANUP(struct fs_changes *, fs_changes_free)

/* A new zeroed entry with a copy of `path`; borrowed until the next add or finish. */
struct fs_change *fs_changes_add(struct fs_changes *changes, const char *path);
void fs_changes_note(struct fs_changes *changes, const char *format, ...) PRINTF_LIKE(2, 3);

/* Sorts, and turns a file deleted here and added there with the same content into a rename. */
void fs_changes_finish(struct fs_changes *changes);

/* One name of a file with several: `path` is in the worktree, and changed or not. */
struct fs_name {
    uint64_t device, inode;
    const char *path; /* of the changes' arena */
};
/* Names of one file: all that changed but the first tell of the first. To be called after finish.
 */
void fs_changes_settle_links(struct fs_changes *changes, struct fs_name *names, size_t count);

size_t fs_changes_find(const struct fs_changes *changes, const char *path); /* or `count` */

/* Forgets all owners and attributes that are no change; to be called once, after finish, when both
 * sides of all changes tell theirs. */
void fs_changes_settle_facts(struct fs_changes *changes);
bool fs_owners_differ(const struct fs_owner *a, const struct fs_owner *b); /* false if untold */

const char *fs_type_name(enum fs_type type); /* "file", "dir", ... */
