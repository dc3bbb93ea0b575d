/* SPDX-License-Identifier: MIT */
/* check, prove, explore and replay: the loop over schedules and what is counted on the way. */
#include "sched/explore.h"
#include "base/wall.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- the set of fingerprints */

static void seen_put(uint64_t *slots, uint64_t capacity, uint64_t print)
{
    uint64_t at = print * UINT64_C(0x9e3779b97f4a7c15) & (capacity - 1);

    while (slots[at] && slots[at] != print)
        at = (at + 1) & (capacity - 1);
    slots[at] = print;
}

void seen_add(struct seen *seen, uint64_t print)
{
    print |= (print == 0);
    if (seen->count * 2 >= seen->capacity && seen->count < SEEN_MAX) {
        uint64_t capacity = seen->capacity ? seen->capacity * 2 : 64;
        uint64_t *slots = mem_alloc(capacity * sizeof *slots);
        for (uint64_t i = 0; i < seen->capacity; i++)
            if (seen->slots[i])
                seen_put(slots, capacity, seen->slots[i]);
        free(seen->slots);
        seen->slots = slots;
        seen->capacity = capacity;
    }
    uint64_t at = print * UINT64_C(0x9e3779b97f4a7c15) & (seen->capacity - 1);
    while (seen->slots[at] && seen->slots[at] != print)
        at = (at + 1) & (seen->capacity - 1);
    if (seen->slots[at] || seen->count >= SEEN_MAX)
        return;
    seen->slots[at] = print;
    seen->count++;
}

/* ---- sessions */

void session_init(struct session *s, vitro_fn fn, void *arg,
                  const struct vitro_check_options *options, bool prove)
{
    *s = (struct session){.fn = fn, .arg = arg, .options = *options};
    struct vitro_check_options *o = &s->options;
    o->name = o->name ? o->name : "test";
    o->seed = args_seed(o->seed ? o->seed : 1);
    o->schedules = args_schedules(o->schedules ? o->schedules : prove ? 10000000 : 1000);
    o->max_steps = o->max_steps ? o->max_steps : 100000;
    o->bound = o->bound ? o->bound : 2;
    o->depth = o->depth ? o->depth : 3;
    o->workers = o->workers ? o->workers : 1;
    if (o->strategy == VITRO_DEFAULT)
        o->strategy = prove ? VITRO_DPOR : VITRO_PORTFOLIO;
    if (o->strategy == VITRO_DPOR && o->early_timers) /* a timer that fires depends on every step */
        o->strategy = VITRO_DFS;
    s->sched = vitro_sched_new(.max_steps = o->max_steps, .max_time_ns = o->max_time_ns,
                               .start_ns = o->start_ns, .spurious = o->spurious,
                               .early_timers = o->early_timers, .stack_size = o->stack_size);
    crash_watch(s);
}

void session_done(struct session *s)
{
    crash_watch(NULL);
    s->sched = vitro_sched_free(s->sched);
    free(s->last.error);
    free(s->seen.slots);
    *s = (struct session){0};
}

struct decider *session_decider(const struct session *s)
{
    const struct vitro_check_options *o = &s->options;

    switch (o->strategy) {
    case VITRO_FIFO:
        return decider_fifo_new();
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
    case VITRO_PREEMPTIONS:
        return decider_dfs_new(0, o->bound, false);
    case VITRO_DELAYS:
        return decider_dfs_new(0, o->bound, true);
    case VITRO_DFS:
        return decider_dfs_new(UINT32_MAX, UINT32_MAX, false);
    case VITRO_DPOR:
        return decider_dpor_new(o->opaque);
    case VITRO_DEFAULT:
    case VITRO_PORTFOLIO:
    case VITRO_STRATEGIES:
        break;
    }
    return decider_portfolio_new(o->seed);
}

