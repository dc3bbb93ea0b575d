/* SPDX-License-Identifier: MIT */
/* vitro/sched.h: tasks on a virtual clock.
 *
 *     static int fetch(void *arg)
 *     {
 *         vitro_sleep(VITRO_SEC(10));                 takes no real time at all
 *         return 7;
 *     }
 *
 *     vitro_sched *sched = vitro_sched_new();
 *     int seven = vitro_run(sched, fetch, NULL);      vitro_now(sched) is now 10 s
 *     vitro_sched_free(sched);
 *
 * A scheduler runs tasks (stackful coroutines) one at a time on the calling thread. A task goes on
 * until it waits; every call below that names a waiting, locking, sending or yielding is a point at
 * which another task may go. Without a seed the order is first in, first out; with a seed it is
 * shuffled, and the same seed gives the same run. vitro/explore.h tries many orders.
 *
 * TIME is in nanoseconds and stands still while a task can go on. When none can, it jumps to the
 * earliest deadline, fires one timer, and lets tasks run until none can, before the next timer of
 * the same instant fires. Equal deadlines fire in the order they were armed; with a seed that order
 * is a decision too.
 *
 * CANCELLATION ends the wait a task is in (or its next one) with -ECANCELED. It is delivered once:
 * the task cleans up and returns, or catches it and goes on.
 *
 * THE SAME CODE OUTSIDE a scheduler: vitro_sleep sleeps and vitro_clock reads, by the clock in
 * force (the real one, unless a mock of vitro/clock.h is pushed); vitro_yield and
 * vitro_read/vitro_write do nothing. vitro_runtime() runs tasks on real time.
 *
 * RESULTS: 0 or more is success, -errno a failure; words are in vitro_error(). Calls that wait give
 *     -ECANCELED   the task was cancelled        -EPERM   called outside a task
 *     -ETIMEDOUT   the deadline passed first     -EPIPE   the channel is closed
 * Mistakes nobody can act on at run time (unlocking what one does not hold) end the program with a
 * sentence. A scheduler belongs to the thread that first used it.
 *
 * OPTIONS are written at the call: vitro_spawn(fn, arg, .name = "left"). The functions underneath
 * (names that end in _with or _at) take plain structs and strings, for other languages; `where` is
 * "file.c:12" for reports and may be NULL. */
#ifndef VITRO_SCHED_H
#define VITRO_SCHED_H

#include "vitro/version.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vitro_sched vitro_sched;
typedef struct vitro_task vitro_task;
typedef int (*vitro_fn)(void *arg);

#define VITRO_US(n)   ((uint64_t)(n)*UINT64_C(1000))
#define VITRO_MS(n)   ((uint64_t)(n)*UINT64_C(1000000))
#define VITRO_SEC(n)  ((uint64_t)(n)*UINT64_C(1000000000))
#define VITRO_FOREVER UINT64_MAX

#define VITRO_TEXT_(x) #x
#define VITRO_TEXT(x)  VITRO_TEXT_(x)
#define VITRO_HERE     __FILE__ ":" VITRO_TEXT(__LINE__)

/* ------------------------------------------------------------------ how a run can end */

enum vitro_kind {
    VITRO_OK,
    VITRO_PROPERTY,       /* it ended, with a result that should not be */
    VITRO_ERROR,          /* it returned a failure */
    VITRO_CRASH,          /* a signal: abort, segmentation fault, stack overflow */
    VITRO_DEADLOCK,       /* no task can go on and no timer is armed */
    VITRO_LIVELOCK,       /* the same cycle of steps again and again */
    VITRO_STEPS,          /* step budget */
    VITRO_TIME,           /* virtual time budget */
    VITRO_WALL,           /* real time budget */
    VITRO_LEAK,           /* it ended while tasks nobody joined or detached were alive */
    VITRO_UNFINISHED,     /* a cancelled task would not end */
    VITRO_NONDETERMINISM, /* the same schedule gave another run */
    VITRO_DIVERGED,       /* the schedule does not fit the program */
    VITRO_MISUSE,         /* two threads, a foreign callback, a longjmp out of a task */
    VITRO_KINDS
};
VITRO_API const char *vitro_kind_name(enum vitro_kind kind);

