/* SPDX-License-Identifier: MIT */
/* Clocks that are handed in, so that a test owns time.
 *
 *     int report(struct vitro_clock *clock) {            the program takes its clock
 *         while (!done())
 *             if (vitro_clock_sleep(clock, HOUR) < 0)
 *                 return 0;
 *     }
 *     struct vitro_clock *clock = vitro_clock_paused(NULL);          the test owns it
 *     vitro_worker *worker = vitro_worker_start(clock, run, arg);
 *     vitro_clock_advance(clock, 24 * HOUR, &error);                 24 reports, no real time
 *     vitro_clock_stop(clock);                                       its sleep gives -ECANCELED
 *     vitro_worker_join(worker);
 *
 * TIME is in nanoseconds: `now` since 1970 and signed, `monotonic` since the clock was made.
 * RESULTS: 0 or more is success, -errno a failure; words are in `error`, which may be NULL.
 * THREADS: a clock may be used by any number of threads. A guard belongs to the thread that pushed
 * it. NULL for a clock means the clock in force: the one mocked last, or the real one. */
#ifndef VITRO_CLOCK_H
#define VITRO_CLOCK_H

#include "vitro/version.h"
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct vitro_clock_error {
    int code; /* -errno */
    char text[1024];
};

/* "file.c:12", for messages that name both sites */
#define VITRO_WHERE          __FILE__ ":" VITRO_WHERE_TEXT(__LINE__)
#define VITRO_WHERE_TEXT(n)  VITRO_WHERE_TEXT_(n)
#define VITRO_WHERE_TEXT_(n) #n

/* ---- any clock
 *
 * A clock of your own is a struct that begins with a struct vitro_clock. */
struct vitro_clock {
    const struct vitro_clock_ops *ops;
    uint32_t workers; /* started on it so far, by threads that are none; for their names */
};

struct vitro_clock_ops {
    int64_t (*now)(struct vitro_clock *clock);
    uint64_t (*monotonic)(struct vitro_clock *clock); /* never decreases */
    /* 0 when the time has come, at once for one that has passed; -ECANCELED: the clock was stopped
     */
    int (*sleep)(struct vitro_clock *clock, int64_t ns);
    int (*sleep_until)(struct vitro_clock *clock, int64_t now_ns);
    void (*stop)(struct vitro_clock *clock);                 /* may be NULL */
    struct vitro_clock *(*inner)(struct vitro_clock *clock); /* what it wraps; NULL: nothing */
    /* A worker runs (+1), or waits for something else, or has ended (-1). NULL: of no interest */
    void (*running)(struct vitro_clock *clock, int change);
    void (*free)(struct vitro_clock *clock);
};

VITRO_API int64_t vitro_clock_now(struct vitro_clock *clock);
VITRO_API uint64_t vitro_clock_monotonic(struct vitro_clock *clock);
VITRO_API int vitro_clock_sleep(struct vitro_clock *clock, int64_t ns); /* 0 or less: at once */
VITRO_API int vitro_clock_sleep_until(struct vitro_clock *clock, int64_t now_ns);
/* Everybody who sleeps on it gets -ECANCELED, and so does everybody who tries later. Twice is once.
 */
VITRO_API void vitro_clock_stop(struct vitro_clock *clock);
/* Stops it, waits until all who sleep on it have left, and frees it. NULL and the real clock:
 * nothing. */
VITRO_API void vitro_clock_free(struct vitro_clock *clock);

/* The machine's clock. Never freed. Sleeps on it cannot be stopped. */
VITRO_API struct vitro_clock *vitro_clock_real(void);

/* ---- the paused clock
 *
 * Stands until it is moved, and stops at every deadline on the way: who sleeps is woken one at a
 * time, by (deadline, worker, order of going to sleep), and sees the time of its own deadline.
 * Sleeps for a while follow the monotonic time, sleeps until a time the time of day, as they do on
 * a real machine: a time of day that is set back makes the latter longer and not the former.
 *
 * Moving waits for workers: it begins when every worker of the clock sleeps, and after waking one
 * it waits until that one sleeps again or has ended. Threads that are not workers are woken and not
 * waited for. */
struct vitro_paused_options { /* all may be zero */
    int64_t now_ns;           /* since 1970; 0 for 2026-01-01T00:00:00Z */
    int at_epoch;             /* now_ns 0 does mean 1970 */
    /* Moves by itself, to the next deadline, when all workers sleep, or at a sleep of a thread that
     * is no worker: every sleep returns at once and time has passed. */
    int jumps;
    int64_t ceiling_ns; /* how long moving waits for a worker, in real time; 0 for 45 s */
};

