/* SPDX-License-Identifier: MIT */
/* sandbox: a place of its own for one test. A scratch HOME, a work directory, a directory of shims
 * first on PATH, a clean environment, a tmux server of its own; and nothing is left when it closes.
 *
 *     ${TMPDIR:-/tmp}/vitro-UID/NAME.lock     locked as long as the owner lives
 *     ${TMPDIR:-/tmp}/vitro-UID/NAME/         the root
 *         home/   HOME, with the XDG directories below it
 *         work/   where programs start
 *         tmp/    TMPDIR
 *         bin/    shims, hard links to one binary
 *         shim/   what shims answer (plan.json), what they were asked (journal.jsonl)
 *         tmux.sock
 *
 * NAME is what the caller asked for, so the same test has the same paths in every run; if another
 * living owner has it, NAME-2 and so on. Whoever opens a sandbox first clears away those whose
 * owner died: the lock is free then, whatever killed it (base/scratch.h). Processes are found by
 * the variable VITRO_SANDBOX=ROOT in their environment and by their socket, held by pidfd, never by
 * name.
 *
 * Guards: nothing outside of the root is written or removed; a root that is, holds or lies in the
 * person's real HOME is refused; tmux is only ever asked with our own socket. */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct sandbox_options {
    const char *name;     /* a plain file name; NULL: "sandbox" */
    const char *base;     /* where roots are made; NULL: ${TMPDIR:-/tmp}/vitro-UID */
    const char *term;     /* TERM; NULL: "dumb" */
    uint64_t quota_bytes; /* what the root may hold; 0: 256 MiB */
};

struct sandbox {
    char *base, *name, *root, *home, *work, *tmp, *bin, *shim, *socket; /* owned */
    char *here; /* owned; where programs start and paths begin; `work` at first */
    char **env; /* owned, NULL-ended */
    size_t env_count;
    uint64_t quota_bytes;
    int lock_fd;
    bool tmux_asked; /* the socket was handed out: there may be a server */
    bool only_boxes; /* the caller's promise: whatever ran here ran in boxes, and is gone */
    bool
        owns_children; /* the caller's promise: every child of his is of this sandbox (subreaper) */
    void *plan;        /* what the shims will answer: json_t *, shim.c */
    bool plan_dirty;   /* not written yet */
};

/* *ret is owned. -EPERM where a guard refuses, with the reason. */
int sandbox_open(const struct sandbox_options *options, struct sandbox **ret, struct err *err);

/* What was still alive when the sandbox closed. */
struct sandbox_leaks {
    size_t count;
    struct buf text; /* one line each: "sleep 1000" */
};
/* Ends the tmux server, then every process of the sandbox, removes the root, gives up the lock.
 * Processes that were alive without being the tmux server's are leaks, listed in `ret`, which may
 * be NULL. Accepts NULL. 0 when all is gone. */
int sandbox_close(struct sandbox *sandbox, struct sandbox_leaks *ret, struct err *err);
struct sandbox *sandbox_free(struct sandbox *sandbox); /* closes, and forgets what it found */
DEFINE_CLEANUP(struct sandbox *, sandbox_free)
void sandbox_leaks_done(struct sandbox_leaks *leaks);

/* The environment of programs: HOME, XDG_*, PATH (shims first), TERM, NO_COLOR, TMPDIR,
 * TMUX_TMPDIR, VITRO_SANDBOX; of the caller's only LANG, LC_ALL, SHELL, GOCACHE, GOMODCACHE and
 * what is added here. Setting replaces; a NULL value removes. */
int sandbox_env_set(struct sandbox *sandbox, const char *name, const char *value, struct err *err);
const char *sandbox_env_get(const struct sandbox *sandbox, const char *name); /* or NULL */

/* Where programs start and relative paths begin from now on. */
int sandbox_cd(struct sandbox *sandbox, const char *path, struct err *err);
/* An absolute path for one that a test wrote: "~/x" is below home, a relative one below `here`.
 * -EPERM for what is not in the sandbox, also by way of symlinks. *ret is owned. */
int sandbox_path(const struct sandbox *sandbox, const char *path, char **ret, struct err *err);
int sandbox_write(struct sandbox *sandbox, const char *path, const void *bytes, size_t length,
                  struct err *err); /* makes the directories on the way */
int sandbox_remove(struct sandbox *sandbox, const char *path, struct err *err);

/* How much the root holds; -EDQUOT when that is more than the quota. */
int sandbox_check_quota(const struct sandbox *sandbox, uint64_t *ret_bytes, struct err *err);

/* Runs a command in `directory` once for all who ask with the same `key`, in this process or in
 * others, as long as `base` stands: the first runs it, the others wait for it and get its result.
 * The output of a build that failed is in the error. `stamp` tells a build from an older one
 * (another stamp builds again). */
struct sandbox_build {
    const char *base; /* where the guard lives; NULL: as sandbox_options */
    const char *key, *stamp;
    const char *const *argv;
    const char *directory;
};
int sandbox_build_once(const struct sandbox_build *build, bool *ret_ran, struct err *err);

/* Clears away sandboxes below `base` (NULL: the default) whose owners are gone. With `dry_run`
 * only tells. Returns how many; one line each in `ret`, which may be NULL. */
int sandbox_sweep(const char *base, bool dry_run, struct buf *ret, struct err *err);
/* A file name for a test of any name: letters, digits, dashes, and a hash that keeps it unique. */
void sandbox_name_of(const char *text, char ret[static 48]);
