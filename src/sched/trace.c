/* SPDX-License-Identifier: MIT */
/* The trace of a run: what was queued, fired, chosen and run, in order. Full, or the last so many.
 */
#include "sched/sched.h"
#include "sched/trace.h"
#include <stdlib.h>

static const char *const lanes[] = {"default", "cpu", "blk"};

struct trace *trace_new(enum vitro_trace_mode mode, size_t ring)
{
    struct trace *trace = mem_alloc(sizeof *trace);

    if (mode == VITRO_TRACE_RING) {
        trace->limit = ring ? ring : 4096;
        trace->capacity = trace->limit;
        trace->events = mem_alloc(trace->capacity * sizeof *trace->events);
    }
    return trace;
}

struct trace *trace_free(struct trace *trace)
{
    if (trace) {
        free(trace->events);
        buf_done(&trace->text);
    }
    free(trace);
    return NULL;
}

void trace_clear(struct trace *trace)
{
    trace->count = trace->first = 0;
}

void trace_add(vitro_sched *sched, enum vitro_event_kind event, const vitro_task *task, uint32_t id,
               uint64_t at_ns, uint32_t count)
{
    struct trace *trace = sched->trace;

    if (sched->core.quiet)
        return;
    if (!trace->limit && trace->count == trace->capacity) {
        trace->capacity = trace->capacity ? trace->capacity * 2 : 256;
        trace->events = mem_grow(trace->events, trace->capacity * sizeof *trace->events);
    }
    size_t at = trace->count;
    if (trace->limit && trace->count == trace->limit) {
        at = trace->first;
        trace->first = (trace->first + 1) % trace->limit;
    } else {
        at = trace->count++;
    }
    trace->events[at] = (struct trace_record){
        .now_ns = sched->now_ns,
        .at_ns = at_ns,
        .where = task ? task->core.op.where : NULL,
        .id = id,
        .task = task ? task->core.id : 0,
        .object = task ? task->core.op.object : 0,
        .count = count,
        .event = (uint8_t)event,
        .op = task ? task->core.op.kind : 0,
        .lane = task ? task->lane : 0,
    };
}

size_t vitro_trace_count(const vitro_sched *sched)
{
    return sched->trace ? sched->trace->count : 0;
}

const struct trace_record *trace_at(const struct trace *trace, size_t index)
{
    return &trace->events[trace->limit ? (trace->first + index) % trace->capacity : index];
}

bool vitro_trace_at(vitro_sched *sched, size_t index, struct vitro_trace_event *ret)
{
    struct trace *trace = sched->trace;

    if (!trace || index >= trace->count)
        return false;
    const struct trace_record *r = trace_at(trace, index);
    buf_clear(&trace->text);
    if (r->task)
        core_add_name(&sched->core, r->task, &trace->text);
    *ret = (struct vitro_trace_event){
        .event = r->event,
        .id = r->id,
        .task = r->task,
        .now_ns = r->now_ns,
        .at_ns = r->at_ns,
        .count = r->count,
        .object = r->object & CORE_TASK_OBJECT ? 0 : r->object,
        .kind = op_name(r->op),
        .label = buf_text(&trace->text),
        .lane = lanes[r->lane],
        .where = r->where,
    };
    return true;
}
