/* SPDX-License-Identifier: MIT */
/* sched: the coroutine front of the core: tasks with stacks, waits on objects, and virtual time.
 * Public face: include/vitro/sched.h. This header is for the files of src/sched.
 *
 * HOW A WAIT WORKS. A task publishes an operation on an object together with a question, "can it be
 * done now?". While the answer is no the task is not ready; whoever changes the object calls
 * object_changed(), which asks again for every waiter. A task is ready exactly as long as its
 * operation can be done, so when it is chosen it acts without looking again. Nothing is handed over
 * by name: who gets a lock is the choice of the next task, and the decider sees all of it.
 *
 * WHO RUNS. The driver (the caller of vitro_run) enters a task; tasks switch among themselves and
 * come back to the driver when none can go on, when a single step was asked for, or to stop.
 *
 * TAKING DOWN. When a run fails in the middle, `unwinding` makes every wait of the tasks that are
 * left end with -ECANCELED at once, so that cleanups run; a task that does not end within its grace
 * is abandoned with its stack. */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "sched/core.h"
#include "sched/decider.h"
#include "sched/stack.h"
#include "base/timer.h"
#include "vitro/sched.h"
#include <assert.h>
#include <errno.h>
#include <stdatomic.h>

struct wait;
typedef bool (*ready_fn)(struct vitro_object *object, const struct wait *wait);

struct wait {
    struct wait *next, *prev; /* on the object */
    vitro_task *task;
    struct vitro_object *object;
    ready_fn ready;
    vitro_value value; /* what a sender brings, where a barrier stood */
};

enum task_state { TASK_FREE, TASK_NEW, TASK_LIVE, TASK_DONE };
enum wake { WAKE_ACT, WAKE_TIMER, WAKE_CANCEL, WAKE_GONE };
enum object_type {
    OBJECT_NONE,
    OBJECT_TASK,
    OBJECT_MUTEX,
    OBJECT_RWLOCK,
    OBJECT_COND,
    OBJECT_SEM,
    OBJECT_EVENT,
    OBJECT_BARRIER,
    OBJECT_ONCE,
    OBJECT_CHAN,
    OBJECT_SINGLE,
    OBJECT_LANE,
    OBJECT_MEMORY,
    OBJECT_FLOW,
    OBJECT_FD,
    OBJECT_TYPES
};

struct vitro_task {
    struct core_task core; /* first */
    vitro_sched *sched;
    void *context;
    struct stack *stack;
    vitro_fn fn;
    void *arg;
    struct wait *waits; /* what it waits for: `wait`, or an array of a select */
    uint32_t wait_count;
    uint8_t state, wake;
    bool cancel; /* asked to; not yet delivered */
    bool detached, interrupted, registered;
    uint8_t lane;
    uint32_t micro; /* trace: the piece of work it is ready for */
    struct wait wait;
    struct timer timer;
    uint64_t deadline_ns;       /* of the wait that is registered */
    struct vitro_mutex *relock; /* in a wait on a condition variable: what to hold at its end */
    struct vitro_object done;
    vitro_task *next, *prev; /* live ones, or ended ones, or (next) free ones */
    void *asan_keep;
    size_t stack_size;
    int result;
};

struct object_info {
    const char *name;
    uint8_t type;
};

struct batch;
struct trace;
struct real;

