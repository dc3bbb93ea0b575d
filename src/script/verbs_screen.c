/* SPDX-License-Identifier: MIT */
/* What is on the screen of a program in a terminal, or was, and what of it is kept. */
#include "script/play.h"
#include "term/term.h"
#include "base/text.h"
#include "match/match.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

static int read_place(struct words *w, unsigned *row, unsigned *col)
{
    const struct vt_token *token = words_next(w);
    const char *text;
    char more;
    int r = words_text(w, "a place, as 3,10", &text);

    if (r < 0 || words_is_open(w, token))
        return r;
    if (sscanf(text, "%u,%u%c", row, col, &more) == 2 && *row && *col)
        return 0;
    w->at--;
    return words_wrong(w, "expected a place, as 3,10 (row and column from 1), found %s", text);
}

static int read_style(struct words *w, const char **ret)
{
    const struct vt_token *token = words_next(w);
    struct err wrong = {0};
    int r = words_text(w, "a style, as \"bold fg=red\"", ret);

    if (r < 0 || words_is_open(w, token) || term_check_style(*ret, &wrong) == 0)
        return r;
    w->at--;
    return words_wrong(w, "%s", wrong.text);
}

/* TEXT [at ROW,COL] [in TOP,LEFT BOTTOM,RIGHT] [style "bold fg=red"] [within DURATION] */
int screen_read_look(struct words *w, struct vitro_term_look *look)
{
    struct words_pattern pattern;
    int r = words_pattern(w, "a text or an expression", &pattern);

    if (r < 0)
        return r;
    look->text = pattern.text;
    look->regex = pattern.regex;
    while (r == 0 && words_next(w)) {
        switch (WORDS_CHOICE(w, "at", "in", "style", "after", "until", "within", "scrollback")) {
        case 0:
            r = read_place(w, &look->row, &look->col);
            break;
        case 1:
            if ((r = read_place(w, &look->top, &look->left)) == 0)
                r = read_place(w, &look->bottom, &look->right);
            break;
        case 2:
            r = read_style(w, &look->style);
            break;
        case 3:
            r = words_text(w, "a text", &look->after);
            break;
        case 4:
            r = words_text(w, "a text", &look->until);
            break;
        case 5:
            r = words_duration(w, "how much virtual time", &look->within_ns);
            break;
        case 6:
            look->scrollback = 1;
            break;
        default:
            return -EINVAL;
        }
    }
    return r;
}

/* An expression, whose matches become "[masked]"; a rule by its name, or as s/EXPRESSION/TEXT/. */
static int read_mask(struct words *w, const char **ret)
{
    static const char marks[] = "/|,#!%:@;~";
    const struct vt_token *token = words_next(w);
    struct match_rules rules = {0};
    struct words_pattern pattern;
    struct err wrong = {0};
    int r = words_pattern(w, "an expression, or a rule, as time", &pattern);

    *ret = r < 0 ? "" : pattern.text;
    if (r < 0 || words_is_open(w, token))
        return r;
    if (pattern.regex) {
        size_t mark = 0;
        while (marks[mark] && strchr(pattern.text, marks[mark]))
            mark++;
        if (!marks[mark])
            return words_wrong(w, "an expression without one of %s is expected", marks);
        CLEANUP(mem_free) char *rule =
            mem_format("s%c%s%c[masked]%c", marks[mark], pattern.text, marks[mark], marks[mark]);
        *ret = arena_dup(w->arena, rule, strlen(rule));
    }
    r = match_rules_add(&rules, *ret, &wrong);
    match_rules_done(&rules);
    if (r == 0)
        return 0;
    w->at--;
    return words_wrong(w, "%s", wrong.text);
}