static void judge(struct session *s)
{
    vitro_sched *sched = s->sched;
    const struct vitro_check_options *o = &s->options;
    int result = s->last.result;

    if (o->property) {
        if (!o->property(s->arg, result))
            sched_fail(sched, VITRO_PROPERTY, "the property does not hold for result %d", result);
    } else if (o->want || o->exact) {
        if (result != o->want)
            sched_fail(sched, VITRO_PROPERTY, "the result is %d, not %d", result, o->want);
    } else if (result < 0) {
        sched_fail(sched, VITRO_ERROR, "the run returned %d (%s)", result, strerror(-result));
    }
}

static void leaks(struct session *s)
{
    CLEANUP(buf_done) struct buf names = {0};
    unsigned count = 0;

    for (vitro_task *t = s->sched->live_first; t; t = t->next) {
        if (t->detached)
            continue;
        buf_adds(&names, count++ ? ", '" : " '");
        core_add_name(&s->sched->core, t->core.id, &names);
        buf_addc(&names, '\'');
    }
    if (count && !s->options.allow_leaks)
        sched_fail(s->sched, VITRO_LEAK, "%u %s left running:%s", count,
                   count == 1 ? "task was" : "tasks were", names.data);
}

void session_run(struct session *s, struct decider *decider, bool *more)
{
    vitro_sched *sched = s->sched;
    void *arg = s->options.make ? s->options.make(s->arg) : s->arg;

    sched_reset(sched, decider, true);
    (void)sched_open(sched);
    vitro_task *root = sched_start(sched, s->fn, arg, &(struct vitro_spawn_options){0}, 0);
    (void)sched_drive(sched, root);
    s->last.result = root->state == TASK_DONE ? root->result : -EINPROGRESS;
    s->last.cut = sched->core.cut && sched->kind == VITRO_OK;
    if (sched->kind == VITRO_OK && !sched->core.cut) {
        leaks(s);
        if (sched->kind == VITRO_OK)
            judge(s);
    }
    s->last.fingerprint = sched_fingerprint(sched);
    s->last.check = sched->core.check;
    s->last.steps = sched->core.steps;
    s->last.preemptions = sched->core.preemptions;
    s->last.switches = sched->core.switches;
    s->steps += sched->core.steps;
    if (more)
        *more = decider->next && decider->next(decider, &sched->core);
    sched_close(sched);
    s->last.kind = sched->kind;
    if (s->last.error) {
        free(s->last.error);
        s->last.error = NULL;
    }
    if (sched->kind != VITRO_OK)
        s->last.error = mem_dup(buf_text(&sched->error));
    if (s->options.unmake)
        s->options.unmake(arg);
}

bool same_failure(const struct run *a, const struct run *b)
{
    if (a->kind != b->kind || a->cut || b->cut)
        return false;
    if (a->kind == VITRO_PROPERTY || a->kind == VITRO_ERROR)
        return a->result == b->result;
    return a->kind != VITRO_OK;
}

struct decisions decisions_copy(const struct core *core)
{
    struct decisions copy = {.count = core->decision_count};

    copy.list = mem_alloc((copy.count + 1) * sizeof *copy.list);
    if (copy.count)
        memcpy(copy.list, core->decisions, copy.count * sizeof *copy.list);
    return copy;
}

void decisions_done(struct decisions *decisions)
{
    free(decisions->list);
    *decisions = (struct decisions){0};
}

void session_play(struct session *s, const struct core_decision *decisions, size_t count)
{
    CLEANUP(decider_free) struct decider *decider = decider_list_new(decisions, count);

    session_run(s, decider, NULL);
    sched_reset(s->sched, decider_fifo_new(), false); /* the list is not ours to keep */
}

bool session_fails_like(struct session *s, const struct core_decision *decisions, size_t count,
                        const struct run *failure)
{
    if (!s->options.isolate) {
        session_play(s, decisions, count);
        return same_failure(&s->last, failure);
    }
    struct run run = {0};
    return worker_child_run(s, decisions, count, &run) == 0 && same_failure(&run, failure);
}

/* ---- check and prove */

struct progress {
    uint64_t begun_ns, shown_ns;
    bool on;
};