/* ------------------------------------------------------------------ schedulers */

enum vitro_strategy {
    VITRO_DEFAULT, /* fifo; random when a seed is given; in vitro_check the portfolio */
    VITRO_FIFO,
    VITRO_RANDOM,      /* every candidate is as likely as any other */
    VITRO_PCT,         /* random priorities with depth-1 change points */
    VITRO_POS,         /* a random priority a pending operation, drawn anew after conflicts */
    VITRO_SURW,        /* uniform over the orders of one interesting object */
    VITRO_PREEMPTIONS, /* all schedules with few preemptions, fewest first */
    VITRO_DELAYS,      /* all schedules with few delays, fewest first */
    VITRO_DFS,         /* all schedules */
    VITRO_DPOR,        /* one schedule of each class of equivalent ones */
    VITRO_MUTATE,      /* changes of schedules that showed something new */
    VITRO_PORTFOLIO,   /* fifo once, then random, PCT, POS and SURW in turn */
    VITRO_STRATEGIES
};
VITRO_API const char *vitro_strategy_name(enum vitro_strategy strategy);

enum vitro_trace_mode { VITRO_TRACE_OFF, VITRO_TRACE_FULL, VITRO_TRACE_RING };

/* Asks which of n goes: names[i] is what would happen. 0 is the dull answer. */
typedef uint32_t (*vitro_manual)(void *arg, const char *kind, uint32_t n, const char *const *names);

struct vitro_sched_options {
    uint64_t start_ns; /* what the clock shows at first */
    uint64_t seed;     /* 0: none, first in first out */
    enum vitro_strategy strategy;
    unsigned depth;       /* of PCT; 0: 3 */
    const char *schedule; /* replays this text (copied); see vitro/explore.h */
    bool tolerant;        /* a schedule that does not fit goes on with the dull choice */
    vitro_manual manual;  /* asks this function at every choice */
    void *manual_arg;
    bool manual_time;     /* time moves only when told to */
    bool spurious;        /* waits on condition variables may end without a signal */
    bool early_timers;    /* the earliest deadline may fire while tasks could go on */
    uint64_t max_steps;   /* 0: 10,000,000 */
    uint64_t max_time_ns; /* of virtual time from the start of a run; 0: no limit */
    uint64_t max_wall_ns; /* of real time a run, looked at every 256 steps; 0: one minute */
    size_t stack_size;    /* of a task; 0: 64 KiB */
    uint32_t max_tasks;   /* alive at once; 0: 2,000,000 */
    enum vitro_trace_mode trace;
    size_t trace_ring;    /* events kept by VITRO_TRACE_RING; 0: 4096 */
    unsigned cpu_slots;   /* of the cpu lane; 0: 8 */
    unsigned blk_slots;   /* of the blk lane; 0: no limit */
    uint64_t work_ns_min; /* how long work on a lane takes unless it says so: */
    uint64_t work_ns_max; /* between these two, drawn from a stream of its own */
};

#define vitro_sched_new(...) vitro_sched_new_with(&(struct vitro_sched_options){__VA_ARGS__})
/* Returns owned; NULL with words in vitro_error(NULL) for a schedule that cannot be read. */
VITRO_API vitro_sched *vitro_sched_new_with(const struct vitro_sched_options *options);
/* Tasks that are alive are cancelled and run to their end; those that refuse are dropped. Accepts
 * NULL, returns NULL. */
VITRO_API vitro_sched *vitro_sched_free(vitro_sched *sched);

/* What the last call on this scheduler had to say ("" when all was well); of the calling thread if
 * sched is NULL. Borrowed until the next call. */
VITRO_API const char *vitro_error(const vitro_sched *sched);
VITRO_API enum vitro_kind vitro_kind(const vitro_sched *sched); /* how the last run ended */

struct vitro_run_options {
    const char *name;                /* of the first task; NULL: "main" */
    bool manual_time;                /* for this run */
    bool allow_leaks;                /* tasks nobody joined are cancelled without complaint */
    uint64_t max_steps, max_time_ns; /* for this run; 0: the scheduler's */
};
/* Runs fn as a task until it and what it started has ended. Returns its result, or -EDEADLK
 * (deadlock), -ELOOP (livelock), -E2BIG (step budget), -ETIME (virtual time budget), -ETIMEDOUT
 * (real time budget), -EBUSY (a leaked or unfinished task), -EPROTO (the schedule does not fit),
 * -EPERM (wrong thread, or from inside a task): vitro_kind tells it apart from a result. */
