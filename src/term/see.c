/* SPDX-License-Identifier: MIT */
/* see: questions about the screen, now and in the past. */
#include "term/grid.h"
#include "box/settle.h"
#include "base/text.h"
#include "base/when.h"
#include <errno.h>
#include <string.h>

struct question {
    struct look look;
    struct vitro_term_place place;
    bool wanted; /* or unwanted */
};

static int check(vitro_term *t, void *arg, bool settled)
{
    struct question *q = arg;

    (void)settled;
    if (look_finds(&q->look, term_screen(t), &q->place) != q->wanted)
        return 0;
    q->place.virtual_ns = t->elapsed_ns;
    return 1;
}

static bool shows(vitro_term *t, const struct vitro_term_look *what, struct vitro_term_place *ret)
{
    struct look look = {0};
    bool found = look_begin(&look, what, NULL) == 0 && look_finds(&look, term_screen(t), ret);

    look_end(&look);
    return found;
}

/* How the first cell of a text looks that does not look as it should. */
static void add_other_style(vitro_term *t, const struct vitro_term_look *what,
                            const struct vitro_term_place *place, struct buf *ret)
{
    struct style wanted = {0};
    struct vitro_term_cell cell = {0};
    unsigned col = place->col, last = place->row == place->end_row ? place->end_col : place->col;

    (void)style_parse(what->style, &wanted, NULL);
    while (screen_cell(term_screen(t), place->row, col, &cell) == 0 && style_fits(&wanted, &cell) &&
           col < last)
        col++;
    buf_addf(ret, "the text is at row %u, column %u, and at column %u it is '", place->row,
             place->col, col);
    CLEANUP(buf_done) struct buf style = {0};
    snapshot_add_style(&style, &cell); /* with a blank before each word */
    buf_addf(ret, "%s'", snapshot_is_plain(&cell) ? "plain" : buf_text(&style) + 1);
}

/* The text is there, but not as it was asked for: a person wants to know. */
static void hint_at(vitro_term *t, const struct vitro_term_look *what)
{
    struct vitro_term_look less = *what;
    struct vitro_term_place place;
    CLEANUP(buf_done) struct buf hint = {0};

    less.style = NULL;
    if (what->style && shows(t, &less, &place)) {
        add_other_style(t, what, &place, &hint);
    } else {
        less = (struct vitro_term_look){.text = what->text, .regex = what->regex};
        if ((what->row || what->col || what->top || what->bottom || what->left || what->right) &&
            shows(t, &less, &place))
            buf_addf(&hint, "the text is at row %u, column %u", place.row, place.col);
    }
    if (hint.length)
        term_fail_hint(t, buf_text(&hint));
}

static int ask(vitro_term *t, const struct vitro_term_look *what, bool wanted,
               struct vitro_term_place *ret)
{
    struct question q = {.wanted = wanted};
    struct err err = {0};
    struct term_wait wait = term_wait_begin(t, what->within_ns, what->ceiling_ns);

    int r = look_begin(&q.look, what, &err);
    if (r < 0) {
        look_end(&q.look);
        return term_misuse(t, r, "%s", err.text);
    }
    CLEANUP(mem_free) char *name = mem_format("%s%s", q.look.name, wanted ? "" : " no longer");
    r = drive_until(t, &wait, false, check, &q, name);
    if (r >= 0 && ret)
        *ret = q.place;
    look_end(&q.look);
    if (r < 0 && wanted && what->text)
        hint_at(t, what);
    return r < 0 ? r : 0;
}

int vitro_term_see(vitro_term *t, const struct vitro_term_look *what, struct vitro_term_place *ret)
{
    if (!t)
        return -EINVAL;
    if (!what)
        return term_misuse(t, -EINVAL, "nothing is looked for: NULL was given");
    return ask(t, what, true, ret);
}

int vitro_term_see_not(vitro_term *t, const struct vitro_term_look *what)
{
    if (!t)
        return -EINVAL;
    if (!what)
        return term_misuse(t, -EINVAL, "nothing is looked for: NULL was given");
    return ask(t, what, false, NULL);
}

