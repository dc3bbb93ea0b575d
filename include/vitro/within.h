/* SPDX-License-Identifier: MIT */
/* A ceiling in real time, kept by a thread of its own, so that a test that hangs fails soon and in
 * words, whatever its clocks do. A ceiling is no assertion about speed: make it generous.
 *
 *     static int work(void *arg) { ... }
 *     static void late(void *arg) { vitro_eventlog_stop(arg); }        ends its waits
 *     int r = vitro_within("the mailer drains", work, log,
 *                          &(struct vitro_within_options){.late = late}, &error); */
#ifndef VITRO_WITHIN_H
#define VITRO_WITHIN_H

#include "vitro/clock.h"

#ifdef __cplusplus
extern "C" {
#endif

struct vitro_within_options { /* all may be zero */
    int64_t ceiling_ns;       /* 0 for 45 s */
    int64_t grace_ns;         /* for `work` to return after `late`; 0 for 5 s */
    /* Called by the thread that keeps the ceiling, once, with the same `arg`: makes `work` return,
     * by stopping a clock, a log or a service, or by shutting a socket down. */
    void (*late)(void *arg);
};

/* Calls `work` in the calling thread, which keeps its mocks and its name, and returns what it
 * returns. -ETIMEDOUT with words that name `label`: it returned too late. When it does not return,
 * because there is no `late` or it does not help, the program is ended by SIGABRT, with the words
 * on standard error: nothing else stops a thread that hangs. -EAGAIN: there can be no thread. */
VITRO_API int vitro_within(const char *label, int (*work)(void *arg), void *arg,
                           const struct vitro_within_options *options,
                           struct vitro_clock_error *error);

#ifdef __cplusplus
}
#endif
#endif
