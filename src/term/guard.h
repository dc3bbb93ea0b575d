/* SPDX-License-Identifier: MIT */
/* guard: a process between a caller and a program without a box. Whatever the program leaves behind
 * is reparented to it, and dies with the session: when the caller closes its end, or is gone. */
#pragma once
#include "base/err.h"
#include <sys/types.h>

struct guard_report { /* what the guard sends, once each */
    enum { GUARD_FAILED, GUARD_STARTED, GUARD_EXITED } kind;
    int value; /* errno, 0, the program's wait status */
};

struct guard {
    pid_t pid; /* of the guard; 0 when it was waited for */
    int fd;    /* owned; reports come, and its end is the guard's end */
};

/* Starts argv on the terminal `slave`. Returns when exec worked; -errno of it otherwise. */
int guard_start(const char *const *argv, const char *const *envp, const char *directory, int slave,
                struct guard *ret, struct err *err);
/* Ends everything and waits until it is gone. */
void guard_stop(struct guard *guard);