#define vitro_run(sched, fn, arg, ...)                                                             \
    vitro_run_with(sched, fn, arg, &(struct vitro_run_options){__VA_ARGS__})
VITRO_API int vitro_run_with(vitro_sched *sched, vitro_fn fn, void *arg,
                             const struct vitro_run_options *options);

/* ------------------------------------------------------------------ time, from outside a task */

VITRO_API uint64_t vitro_now(const vitro_sched *sched); /* NULL: the running task's scheduler */
/* Starts a task and returns without running it; drive it with the calls below. */
#define vitro_start(sched, fn, arg, ...)                                                           \
    vitro_start_with(sched, fn, arg, &(struct vitro_spawn_options){__VA_ARGS__})
/* One step of one task. 1; 0 when none can go on; -errno when the run failed. */
VITRO_API int vitro_step(vitro_sched *sched);
/* One step of this task. -ENOENT if no such task can go on. */
VITRO_API int vitro_step_task(vitro_sched *sched, uint32_t id);
/* Steps until no task can go on at this instant; the number of steps. */
VITRO_API int64_t vitro_tick(vitro_sched *sched);
/* Moves time, stopping at every deadline on the way. -EINVAL backwards, -ERANGE beyond 2^63. */
VITRO_API int vitro_advance(vitro_sched *sched, int64_t by_ns);
VITRO_API int vitro_advance_to(vitro_sched *sched, uint64_t at_ns);
/* To the earliest deadline and no further. 1, or 0 when no timer is armed. */
VITRO_API int vitro_advance_to_next(vitro_sched *sched);
/* From a task or outside: whether time moves by itself; returns what held before. */
VITRO_API bool vitro_auto_advance(vitro_sched *sched, bool on);

struct vitro_pending { /* a task that can go on, or a timer */
    uint32_t id;       /* of the task */
    bool timer;
    uint64_t at_ns;   /* of a timer */
    const char *name; /* of the task; borrowed until the next call on this scheduler */
    const char *kind; /* what it is about to do: "yield", "sleep", "lock" */
    const char *lane; /* "default", "cpu" or "blk" */
};
/* Tasks that can go on (in fifo order), or those and then the timers (in their order). Returns how
 * many there are; at most `max` are written. */
VITRO_API size_t vitro_next_tasks(vitro_sched *sched, struct vitro_pending *ret, size_t max);
VITRO_API size_t vitro_pending(vitro_sched *sched, struct vitro_pending *ret, size_t max);
/* What fifo order would do next. 1, or 0 when there is nothing. */
VITRO_API int vitro_next_event(vitro_sched *sched, struct vitro_pending *ret);

/* ------------------------------------------------------------------ tasks */

struct vitro_spawn_options {
    const char *name; /* copied; NULL: its number among its parent's children */
    bool detached;    /* nobody joins it; cancelled when the run ends */
    size_t stack_size;
};
#define vitro_spawn(fn, arg, ...)                                                                  \
    vitro_spawn_with(fn, arg, &(struct vitro_spawn_options){__VA_ARGS__}, VITRO_HERE)
/* The handle is good until the task is joined or the run ends. NULL outside a task. */
VITRO_API vitro_task *vitro_spawn_with(vitro_fn fn, void *arg,
                                       const struct vitro_spawn_options *options,
                                       const char *where);
VITRO_API vitro_task *vitro_start_with(vitro_sched *sched, vitro_fn fn, void *arg,
                                       const struct vitro_spawn_options *options);
/* Waits for the end of a task and returns its result. The handle is gone, unless this wait itself
 * was cancelled: then *ret_joined is false and the task still runs. */
