/* SPDX-License-Identifier: MIT */
/* cast: a session as an asciicast, version 2 (absolute times) or 3 (intervals). Times are virtual;
 * output is one event a frame; strings are whole UTF-8, a character that is cut goes with the next
 * output, what is none is U+FFFD. */
#include "term/term_internal.h"
#include "base/json.h"
#include "base/text.h"
#include "base/when.h"
#include <errno.h>
#include <string.h>

struct cast {
    struct buf *out;
    int version;
    uint64_t last_us;
    struct buf held; /* output that waits for the rest of a character */
};

/* How many bytes at the end may be the beginning of a character. */
static size_t cut_tail(const char *bytes, size_t length)
{
    for (size_t back = 1; back <= 3 && back <= length; back++) {
        unsigned char c = (unsigned char)bytes[length - back];
        size_t need = c >= 0xf0 && c < 0xf8 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;
        if (c >= 0xc0)
            return c < 0xf8 && need > back ? back : 0;
        if (c < 0x80)
            return 0;
    }
    return 0;
}

static void add_clean(struct buf *buf, const char *bytes, size_t length)
{
    for (size_t at = 0; at < length;) {
        size_t run = at;
        while (run < length && (unsigned char)bytes[run] < 0x80)
            run++;
        buf_add(buf, bytes + at, run - at);
        at = run;
        if (at == length)
            return;
        unsigned char c = (unsigned char)bytes[at];
        size_t need = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;
        bool good = need > 1 && need <= length - at && text_is_utf8(bytes + at, need);
        buf_add(buf, good ? bytes + at : "\xef\xbf\xbd", good ? need : 3);
        at += good ? need : 1;
    }
}

static void add_event(struct cast *cast, uint64_t ns, char code, const char *text, size_t length)
{
    CLEANUP(buf_done) struct buf clean = {0};
    uint64_t us = ns / NS_PER_US, shown = cast->version == 3 ? us - cast->last_us : us;

    add_clean(&clean, text, length);
    buf_addf(cast->out, "[%llu.%06llu, \"%c\", ", (unsigned long long)(shown / 1000000),
             (unsigned long long)(shown % 1000000), code);
    json_add_string(cast->out, buf_text(&clean), clean.length);
    buf_adds(cast->out, "]\n");
    cast->last_us = us;
}

static void add_output(struct cast *cast, uint64_t ns, const char *bytes, size_t length, bool last)
{
    buf_add(&cast->held, bytes, length);
    size_t tail = last ? 0 : cut_tail(buf_text(&cast->held), cast->held.length);
    if (cast->held.length > tail)
        add_event(cast, ns, 'o', cast->held.data, cast->held.length - tail);
    buf_drop(&cast->held, cast->held.length - tail);
}

static void add_header(struct cast *cast, const vitro_term *t)
{
    long long start = (long long)((t->now_ns - (int64_t)t->elapsed_ns) / (int64_t)NS_PER_SEC);

    if (cast->version == 2)
        buf_addf(cast->out,
                 "{\"version\": 2, \"width\": %u, \"height\": %u, \"timestamp\": %lld}\n",
                 t->log.cols, t->log.rows, start);
    else
        buf_addf(cast->out,
                 "{\"version\": 3, \"term\": {\"cols\": %u, \"rows\": %u}, \"timestamp\": %lld}\n",
                 t->log.cols, t->log.rows, start);
}

int cast_add(struct buf *buf, const vitro_term *t, int version, struct err *err)
{
    struct cast cast = {.out = buf, .version = version};
    const struct log *log = &t->log;
    size_t done = 0;

    if (version != 2 && version != 3)
        return err_set(err, -EINVAL, "asciicast version %d: 2 and 3 can be written", version);
    add_header(&cast, t);
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
    add_output(&cast, t->elapsed_ns, buf_text(&log->stream) + done, log->stream.length - done,
               true);
    if (t->ended && version == 3) {
        CLEANUP(mem_free) char *code = mem_format("%d", t->exit_code);
        add_event(&cast, t->elapsed_ns, 'x', code, strlen(code));
    }
    buf_done(&cast.held);
    return 0;
}
