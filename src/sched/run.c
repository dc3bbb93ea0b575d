/* SPDX-License-Identifier: MIT */
/* Runs: a scheduler's beginning and end, the driver's loop, budgets and failures. */
#include "sched/sched.h"
#include "sched/annotate.h"
#include "base/wall.h"
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { STEPS_DEFAULT = 10000000, TASKS_DEFAULT = 2000000 };

static __thread struct err thread_error;
static _Atomic uint64_t threads_seen;
static __thread uint64_t thread_runs; /* high bits: the thread; low bits: its runs so far */

const char *vitro_error(const vitro_sched *sched)
{
    return sched ? buf_text(&sched->error) : thread_error.text;
}

int fail_text(const vitro_sched *sched, int code, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    if (sched) {
        struct buf *error = (struct buf *)&sched->error;
        buf_clear(error);
        buf_addv(error, format, args);
    } else {
        err_setv(&thread_error, code, format, args);
    }
    va_end(args);
    return code;
}

enum vitro_kind vitro_kind(const vitro_sched *sched)
{
    return sched ? sched->kind : VITRO_MISUSE;
}

int sched_code(const vitro_sched *sched)
{
    static const int codes[VITRO_KINDS] = {
        [VITRO_OK] = 0,
        [VITRO_PROPERTY] = -EDOM,
        [VITRO_ERROR] = -EIO,
        [VITRO_CRASH] = -EFAULT,
        [VITRO_DEADLOCK] = -EDEADLK,
        [VITRO_LIVELOCK] = -ELOOP,
        [VITRO_STEPS] = -E2BIG,
        [VITRO_TIME] = -ETIME,
        [VITRO_WALL] = -ETIMEDOUT,
        [VITRO_LEAK] = -EBUSY,
        [VITRO_UNFINISHED] = -EBUSY,
        [VITRO_NONDETERMINISM] = -EPROTO,
        [VITRO_DIVERGED] = -EPROTO,
        [VITRO_MISUSE] = -EPERM,
    };

    return codes[sched->kind];
}

void sched_fail(vitro_sched *sched, enum vitro_kind kind, const char *format, ...)
{
    va_list args;

    sched->stopped = true;
    sched->checkpoint_steps = 0;
    if (sched->kind != VITRO_OK)
        return;
    sched->kind = kind;
    buf_clear(&sched->error);
    va_start(args, format);
    buf_addv(&sched->error, format, args);
    va_end(args);
}

int sched_thread_check(vitro_sched *sched, const char *what)
{
    unsigned long self = (unsigned long)pthread_self();

    if (!sched)
        return fail_text(NULL, -EINVAL,
                         "%s: there is no scheduler: NULL was given, as vitro_sched_new returns it "
                         "for a schedule that cannot be read",
                         what);
    if (!sched->thread)
        sched->thread = self;
    if (sched->thread == self)
        return 0;
    atomic_store(&sched->foreign, what);
    return fail_text(NULL, -EPERM, "scheduler driven from two threads (%s)", what);
}

/* ---- beginning */

static struct decider *default_decider(vitro_sched *sched, struct err *err)
{
    const struct vitro_sched_options *o = &sched->options;

    if (o->manual)
        return decider_manual_new(sched, o->manual, o->manual_arg);
    if (o->schedule)
        return decider_schedule_new(o->schedule, o->tolerant, err);
    switch (o->strategy) {
    case VITRO_RANDOM:
        return decider_random_new(o->seed);
    case VITRO_PCT:
        return decider_pct_new(o->seed, o->depth);
    case VITRO_POS:
        return decider_pos_new(o->seed);
    case VITRO_SURW:
        return decider_surw_new(o->seed);
    case VITRO_MUTATE:
        return decider_mutate_new(o->seed);
    case VITRO_PORTFOLIO:
        return decider_portfolio_new(o->seed);
    case VITRO_PREEMPTIONS:
    case VITRO_DELAYS:
    case VITRO_DFS:
    case VITRO_DPOR:
        return decider_dull_new(); /* the first run of any search */
    case VITRO_FIFO:
        return decider_fifo_new();
    case VITRO_DEFAULT:
    case VITRO_STRATEGIES:
        break;
    }
    return o->seed ? decider_random_new(o->seed) : decider_fifo_new();
}

