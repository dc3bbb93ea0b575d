/* SPDX-License-Identifier: MIT */
/* Does the same schedule give the same run? Twice more: once as before, and once with stacks and
 * heap elsewhere. What differs in both comes from outside (a clock, chance, state left behind);
 * what differs only in the second comes from addresses (also: the order of a table hashed by
 * pointer). */
#include "sched/explore.h"
#include "base/text.h"
#include <stdlib.h>
#include <string.h>

struct stream { /* the steps of a run */
    struct core_step *steps;
    const char **names; /* of their objects: numbers alone may agree by accident */
    size_t count;
    int result;
    enum vitro_kind kind;
};

static struct stream record(struct session *s, const struct decisions *decisions, bool moved)
{
    struct core *core = &s->sched->core;

    if (s->sched->zombie)
        stack_give(s->sched->zombie);
    s->sched->zombie = NULL;
    stack_pool_sort(moved);
    core->logging = true;
    session_play(s, decisions->list, decisions->count);
    core->logging = false;
    struct stream stream = {
        .count = core->log_count, .result = s->last.result, .kind = s->last.kind};
    stream.steps = mem_alloc((stream.count + 1) * sizeof *stream.steps);
    stream.names = mem_alloc((stream.count + 1) * sizeof *stream.names);
    if (stream.count)
        memcpy(stream.steps, core->log, stream.count * sizeof *stream.steps);
    for (size_t i = 0; i < stream.count; i++) {
        uint32_t object = stream.steps[i].op.object;
        if (object != CORE_MEMORY && !(object & CORE_TASK_OBJECT))
            stream.names[i] = s->sched->infos[object].name;
    }
    return stream;
}

static void stream_done(struct stream *stream)
{
    free(stream->steps);
    free(stream->names);
}

static bool step_equal(const struct stream *x, const struct stream *y, size_t i)
{
    const struct core_step *a = &x->steps[i], *b = &y->steps[i];

    return text_equal(x->names[i], y->names[i]) && a->task == b->task && a->op.kind == b->op.kind &&
           a->op.object == b->op.object && a->op.where == b->op.where;
}

static void add_step(const vitro_sched *sched, const struct stream *stream, size_t i,
                     struct buf *buf)
{
    if (i >= stream->count) {
        buf_adds(buf, "nothing more");
        return;
    }
    const struct core_step *step = &stream->steps[i];
    buf_adds(buf, "task '");
    core_add_name(&sched->core, step->task, buf);
    buf_addf(buf, "' %s ", op_name(step->op.kind));
    if (stream->names[i])
        buf_addf(buf, "'%s'", stream->names[i]);
    else
        object_add_name(sched, step->op.object, buf);
    if (step->op.where)
        buf_addf(buf, " at %s", step->op.where);
}

/* The number of the first step that differs; SIZE_MAX when the runs are alike. */
static size_t first_difference(const struct stream *a, const struct stream *b)
{
    size_t i = 0;

    while (i < a->count && i < b->count && step_equal(a, b, i))
        i++;
    if (i < a->count || i < b->count)
        return i;
    return a->result == b->result && a->kind == b->kind ? SIZE_MAX : i;
}

static void explain(const vitro_sched *sched, const struct stream *a, const struct stream *b,
                    const char *cause, struct buf *words)
{
    size_t at = first_difference(a, b);

    buf_adds(words, "the same schedule gives different runs");
    if (at < a->count || at < b->count) {
        buf_addf(words, "\nfirst difference at step %zu:\n  once   ", at + 1);
        add_step(sched, a, at, words);
        buf_adds(words, "\n  again  ");
        add_step(sched, b, at, words);
    } else {
        buf_addf(words, "\nall steps are alike, but the result is %d once and %d again", a->result,
                 b->result);
    }
    buf_addf(words, "\n%s", cause);
}

bool selfcheck(struct session *s, const struct decisions *decisions, struct buf *words)
{
    if (s->options.isolate)
        return true; /* every run has a process of its own */
    struct stream first = record(s, decisions, false), again = record(s, decisions, false);
    bool alike = first_difference(&first, &again) == SIZE_MAX;
    if (!alike) {
        explain(s->sched, &first, &again,
                "the program depends on something outside: a real clock, chance of its own, or "
                "state that an earlier run left behind",
                words);
    } else {
        /* Other stacks, and a heap with other holes. */
        void *holes[64];
        for (size_t i = 0; i < ARRAY_LENGTH(holes); i++)
            holes[i] = malloc(24 + i * 40);
        for (size_t i = 0; i < ARRAY_LENGTH(holes); i += 2)
            free(holes[i]);
        struct stream moved = record(s, decisions, true);
        for (size_t i = 1; i < ARRAY_LENGTH(holes); i += 2)
            free(holes[i]);
        alike = first_difference(&first, &moved) == SIZE_MAX;
        if (!alike)
            explain(s->sched, &first, &moved,
                    "the program depends on addresses: it compares or hashes pointers, or goes "
                    "through a table in the order of their hashes",
                    words);
        stream_done(&moved);
    }
    stream_done(&first);
    stream_done(&again);
    return alike;
}