#define vitro_join(task) vitro_join_at(task, NULL, VITRO_HERE)
VITRO_API int vitro_join_at(vitro_task *task, bool *ret_joined, const char *where);
VITRO_API void vitro_detach(vitro_task *task);
#define vitro_cancel(task) vitro_cancel_at(task, VITRO_HERE)
VITRO_API int vitro_cancel_at(vitro_task *task, const char *where); /* also from outside a task */
VITRO_API bool vitro_done(const vitro_task *task);
VITRO_API int vitro_result(const vitro_task *task); /* -EINPROGRESS until it is done */
VITRO_API uint32_t vitro_id(const vitro_task *task);
/* "main/left": the path of spawns. Borrowed until the next call with it. NULL: the running task. */
VITRO_API const char *vitro_name(const vitro_task *task);
VITRO_API vitro_task *vitro_self(void);   /* NULL outside a task */
VITRO_API bool vitro_deterministic(void); /* the caller is a task on virtual time */

/* Runs function(argument) when the block ends, also when the task was cancelled. */
struct vitro_deferred {
    void (*function)(void *);
    void *argument;
};
static inline void vitro_run_deferred(struct vitro_deferred *deferred)
{
    deferred->function(deferred->argument);
}
#define VITRO_JOIN_(a, b) a##b
#define VITRO_JOIN(a, b)  VITRO_JOIN_(a, b)
#define vitro_defer(fn, arg)                                                                       \
    __attribute__((cleanup(vitro_run_deferred), unused)) struct vitro_deferred VITRO_JOIN(         \
        vitro_deferred_, __COUNTER__) = {(void (*)(void *))(fn), (arg)}

/* ------------------------------------------------------------------ time and chance, in a task */

#define vitro_yield()         vitro_yield_at(VITRO_HERE)
#define vitro_sleep(ns)       vitro_sleep_at(ns, VITRO_HERE)
#define vitro_sleep_until(at) vitro_sleep_until_at(at, VITRO_HERE)
VITRO_API int vitro_yield_at(const char *where);
VITRO_API int vitro_sleep_at(uint64_t ns, const char *where); /* -ERANGE beyond the end of time */
VITRO_API int vitro_sleep_until_at(uint64_t at_ns, const char *where); /* the past: a sleep of 0 */
/* Virtual in a task; the clock in force (since 1970) outside. */
VITRO_API uint64_t vitro_clock(void);
/* Time passes while nothing else goes: what a computation costs. Timers it overruns fire after. */
VITRO_API int vitro_busy(uint64_t ns);
/* The test's own chance, through the decider: below n. Outside a task: 0. */
VITRO_API uint32_t vitro_choose(uint32_t n);
/* About to read or write shared memory: a point. Declares what is touched, so that vitro_prove can
 * tell which orders matter. Code around vitro_yield and vitro_sleep is taken to touch anything. */
#define vitro_read(address)  vitro_read_at(address, VITRO_HERE)
#define vitro_write(address) vitro_write_at(address, VITRO_HERE)
VITRO_API void vitro_read_at(const void *address, const char *where);
VITRO_API void vitro_write_at(const void *address, const char *where);

/* ------------------------------------------------------------------ combining */

struct vitro_call {
    vitro_fn fn;
    void *arg;
    const char *name;
    int result; /* set when it ended */
};
/* Runs all; the first to succeed wins: the others are cancelled, run their cleanups at the winner's
 * instant and end, and then this returns the winner's result and its index. If none succeeds, the
 * first failure. The outcome of a loser that goes on after being cancelled is in its call. */
#define vitro_race(calls, n, ret_index) vitro_race_at(calls, n, ret_index, VITRO_HERE)
VITRO_API int vitro_race_at(struct vitro_call *calls, size_t n, size_t *ret_index,
                            const char *where);
/* Runs all to success: 0. At the first failure the others are cancelled; that failure. */
#define vitro_join_all(calls, n) vitro_join_all_at(calls, n, VITRO_HERE)
VITRO_API int vitro_join_all_at(struct vitro_call *calls, size_t n, const char *where);
/* Waits until one of these tasks has ended: its index. All go on; join them as usual. */
#define vitro_join_any(tasks, n) vitro_join_any_at(tasks, n, VITRO_HERE)
VITRO_API int vitro_join_any_at(vitro_task *const *tasks, size_t n, const char *where);
/* One after the other until one succeeds: its result; the last failure if none does. Which goes
 * first is a decision; in declaration order when dull. */