/* ---- the past ------------------------------------------------------------------------------ */

/* The part of the stream that is asked about. */
struct span {
    size_t from, to;
};

static bool span_of(const vitro_term *t, const struct vitro_term_look *what, struct span *ret)
{
    const struct buf *stream = &t->log.stream;
    const char *data = buf_text(stream);

    *ret = (struct span){0, stream->length};
    if (what->after) {
        const char *at = memmem(data, stream->length, what->after, strlen(what->after));
        if (!at)
            return false;
        ret->from = (size_t)(at - data) + strlen(what->after);
    }
    if (what->until) {
        const char *at =
            memmem(data + ret->from, stream->length - ret->from, what->until, strlen(what->until));
        if (at)
            ret->to = (size_t)(at - data);
    }
    return true;
}

/* Where the next piece ends: before a control character, or after a row's worth of text. */
static size_t piece_end(const struct buf *stream, size_t from, size_t limit, size_t cols)
{
    size_t at = from + 1;

    while (at < limit && at - from < cols && (unsigned char)stream->data[at] >= 0x20)
        at++;
    return at;
}

struct replay {
    vitro_term *t;
    struct look *look;
    struct span span;
    struct vitro_term_place place;
};

static bool moment_counts(const struct replay *replay, size_t offset)
{
    const struct vitro_term_look *what = replay->look->what;

    if (offset < replay->span.from || offset > replay->span.to)
        return false;
    if (!what->since_ns && !what->to_ns)
        return true;
    uint64_t at = log_time_of(&replay->t->log, offset ? offset - 1 : 0, replay->t->elapsed_ns);
    return at >= what->since_ns && (!what->to_ns || at <= what->to_ns);
}

/* True when it was visible at some moment that counts. */
static bool was_visible(struct replay *replay)
{
    const struct log *log = &replay->t->log;
    CLEANUP(screen_free) struct screen *screen = screen_new(log->rows, log->cols, 1000);
    size_t fed = 0, event = 0;
    unsigned cols = log->cols, seen = ~0u;

    for (;;) {
        for (; event < log->count && log->events[event].offset <= fed; event++)
            if (log->events[event].kind == LOG_SIZE) {
                cols = log->events[event].cols;
                screen_resize(screen, log->events[event].rows, cols);
            }
        if (seen != screen_generation(screen) && moment_counts(replay, fed)) {
            seen = screen_generation(screen);
            if (look_finds(replay->look, screen, &replay->place)) {
                replay->place.virtual_ns =
                    log_time_of(log, fed ? fed - 1 : 0, replay->t->elapsed_ns);
                return true;
            }
        }
        if (fed >= log->stream.length || fed > replay->span.to)
            return false;
        size_t limit = event < log->count ? log->events[event].offset : log->stream.length;
        size_t end = piece_end(&log->stream, fed, limit, cols);
        screen_feed(screen, log->stream.data + fed, end - fed);
        fed = end;
    }
}

static int ask_past(vitro_term *t, const struct vitro_term_look *what, bool wanted,
                    struct vitro_term_place *ret)
{
    struct look look;
    struct err err = {0};
    struct term_wait wait = term_wait_begin(t, what->within_ns, what->ceiling_ns);

    int r = look_begin(&look, what, &err);
    if (r < 0)
        r = term_misuse(t, r, "%s", err.text);
    if (r == 0)
        r = vitro_term_settle(t, 0);
    struct replay replay = {.t = t, .look = &look};
    if (r == 0 && !span_of(t, what, &replay.span))
        r = term_fail(t, VITRO_TERM_NOT_SEEN, -ENOMSG, &wait,
                      "%s: \"%s\", after which it is looked for, was never written", look.name,
                      what->after);
    if (r == 0 && was_visible(&replay) != wanted)
        r = wanted
                ? term_fail(t, VITRO_TERM_NOT_SEEN, -ENOMSG, &wait, "%s: it never did", look.name)
                : term_fail(t, VITRO_TERM_WRONG, -EPROTO, &wait,
                            "never: %s; it did at row %u, column %u", look.name, replay.place.row,
                            replay.place.col);
    if (r == 0 && ret)
        *ret = replay.place;
    look_end(&look);
    return r;
}

