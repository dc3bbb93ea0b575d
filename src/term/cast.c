/* SPDX-License-Identifier: MIT */
/* cast: a session as an asciicast, version 2 (absolute times) or 3 (intervals). Times are virtual;
 * output is one event a frame; strings are whole UTF-8, a character that is cut goes with the next
 * output, what is none is U+FFFD. */
#include "term/term_internal.h"
#include "base/json.h"
#include "base/when.h"
#include <errno.h>
#include <string.h>

struct cast {
    struct buf *out;
    int version;
    uint64_t last_us;
    struct buf held; /* output that waits for the rest of a character */
};

static void add_event(struct cast *cast, uint64_t ns, char code, const char *text, size_t length)
{
    CLEANUP(buf_done) struct buf clean = {0};
    uint64_t us = ns / NS_PER_US, shown = cast->version == 3 ? us - cast->last_us : us;

    utf8_add_clean(&clean, text, length);
    buf_addf(cast->out, "[%llu.%06llu, \"%c\", ", (unsigned long long)(shown / 1000000),
             (unsigned long long)(shown % 1000000), code);
    json_add_string(cast->out, buf_text(&clean), clean.length);
    buf_adds(cast->out, "]\n");
    cast->last_us = us;
}

static void add_output(struct cast *cast, uint64_t ns, const char *bytes, size_t length, bool last)
{
    buf_add(&cast->held, bytes, length);
    size_t tail = last ? 0 : utf8_cut_tail(buf_text(&cast->held), cast->held.length);
    if (cast->held.length > tail)
        add_event(cast, ns, 'o', cast->held.data, cast->held.length - tail);
    buf_drop(&cast->held, cast->held.length - tail);
}

static void add_header(struct cast *cast, const struct log *log, const struct cast_meta *meta)
{
    if (cast->version == 2)
        buf_addf(cast->out,
                 "{\"version\": 2, \"width\": %u, \"height\": %u, \"timestamp\": %lld}\n",
                 log->cols, log->rows, (long long)meta->start_s);
    else
        buf_addf(cast->out,
                 "{\"version\": 3, \"term\": {\"cols\": %u, \"rows\": %u}, \"timestamp\": %lld}\n",
                 log->cols, log->rows, (long long)meta->start_s);
}

int cast_add(struct buf *buf, const struct log *log, const struct cast_meta *meta, int version,
             struct err *err)
{
    struct cast cast = {.out = buf, .version = version};
    size_t done = 0;

    if (version != 2 && version != 3)
        return err_set(err, -EINVAL, "asciicast version %d: 2 and 3 can be written", version);
    add_header(&cast, log, meta);
    for (size_t i = 0; i < log->count; i++) {
        const struct log_event *event = &log->events[i];
        CLEANUP(mem_free) char *size = mem_format("%ux%u", event->cols, event->rows);
        if (event->offset > done)
            add_output(&cast, event->virtual_ns, log->stream.data + done, event->offset - done,
                       false);
        done = event->offset;
        if (event->kind == LOG_SIZE)
            add_event(&cast, event->virtual_ns, 'r', size, strlen(size));
        else if (event->kind != LOG_FRAME)
            add_event(&cast, event->virtual_ns, event->kind == LOG_INPUT ? 'i' : 'm',
                      log->texts.data + event->text_at, event->text_length);
    }
    add_output(&cast, meta->end_ns, buf_text(&log->stream) + done, log->stream.length - done, true);
    if (meta->ended && version == 3) {
        CLEANUP(mem_free) char *code = mem_format("%d", meta->exit_code);
        add_event(&cast, meta->end_ns, 'x', code, strlen(code));
    }
    buf_done(&cast.held);
    return 0;
}
