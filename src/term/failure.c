/* SPDX-License-Identifier: MIT */
/* failure: everything a person needs to see why an expectation failed, in one text. No real time is
 * in the summary; equal failures have equal summaries. */
#include "term/term_internal.h"
#include "box/settle.h"
#include "base/text.h"
#include "base/wall.h"
#include "base/when.h"
#include <errno.h>
#include <stdarg.h>
#include <string.h>

enum { BYTES_SHOWN = 400, INPUTS_SHOWN = 8 };

static void forget(vitro_term *t)
{
    buf_clear(&t->failure_summary);
    buf_clear(&t->failure_text);
    t->failure = (struct vitro_term_failure){.summary = "", .text = ""};
}

static void clean(struct buf *text)
{
    struct buf cleaned = {0};

    utf8_add_clean(&cleaned, buf_text(text), text->length);
    buf_done(text);
    *text = cleaned;
}

static void publish(vitro_term *t, enum vitro_term_why why, int code)
{
    clean(&t->failure_summary);
    clean(&t->failure_text);
    t->failure.why = why;
    t->failure.code = code;
    t->failure.summary = buf_text(&t->failure_summary);
    t->failure.text = buf_text(&t->failure_text);
}

const struct vitro_term_failure *vitro_term_failure(vitro_term *t)
{
    static const struct vitro_term_failure none = {
        .why = VITRO_TERM_USAGE,
        .code = -EINVAL,
        .summary = "there is no session: NULL was given",
        .text = "there is no session: NULL was given\n"
                "hint: vitro_term_open returned it, and its error says why\n",
    };

    if (!t)
        return &none;
    if (!t->failure.text)
        forget(t);
    return &t->failure;
}

int term_misuse(vitro_term *t, int code, const char *format, ...)
{
    va_list args;

    forget(t);
    va_start(args, format);
    buf_addv(&t->failure_summary, format, args);
    va_end(args);
    buf_adds(&t->failure_text, buf_text(&t->failure_summary));
    buf_addc(&t->failure_text, '\n');
    publish(t, VITRO_TERM_USAGE, code);
    return code;
}

static void add_bar(struct buf *buf, unsigned cols, const char *left, const char *right)
{
    buf_adds(buf, left);
    for (unsigned i = 0; i < cols; i++)
        buf_adds(buf, "─");
    buf_adds(buf, right);
    buf_addc(buf, '\n');
}

static bool row_is_empty(struct screen *screen, unsigned row)
{
    CLEANUP(buf_done) struct buf text = {0};

    screen_row_text(screen, row, &text, NULL);
    return buf_text(&text)[strspn(buf_text(&text), " ")] == '\0';
}

void term_add_frame(struct buf *buf, struct screen *screen)
{
    struct vitro_term_state state = {0};

    screen_state(screen, &state);
    buf_addf(buf, "screen, %u rows of %u, cursor at row %u column %u%s", state.rows, state.cols,
             state.cursor_row, state.cursor_col, state.cursor_visible ? "" : " (hidden)");
    if (state.alternate)
        buf_adds(buf, ", alternate");
    if (*state.title) {
        buf_adds(buf, ", title \"");
        text_add_escaped(buf, state.title, strlen(state.title));
        buf_addc(buf, '"');
    }
    buf_addc(buf, '\n');
    add_bar(buf, state.cols, "  ┌", "┐");
    unsigned last = state.rows;
    while (last > state.cursor_row && row_is_empty(screen, last))
        last--;
    for (unsigned row = 1; row <= last; row++) {
        bool here = row == state.cursor_row;
        buf_adds(buf, here ? "> │" : "  │");
        screen_row_text(screen, row, buf, NULL);
        buf_adds(buf, "│\n");
        if (here && state.cursor_visible)
            buf_addf(buf, "  │%*s^%*s│\n", (int)state.cursor_col - 1, "",
                     (int)(state.cols - state.cursor_col), "");
    }
    add_bar(buf, state.cols, "  └", "┘");
    if (last < state.rows)
        buf_addf(buf, "  and %u empty row%s\n", state.rows - last,
                 state.rows - last == 1 ? "" : "s");
}

