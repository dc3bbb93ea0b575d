/* SPDX-License-Identifier: MIT */
/* snapshot: a screen as bytes that stay the same: text, text with styles, escape sequences, JSON.
 */
#include "term/term_internal.h"
#include "base/json.h"
#include "base/when.h"
#include <errno.h>
#include <string.h>

/* ---- styles in words ----------------------------------------------------------------------- */

static void add_colour(struct buf *buf, const char *which, const struct vitro_term_colour *colour)
{
    static const char *const names[] = {"black", "red",     "green", "yellow",
                                        "blue",  "magenta", "cyan",  "white"};

    if (colour->kind == VITRO_TERM_DEFAULT)
        return;
    buf_addf(buf, " %s=", which);
    if (colour->kind == VITRO_TERM_RGB)
        buf_addf(buf, "#%02x%02x%02x", colour->red, colour->green, colour->blue);
    else if (colour->index < 16)
        buf_addf(buf, "%s%s", colour->index < 8 ? "" : "bright-", names[colour->index % 8]);
    else
        buf_addf(buf, "%u", colour->index);
}

/* " bold fg=red", or "" for a plain cell; as style_parse reads it. */
void snapshot_add_style(struct buf *buf, const struct vitro_term_cell *cell)
{
    static const struct {
        unsigned bit;
        const char *name;
    } names[] = {{VITRO_TERM_BOLD, "bold"},
                 {VITRO_TERM_FAINT, "faint"},
                 {VITRO_TERM_HIDDEN, "hidden"},
                 {VITRO_TERM_ITALIC, "italic"},
                 {VITRO_TERM_BLINK, "blink"},
                 {VITRO_TERM_REVERSE, "reverse"},
                 {VITRO_TERM_STRIKE, "strike"},
                 {VITRO_TERM_DOUBLE_UNDERLINE, "double-underline"},
                 {VITRO_TERM_CURLY_UNDERLINE, "curly-underline"}};

    for (size_t i = 0; i < ARRAY_LENGTH(names); i++)
        if (cell->attributes & names[i].bit)
            buf_addf(buf, " %s", names[i].name);
    if (cell->attributes & VITRO_TERM_UNDERLINE &&
        !(cell->attributes & (VITRO_TERM_DOUBLE_UNDERLINE | VITRO_TERM_CURLY_UNDERLINE)))
        buf_adds(buf, " underline");
    add_colour(buf, "fg", &cell->fg);
    add_colour(buf, "bg", &cell->bg);
}

bool snapshot_same_style(const struct vitro_term_cell *a, const struct vitro_term_cell *b)
{
    return a->attributes == b->attributes && memcmp(&a->fg, &b->fg, sizeof a->fg) == 0 &&
           memcmp(&a->bg, &b->bg, sizeof a->bg) == 0;
}

bool snapshot_is_plain(const struct vitro_term_cell *cell)
{
    return !cell->attributes && cell->fg.kind == VITRO_TERM_DEFAULT &&
           cell->bg.kind == VITRO_TERM_DEFAULT;
}

/* ---- runs ---------------------------------------------------------------------------------- */

bool snapshot_next_run(struct screen *screen, unsigned row, unsigned cols, unsigned from,
                       struct snapshot_run *ret)
{
    struct vitro_term_cell cell;

    if (from > cols)
        return false;
    (void)screen_cell(screen, row, from, &ret->cell);
    ret->from = ret->to = from;
    buf_clear(&ret->text);
    buf_adds(&ret->text, *ret->cell.text ? ret->cell.text : ret->cell.width ? " " : "");
    for (unsigned col = from + 1; col <= cols; col++) {
        (void)screen_cell(screen, row, col, &cell);
        if (cell.width && !snapshot_same_style(&cell, &ret->cell))
            break;
        ret->to = col;
        if (cell.width)
            buf_adds(&ret->text, *cell.text ? cell.text : " ");
    }
    return true;
}

static void trim(struct buf *buf, size_t start)
{
    size_t length = buf->length;

    while (length > start && buf->data[length - 1] == ' ')
        length--;
    buf_cut(buf, length);
}

static void add_text(struct buf *buf, struct screen *screen, unsigned rows)
{
    size_t end = buf->length;

    for (unsigned row = 1; row <= rows; row++) {
        size_t start = buf->length;
        screen_row_text(screen, row, buf, NULL);
        trim(buf, start);
        if (buf->length > start)
            end = buf->length + 1;
        buf_addc(buf, '\n');
    }
    buf_cut(buf, end);
}

