/* SPDX-License-Identifier: MIT */
/* fs_apply: changes into a worktree, all of them or none.
 *
 * First every path is compared with what the run saw; one that differs is a conflict, and nothing
 * is done. Then the new contents are staged in WORKTREE/.vitro-apply, a journal of the steps is
 * written and synced, and each step is one rename(2). Whatever goes wrong, and whenever the process
 * dies, the journal undoes what was done: at once, or when the worktree is applied to or recovered
 * the next time. No path is ever resolved through a symlink or out of the worktree. */
#pragma once
#include "fs/fs_blobs.h"
#include "fs/fs_changes.h"

struct fs_apply_options {
    const char *worktree;    /* NULL: where the changes were gathered */
    bool dry_run;            /* only look for conflicts */
    void (*step)(void *arg); /* called before each step that changes something; for tests */
    void *step_arg;
};

struct fs_apply_report {
    size_t applied; /* changes that were made, or would be */
    size_t outside; /* writes outside the worktree, which are never applied */
    bool recovered; /* an interrupted apply was undone first */
};

/* -ESTALE with up to ten named conflicts; -EBUSY if another apply is at work there. */
int fs_apply(const struct fs_changes *changes, struct fs_blobs *blobs,
             const struct fs_apply_options *options, struct fs_apply_report *ret, struct err *err);

/* Undoes an interrupted apply, if there was one. */
int fs_apply_recover(const char *worktree, bool *ret_recovered, struct err *err);