#define vitro_amb(calls, n, ret_index) vitro_amb_at(calls, n, ret_index, VITRO_HERE)
VITRO_API int vitro_amb_at(struct vitro_call *calls, size_t n, size_t *ret_index,
                           const char *where);
/* Runs fn for at most ns: its result; else cancels it, waits for its end, and gives fallback. */
#define vitro_timeout(fn, arg, ns, fallback) vitro_timeout_at(fn, arg, ns, fallback, VITRO_HERE)
VITRO_API int vitro_timeout_at(vitro_fn fn, void *arg, uint64_t ns, int fallback,
                               const char *where);

/* ------------------------------------------------------------------ coordination
 *
 * Objects are plain structs: zeroed memory, or the initialiser named here. They belong to one run:
 * the first use in a new run finds them as new. Fields are private but for those in initialisers.
 * Names show in reports. Every call with a deadline takes an absolute one; VITRO_FOREVER: none. */

struct vitro_object {
    const char *name; /* yours; borrowed */
    uint64_t run;
    void *first, *last; /* who waits */
    uint32_t id;
    uint8_t type;
};

struct vitro_mutex {
    struct vitro_object object;
    uint32_t owner; /* task id; 0: free */
    const char *where;
};
/* Locks are not ended by cancellation; the task's next other wait is. A lock without a deadline
 * therefore never fails in a run that goes on. */
#define VITRO_MUTEX(label)                                                                         \
    {                                                                                              \
        .object = {.name = (label) }                                                               \
    }
#define vitro_lock(mutex)           vitro_lock_at(mutex, VITRO_FOREVER, VITRO_HERE)
#define vitro_lock_until(mutex, at) vitro_lock_at(mutex, at, VITRO_HERE)
#define vitro_trylock(mutex)        vitro_trylock_at(mutex, VITRO_HERE)
#define vitro_unlock(mutex)         vitro_unlock_at(mutex, VITRO_HERE)
VITRO_API int vitro_lock_at(struct vitro_mutex *mutex, uint64_t deadline_ns, const char *where);
VITRO_API int vitro_trylock_at(struct vitro_mutex *mutex, const char *where); /* -EBUSY */
VITRO_API void vitro_unlock_at(struct vitro_mutex *mutex, const char *where);

struct vitro_rwlock {
    struct vitro_object object;
    uint32_t writer, readers;
};
#define VITRO_RWLOCK(label)                                                                        \
    {                                                                                              \
        .object = {.name = (label) }                                                               \
    }
#define vitro_rdlock(lock)   vitro_rdlock_at(lock, VITRO_HERE)
#define vitro_wrlock(lock)   vitro_wrlock_at(lock, VITRO_HERE)
#define vitro_rdunlock(lock) vitro_rdunlock_at(lock, VITRO_HERE)
#define vitro_wrunlock(lock) vitro_wrunlock_at(lock, VITRO_HERE)
VITRO_API int vitro_rdlock_at(struct vitro_rwlock *lock, const char *where);
VITRO_API int vitro_wrlock_at(struct vitro_rwlock *lock, const char *where);
VITRO_API void vitro_rdunlock_at(struct vitro_rwlock *lock, const char *where);
VITRO_API void vitro_wrunlock_at(struct vitro_rwlock *lock, const char *where);

struct vitro_cond {
    struct vitro_object object;
    uint32_t signals_lost; /* signals that found nobody waiting, for the lost wake-up hint */
    const char *lost_where;
};
#define VITRO_COND(label)                                                                          \
    {                                                                                              \
        .object = {.name = (label) }                                                               \
    }
#define vitro_wait(cond, mutex)           vitro_wait_at(cond, mutex, VITRO_FOREVER, VITRO_HERE)
#define vitro_wait_until(cond, mutex, at) vitro_wait_at(cond, mutex, at, VITRO_HERE)
#define vitro_signal(cond)                vitro_signal_at(cond, VITRO_HERE)
#define vitro_broadcast(cond)             vitro_broadcast_at(cond, VITRO_HERE)
/* The mutex is held again when this returns, whatever it returns. */
VITRO_API int vitro_wait_at(struct vitro_cond *cond, struct vitro_mutex *mutex,
                            uint64_t deadline_ns, const char *where);