/* A golden beside the scenario. */
int screen_read_golden(struct play *play, struct words *w)
{
    const char *mask[17] = {0};
    size_t count = 0;
    enum vitro_term_format format = VITRO_TERM_TEXT;
    const char *name, *directory;
    int r = words_text(w, "a file", &name);

    if (r == 0 && text_ends(name, ".svg"))
        format = VITRO_TERM_SVG;
    if (r == 0 && text_ends(name, ".ansi"))
        format = VITRO_TERM_ANSI;
    if (r == 0 && text_ends(name, ".json"))
        format = VITRO_TERM_JSON;
    while (r == 0 && words_next(w)) {
        int which = WORDS_CHOICE(w, "styled", "mask");
        if (which < 0)
            return which;
        if (which == 0)
            format = VITRO_TERM_STYLED;
        else if (count == 16)
            return words_wrong(w, "more than 16 masks");
        else
            r = read_mask(w, &mask[count++]);
    }
    if (r < 0 || !play || (r = play_variable(play, "DIR", &directory, w->err)) < 0)
        return r;
    CLEANUP(mem_free) char *path =
        *name == '/' ? mem_dup(name) : mem_format("%s/%s", directory, name);
    return session_told(
        play, vitro_term_golden(play->session, path,
                                &(struct vitro_term_golden){.format = format,
                                                            .update = play->options->update,
                                                            .mask = mask,
                                                            .settle_first = 1}));
}

int verb_screen(struct play *play, struct words *w)
{
    struct vitro_term_look look = {0};
    int which = WORDS_CHOICE(w, "is", "contains", "lacks", "rows", "alternate", "normal"), r = 0;

    switch (which) {
    case 0:
        return screen_read_golden(play, w);
    case 1:
    case 2:
        if ((r = screen_read_look(w, &look)) < 0 || !play)
            return r;
        return session_told(play, which == 1 ? vitro_term_see(play->session, &look, NULL)
                                             : vitro_term_see_not(play->session, &look));
    case 3:
        r = WORDS_CHOICE(w, "clean");
        return r < 0 || !play ? r : session_told(play, vitro_term_row_ends(play->session));
    case 4:
    case 5:
        look.alternate = which == 4 ? 1 : -1;
        return play ? session_told(play, vitro_term_see(play->session, &look, NULL)) : 0;
    default:
        return which;
    }
}

int verb_ever(struct play *play, struct words *w)
{
    struct vitro_term_look look = {0};
    int r = screen_read_look(w, &look);

    return r < 0 || !play ? r : session_told(play, vitro_term_ever(play->session, &look, NULL));
}

int verb_never(struct play *play, struct words *w)
{
    struct vitro_term_look look = {0};
    int r = screen_read_look(w, &look);

    return r < 0 || !play ? r : session_told(play, vitro_term_never(play->session, &look));
}

int verb_cursor(struct play *play, struct words *w)
{
    struct vitro_term_look look = {0};
    int which = WORDS_CHOICE(w, "at", "visible", "hidden"), r = which;

    if (which == 0)
        r = read_place(w, &look.cursor_row, &look.cursor_col);
    else
        look.cursor_visible = which == 1 ? 1 : -1;
    return r < 0 || !play ? r : session_told(play, vitro_term_see(play->session, &look, NULL));
}

int verb_title(struct play *play, struct words *w)
{
    struct vitro_term_look look = {0};
    int r = WORDS_CHOICE(w, "is");

    if (r < 0 || (r = words_text(w, "a title", &look.title)) < 0 || !play)
        return r;
    return session_told(play, vitro_term_see(play->session, &look, NULL));
}

int verb_mark(struct play *play, struct words *w)
{
    const char *text;
    int r = words_text(w, "a text", &text);

    if (r == 0 && play)
        vitro_term_mark(play->session, text);
    return r;
}

int verb_snapshot(struct play *play, struct words *w)
{
    static const struct {
        const char *ending;
        enum vitro_term_format format;
    } formats[] = {
        {".svg", VITRO_TERM_SVG}, {".ansi", VITRO_TERM_ANSI}, {".json", VITRO_TERM_JSON}};
    enum vitro_term_format format = VITRO_TERM_TEXT;
    const char *path;
    size_t length = 0;
    int r = words_text(w, "a path", &path);

    if (r < 0 || !play || (r = session_told(play, vitro_term_settle(play->session, 0))) < 0)
        return r;
    for (size_t i = 0; i < ARRAY_LENGTH(formats); i++)
        if (text_ends(path, formats[i].ending))
            format = formats[i].format;
    CLEANUP(mem_free) char *bytes = text_ends(path, ".cast")
                                        ? vitro_term_cast(play->session, 3, &length)
                                        : vitro_term_snapshot(play->session, format, &length);
    return sandbox_write(play->sandbox, path, bytes, length, w->err);
}
