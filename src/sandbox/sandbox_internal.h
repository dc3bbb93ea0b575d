/* SPDX-License-Identifier: MIT */
/* What the files of the part share. */
#pragma once
#include "sandbox/sandbox.h"

#define SANDBOX_MARK "VITRO_SANDBOX="

/* Fills env with the scrubbed environment of D2.05 in the specification of the seeds. */
void sandbox_env_init(struct sandbox *sandbox, const char *term);
void sandbox_env_done(struct sandbox *sandbox);

/* -EPERM if `root` is or holds the real home. */
int sandbox_guard_root(const char *root, struct err *err);

/* Processes whose environment holds VITRO_SANDBOX=root, and with `children` those of the caller.
 * Each is held by a pidfd, so it cannot become another one. */
struct sandbox_process {
    pid_t pid;
    int fd;            /* owned */
    char command[128]; /* its arguments, for people */
};
size_t sandbox_find(const char *root, bool children, struct sandbox_process **ret);
/* The same, of those that do not end by themselves within a moment: a pane whose server is gone, a
 * child that is just leaving. */
size_t sandbox_find_lasting(const char *root, bool children, struct sandbox_process **ret);
void sandbox_found_free(struct sandbox_process *found, size_t count);
/* Kills what is found until nothing is; false when something would not die within the ceiling. */
bool sandbox_kill_all(const char *root, bool children);
/* The server behind a socket is asked for its pid by the kernel (SO_PEERCRED), killed, awaited. */
bool sandbox_kill_server(const char *socket);
/* Ends everything below a root whose owner is gone and removes it. */
int sandbox_reap(const char *root, bool children, struct err *err);