struct vitro_sched {
    struct core core;
    struct vitro_sched_options options;
    uint64_t now_ns;
    struct timers timers;
    uint64_t run; /* number of this run, unlike any other of the process; 0: none is open */
    uint64_t checkpoint_steps, step_limit, wall_limit_ns, time_limit_ns;
    vitro_task *current;                /* NULL while the driver runs */
    vitro_task *root;                   /* whose end the driver waits for */
    vitro_task *live_first, *live_last; /* tasks that have not ended */
    vitro_task *ended;                  /* tasks that have, and were not joined */
    struct batch *batches;              /* memory of all tasks */
    uint32_t live_count;
    vitro_task *free_tasks;
    struct stack *zombie; /* of the task that ended last, maybe still underfoot */
    void *driver_context, *driver_asan_keep;
    const void *driver_low;
    size_t driver_size;
    void *driver_tsan;
    bool single;   /* back to the driver after each step */
    bool shuffled; /* order among equal deadlines is a decision */
    bool unwinding, manual_time, stopped, driving;
    bool spoilt;    /* a task was left by longjmp */
    uint64_t grace; /* steps left while taking down */
    enum vitro_kind kind;
    struct buf error;
    struct decider *decider; /* owned unless lent */
    bool decider_lent;
    struct object_info *infos; /* by object id */
    uint32_t info_capacity;
    struct address *addresses; /* of declared memory: open addressing */
    uint32_t address_count, address_capacity;
    char *labels; /* text of task names in this run */
    size_t labels_used, labels_capacity;
    struct lane {
        struct vitro_object object;
        uint32_t slots, used;
    } lanes[2];
    struct trace *trace;           /* NULL: off */
    uint32_t micro_last;           /* trace ids given so far */
    struct real *real;             /* NULL: virtual time */
    unsigned long thread;          /* that drives it; 0: none yet */
    _Atomic(const char *) foreign; /* an operation another thread tried, or NULL */
    struct buf text[4];            /* scratch for borrowed names */
    struct buf outcome;            /* what the test called its outcome */
};

/* ---- run.c: driving */
int sched_open(vitro_sched *sched);   /* begins a run unless one is open */
void sched_close(vitro_sched *sched); /* takes down what is left */
void sched_reset(vitro_sched *sched, struct decider *decider, bool lent); /* time, tasks, error */
vitro_task *sched_start(vitro_sched *sched, vitro_fn fn, void *arg,
                        const struct vitro_spawn_options *options, uint32_t parent);
int sched_drive(vitro_sched *sched, vitro_task *root); /* until root has ended or the run stops */
void sched_fail(vitro_sched *sched, enum vitro_kind kind, const char *format, ...)
    PRINTF_LIKE(3, 4);                    /* the first failure holds; stops the run */
int sched_code(const vitro_sched *sched); /* -errno of its kind */
bool sched_fire_one(vitro_sched *sched);  /* the earliest timer; time moves to it */
int sched_thread_check(vitro_sched *sched, const char *what);
int fail_text(const vitro_sched *sched, int code, const char *format, ...) PRINTF_LIKE(3, 4);
uint64_t sched_fingerprint(const vitro_sched *sched); /* also of a run that stopped half-way */

/* ---- takedown.c */
uint32_t sched_add_live(const vitro_sched *sched, struct buf *buf, bool detached_too); /* names */
bool sched_left_by_longjmp(const vitro_sched *sched);
void sched_spoil(vitro_sched *sched); /* drops the task that was left by longjmp */
void sched_free_labels(vitro_sched *sched);

/* ---- task.c */
extern __thread vitro_sched *sched_here __attribute__((tls_model("initial-exec")));
void task_switch(vitro_sched *sched, vitro_task *from, vitro_task *to); /* NULL: the driver */
bool task_prepare(vitro_task *task); /* a stack for a new one; false: the run was stopped */
void task_enable(vitro_task *task);  /* ready, and traced */
void task_wake(vitro_task *task, enum wake why); /* ends its wait from outside */
void task_recycle(vitro_task *task);             /* takes it off the list of the ended */
void task_unlink_live(vitro_task *task);
void task_abandon(vitro_task *task);
void tasks_give_back(vitro_sched *sched); /* all of its memory for tasks, to the thread */
int task_outside(const char *what, const struct vitro_object *object, const char *where);

/* ---- misuse.c: the schedulers that exist, for whoever calls from a wrong thread */
void misuse_add(vitro_sched *sched);
void misuse_remove(vitro_sched *sched);

/* ---- wait.c */
/* A point that is always passed: 0. Or -ECANCELED with OP_CANCELS in the flags. */
int task_point(vitro_task *task, struct op op);
/* Waits until ready(object); then it is the caller's to act. -ECANCELED, -ETIMEDOUT. */
int task_wait(vitro_task *task, struct op op, struct vitro_object *object, ready_fn ready,
              uint64_t deadline_ns);
