/* SPDX-License-Identifier: MIT */
/* The trace for others: lanes for people, a JSON array, JSON lines for a tape, and the trace-event
 * format that Chrome and Perfetto show. Members are sorted and numbers plain: equal runs give equal
 * bytes. */
#include "sched/sched.h"
#include "sched/trace.h"
#include "base/json.h"
#include <string.h>

static const char *const event_names[VITRO_EVENT_KINDS] = {
    [VITRO_EVENT_ENQUEUE] = "enqueue-microtask",
    [VITRO_EVENT_TIMER] = "enqueue-timer",
    [VITRO_EVENT_CANCEL_TIMER] = "cancel-timer",
    [VITRO_EVENT_PROMOTE] = "promote-timers",
    [VITRO_EVENT_RUN] = "run-microtask",
    [VITRO_EVENT_ADVANCE] = "advance-to",
    [VITRO_EVENT_SELECT] = "select-task",
    [VITRO_EVENT_TASK_START] = "task-start",
    [VITRO_EVENT_TASK_COMPLETE] = "task-complete",
    [VITRO_EVENT_CANCEL] = "cancel",
    [VITRO_EVENT_INTERRUPT_CLEARED] = "interrupt-cleared",
    [VITRO_EVENT_IDLE] = "idle-blocked",
};

static void add_string(struct buf *buf, const char *text)
{
    json_add_string(buf, text, strlen(text));
}

static bool has_deadline(unsigned event)
{
    return event == VITRO_EVENT_TIMER || event == VITRO_EVENT_CANCEL_TIMER ||
           event == VITRO_EVENT_ADVANCE || event == VITRO_EVENT_PROMOTE;
}

/* Members in the order of their names. */
static void add_json(vitro_sched *sched, size_t index, struct buf *buf)
{
    struct vitro_trace_event e;

    (void)vitro_trace_at(sched, index, &e);
    buf_addc(buf, '{');
    if (has_deadline(e.event))
        buf_addf(buf, "\"at_ns\":%llu,", (unsigned long long)e.at_ns);
    if (e.count)
        buf_addf(buf, "\"count\":%u,", e.count);
    buf_adds(buf, "\"event\":");
    add_string(buf, event_names[e.event]);
    if (e.id)
        buf_addf(buf, ",\"id\":%u", e.id);
    if (e.task) {
        buf_adds(buf, ",\"kind\":");
        add_string(buf, e.kind);
        buf_adds(buf, ",\"label\":");
        add_string(buf, e.label);
        buf_adds(buf, ",\"lane\":");
        add_string(buf, e.lane);
    }
    buf_addf(buf, ",\"now_ns\":%llu", (unsigned long long)e.now_ns);
    if (e.where) {
        buf_adds(buf, ",\"where\":");
        add_string(buf, e.where);
    }
    buf_addc(buf, '}');
}

/* One record of a tape: seq, virtual time, kind, payload. */
static void add_tape(vitro_sched *sched, size_t index, struct buf *buf)
{
    struct vitro_trace_event e;

    (void)vitro_trace_at(sched, index, &e);
    buf_adds(buf, "{\"kind\":\"sched_choice\",\"payload\":");
    add_json(sched, index, buf);
    buf_addf(buf, ",\"seq\":%zu,\"virtual_time\":%llu}\n", index + 1, (unsigned long long)e.now_ns);
}

static void add_text(vitro_sched *sched, size_t index, struct buf *buf)
{
    struct vitro_trace_event e;

    (void)vitro_trace_at(sched, index, &e);
    buf_addf(buf, "%12llu.%06llu  %-18s", (unsigned long long)(e.now_ns / 1000000),
             (unsigned long long)(e.now_ns % 1000000), event_names[e.event]);
    if (e.task)
        buf_addf(buf, " %-16s %s", e.label, e.kind);
    if (has_deadline(e.event))
        buf_addf(buf, " -> %llu.%06llu", (unsigned long long)(e.at_ns / 1000000),
                 (unsigned long long)(e.at_ns % 1000000));
    if (e.where)
        buf_addf(buf, "  (%s)", e.where);
    buf_addc(buf, '\n');
}

/* A slice for every step; steps take no virtual time, so each is drawn one unit wide after the one
 * before. */
static void add_chrome(vitro_sched *sched, struct buf *buf)
{
    uint64_t tick = 0;
    bool first = true;

    buf_adds(buf, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
    for (size_t i = 0; i < vitro_trace_count(sched); i++) {
        struct vitro_trace_event e;
        (void)vitro_trace_at(sched, i, &e);
        if (e.event == VITRO_EVENT_TASK_START) {
            buf_addf(buf, "%s\n{\"args\":{\"name\":", first ? "" : ",");
            add_string(buf, e.label);
            buf_addf(buf, "},\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":1,\"tid\":%u}", e.task);
            first = false;
        }
        if (e.event != VITRO_EVENT_RUN)
            continue;
        uint64_t at = e.now_ns / 1000 > tick ? e.now_ns / 1000 : tick;
        tick = at + 1;
        buf_addf(buf, "%s\n{\"args\":{\"now_ns\":%llu},\"dur\":1,\"name\":", first ? "" : ",",
                 (unsigned long long)e.now_ns);
        add_string(buf, e.kind);
        buf_addf(buf, ",\"ph\":\"X\",\"pid\":1,\"tid\":%u,\"ts\":%llu}", e.task,
                 (unsigned long long)at);
        first = false;
    }
    buf_adds(buf, "\n]}\n");
}

char *vitro_trace_export(vitro_sched *sched, enum vitro_trace_format format)
{
    struct buf buf = {0};
    size_t count = vitro_trace_count(sched);

    switch (format) {
    case VITRO_TRACE_CHROME:
        add_chrome(sched, &buf);
        break;
    case VITRO_TRACE_JSON:
        buf_addc(&buf, '[');
        for (size_t i = 0; i < count; i++) {
            buf_adds(&buf, i ? ",\n" : "\n");
            add_json(sched, i, &buf);
        }
        buf_adds(&buf, "\n]\n");
        break;
    case VITRO_TRACE_TAPE:
        for (size_t i = 0; i < count; i++)
            add_tape(sched, i, &buf);
        break;
    case VITRO_TRACE_TEXT:
        for (size_t i = 0; i < count; i++)
            add_text(sched, i, &buf);
        break;
    }
    buf_adds(&buf, "");
    return buf_take(&buf);
}
