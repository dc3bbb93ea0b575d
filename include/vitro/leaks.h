/* SPDX-License-Identifier: MIT */
/* Leaks: who looked at the real world although a mock was in force.
 *
 *     vitro_leaks *leaks = vitro_leaks_new(NULL);
 *     {
 *         VITRO_LEAKS(leaks);                   this thread, and the workers it starts
 *         VITRO_MOCK(paused);
 *         run();                                ... int64_t t = vitro_leak_now("log/stamp");
 *     }
 *     vitro_leaks_count(leaks, "log/stamp")     how often; vitro_leaks_text(leaks) for a report
 *
 * An audit without rows is a run that saw nothing real. Rows are one for each capability id
 * ("subsystem/surface"), in the order of their first leak: by worker, then as they came, so that
 * equal runs give equal rows. Audits nest: the innermost one counts. An audit may be used by any
 * number of threads, and belongs to nobody: two tests with an audit each do not see each other. */
#ifndef VITRO_LEAKS_H
#define VITRO_LEAKS_H

#include "vitro/clock.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vitro_leaks vitro_leaks;

struct vitro_leaks_options { /* all may be zero */
    int callers;             /* remember the calls that led to the first leak of each row */
};
struct vitro_leak {
    const char *capability;
    uint64_t count;     /* stops at UINT64_MAX */
    const char *worker; /* of the first leak; "" for a thread that is no worker */
    /* Of the first leak, "inner < outer < ...", functions of shared libraries with their file:
     * "stamp (liblog.so.1)". NULL unless asked for; the one caller for a call of libc. */
    const char *callers;
};

VITRO_API vitro_leaks *vitro_leaks_new(const struct vitro_leaks_options *options);
VITRO_API void vitro_leaks_free(vitro_leaks *leaks); /* NULL: nothing */

/* The real time, as a leak under this id when a mock is in force. */
VITRO_API int64_t vitro_leak_now(const char *capability);
VITRO_API uint64_t vitro_leak_monotonic(const char *capability);
/* Any other look at the real world; counted whether there is a mock or not. 1 when an audit was
 * there to count it, 0 when none was, -EINVAL for an id that is NULL or "". */
VITRO_API int vitro_leak_note(const char *capability);

/* Copies of the rows; the texts are the copy's, too. `drain` takes them out of the audit. */
struct vitro_leak_list {
    struct vitro_leak *rows;
    size_t count;
};
VITRO_API struct vitro_leak_list vitro_leaks_snapshot(vitro_leaks *leaks);
VITRO_API struct vitro_leak_list vitro_leaks_drain(vitro_leaks *leaks);
VITRO_API void vitro_leak_list_done(struct vitro_leak_list *list);
VITRO_API void vitro_leaks_reset(vitro_leaks *leaks);
VITRO_API uint64_t vitro_leaks_count(vitro_leaks *leaks, const char *capability); /* NULL: of all */
/* "log/stamp 3\n", a line a row; "" for none. Returns owned: free() it. */
VITRO_API char *vitro_leaks_text(vitro_leaks *leaks);

/* ---- scopes, popped with vitro_frame_pop, in one order with mocks */
VITRO_API int vitro_leaks_push_at(struct vitro_frame *frame, vitro_leaks *leaks, const char *where,
                                  struct vitro_clock_error *error);
VITRO_API void vitro_leaks_begin(struct vitro_frame *frame, vitro_leaks *leaks, const char *where);
VITRO_API vitro_leaks *vitro_leaks_in_force(void); /* NULL: none */
#define vitro_leaks_push(frame, leaks, error) vitro_leaks_push_at(frame, leaks, VITRO_WHERE, error)
#define VITRO_LEAKS(leaks)                    VITRO_LEAKS_(leaks, __COUNTER__)
#define VITRO_LEAKS_(leaks, n)                VITRO_LEAKS__(leaks, n)
#define VITRO_LEAKS__(leaks, n)                                                                    \
    __attribute__((cleanup(vitro_frame_end))) struct vitro_frame vitro_leaks_##n;                  \
    vitro_leaks_begin(&vitro_leaks_##n, leaks, VITRO_WHERE)

#ifdef __cplusplus
}
#endif
#endif
