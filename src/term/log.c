/* SPDX-License-Identifier: MIT */
/* log: what happened in a session, in order. */
#include "term/term_internal.h"

struct log_event *log_add(struct log *log, enum log_kind kind, uint64_t virtual_ns)
{
    if (log->count == log->capacity) {
        log->capacity = log->capacity ? 2 * log->capacity : 64;
        log->events = mem_grow(log->events, log->capacity * sizeof *log->events);
    }
    struct log_event *event = &log->events[log->count++];
    *event =
        (struct log_event){.kind = kind, .offset = log->stream.length, .virtual_ns = virtual_ns};
    log->frames += kind == LOG_FRAME;
    return event;
}

void log_add_text(struct log *log, enum log_kind kind, uint64_t virtual_ns, const void *bytes,
                  size_t length)
{
    struct log_event *event = log_add(log, kind, virtual_ns);

    event->text_at = log->texts.length;
    event->text_length = length;
    buf_add(&log->texts, bytes, length);
}

/* Bytes belong to the first frame that shows them. */
uint64_t log_time_of(const struct log *log, size_t offset, uint64_t now_ns)
{
    size_t low = 0, high = log->count;

    while (low < high) { /* the first event behind `offset` */
        size_t middle = low + (high - low) / 2;
        if (log->events[middle].offset > offset)
            high = middle;
        else
            low = middle + 1;
    }
    for (; low < log->count; low++)
        if (log->events[low].kind == LOG_FRAME)
            return log->events[low].virtual_ns;
    return now_ns;
}

void log_done(struct log *log)
{
    buf_done(&log->stream);
    buf_done(&log->texts);
    free(log->events);
    *log = (struct log){0};
}
