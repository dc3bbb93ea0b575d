/* SPDX-License-Identifier: MIT */
/* Trying again, and how long to wait before: fixed or growing, with jitter from a seed, on the
 * clock that is handed in. A day of backoff takes microseconds on a paused clock that jumps.
 *
 *     struct vitro_retry_options options = {.first_ns = SECOND, .factor = 2, .tries_max = 8,
 *                                           .jitter = VITRO_JITTER_FULL, .seed = 7};
 *     int r = vitro_retry("fetch the list", clock, &options, fetch, &request, &error);
 *
 * RESULTS: 0 or more is success, -errno a failure; words are in `error`, which may be NULL. */
#ifndef VITRO_RETRY_H
#define VITRO_RETRY_H

#include "vitro/clock.h"
#include "vitro/eventlog.h"

#ifdef __cplusplus
extern "C" {
#endif

enum vitro_jitter {
    VITRO_JITTER_NONE,
    VITRO_JITTER_FULL,         /* anything from 0 to the wait */
    VITRO_JITTER_EQUAL,        /* anything from half of it to all of it */
    VITRO_JITTER_DECORRELATED, /* from first_ns to three times the last one, factor not used */
};

struct vitro_retry_options { /* all may be zero */
    int64_t first_ns;        /* the first wait; 0 for 100 ms */
    double factor;           /* from one to the next, 1 or more (1: fixed); 0 for 2 */
    int64_t max_ns;          /* no wait is longer; 0 for 60 s, or first_ns if that is more */
    enum vitro_jitter jitter;
    uint64_t seed;          /* equal seeds, equal waits */
    uint32_t tries_max;     /* 0: no limit */
    int64_t elapsed_max_ns; /* no wait goes past it, counted from the first try; 0: no limit */
    /* 1: this failure stays one, whatever is tried. NULL: none does, but for -ECANCELED. */
    int (*is_final)(void *arg, int result);
    vitro_eventlog *log; /* borrowed; each failed try is an event "failed" of topic "retry" */
};

/* ---- waits alone */
struct vitro_backoff { /* the caller's memory; all of it is hidden */
    struct vitro_retry_options options;
    uint64_t state[4];
    int64_t wait_ns;
    uint32_t count;
};
/* Copies the options. -EINVAL with words: a negative time, or a factor below 1 or not a number. */
VITRO_API int vitro_backoff_init(struct vitro_backoff *backoff,
                                 const struct vitro_retry_options *options,
                                 struct vitro_clock_error *error);
/* The next wait. Waits that would not fit stay at max_ns. */
VITRO_API int64_t vitro_backoff_next(struct vitro_backoff *backoff);
VITRO_API void vitro_backoff_reset(struct vitro_backoff *backoff); /* as after init */

/* ---- trying
 *
 * Calls `attempt` with 1, 2, 3 ... until it returns 0 or more, which is returned, or until it is
 * enough: then what the last one returned, and `error` tells how many tries, how long, and why no
 * more. -ECANCELED: the clock was stopped while waiting. `label` is for words. */
VITRO_API int vitro_retry(const char *label, struct vitro_clock *clock,
                          const struct vitro_retry_options *options,
                          int (*attempt)(void *arg, uint32_t number), void *arg,
                          struct vitro_clock_error *error);

#ifdef __cplusplus
}
#endif
#endif