static void progress_show(struct progress *p, const struct session *s, uint64_t schedules)
{
    if (!p->on || schedules % 256)
        return;
    uint64_t now = wall_monotonic_ns();
    if (now - p->shown_ns < 200000000)
        return;
    p->shown_ns = now;
    (void)fprintf(stderr, "\r%s: %" PRIu64 " schedules, %" PRIu64 " distinct, %.0f/s ",
                  s->options.name, schedules, s->seen.count,
                  (double)schedules * 1e9 / (double)(now - p->begun_ns + 1));
}

static bool wall_over(const struct session *s, uint64_t begun_ns, uint64_t schedules)
{
    return s->options.max_wall_ns && schedules % 64 == 0 &&
           wall_monotonic_ns() - begun_ns > s->options.max_wall_ns;
}

/* Tries schedules one after the other until one fails; true then. */
static bool search(struct session *s, struct decider *decider, struct vitro_verdict *v)
{
    struct progress progress = {.on = s->options.progress && isatty(STDERR_FILENO)};
    bool more = true;

    if (progress.on || s->options.max_wall_ns)
        progress.begun_ns = wall_monotonic_ns();
    while (more && v->schedules + v->cut < s->options.schedules) {
        session_run(s, decider, &more);
        if (s->last.cut) {
            v->cut++;
            continue;
        }
        seen_add(&s->seen, s->last.fingerprint);
        v->index = v->schedules++;
        if (s->last.kind != VITRO_OK)
            return true;
        progress_show(&progress, s, v->schedules);
        if (wall_over(s, progress.begun_ns, v->schedules))
            break;
    }
    if (progress.on)
        (void)fputs("\r\033[K", stderr);
    v->complete = !more && !decider->incomplete;
    return false;
}

/* 1 - 1/(n k^(d-1)) to the power of the runs. */
static double pct_miss(const struct session *s, const struct vitro_verdict *v)
{
    double n = s->sched->core.task_count, k = (double)s->sched->core.decision_count;

    if (s->options.strategy != VITRO_PCT || n < 1)
        return 1;
    return pow(1 - 1 / (n * pow(k < 1 ? 1 : k, s->options.depth - 1)), (double)v->schedules);
}

static void found(struct session *s, struct decisions *decisions, const char *strategy,
                  struct vitro_verdict *v)
{
    struct run failure = s->last;
    CLEANUP(buf_done) struct buf words = {0};

    failure.error = mem_dup(s->last.error);
    v->kind = failure.kind;
    v->result = failure.result;
    v->strategy = strategy;
    v->error = failure.error;
    v->preemptions = v->preemptions_before = failure.preemptions;
    v->schedule = report_schedule(s, strategy, &failure);
    if (!s->options.no_selfcheck && !selfcheck(s, decisions, &words)) {
        v->kind = VITRO_NONDETERMINISM;
        free(v->error);
        v->error = buf_take(&words);
    } else if (!s->options.no_shrink) {
        shrink(s, decisions, &failure, &v->minimal);
    }
    report_failure(s, decisions, v);
}

static void finish(struct session *s, struct vitro_verdict *v, const struct decider *decider)
{
    v->distinct = s->seen.count;
    v->steps = s->steps;
    v->seed = s->options.seed;
    v->miss = pct_miss(s, v);
    if (s->options.strategy == VITRO_DPOR && decider_dpor_trouble(decider)) {
        v->complete = false;
        if (v->kind == VITRO_OK) {
            v->kind = VITRO_ERROR;
            v->error = mem_format("the search gave up: %s", decider_dpor_trouble(decider));
        }
    }
    if (v->kind == VITRO_OK || !v->report)
        report_ok(s, v);
}