VITRO_API void vitro_signal_at(struct vitro_cond *cond, const char *where);
VITRO_API void vitro_broadcast_at(struct vitro_cond *cond, const char *where);

struct vitro_sem {
    struct vitro_object object;
    uint32_t permits; /* at first */
    uint32_t count;
};
#define VITRO_SEM(label, n)                                                                        \
    {                                                                                              \
        .object = {.name = (label)}, .permits = (n)                                                \
    }
#define vitro_acquire(sem)           vitro_acquire_at(sem, VITRO_FOREVER, VITRO_HERE)
#define vitro_acquire_until(sem, at) vitro_acquire_at(sem, at, VITRO_HERE)
#define vitro_release(sem)           vitro_release_at(sem, VITRO_HERE)
VITRO_API int vitro_acquire_at(struct vitro_sem *sem, uint64_t deadline_ns, const char *where);
VITRO_API void vitro_release_at(struct vitro_sem *sem, const char *where);

struct vitro_event { /* set or not; waiters go on while it is set */
    struct vitro_object object;
    bool set;
};
#define VITRO_EVENT(label)                                                                         \
    {                                                                                              \
        .object = {.name = (label) }                                                               \
    }
#define vitro_event_wait(event)           vitro_event_wait_at(event, VITRO_FOREVER, VITRO_HERE)
#define vitro_event_wait_until(event, at) vitro_event_wait_at(event, at, VITRO_HERE)
#define vitro_event_set(event)            vitro_event_set_at(event, VITRO_HERE)
#define vitro_event_reset(event)          vitro_event_reset_at(event, VITRO_HERE)
VITRO_API int vitro_event_wait_at(struct vitro_event *event, uint64_t deadline_ns,
                                  const char *where);
VITRO_API void vitro_event_set_at(struct vitro_event *event, const char *where);
VITRO_API void vitro_event_reset_at(struct vitro_event *event, const char *where);

struct vitro_barrier {
    struct vitro_object object;
    uint32_t parties; /* how many must arrive; set it */
    uint32_t arrived, round;
};
#define VITRO_BARRIER(label, n)                                                                    \
    {                                                                                              \
        .object = {.name = (label)}, .parties = (n)                                                \
    }
#define vitro_arrive(barrier) vitro_arrive_at(barrier, VITRO_HERE)
/* 1 for the last to arrive, 0 for the others. */
VITRO_API int vitro_arrive_at(struct vitro_barrier *barrier, const char *where);

struct vitro_once {
    struct vitro_object object;
    uint8_t state;
};
#define VITRO_ONCE(label)                                                                          \
    {                                                                                              \
        .object = {.name = (label) }                                                               \
    }
#define vitro_once(once, fn, arg) vitro_once_at(once, fn, arg, VITRO_HERE)
/* Runs fn by one caller while the others wait. When it fails, its failure goes to that caller and
 * the next one tries. */
VITRO_API int vitro_once_at(struct vitro_once *once, vitro_fn fn, void *arg, const char *where);

/* Values are 64 bits: a number, or a pointer through vitro_ptr and vitro_val. */
typedef int64_t vitro_value;
static inline vitro_value vitro_val(const void *pointer)
{
    return (vitro_value)(intptr_t)pointer;
}
static inline void *vitro_ptr(vitro_value value)
{
    return (void *)(intptr_t)value;
}

/* A channel of `capacity` values; 0 gives a rendezvous, VITRO_UNBOUNDED never makes a sender wait.
 * After close, sending gives -EPIPE, and receiving gives what is left and then -EPIPE. Memory is
 * released by vitro_chan_done. */
#define VITRO_UNBOUNDED UINT32_MAX
struct vitro_chan {
    struct vitro_object object;
    uint32_t capacity;
    bool closed;
    vitro_value *values; /* ring */
    uint32_t first, count, allocated;
    void *offers; /* senders that wait to hand over, of a rendezvous */
};
#define VITRO_CHAN(label, n)                                                                       \
    {                                                                                              \
        .object = {.name = (label)}, .capacity = (n)                                               \
    }