static void add_styles(struct buf *buf, struct screen *screen, const struct vitro_term_state *state)
{
    struct snapshot_run run = {0};

    buf_adds(buf, "-- styles\n");
    for (unsigned row = 1; row <= state->rows; row++)
        for (unsigned col = 1; snapshot_next_run(screen, row, state->cols, col, &run);
             col = run.to + 1) {
            if (snapshot_is_plain(&run.cell))
                continue;
            buf_addf(buf, "%u:%u-%u", row, run.from, run.to);
            snapshot_add_style(buf, &run.cell);
            buf_addc(buf, '\n');
        }
    buf_done(&run.text);
    buf_addf(buf, "-- cursor %u:%u%s\n", state->cursor_row, state->cursor_col,
             state->cursor_visible ? "" : " hidden");
    if (state->alternate)
        buf_adds(buf, "-- alternate screen\n");
    if (*state->title)
        buf_addf(buf, "-- title %s\n", state->title);
}

/* ---- escape sequences ---------------------------------------------------------------------- */

static void add_sgr_colour(struct buf *buf, int base, const struct vitro_term_colour *colour)
{
    if (colour->kind == VITRO_TERM_RGB)
        buf_addf(buf, ";%d;2;%u;%u;%u", base + 8, colour->red, colour->green, colour->blue);
    else if (colour->kind == VITRO_TERM_INDEXED && colour->index < 8)
        buf_addf(buf, ";%d", base + colour->index);
    else if (colour->kind == VITRO_TERM_INDEXED && colour->index < 16)
        buf_addf(buf, ";%d", base + 60 + colour->index - 8);
    else if (colour->kind == VITRO_TERM_INDEXED)
        buf_addf(buf, ";%d;5;%u", base + 8, colour->index);
}

static void add_sgr(struct buf *buf, const struct vitro_term_cell *cell)
{
    static const struct {
        unsigned bit;
        int code;
    } codes[] = {{VITRO_TERM_BOLD, 1},      {VITRO_TERM_FAINT, 2}, {VITRO_TERM_ITALIC, 3},
                 {VITRO_TERM_UNDERLINE, 4}, {VITRO_TERM_BLINK, 5}, {VITRO_TERM_REVERSE, 7},
                 {VITRO_TERM_HIDDEN, 8},    {VITRO_TERM_STRIKE, 9}};

    buf_adds(buf, "\033[0");
    for (size_t i = 0; i < ARRAY_LENGTH(codes); i++)
        if (cell->attributes & codes[i].bit)
            buf_addf(buf, ";%d", codes[i].code);
    add_sgr_colour(buf, 30, &cell->fg);
    add_sgr_colour(buf, 40, &cell->bg);
    buf_addc(buf, 'm');
}

static void add_ansi(struct buf *buf, struct screen *screen, const struct vitro_term_state *state)
{
    struct snapshot_run run = {0};
    size_t end = buf->length;

    for (unsigned row = 1; row <= state->rows; row++) {
        size_t start = buf->length;
        for (unsigned col = 1; snapshot_next_run(screen, row, state->cols, col, &run);
             col = run.to + 1) {
            bool plain = snapshot_is_plain(&run.cell);
            if (!plain)
                add_sgr(buf, &run.cell);
            buf_add(buf, run.text.data, run.text.length);
            if (plain && run.to == state->cols)
                trim(buf, start);
            if (!plain)
                buf_adds(buf, "\033[0m");
        }
        if (buf->length > start)
            end = buf->length + 1;
        buf_addc(buf, '\n');
    }
    buf_cut(buf, end);
    buf_done(&run.text);
}

/* ---- JSON ---------------------------------------------------------------------------------- */

static json_t *json_of_run(const struct snapshot_run *run)
{
    CLEANUP(buf_done) struct buf style = {0};

    snapshot_add_style(&style, &run->cell);
    return json_pack("{s:i,s:i,s:s,s:s}", "from", (int)run->from, "to", (int)run->to, "style",
                     style.length ? style.data + 1 : "", "text", buf_text(&run->text));
}