static struct vitro_verdict run_search(vitro_fn fn, void *arg,
                                       const struct vitro_check_options *options, bool prove)
{
    struct vitro_verdict v = {0};
    struct session s;
    const char *replayed = args_schedule(options->name ? options->name : "test");

    if (replayed && *replayed) {
        struct vitro_replay_options replay = {.check = *options};
        return vitro_replay_with(fn, arg, replayed, &replay);
    }
    session_init(&s, fn, arg, options, prove);
    CLEANUP(decider_free) struct decider *decider = session_decider(&s);
    struct decisions decisions = {0};
    if (replayed) { /* another test is replayed */
        s.options.schedules = 0;
    } else if (s.options.workers > 1 || s.options.isolate) {
        struct worker_failure failure = {0};
        if (workers_run(&s, decider, &v, &failure) == 0 && failure.found) {
            decisions = failure.decisions;
            v.index = failure.index;
            session_fails_like(&s, decisions.list, decisions.count, &s.last);
            s.last.kind = failure.kind;
            s.last.result = failure.result;
            found(&s, &decisions, decider_at_work(decider)->name, &v);
        }
    } else if (search(&s, decider, &v)) {
        decisions = decisions_copy(&s.sched->core);
        found(&s, &decisions, decider_at_work(decider)->name, &v);
    }
    finish(&s, &v, decider);
    decisions_done(&decisions);
    session_done(&s);
    return v;
}

struct vitro_verdict vitro_check_with(vitro_fn fn, void *arg,
                                      const struct vitro_check_options *options)
{
    return run_search(fn, arg, options, false);
}

struct vitro_verdict vitro_prove_with(vitro_fn fn, void *arg,
                                      const struct vitro_check_options *options)
{
    return run_search(fn, arg, options, true);
}

/* ---- replay and shrink */

static struct vitro_verdict replay(vitro_fn fn, void *arg, const char *schedule,
                                   const struct vitro_check_options *options, bool tolerant,
                                   bool make_small)
{
    struct vitro_verdict v = {.schedules = 1};
    struct session s;
    struct err err = {0};

    session_init(&s, fn, arg, options, false);
    CLEANUP(decider_free) struct decider *decider = decider_schedule_new(schedule, tolerant, &err);
    if (!decider) {
        v.kind = VITRO_DIVERGED;
        v.error = mem_dup(err.text);
        v.report = mem_format("%s\n", err.text);
        session_done(&s);
        return v;
    }
    session_run(&s, decider, NULL);
    const char *trouble = decider_schedule_trouble(decider);
    struct decisions decisions = decisions_copy(&s.sched->core);
    s.options.no_selfcheck = true;
    s.options.no_shrink = !make_small;
    seen_add(&s.seen, s.last.fingerprint);
    size_t unused = decider_schedule_unused(decider);
    if (!tolerant && s.last.kind == VITRO_OK && unused) {
        s.last.kind = VITRO_DIVERGED;
        v.error = mem_format("the run ended well, with %zu decision%s of the schedule not used",
                             unused, unused == 1 ? "" : "s");
    }
    if (s.last.kind != VITRO_OK && s.last.kind != VITRO_DIVERGED)
        found(&s, &decisions, "replay", &v);
    v.kind = s.last.kind == VITRO_DIVERGED ? VITRO_DIVERGED : v.kind;
    v.result = v.kind == VITRO_OK ? s.last.result : v.result;
    if (*trouble && !v.error)
        v.error = mem_dup(trouble);
    if (v.kind == VITRO_DIVERGED)
        v.report = mem_format("%s: diverged from the schedule: %s\n", s.options.name,
                              v.error ? v.error : "");
    sched_reset(s.sched, decider_fifo_new(), false);
    finish(&s, &v, NULL);
    decisions_done(&decisions);
    session_done(&s);
    return v;
}

struct vitro_verdict vitro_replay_with(vitro_fn fn, void *arg, const char *schedule,
                                       const struct vitro_replay_options *options)
{
    return replay(fn, arg, schedule, &options->check, options->tolerant, false);
}

struct vitro_verdict vitro_shrink_with(vitro_fn fn, void *arg, const char *schedule,
                                       const struct vitro_check_options *options)
{
    return replay(fn, arg, schedule, options, false, true);
}

void vitro_verdict_done(struct vitro_verdict *v)
{
    free(v->error);
    free(v->schedule);
    free(v->shrunk);
    free(v->lanes);
    free(v->report);
    *v = (struct vitro_verdict){0};
}
