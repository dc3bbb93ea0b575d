/* SPDX-License-Identifier: MIT */
/* expect: questions about the stream. A text is found in its bytes, and in what a person reads of
 * them (words.h), whichever begins first; places are those of the bytes. */
#include "term/term_internal.h"
#include "box/settle.h"
#include "base/text.h"
#include "base/when.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { ALTERNATIVES_MAX = 64 };

struct search { /* one pattern and how far it was looked for */
    struct pattern *pattern, *read;
    size_t from, read_from; /* in the stream, and in its words */
    bool found;
    struct pattern_match match;
};

struct expectation {
    const struct vitro_term_expect *what;
    struct search wanted[ALTERNATIVES_MAX], before, not_seen;
    size_t count, start;
    bool final_look; /* the program is settled: the end of the stream is an end */
    char wanted_text[256];
    struct term_wait wait;
    int which; /* the alternative that came first; -1 */
};

static int search_begin(struct search *search, vitro_term *t, const char *text, size_t length,
                        bool regex, size_t from, struct err *err)
{
    words_feed(&t->words, &t->log.stream);
    *search = (struct search){.from = from, .read_from = words_from_stream(&t->words, from)};
    length = length ? length : strlen(text);
    int r = pattern_new(text, length, regex, &search->pattern, err);
    return r < 0 ? r : pattern_new(text, length, regex, &search->read, err);
}

static void search_end(struct search *search)
{
    pattern_free(search->pattern);
    pattern_free(search->read);
}

static void place_in_stream(const struct words *words, size_t *start, size_t *end)
{
    if (*start == SIZE_MAX) /* a group that took no part */
        return;
    *end = *end > *start ? words_to_stream(words, *end - 1) + 1 : words_to_stream(words, *end);
    *start = words_to_stream(words, *start);
}

static int search_words(struct search *search, vitro_term *t, bool more, struct pattern_match *ret,
                        struct err *err)
{
    words_feed(&t->words, &t->log.stream);
    if (!t->words.cuts.length)
        return 0; /* they are the same */
    int r = pattern_find(search->read, t->words.text.data, t->words.text.length, &search->read_from,
                         more, ret, err);
    if (r > 0)
        place_in_stream(&t->words, &ret->start, &ret->end);
    for (unsigned i = 0; r > 0 && i < ret->groups; i++)
        place_in_stream(&t->words, &ret->group_start[i], &ret->group_end[i]);
    return r;
}

static int search_on(struct search *search, vitro_term *t, bool more, struct err *err)
{
    struct pattern_match read;

    if (!search->pattern || search->found)
        return search->found;
    int r = pattern_find(search->pattern, t->log.stream.data, t->log.stream.length, &search->from,
                         more, &search->match, err);
    int also = r < 0 ? r : search_words(search, t, more, &read, err);
    if (also < 0)
        return also;
    if (also > 0 && (!r || read.start < search->match.start))
        search->match = read;
    search->found = r > 0 || also > 0;
    return search->found;
}

static void end(struct expectation *e)
{
    for (size_t i = 0; i < e->count; i++)
        search_end(&e->wanted[i]);
    search_end(&e->before);
    search_end(&e->not_seen);
}

static void name_wanted(struct expectation *e, const char *first)
{
    CLEANUP(buf_done) struct buf text = {0};

    text_add_escaped(&text, first, strnlen(first, 100));
    (void)snprintf(e->wanted_text, sizeof e->wanted_text, "%s %s\"%s\"%s",
                   e->what->regex ? "a match of" : "the output", e->count > 1 ? "any of " : "",
                   buf_text(&text), e->count > 1 ? ", ..." : "");
}

