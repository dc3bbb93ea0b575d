/* SPDX-License-Identifier: MIT */
/* scratch: directories that nobody needs when their owner is gone, below ${TMPDIR:-/tmp}/vitro-UID.
 *
 *     vitro-UID/NAME          a directory
 *     vitro-UID/NAME.lock     locked (flock) as long as its owner lives, however it dies
 *
 * A directory whose lock is free is nobody's, and is cleared away by the next who makes one: no pid
 * is written down, no age is guessed. Names that begin with a dot are made here; others are
 * sandboxes, which may have processes to be ended first (sandbox.h).
 *
 * Names are given out, and what is left is cleared away, by whoever holds the base: so a lock that
 * is taken is that of a living owner. */
#pragma once
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include <stdbool.h>

char *scratch_base(void); /* returns owned */

/* Makes the base, or looks whether it is a directory of ours alone, and holds it; *ret_fd is owned.
 */
int scratch_hold(const char *base, int *ret_fd, struct err *err);
int scratch_release(int fd); /* returns -1; also when another thread has forked meanwhile */
DEFINE_CLEANUP(int, scratch_release)
/* Opens and locks `path`. 1 when somebody else has it. */
int scratch_lock(const char *path, bool wait, int *ret_fd, struct err *err);

/* Clears what is left of dead owners: every directory, or only those made here (`hidden`). `clear`
 * removes one. Returns how many there were; one line each in `ret`, which may be NULL. With a NULL
 * `clear` it only tells. The caller holds the base. */
typedef int scratch_clear(const char *path, struct err *err);
int scratch_sweep(const char *base, bool hidden, scratch_clear *clear, struct buf *ret,
                  struct err *err);

struct scratch { /* zero is none */
    char *path;  /* owned */
    int lock_fd; /* owned, if there is a path */
};

/* A new private directory ".NAME-XXXXXX" of the base (NULL: scratch_base), for as long as this
 * process, or a child that it forks meanwhile, lives. */
int scratch_make(const char *base, const char *name, struct scratch *ret, struct err *err);
void scratch_remove(struct scratch *scratch); /* accepts none */