int vitro_term_ever(vitro_term *t, const struct vitro_term_look *what, struct vitro_term_place *ret)
{
    if (!t)
        return -EINVAL;
    if (!what)
        return term_misuse(t, -EINVAL, "nothing is looked for: NULL was given");
    return ask_past(t, what, true, ret);
}

int vitro_term_never(vitro_term *t, const struct vitro_term_look *what)
{
    if (!t)
        return -EINVAL;
    if (!what)
        return term_misuse(t, -EINVAL, "nothing is looked for: NULL was given");
    return ask_past(t, what, false, NULL);
}

/* ---- row ends ------------------------------------------------------------------------------ */

static int check_last_cells(vitro_term *t, const struct term_wait *wait)
{
    struct vitro_term_state state = {0};
    struct screen *screen = term_screen(t);

    screen_state(screen, &state);
    for (unsigned row = 1; row <= state.rows; row++) {
        struct vitro_term_cell cell;
        (void)screen_cell(screen, row, state.cols, &cell);
        if (cell.attributes & (VITRO_TERM_REVERSE | VITRO_TERM_UNDERLINE | VITRO_TERM_STRIKE) ||
            cell.bg.kind != VITRO_TERM_DEFAULT)
            return term_fail(t, VITRO_TERM_WRONG, -EPROTO, wait,
                             "row %u ends in a cell with a colour or attribute", row);
    }
    return 0;
}

int vitro_term_row_ends(vitro_term *t)
{
    if (!t)
        return -EINVAL;
    const struct log *log = &t->log;
    struct term_wait wait = term_wait_begin(t, 0, 0);

    int r = vitro_term_settle(t, 0);
    if (r < 0)
        return r;
    CLEANUP(screen_free) struct screen *screen = screen_new(log->rows, log->cols, 0);
    size_t fed = 0, line = 1;
    while (fed < log->stream.length) {
        const char *at = memchr(log->stream.data + fed, '\n', log->stream.length - fed);
        size_t end = at ? (size_t)(at - log->stream.data) + 1 : log->stream.length;
        screen_feed(screen, log->stream.data + fed, end - fed);
        if (at && !screen_pen_is_plain(screen))
            return term_fail(t, VITRO_TERM_WRONG, -EPROTO, &wait,
                             "line %zu of the output ends while a colour or attribute is on", line);
        fed = end;
        line++;
    }
    return check_last_cells(t, &wait);
}

/* ---- state --------------------------------------------------------------------------------- */

void vitro_term_state(vitro_term *t, struct vitro_term_state *ret)
{
    *ret = (struct vitro_term_state){.title = ""};
    if (!t)
        return;
    *ret = (struct vitro_term_state){
        .frames = t->log.frames,
        .output_length = t->log.stream.length,
        .virtual_ns = t->elapsed_ns,
        .now_ns = t->now_ns,
        .next_due_ns = t->due_ns < 0 ? -1 : t->due_ns - (int64_t)t->elapsed_ns,
        .settled = t->settled,
        .reading = (t->flags & SETTLE_READING) != 0,
        .ended = t->ended,
    };
    screen_state(term_screen(t), ret);
}

int vitro_term_cell(vitro_term *t, unsigned row, unsigned col, struct vitro_term_cell *ret)
{
    if (!t)
        return -EINVAL;
    if (screen_cell(term_screen(t), row, col, ret) == 0)
        return 0;
    return term_misuse(t, -EINVAL, "row %u, column %u: no such cell", row, col);
}

char *vitro_term_scrollback(vitro_term *t, unsigned line)
{
    if (!t)
        return NULL;
    struct buf text = {0};

    if (!screen_scrollback_text(term_screen(t), line, &text))
        return NULL;
    return text.length ? buf_take(&text) : (buf_done(&text), mem_dup(""));
}
