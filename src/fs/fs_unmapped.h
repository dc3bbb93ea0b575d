/* SPDX-License-Identifier: MIT */
/* fs_unmapped: files that a user may write, but not in a box of theirs.
 *
 * Without root a box has one user and one group. The overlay copies a file up together with its
 * owner, and where that has no number in the box it fails with EOVERFLOW ("Value too large for
 * defined data type"), even if the user is in that group. Nothing of it can be seen afterwards, so
 * such files are looked for. */
#pragma once
#include "base/buf.h"
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct fs_unmapped {
    struct buf path; /* of the first, relative; empty if there is none */
    uid_t uid;       /* whose it is */
    gid_t gid;
    size_t count;  /* how many there are */
    size_t looked; /* among so many: the limit, or all */
};

/* Looks at up to `limit` entries below `directory`, sorted, on its file system. Whatever cannot be
 * opened is passed over. Call it outside of the box. */
void fs_unmapped_find(const char *directory, size_t limit, struct fs_unmapped *ret);
void fs_unmapped_done(struct fs_unmapped *unmapped);
static inline __attribute__((unused)) void fs_unmapped_done_cleanup(struct fs_unmapped *unmapped)
{
    fs_unmapped_done(unmapped);
}

/* In a user namespace every number that has no name there reads as the same one: whether what
 * stat(2) says is the true number. `which` is "uid" or "gid". */
bool fs_id_is_true(const char *which, unsigned id);

/* "'d/x' (user 1000, group 2000) and 3 more"; nothing if there is none. */
void fs_unmapped_add_text(struct buf *buf, const struct fs_unmapped *unmapped);
extern const char fs_unmapped_remedy[];