#define vitro_send(chan, value)            vitro_send_at(chan, value, VITRO_FOREVER, VITRO_HERE)
#define vitro_send_until(chan, value, at)  vitro_send_at(chan, value, at, VITRO_HERE)
#define vitro_receive(chan, ret)           vitro_receive_at(chan, ret, VITRO_FOREVER, VITRO_HERE)
#define vitro_receive_until(chan, ret, at) vitro_receive_at(chan, ret, at, VITRO_HERE)
#define vitro_close(chan)                  vitro_close_at(chan, VITRO_HERE)
VITRO_API int vitro_send_at(struct vitro_chan *chan, vitro_value value, uint64_t deadline_ns,
                            const char *where);
VITRO_API int vitro_receive_at(struct vitro_chan *chan, vitro_value *ret, uint64_t deadline_ns,
                               const char *where);
VITRO_API void vitro_close_at(struct vitro_chan *chan, const char *where);
VITRO_API void vitro_chan_done(struct vitro_chan *chan);
/* A mailbox is a channel that never makes the sender wait; a rendezvous one of capacity 0. */
#define VITRO_MAILBOX(label)          VITRO_CHAN(label, VITRO_UNBOUNDED)
#define VITRO_RENDEZVOUS(label)       VITRO_CHAN(label, 0)
#define vitro_post(mailbox, value)    vitro_send(mailbox, value)
#define vitro_fetch(mailbox, ret)     vitro_receive(mailbox, ret)
#define vitro_give(rendezvous, value) vitro_send(rendezvous, value)
#define vitro_take(rendezvous, ret)   vitro_receive(rendezvous, ret)

struct vitro_single { /* a value that is assigned once */
    struct vitro_object object;
    vitro_value value;
    bool assigned;
};
#define VITRO_SINGLE(label)                                                                        \
    {                                                                                              \
        .object = {.name = (label) }                                                               \
    }
#define vitro_assign(single, value) vitro_assign_at(single, value, VITRO_HERE)
#define vitro_deref(single, ret)    vitro_deref_at(single, ret, VITRO_FOREVER, VITRO_HERE)
/* The first assignment holds; later ones give -EALREADY and change nothing. */
VITRO_API int vitro_assign_at(struct vitro_single *single, vitro_value value, const char *where);
VITRO_API int vitro_deref_at(struct vitro_single *single, vitro_value *ret, uint64_t deadline_ns,
                             const char *where);

/* Select: waits until one of the cases can be done, and does that one. Which, when several can, is
 * a decision (the first when dull). */
enum vitro_case_kind {
    VITRO_CASE_RECEIVE,
    VITRO_CASE_SEND,
    VITRO_CASE_LOCK,
    VITRO_CASE_ACQUIRE,
    VITRO_CASE_EVENT,
    VITRO_CASE_DEREF,
    VITRO_CASE_JOIN,  /* a task ended; join it afterwards */
    VITRO_CASE_AFTER, /* so many ns from now */
};
struct vitro_case {
    enum vitro_case_kind kind;
    void *object;      /* struct vitro_chan, _mutex, _sem, _event, _single or vitro_task */
    vitro_value value; /* to send, or received */
    uint64_t ns;       /* of VITRO_CASE_AFTER */
    int result;        /* 0, or -EPIPE when the channel is closed */
};
#define vitro_select(cases, n) vitro_select_at(cases, n, VITRO_HERE)
/* The index of the case that was done. */
VITRO_API int vitro_select_at(struct vitro_case *cases, size_t n, const char *where);

struct vitro_ticker { /* a periodic timer */
    uint64_t period_ns, next_ns;
    uint64_t run;
};
#define VITRO_TICKER(period)                                                                       \
    {                                                                                              \
        .period_ns = (period)                                                                      \
    }
#define vitro_ticker_wait(ticker) vitro_ticker_wait_at(ticker, VITRO_HERE)
/* Waits for the next beat. Beats missed since the last wait are counted: 1 when none was. */
VITRO_API int64_t vitro_ticker_wait_at(struct vitro_ticker *ticker, const char *where);

/* ------------------------------------------------------------------ work on lanes
 *
 * A lane has slots. Work waits for a slot, runs its function at once, and holds the slot until its
 * duration is over; then its result is there. Work that ends at the very instant of a deadline ends
 * before it. Work that is cancelled before it began still runs, with vitro_interrupted() true and
 * its first wait ending with -ECANCELED; the mark is gone when it ends. On real time the function
 * runs on a worker thread. */