static void add_last_bytes(struct buf *buf, const struct log *log)
{
    size_t from = log->stream.length > BYTES_SHOWN ? log->stream.length - BYTES_SHOWN : 0;

    buf_addf(buf, "output, the last %zu of %zu bytes\n  \"", log->stream.length - from,
             log->stream.length);
    text_add_escaped(buf, log->stream.data ? log->stream.data + from : "",
                     log->stream.length - from);
    buf_adds(buf, "\"\n");
}

static void add_inputs(struct buf *buf, const struct log *log)
{
    size_t shown = 0, from = log->count;

    while (from && shown < INPUTS_SHOWN)
        shown += log->events[--from].kind != LOG_FRAME;
    if (!shown)
        return;
    buf_adds(buf, "the last inputs\n");
    for (size_t i = from; i < log->count; i++) {
        const struct log_event *event = &log->events[i];
        if (event->kind == LOG_FRAME)
            continue;
        buf_adds(buf, "  ");
        when_add_duration(buf, event->virtual_ns);
        if (event->kind == LOG_SIZE) {
            buf_addf(buf, "  size %u rows of %u\n", event->rows, event->cols);
            continue;
        }
        buf_adds(buf, event->kind == LOG_MARK ? "  mark \"" : "  \"");
        text_add_escaped(buf, log->texts.data + event->text_at,
                         event->text_length < 200 ? event->text_length : 200);
        buf_addf(buf, "\"%s\n", event->text_length < 200 ? "" : " ...");
    }
}

static void add_world(vitro_term *t, struct buf *buf)
{
    CLEANUP(buf_done) struct buf blocked = {0}, pending = {0};

    if (t->still)
        return;
    if (t->ended) {
        buf_addf(buf, "the program has ended, exit code %d\n", t->exit_code);
        if (t->findings.text && *t->findings.text)
            buf_addf(buf, "  %s\n", t->findings.text);
        return;
    }
    if (drive_describe(t, &blocked, &pending) < 0)
        return;
    if (pending.length)
        buf_addf(buf, "due\n%s", buf_text(&pending));
    else if (t->flags & SETTLE_HELD)
        buf_adds(buf, "nothing is due\n");
    if (blocked.length)
        buf_addf(buf, "processes\n%s", buf_text(&blocked));
}

static void add_story(vitro_term *t, struct buf *buf)
{
    if (!t->still)
        add_last_bytes(buf, &t->log);
    term_add_frame(buf, term_screen(t));
    add_inputs(buf, &t->log);
    add_world(t, buf);
}

int term_fail(vitro_term *t, enum vitro_term_why why, int code, const struct term_wait *wait,
              const char *format, ...)
{
    struct buf *text = &t->failure_text;
    va_list args;

    forget(t);
    va_start(args, format);
    buf_addv(&t->failure_summary, format, args);
    va_end(args);
    buf_addf(text, "%s\n", buf_text(&t->failure_summary));
    if (wait) {
        t->failure.virtual_ns = t->elapsed_ns - wait->started_ns;
        t->failure.real_ns = wall_monotonic_ns() - wait->real_started_ns;
        buf_adds(text, "waited ");
        when_add_duration(text, t->failure.virtual_ns);
        buf_adds(text, " of at most ");
        when_add_duration(text, wait->budget_ns);
        buf_addf(text, " virtual, %llu ms of at most %llu s real; the session's clock shows ",
                 (unsigned long long)(t->failure.real_ns / NS_PER_MS),
                 (unsigned long long)((wait->ceiling_ns + NS_PER_SEC - 1) / NS_PER_SEC));
        when_add(text, t->now_ns);
        buf_addc(text, '\n');
    }
    add_story(t, text);
    publish(t, why, code);
    return code;
}

void term_fail_hint(vitro_term *t, const char *words)
{
    buf_addf(&t->failure_text, "hint: %s\n", words);
    t->failure.text = buf_text(&t->failure_text);
}

char *vitro_term_dump(vitro_term *t)
{
    if (!t)
        return NULL;
    struct buf text = {0};

    buf_adds(&text, "the session's clock shows ");
    when_add(&text, t->now_ns);
    buf_adds(&text, ", ");
    when_add_duration(&text, t->elapsed_ns);
    buf_adds(&text, " since its start\n");
    add_story(t, &text);
    return buf_take(&text);
}