VITRO_API struct vitro_clock *vitro_clock_paused(const struct vitro_paused_options *options);
/* The number of sleepers and timers woken. -EINVAL: negative, or not a paused clock (one that
 * records a paused clock is). -ERANGE: past the year 2262. -EDEADLK: from one of its own timers.
 * -ETIMEDOUT: workers neither slept nor ended. Then the clock stands where it got to. */
VITRO_API int64_t vitro_clock_advance(struct vitro_clock *clock, int64_t ns,
                                      struct vitro_clock_error *error);
/* `count` times `tick_ns`, as so many advances. */
VITRO_API int64_t vitro_clock_advance_ticks(struct vitro_clock *clock, uint64_t count,
                                            int64_t tick_ns, struct vitro_clock_error *error);
/* Forward it is an advance; backward only the time of day moves, and nobody wakes. */
VITRO_API int64_t vitro_clock_set(struct vitro_clock *clock, int64_t now_ns,
                                  struct vitro_clock_error *error);
/* To the next deadline, whose sleepers wake. 0 when nobody waits. */
VITRO_API int64_t vitro_clock_advance_to_next(struct vitro_clock *clock,
                                              struct vitro_clock_error *error);
/* Threads and timers that wait now. */
VITRO_API int64_t vitro_clock_sleepers(struct vitro_clock *clock);
/* Returns when at least `count` wait: so that a thread that is no worker does not miss an advance.
 * -ETIMEDOUT after the ceiling, -ECANCELED when the clock is stopped. */
VITRO_API int vitro_clock_await_sleepers(struct vitro_clock *clock, int64_t count,
                                         struct vitro_clock_error *error);

/* ---- timers on a paused clock
 *
 * The caller's memory, zeroed; `fire` is called by whoever moves the clock, with no lock held, and
 * may arm timers, this one included, or free it; it may not sleep or move the clock. Timers that
 * are armed live as long as the clock. */
struct vitro_clock_timer {
    void (*fire)(struct vitro_clock_timer *timer);
    unsigned char hidden[32] __attribute__((aligned(8)));
};

/* `ns` from now, 0 or less: at the next move. -EBUSY: armed already. -EINVAL: not a paused clock.
 */
VITRO_API int vitro_clock_arm(struct vitro_clock *clock, struct vitro_clock_timer *timer,
                              int64_t ns);
VITRO_API int vitro_clock_arm_at(struct vitro_clock *clock, struct vitro_clock_timer *timer,
                                 int64_t now_ns);
/* 1: it will not fire. 0: it was not armed; if it is firing in another thread, that has returned.
 */
VITRO_API int vitro_clock_disarm(struct vitro_clock *clock, struct vitro_clock_timer *timer);

/* ---- what was seen of a clock, to be seen again
 *
 * A recorded clock asks `inner` and logs every answer; a replayed one gives the answers of a log,
 * and its sleeps return at once. Each worker has a lane of its own in the log ("" for threads that
 * are no workers), so threads need not meet the clock in the same order again. A call that is not
 * the one in the log is a divergence: reads go on with the last value, sleeps give -ESTALE, and the
 * first one is kept in words. */
enum vitro_clock_event_kind {
    VITRO_CLOCK_NOW = 1,
    VITRO_CLOCK_MONOTONIC,
    VITRO_CLOCK_SLEEP,
    VITRO_CLOCK_SLEEP_UNTIL,
};
struct vitro_clock_event {
    enum vitro_clock_event_kind kind;
    int result;       /* of a sleep */
    int64_t value_ns; /* what was read, or how long or until when was slept */
    const char *lane; /* worker: "1", "1.2"; "" for other threads. Borrowed from the log */
};

typedef struct vitro_clock_log vitro_clock_log;
VITRO_API vitro_clock_log *vitro_clock_log_new(void);
VITRO_API void vitro_clock_log_free(vitro_clock_log *log);
/* Copies the lane; NULL is "". -EINVAL: no such kind. */
VITRO_API int vitro_clock_log_push(vitro_clock_log *log, const struct vitro_clock_event *event);
VITRO_API size_t vitro_clock_log_count(const vitro_clock_log *log);
/* 0, or -ENOENT behind the end. */
VITRO_API int vitro_clock_log_at(const vitro_clock_log *log, size_t i,
                                 struct vitro_clock_event *ret);
/* One JSON object a line, {"kind":"now","lane":"","value_ns":1}, lane by lane, so that equal runs
 * give equal texts. Returns owned: free() it. */
VITRO_API char *vitro_clock_log_text(const vitro_clock_log *log);
/* NULL with words that name the line. */
VITRO_API vitro_clock_log *vitro_clock_log_parse(const char *text, size_t length,
                                                 struct vitro_clock_error *error);