enum vitro_lane { VITRO_CPU, VITRO_BLK };
struct vitro_work_options {
    enum vitro_lane lane;
    uint64_t duration_ns; /* virtual; 0: the scheduler's work_ns_min..max */
    const char *name;
};
#define vitro_work(fn, arg, ...)                                                                   \
    vitro_work_with(fn, arg, &(struct vitro_work_options){__VA_ARGS__}, VITRO_HERE)
/* Waits for the work and returns its result. */
VITRO_API int vitro_work_with(vitro_fn fn, void *arg, const struct vitro_work_options *options,
                              const char *where);
VITRO_API bool vitro_interrupted(void);

/* ------------------------------------------------------------------ real time
 *
 * The same tasks over epoll and the machine's clock: sleeps are real, work runs on threads, and fds
 * can be waited for. vitro_fd_wait under virtual time gives -EOPNOTSUPP. */

struct vitro_runtime_options {
    unsigned workers; /* threads for vitro_work; 0: 4 */
    size_t stack_size;
};
#define vitro_runtime(fn, arg, ...)                                                                \
    vitro_runtime_with(fn, arg, &(struct vitro_runtime_options){__VA_ARGS__})
VITRO_API int vitro_runtime_with(vitro_fn fn, void *arg,
                                 const struct vitro_runtime_options *options);
#define vitro_fd_wait(fd, events) vitro_fd_wait_at(fd, events, VITRO_FOREVER, VITRO_HERE)
/* POLLIN, POLLOUT: those that hold, as poll(2) says them. */
VITRO_API int vitro_fd_wait_at(int fd, int events, uint64_t deadline_ns, const char *where);

/* ------------------------------------------------------------------ trace */

enum vitro_event_kind {
    VITRO_EVENT_ENQUEUE,      /* a task became able to go on: id, kind, label, lane */
    VITRO_EVENT_TIMER,        /* a timer was armed: id, at, kind, label */
    VITRO_EVENT_CANCEL_TIMER, /* id, at */
    VITRO_EVENT_PROMOTE,      /* a timer fired: id, count */
    VITRO_EVENT_RUN,          /* a step: id, kind, label, lane */
    VITRO_EVENT_ADVANCE,      /* time moved: from, at */
    VITRO_EVENT_SELECT,       /* a choice among `count`: the decision, the selected id */
    VITRO_EVENT_TASK_START,
    VITRO_EVENT_TASK_COMPLETE,
    VITRO_EVENT_CANCEL, /* a task was cancelled */
    VITRO_EVENT_INTERRUPT_CLEARED,
    VITRO_EVENT_IDLE, /* nothing can go on at this instant */
    VITRO_EVENT_KINDS
};
struct vitro_trace_event {
    enum vitro_event_kind event;
    uint32_t id;   /* of the piece of work (tasks ready to go and timers share one count) */
    uint32_t task; /* of the task; 0: none */
    uint64_t now_ns;
    uint64_t at_ns;    /* deadline; where time went */
    uint32_t count;    /* of candidates, of timers */
    uint32_t object;   /* number of the object in this run; 0: none */
    const char *kind;  /* "sleep", "lock" */
    const char *label; /* name of the task; borrowed until the next run */
    const char *lane;
    const char *where;
};
VITRO_API size_t vitro_trace_count(const vitro_sched *sched);
VITRO_API bool vitro_trace_at(vitro_sched *sched, size_t index, struct vitro_trace_event *ret);
enum vitro_trace_format {
    VITRO_TRACE_TEXT,
    VITRO_TRACE_JSON,
    VITRO_TRACE_TAPE,
    VITRO_TRACE_CHROME
};
/* Returns owned text: lanes for people, one JSON array, JSON lines for a tape, or the trace-event
 * format that Chrome and Perfetto read. */
VITRO_API char *vitro_trace_export(vitro_sched *sched, enum vitro_trace_format format);
/* The schedule of the last run as text (returns owned): replays it, see vitro/explore.h. */
VITRO_API char *vitro_schedule(vitro_sched *sched);

#ifdef __cplusplus
}
#endif
#endif