vitro_sched *vitro_sched_new_with(const struct vitro_sched_options *options)
{
    vitro_sched *sched = mem_alloc(sizeof *sched);
    struct err err = {0};

    sched->options = *options;
    struct vitro_sched_options *o = &sched->options;
    o->max_steps = o->max_steps ? o->max_steps : STEPS_DEFAULT;
    o->max_wall_ns = o->max_wall_ns ? o->max_wall_ns : VITRO_SEC(60);
    o->max_tasks = o->max_tasks ? o->max_tasks : TASKS_DEFAULT;
    o->cpu_slots = o->cpu_slots ? o->cpu_slots : 8;
    o->blk_slots = o->blk_slots ? o->blk_slots : UINT32_MAX;
    sched->now_ns = o->start_ns;
    sched->manual_time = o->manual_time;
    core_init(&sched->core);
    sched->decider = default_decider(sched, &err);
    if (o->trace)
        sched->trace = trace_new(o->trace, o->trace_ring);
    if (!sched->decider) {
        (void)fail_text(NULL, err.code, "%s", err.text);
        return vitro_sched_free(sched);
    }
    o->schedule = NULL; /* the decider has its own copy */
    fault_install();
    misuse_add(sched);
    return sched;
}

void sched_free_labels(vitro_sched *sched)
{
    while (sched->labels) {
        char *older;
        memcpy(&older, sched->labels, sizeof older);
        free(sched->labels);
        sched->labels = older;
    }
    sched->labels_capacity = sched->labels_used = 0;
}

vitro_sched *vitro_sched_free(vitro_sched *sched)
{
    if (!sched)
        return NULL;
    misuse_remove(sched);
    if (sched->run)
        sched_close(sched);
    timers_done(&sched->timers);
    core_done(&sched->core);
    if (!sched->decider_lent)
        decider_free(sched->decider);
    tasks_give_back(sched);
    if (sched->zombie)
        stack_give(sched->zombie);
    sched_free_labels(sched);
    trace_free(sched->trace);
    buf_done(&sched->error);
    buf_done(&sched->outcome);
    for (size_t i = 0; i < ARRAY_LENGTH(sched->text); i++)
        buf_done(&sched->text[i]);
    free(sched->infos);
    free(sched->addresses);
    free(sched);
    return NULL;
}

void sched_reset(vitro_sched *sched, struct decider *decider, bool lent)
{
    if (sched->run)
        sched_close(sched);
    if (decider != sched->decider) {
        if (!sched->decider_lent)
            decider_free(sched->decider);
        sched->decider = decider;
        sched->decider_lent = lent;
    }
    sched->now_ns = sched->options.start_ns;
    sched->manual_time = sched->options.manual_time;
}

int sched_open(vitro_sched *sched)
{
    if (sched->run)
        return 0;
    if (!thread_runs)
        thread_runs = (atomic_fetch_add(&threads_seen, 1) + 1) << 40;
    sched->run = ++thread_runs;
    sched->kind = VITRO_OK;
    buf_clear(&sched->error);
    buf_clear(&sched->outcome);
    timers_clear(&sched->timers);
    sched->labels_used = 0;
    sched->address_count = 0;
    sched->stopped = sched->unwinding = sched->single = false;
    sched->wall_limit_ns = 0;
    sched->step_limit = sched->options.max_steps;
    sched->checkpoint_steps = sched->step_limit < 256 ? sched->step_limit : 256;
    sched->time_limit_ns =
        sched->options.max_time_ns ? sched->now_ns + sched->options.max_time_ns : UINT64_MAX;
    sched->micro_last = 0;
    sched->driver_tsan = annotate_this_fiber();
    atomic_store_explicit(&sched->foreign, NULL, memory_order_relaxed);
    if (sched->trace)
        trace_clear(sched->trace);
    core_begin(&sched->core, sched->decider);
    sched->shuffled = strcmp(sched->decider->name, "fifo") != 0;
    sched->lanes[0] = (struct lane){.object.name = "cpu", .slots = sched->options.cpu_slots};
    sched->lanes[1] = (struct lane){.object.name = "blk", .slots = sched->options.blk_slots};
    return 0;
}

/* ---- time */

bool sched_fire_one(vitro_sched *sched)
{
    uint64_t at = timers_next_ns(&sched->timers);
    struct core *core = &sched->core;

    if (at == UINT64_MAX)
        return false;
    if (at > sched->now_ns) {
        TRACE(sched, VITRO_EVENT_ADVANCE, NULL, 0, at, 0);
        sched->now_ns = at;
    }
    if (core->decider->idle && !core->quiet)
        core->decider->idle(core->decider, core);
    struct timer *timer;
    if (sched->shuffled) {
        uint32_t n = timers_gather(&sched->timers);
        timer = timers_take_due(&sched->timers, core_draw(core, CORE_TIMER, n));
    } else {
        timer = timers_pop(&sched->timers);
        if (sched->timers.count) /* the stack that goes on next is likely cold */
            task_prefetch(task_of_timer(timers_first(&sched->timers)));
    }
    vitro_task *task = task_of_timer(timer);
    TRACE(sched, VITRO_EVENT_PROMOTE, task, timer->id, at, 1);
    task_wake(task, WAKE_TIMER);
    return true;
}