/* Both borrow what they are given; free them first. Inner NULL: the clock in force now. A log that
 * is replayed is not pushed to. */
VITRO_API struct vitro_clock *vitro_clock_recorded(struct vitro_clock *inner, vitro_clock_log *log);
VITRO_API struct vitro_clock *vitro_clock_replayed(const vitro_clock_log *log);
/* 0: all was as recorded, and all of the log was used. -ESTALE with words: the first divergence,
 * or what of the log was not asked for. -EINVAL: not a replayed clock. */
VITRO_API int vitro_clock_replay_check(struct vitro_clock *clock, struct vitro_clock_error *error);

/* ---- mocks
 *
 *     VITRO_MOCK(paused);                 until the end of the block, NULL means `paused`
 *
 * Mocks nest; the last one pushed is in force. They hold for the thread that pushed them and for
 * the workers it starts meanwhile; nothing is global. With libvitro_interpose (vitro/bench.h) they
 * hold for libc too, and for every thread that is started under them. They are the thread's, not a
 * task's: a task of vitro/sched.h does not wait while it has one pushed. Outside of tasks
 * vitro_sleep and vitro_clock of vitro/sched.h follow them. */
struct vitro_frame { /* a guard; all of it is hidden */
    struct vitro_frame *below;
    struct vitro_clock *clock;
    struct vitro_leaks *leaks;
    struct vitro_world *world; /* of a bench */
    const char *where;
    const char *worker_where; /* of the worker started last under it */
    unsigned workers;         /* that were started under it and not joined */
    unsigned char is_mock, is_pushed;
};

/* -EINVAL: no clock. -EBUSY: pushed already. */
VITRO_API int vitro_mock_push_at(struct vitro_frame *frame, struct vitro_clock *clock,
                                 const char *where, struct vitro_clock_error *error);
/* -EPERM: not the last one pushed by this thread; the words name both sites. -EBUSY: workers that
 * were started under it have not been joined. Then nothing is changed. */
VITRO_API int vitro_frame_pop_at(struct vitro_frame *frame, const char *where,
                                 struct vitro_clock_error *error);
/* The same, and a failure ends the program with its words: what the macro uses. */
VITRO_API void vitro_frame_end(struct vitro_frame *frame);
VITRO_API int vitro_is_mocked(void);
VITRO_API struct vitro_clock *vitro_clock_in_force(void);

#define vitro_mock_push(frame, clock, error) vitro_mock_push_at(frame, clock, VITRO_WHERE, error)
#define vitro_frame_pop(frame, error)        vitro_frame_pop_at(frame, VITRO_WHERE, error)
#define VITRO_MOCK(clock)                    VITRO_MOCK_(clock, __COUNTER__)
#define VITRO_MOCK_(clock, n)                VITRO_MOCK__(clock, n)
#define VITRO_MOCK__(clock, n)                                                                     \
    __attribute__((cleanup(vitro_frame_end))) struct vitro_frame vitro_mock_##n;                   \
    vitro_mock_begin(&vitro_mock_##n, clock, VITRO_WHERE)
/* Clears and pushes; a failure ends the program with its words. */
VITRO_API void vitro_mock_begin(struct vitro_frame *frame, struct vitro_clock *clock,
                                const char *where);

/* ---- workers: threads that have what their starter had
 *
 * A worker has the mocks and leak scopes of the thread that starts it, has `clock` in force if one
 * is given, is waited for when the clock moves, and has a name by its place in the tree of starts:
 * "2" is the second that was started on its clock, "2.1" the first that one started. A worker joins
 * the workers it starts. */
typedef struct vitro_worker vitro_worker;
/* NULL with words when there can be no thread. */
VITRO_API vitro_worker *vitro_worker_start_at(struct vitro_clock *clock, int (*run)(void *arg),
                                              void *arg, const char *where,
                                              struct vitro_clock_error *error);
/* What `run` returned. Frees the worker. */
VITRO_API int vitro_worker_join(vitro_worker *worker);
/* Around waits for anything but the clock, so that the clock need not wait for this worker. They
 * nest; in other threads they do nothing. */
VITRO_API void vitro_worker_idle_begin(void);
VITRO_API void vitro_worker_idle_end(void);
/* "1", "1.2"; "" in a thread that is no worker. */
VITRO_API const char *vitro_worker_name(void);
#define vitro_worker_start(clock, run, arg)                                                        \
    vitro_worker_start_at(clock, run, arg, VITRO_WHERE, NULL)

#ifdef __cplusplus
}
#endif
#endif
