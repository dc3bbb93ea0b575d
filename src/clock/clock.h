/* SPDX-License-Identifier: MIT */
/* clock: clocks that are handed in, mocks of them, and the audit of who looked past them.
 *
 * Public faces: include/vitro/clock.h and include/vitro/leaks.h. This header is for the files of
 * src/clock. The one thing a thread keeps by itself is its lane: the frame pushed last, and who
 * the thread is. A worker gets its lane from its starter, before its first instruction. */
#pragma once
#include "base/err.h"
#include "vitro/clock.h"
#include <stdbool.h>

struct lane {
    struct vitro_frame *top;   /* NULL: nothing is pushed */
    struct vitro_frame *base;  /* inherited: not this thread's to pop */
    const char *name;          /* NULL reads as "" */
    const char *where;         /* the worker was started there */
    uint32_t children;         /* workers started so far */
    uint32_t idle;             /* depth of vitro_worker_idle_begin */
    uint64_t leaks;            /* noted so far, for their order */
    struct vitro_clock *clock; /* innermost, of a worker; NULL: no worker */
    /* Of the interposed libc: this thread is in its locks, and calls go past it; what a signal
     * handler could not do meanwhile; how this thread waits now. */
    uint32_t inside;
    bool deferred;
    struct clock_wait *waiting;
};
struct lane *lane_self(void);
static inline const char *lane_name(const struct lane *lane)
{
    return lane->name ? lane->name : "";
}
int lane_compare(const char *a, const char *b); /* "1.2" before "1.10" */

struct vitro_clock *clock_innermost(struct vitro_clock *clock); /* behind all wrappers */
/* The lane of a thread or worker that `lane` starts: its frames, a name. `frame` is the new
 * thread's own; with a clock of its own it holds that. Returns the name, owned. */
char *lane_inherit(struct lane *lane, struct vitro_frame *frame, struct vitro_clock *clock,
                   const char *where, struct lane *ret);
void lane_running(const struct lane *lane, int change); /* tells its clock */

/* The interposed libc is told that there is one mock or bench more, or less (src/interpose). */
void interpose_count(int change);

/* A leak from anywhere, signal handlers included: takes no lock and allocates nothing. The caller
 * is an address in who leaked. */
void leaks_note_literal(const char *capability, const void *caller);

int frame_push(struct vitro_frame *frame, const char *where, struct err *err);
/* Words of a failure nobody can return; ends the program. */
void clock_misuse(const struct err *err) __attribute__((noreturn));

/* One layout: asserted in clock.c. */
static inline struct err *clock_err(struct vitro_clock_error *error)
{
    return (struct err *)error;
}