static json_t *json_of_row(struct screen *screen, unsigned row, unsigned cols)
{
    CLEANUP(buf_done) struct buf text = {0};
    struct snapshot_run run = {0};
    json_t *runs = json_array();

    screen_row_text(screen, row, &text, NULL);
    trim(&text, 0);
    for (unsigned col = 1; snapshot_next_run(screen, row, cols, col, &run); col = run.to + 1)
        if (!snapshot_is_plain(&run.cell))
            (void)json_array_append_new(runs, json_of_run(&run));
    buf_done(&run.text);
    return json_pack("{s:s,s:o}", "text", buf_text(&text), "runs", runs);
}

json_t *snapshot_json(struct screen *screen)
{
    static const char *const mice[] = {"off", "click", "drag", "move"};
    struct vitro_term_state state = {0};
    json_t *rows = json_array();

    screen_state(screen, &state);
    for (unsigned row = 1; row <= state.rows; row++)
        (void)json_array_append_new(rows, json_of_row(screen, row, state.cols));
    return json_pack("{s:i,s:i,s:{s:i,s:i,s:b,s:i},s:b,s:b,s:b,s:b,s:s,s:s,s:i,s:i,s:o}", "rows",
                     (int)state.rows, "cols", (int)state.cols, "cursor", "row",
                     (int)state.cursor_row, "col", (int)state.cursor_col, "visible",
                     state.cursor_visible, "shape", state.cursor_shape, "alternate",
                     state.alternate, "bracketed_paste", state.bracketed_paste, "focus_events",
                     state.focus_events, "application_cursor", state.application_cursor, "mouse",
                     mice[state.mouse], "title", state.title, "bells", (int)state.bells,
                     "scrollback", (int)state.scrollback, "lines", rows);
}

void snapshot_add(struct buf *buf, struct screen *screen, enum vitro_term_format format)
{
    struct vitro_term_state state = {0};

    screen_state(screen, &state);
    switch (format) {
    case VITRO_TERM_TEXT:
        add_text(buf, screen, state.rows);
        break;
    case VITRO_TERM_STYLED:
        add_text(buf, screen, state.rows);
        add_styles(buf, screen, &state);
        break;
    case VITRO_TERM_ANSI:
        add_ansi(buf, screen, &state);
        break;
    case VITRO_TERM_JSON: {
        CLEANUP(json_free) json_t *value = snapshot_json(screen);
        json_add_canonical(buf, value);
        buf_addc(buf, '\n');
        break;
    }
    case VITRO_TERM_SVG:
        snapshot_add_svg(buf, screen);
        break;
    }
}

static char *hand_over(struct buf *buf, size_t *ret_length)
{
    if (ret_length)
        *ret_length = buf->length;
    return buf->length ? buf_take(buf) : (buf_done(buf), mem_dup(""));
}

char *vitro_term_snapshot(vitro_term *t, enum vitro_term_format format, size_t *ret_length)
{
    if (!t)
        return NULL;
    struct buf buf = {0};

    snapshot_add(&buf, term_screen(t), format);
    return hand_over(&buf, ret_length);
}

char *vitro_term_frame(vitro_term *t, size_t index, enum vitro_term_format format, uint64_t *ret_ns,
                       size_t *ret_length)
{
    if (!t)
        return NULL;
    struct buf buf = {0};
    size_t at = 0;

    if (index >= t->log.frames) {
        (void)term_misuse(t, -ERANGE, "frame %zu: there are %zu", index, t->log.frames);
        return NULL;
    }
    for (; t->log.events[at].kind != LOG_FRAME || index--; at++)
        ;
    CLEANUP(screen_free) struct screen *screen = screen_of_log(&t->log, at);
    snapshot_add(&buf, screen, format);
    if (ret_ns)
        *ret_ns = t->log.events[at].virtual_ns;
    return hand_over(&buf, ret_length);
}

char *vitro_term_cast(vitro_term *t, int version, size_t *ret_length)
{
    if (!t)
        return NULL;
    struct buf buf = {0};
    struct err err = {0};

    const struct cast_meta meta = {.start_s =
                                       (t->now_ns - (int64_t)t->elapsed_ns) / (int64_t)NS_PER_SEC,
                                   .end_ns = t->elapsed_ns,
                                   .ended = t->ended,
                                   .exit_code = t->exit_code};
    if (cast_add(&buf, &t->log, &meta, version, &err) < 0) {
        (void)term_misuse(t, err.code, "%s", err.text);
        return NULL;
    }
    return hand_over(&buf, ret_length);
}
