/* SPDX-License-Identifier: MIT */
/* What can come out of a test: classes of outcomes, each with a count and its simplest schedule. */
#include "sched/explore.h"
#include <stdlib.h>
#include <string.h>

void vitro_outcome(const char *format, ...)
{
    vitro_task *task = task_here();
    va_list args;

    if (!task)
        return;
    buf_clear(&task->sched->outcome);
    va_start(args, format);
    buf_addv(&task->sched->outcome, format, args);
    va_end(args);
}

static void add_label(const struct session *s, struct buf *label)
{
    if (s->last.kind != VITRO_OK && s->last.kind != VITRO_PROPERTY && s->last.kind != VITRO_ERROR)
        buf_adds(label, vitro_kind_name(s->last.kind));
    else if (s->sched->outcome.length)
        buf_adds(label, s->sched->outcome.data);
    else
        buf_addf(label, "%d", s->last.result);
}

static struct vitro_outcome *find(struct vitro_outcomes *o, const char *label)
{
    for (size_t i = 0; i < o->count; i++)
        if (strcmp(o->list[i].label, label) == 0)
            return &o->list[i];
    o->list = mem_grow(o->list, (o->count + 1) * sizeof *o->list);
    o->list[o->count] = (struct vitro_outcome){.label = mem_dup(label)};
    return &o->list[o->count++];
}

static void count(struct session *s, struct vitro_outcomes *o)
{
    CLEANUP(buf_done) struct buf label = {0};

    add_label(s, &label);
    struct vitro_outcome *outcome = find(o, buf_text(&label));
    bool simpler = !outcome->count || s->last.preemptions < outcome->preemptions ||
                   (s->last.preemptions == outcome->preemptions && s->last.steps < outcome->steps);
    outcome->count++;
    outcome->result = s->last.result;
    outcome->kind = s->last.kind;
    if (!simpler)
        return;
    outcome->preemptions = s->last.preemptions;
    outcome->steps = s->last.steps;
    free(outcome->schedule);
    outcome->schedule = report_schedule(s, "explore", &s->last);
}

static int by_count(const void *a, const void *b)
{
    const struct vitro_outcome *x = a, *y = b;

    if (x->count != y->count)
        return x->count < y->count ? 1 : -1;
    return strcmp(x->label, y->label);
}

struct vitro_outcomes vitro_explore_with(vitro_fn fn, void *arg,
                                         const struct vitro_check_options *options)
{
    struct vitro_outcomes o = {0};
    struct session s;
    bool more = true;

    session_init(&s, fn, arg, options, options->strategy == VITRO_DPOR);
    CLEANUP(decider_free) struct decider *decider = session_decider(&s);
    while (more && o.schedules < s.options.schedules) {
        session_run(&s, decider, &more);
        if (s.last.cut)
            continue;
        o.schedules++;
        seen_add(&s.seen, s.last.fingerprint);
        count(&s, &o);
    }
    o.complete = !more && !decider->incomplete;
    o.distinct = s.seen.count;
    o.seed = s.options.seed;
    /* Good and Turing: what was seen once stands for what was not seen. */
    for (size_t i = 0; i < o.count; i++)
        o.unseen += o.list[i].count == 1;
    o.unseen = o.complete || !o.schedules ? 0 : o.unseen / (double)o.schedules;
    qsort(o.list, o.count, sizeof *o.list, by_count);
    sched_reset(s.sched, decider_fifo_new(), false);
    session_done(&s);
    return o;
}

void vitro_outcomes_done(struct vitro_outcomes *o)
{
    for (size_t i = 0; i < o->count; i++) {
        free(o->list[i].label);
        free(o->list[i].schedule);
    }
    free(o->list);
    *o = (struct vitro_outcomes){0};
}