static int begin(struct expectation *e, vitro_term *t, struct err *err)
{
    const struct vitro_term_expect *what = e->what;
    const char *const one[] = {what->text, NULL};
    const char *const *all = what->any ? what->any : one;
    int r = 0;

    e->start = what->from_start ? 0 : t->cursor;
    if (!all[0])
        return err_set(err, -EINVAL, "nothing is expected: give text or any");
    for (; r == 0 && all[e->count]; e->count++) {
        if (e->count == ALTERNATIVES_MAX)
            return err_set(err, -E2BIG, "more than %d alternatives", ALTERNATIVES_MAX);
        r = search_begin(&e->wanted[e->count], t, all[e->count], what->any ? 0 : what->length,
                         what->regex, e->start, err);
    }
    if (r == 0 && what->before)
        r = search_begin(&e->before, t, what->before, 0, what->regex, e->start, err);
    if (r == 0 && what->not_seen)
        r = search_begin(&e->not_seen, t, what->not_seen, 0, what->regex, e->start, err);
    if (r == 0)
        name_wanted(e, all[0]);
    return r;
}

/* -1 while nothing was found; else the alternative whose match begins first. */
static int first_found(struct expectation *e, vitro_term *t, bool more, struct err *err)
{
    int best = -1;

    for (size_t i = 0; i < e->count; i++) {
        int r = search_on(&e->wanted[i], t, more, err);
        if (r < 0)
            return r - 1000;
        if (r > 0 && (best < 0 || e->wanted[i].match.start < e->wanted[best].match.start))
            best = (int)i;
    }
    return best;
}

static int check(vitro_term *t, void *arg, bool settled)
{
    struct expectation *e = arg;
    const struct vitro_term_expect *what = e->what;
    struct err err = {0};
    bool more = !settled;

    int which = first_found(e, t, more, &err);
    int r = which <= -1000 ? which + 1000 : search_on(&e->before, t, more, &err);
    if (r >= 0)
        r = search_on(&e->not_seen, t, more, &err);
    if (r < 0)
        return term_misuse(t, r, "%s", err.text);
    size_t start = which >= 0 ? e->wanted[which].match.start : SIZE_MAX;
    if (e->before.found && e->before.match.start <= start)
        return term_fail(t, VITRO_TERM_WRONG, -EPROTO, &e->wait, "%s: \"%s\" came %s",
                         e->wanted_text, what->before,
                         which >= 0 ? "before it" : "first, and it has not come");
    if (e->not_seen.found && e->not_seen.match.start < start)
        return term_fail(t, VITRO_TERM_WRONG, -EPROTO, &e->wait, "%s: \"%s\" was seen before it",
                         e->wanted_text, what->not_seen);
    if (which >= 0) {
        e->which = which;
        return 1;
    }
    if (what->before_read && settled && t->flags & SETTLE_READING)
        return term_fail(t, VITRO_TERM_WRONG, -EPROTO, &e->wait,
                         "%s: the program waits for input, and has not written it", e->wanted_text);
    return 0;
}

static void tell(const vitro_term *t, const struct expectation *e, struct vitro_term_match *ret)
{
    const struct pattern_match *match = &e->wanted[e->which].match;

    *ret = (struct vitro_term_match){
        .start = match->start,
        .end = match->end,
        .which = e->which,
        .virtual_ns = log_time_of(&t->log, match->end ? match->end - 1 : 0, t->elapsed_ns),
        .bytes = t->log.stream.data + match->start,
        .groups = match->groups,
    };
    memcpy(ret->group_start, match->group_start, sizeof ret->group_start);
    memcpy(ret->group_end, match->group_end, sizeof ret->group_end);
}

/* A text may stand on the screen and not in the stream, where the cursor is moved in between. */
static bool screen_shows(vitro_term *t, const char *text)
{
    struct vitro_term_state state;

    screen_state(term_screen(t), &state);
    for (unsigned row = 1; row <= state.rows; row++) {
        CLEANUP(buf_done) struct buf line = {0};
        screen_row_text(term_screen(t), row, &line, NULL);
        if (strstr(buf_text(&line), text))
            return true;
    }
    return false;
}

static void explain(vitro_term *t, const struct expectation *e)
{
    const char *const one[] = {e->what->text, NULL};
    const char *const *all = e->what->any ? e->what->any : one;

    for (; !e->what->regex && *all; all++)
        if (**all && screen_shows(t, *all)) {
            term_fail_hint(t, "the screen shows it, but the output moves the cursor in between: "
                              "ask what the screen contains");
            return;
        }
}