int task_wait_many(vitro_task *task, struct op op, struct wait *waits, uint32_t count,
                   uint64_t deadline_ns);
int task_sleep_until(vitro_task *task, struct op op, uint64_t at_ns, bool work_end);
void object_changed(struct vitro_object *object);
void object_gone(struct vitro_object *object); /* who waits for it gets -EPIPE */
void wait_add(struct wait *wait);
void wait_remove(struct wait *wait);
void waits_register(vitro_task *task);
void waits_unregister(vitro_task *task);
bool waits_ready(const vitro_task *task);
vitro_task *sched_pick(vitro_sched *sched, vitro_task *current);

/* ---- object.c */
/* Makes the object part of this run; true when it was not (its state starts over). */
bool object_bind(vitro_sched *sched, struct vitro_object *object, enum object_type type);
uint32_t object_of_address(vitro_sched *sched, const void *address);
void object_add_name(const vitro_sched *sched, uint32_t object, struct buf *buf);
const char *object_type_name(unsigned type);

/* ---- report_wait.c */
void report_deadlock(vitro_sched *sched, struct buf *buf);
bool report_cycle(const vitro_sched *sched, struct buf *buf); /* true: the steps repeat */

/* ---- fault.c */
void fault_install(void); /* the handlers, if they are not there; an alternate stack a thread */

/* ---- trace.c; each does nothing but a test when tracing is off */
struct trace *trace_new(enum vitro_trace_mode mode, size_t ring);
struct trace *trace_free(struct trace *trace);
void trace_clear(struct trace *trace);
void trace_add(vitro_sched *sched, enum vitro_event_kind event, const vitro_task *task, uint32_t id,
               uint64_t at_ns, uint32_t count);
#define TRACE(sched, ...)                                                                          \
    do {                                                                                           \
        if (__builtin_expect((sched)->trace != NULL, 0))                                           \
            trace_add(sched, __VA_ARGS__);                                                         \
    } while (0)

/* ---- schedule_text.c */
void schedule_add(const vitro_sched *sched, struct buf *buf); /* the decisions, one a line */
struct decider *decider_schedule_new(const char *text, bool tolerant, struct err *err);
/* "" while everything fits; else what did not, first of all. */
const char *decider_schedule_trouble(const struct decider *decider);
size_t decider_schedule_unused(const struct decider *decider); /* decisions nobody asked for */
struct decider *decider_manual_new(vitro_sched *sched, vitro_manual ask, void *arg);

/* ---- real.c */
int real_idle(
    vitro_sched *sched); /* waits for a deadline, an fd or a worker; 0, or 1: nothing to wait for */
int real_work(vitro_task *task, vitro_fn fn, void *arg, const char *where);
uint64_t real_now(void);

static inline vitro_task *task_here(void)
{
    vitro_sched *sched = sched_here;

    return __builtin_expect(sched != NULL, 1) ? sched->current : NULL;
}
static inline vitro_task *task_of_core(struct core_task *task)
{
    return (vitro_task *)task;
}
static inline vitro_task *task_of_timer(struct timer *timer)
{
    return (vitro_task *)((char *)timer - offsetof(struct vitro_task, timer));
}
static inline void task_prefetch(const vitro_task *task)
{
    for (size_t line = 0; line < 6; line++)
        __builtin_prefetch((const char *)task->context + line * 64);
}
/* The task of an operation, with its object bound; or returns from the function with an error. */
#define TASK_OR_RETURN(what, object)                                                               \
    vitro_task *task = task_here();                                                                \
    if (__builtin_expect(!task, 0))                                                                \
    return task_outside(what, object, where)
#define TASK_OR_LEAVE(what, object)                                                                \
    vitro_task *task = task_here();                                                                \
    if (__builtin_expect(!task, 0)) {                                                              \
        (void)task_outside(what, object, where);                                                   \
        return;                                                                                    \
    }

void mistake(const char *format, ...) PRINTF_LIKE(1, 2) __attribute__((noreturn));
