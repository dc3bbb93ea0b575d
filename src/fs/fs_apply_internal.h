/* SPDX-License-Identifier: MIT */
/* fs_apply_internal: the steps of an apply, shared by the planner, the checker and the journal.
 *
 *     remove N PATH        PATH -> .vitro-apply/N.old      done if N.old is there
 *     create N PATH        .vitro-apply/N.new -> PATH      done if N.new is not there
 *     chmod N PATH MODES   permissions of PATH             undone by setting the old ones
 *     chown N PATH OWNERS  owner and permissions of PATH   the same
 *     xattr N PATH TEXTS   attributes of PATH              the same
 *
 * Whether a step was done can be seen on disk, so undoing can itself be interrupted. */
#pragma once
#include "fs/fs_apply.h"

#define FS_APPLY_DIR ".vitro-apply"

enum fs_step_kind {
    FS_STEP_REMOVE = 'r',
    FS_STEP_CREATE = 'c',
    FS_STEP_CHMOD = 'm',
    FS_STEP_CHOWN = 'o',
    FS_STEP_XATTR = 'x'
};

struct fs_step {
    enum fs_step_kind kind;
    unsigned number;
    const char *path;                     /* borrowed from the changes or the journal */
    mode_t old_mode, new_mode;            /* of chmod and chown, which clears some */
    struct fs_owner old_owner, new_owner; /* of chown */
    const char *old_xattrs, *new_xattrs;  /* of xattr: borrowed, as `path` */
};

struct fs_steps {
    struct fs_step *items; /* owned */
    size_t count, capacity;
};

void fs_steps_add(struct fs_steps *steps, const struct fs_step *step);

/* The directory that holds `path`, opened without following any symlink; *ret_name is the rest. */
int fs_apply_parent(int root, const char *path, const char **ret_name);

/* A file or directory that stays what it is, but for permissions and owner. */
bool fs_apply_keeps_content(const struct fs_change *change);

/* fs_apply_check.c: every path is what the run saw. */
int fs_apply_check(int root, const struct fs_changes *changes, struct err *err);

/* fs_journal.c */
int fs_journal_write(int stage, const struct fs_steps *steps, struct err *err);
int fs_journal_do(int root, int stage, const struct fs_step *step, struct err *err);
int fs_journal_undo(int root, int stage, const struct fs_steps *steps, struct err *err);
int fs_journal_commit(int root, int stage, struct err *err);
int fs_journal_recover(int root, bool *ret_recovered, struct err *err);