int vitro_term_expect(vitro_term *t, const struct vitro_term_expect *what,
                      struct vitro_term_match *ret)
{
    if (!t)
        return -EINVAL;
    if (!what)
        return term_misuse(t, -EINVAL, "nothing is expected: NULL was given");
    struct expectation e = {.what = what, .which = -1};
    struct err err = {0};

    e.wait = term_wait_begin(t, what->within_ns, what->ceiling_ns);
    int r = begin(&e, t, &err);
    if (r < 0) {
        end(&e);
        return term_misuse(t, r, "%s", err.text);
    }
    /* What is there already needs no waiting; but orders do, and so does a steady program. */
    if (what->at_once) {
        (void)drive_drain(t);
        r = check(t, &e, false);
    }
    if (r == 0)
        r = drive_until(t, &e.wait, true, check, &e, e.wanted_text);
    if (r == -ENOMSG || r == -ETIME || r == -ETIMEDOUT)
        explain(t, &e);
    if (r >= 0 && e.which >= 0) {
        if (!what->keep_cursor && e.wanted[e.which].match.end > t->cursor)
            t->cursor = e.wanted[e.which].match.end;
        if (ret)
            tell(t, &e, ret);
        r = 0;
    }
    end(&e);
    return r;
}

static int check_settled(vitro_term *t, void *arg, bool settled)
{
    (void)arg;
    return settled &&
           (t->ended || t->due_ns < 0 || t->flags & SETTLE_MANUAL || !(t->flags & SETTLE_HELD));
}

/* Lets time pass to the end of the budget, or until nothing is due. */
static int settle_within(vitro_term *t, const struct term_wait *wait)
{
    int r = drive_until(t, wait, false, check_settled, NULL, "a settled program");

    return r == -ETIME ? 0 : r;
}

int vitro_term_expect_not(vitro_term *t, const struct vitro_term_expect *what)
{
    if (!t)
        return -EINVAL;
    if (!what)
        return term_misuse(t, -EINVAL, "nothing is expected: NULL was given");
    struct expectation e = {.what = what, .which = -1};
    struct err err = {0};

    e.wait = term_wait_begin(t, what->within_ns, what->ceiling_ns);
    int r = begin(&e, t, &err);
    if (r < 0) {
        end(&e);
        return term_misuse(t, r, "%s", err.text);
    }
    r = settle_within(t, &e.wait);
    int which = r < 0 ? -1 : first_found(&e, t, false, &err);
    if (which <= -1000)
        r = term_misuse(t, which + 1000, "%s", err.text);
    else if (which >= 0)
        r = term_fail(t, VITRO_TERM_WRONG, -EPROTO, &e.wait,
                      "%s was not expected, and is there (at byte %zu)", e.wanted_text,
                      e.wanted[which].match.start);
    end(&e);
    return r;
}

static int check_reading(vitro_term *t, void *arg, bool settled)
{
    (void)arg;
    return settled && !t->ended && t->flags & SETTLE_READING;
}

int vitro_term_expect_read(vitro_term *t, uint64_t within_ns, uint64_t ceiling_ns)
{
    if (!t)
        return -EINVAL;
    struct term_wait wait = term_wait_begin(t, within_ns, ceiling_ns);

    return drive_until(t, &wait, false, check_reading, NULL, "that the program reads its terminal");
}

const char *vitro_term_output(const vitro_term *t, size_t *ret_length)
{
    if (ret_length)
        *ret_length = t ? t->log.stream.length : 0;
    return t ? buf_text(&t->log.stream) : "";
}

size_t vitro_term_cursor(const vitro_term *t)
{
    return t ? t->cursor : 0;
}

int vitro_term_cursor_set(vitro_term *t, size_t offset)
{
    if (!t)
        return -EINVAL;
    if (offset > t->log.stream.length)
        return term_misuse(t, -ERANGE, "cursor %zu: the stream has %zu bytes", offset,
                           t->log.stream.length);
    t->cursor = offset;
    return 0;
}