/* Nothing can go on at this instant. True when there is something to do again. */
static bool idle(vitro_sched *sched)
{
    uint64_t at = timers_next_ns(&sched->timers);

    TRACE(sched, VITRO_EVENT_IDLE, NULL, 0, at, sched->live_count);
    if (atomic_load_explicit(&sched->foreign, memory_order_relaxed)) {
        sched_fail(sched, VITRO_MISUSE, "%s was called from another thread than the scheduler's",
                   atomic_load(&sched->foreign));
        return false;
    }
    if (sched->real)
        return real_idle(sched) == 0;
    if (at == UINT64_MAX)
        return false;
    if (sched->manual_time && at > sched->now_ns)
        return false;
    if (at > sched->time_limit_ns) {
        sched_fail(sched, VITRO_TIME,
                   "time budget exceeded: the next deadline is %llu ns after the budget's end",
                   (unsigned long long)(at - sched->time_limit_ns));
        return false;
    }
    return sched_fire_one(sched);
}

static void deadlock(vitro_sched *sched)
{
    CLEANUP(buf_done) struct buf text = {0};

    if (timers_count(&sched->timers))
        buf_adds(&text, "deadlock: no task can go on and time stands still (manual time)");
    else
        buf_adds(&text, "deadlock: no task can go on and no timer is armed");
    report_deadlock(sched, &text);
    sched_fail(sched, VITRO_DEADLOCK, "%s", text.data);
}

/* ---- the driver */

static void enter(vitro_sched *sched, vitro_task *task)
{
    task_switch(sched, NULL, task);
}

int sched_drive(vitro_sched *sched, vitro_task *root)
{
    vitro_sched *before = sched_here;

    sched_here = sched;
    sched->driving = true;
    sched->root = root;
    while (!sched->stopped && root->state != TASK_DONE) {
        vitro_task *next = sched_pick(sched, NULL);
        if (next)
            enter(sched, next);
        else if (!sched->stopped && !idle(sched) && !sched->stopped)
            deadlock(sched);
    }
    const char *trouble = decider_schedule_trouble(sched->decider);
    if (sched->core.cut && *trouble) {
        sched->core.cut = false;
        sched_fail(sched, VITRO_DIVERGED, "%s", trouble);
    }
    sched->driving = false;
    sched->root = NULL;
    sched_here = before;
    return sched->stopped ? -1 : 0;
}

/* ---- running */

static void apply(vitro_sched *sched, const struct vitro_run_options *options)
{
    sched->manual_time = options->manual_time || sched->options.manual_time;
    if (options->max_steps) {
        sched->step_limit = sched->core.steps + options->max_steps;
        sched->checkpoint_steps = sched->core.steps;
    }
    if (options->max_time_ns)
        sched->time_limit_ns = sched->now_ns + options->max_time_ns;
}

static void check_leaks(vitro_sched *sched)
{
    CLEANUP(buf_done) struct buf names = {0};
    uint32_t count = sched_add_live(sched, &names, false);

    if (count)
        sched_fail(sched, VITRO_LEAK, "%u %s left running:%s", count,
                   count == 1 ? "task was" : "tasks were", names.data);
}

static int check_entry(vitro_sched *sched, const char *what)
{
    int r = sched_thread_check(sched, what);

    if (r < 0)
        return r;
    if (sched_here && sched_left_by_longjmp(sched_here))
        sched_spoil(sched_here);
    if (sched->spoilt)
        return -ENOTRECOVERABLE;
    if (sched->driving)
        return fail_text(NULL, -EPERM, "%s from inside a task of the same scheduler", what);
    return 0;
}

int vitro_run_with(vitro_sched *sched, vitro_fn fn, void *arg,
                   const struct vitro_run_options *options)
{
    int r = check_entry(sched, "run");

    if (r < 0)
        return r;
    if (!fn)
        return fail_text(sched, -EINVAL, "run: no function was given");
    bool opened = !sched->run;
    sched_open(sched);
    apply(sched, options);
    vitro_task *root =
        sched_start(sched, fn, arg, &(struct vitro_spawn_options){.name = options->name}, 0);
    (void)sched_drive(sched, root);
    int result = root->result;
    if (opened && sched->kind == VITRO_OK && !options->allow_leaks)
        check_leaks(sched);
    if (opened)
        sched_close(sched);
    sched->manual_time = sched->options.manual_time;
    return sched->kind == VITRO_OK ? result : sched_code(sched);
}
