/* SPDX-License-Identifier: MIT */
/* Checking lines against the table of words, and playing them. */
#include "script/play.h"
#include "base/text.h"
#include "match/match.h"
#include "match/regex.h"
#include <errno.h>
#include <stdarg.h>
#include <string.h>

static const struct play_word *find_word(const char *name, unsigned where)
{
    for (const struct play_word *word = play_words; word->name; word++)
        if ((word->where & where) && strcmp(word->name, name) == 0)
            return word;
    return NULL;
}

static bool is_axis(const struct script_options *options, const char *name)
{
    for (const char *const *axis = options->axes.names; axis && *axis; axis++)
        if (strcmp(*axis, name) == 0)
            return true;
    return false;
}

/* Words that are axes of vitro run, when no word of ours has that name. */
static const struct play_word axis_word = {
    .name = "axis", .where = AT_TOP, .verb = verb_axis, .usage = "AXIS [VALUE]"};

static const struct play_word *word_of(const struct vt_line *line, unsigned where,
                                       const struct script_options *options)
{
    const char *name = line->count ? vt_keyword(&line->words[0]) : NULL;
    const struct play_word *word = name ? find_word(name, where) : NULL;

    if (!word && name && (where & AT_TOP) && is_axis(options, name))
        word = &axis_word;
    return word;
}

static const char *place_name(unsigned where)
{
    return where & AT_TOP        ? "in a scenario"
           : where & AT_RUN      ? "below 'run'"
           : where & AT_EXEC     ? "below 'exec'"
           : where & AT_SHIM     ? "below 'shim'"
           : where & AT_SABOTAGE ? "below 'sabotage'"
           : where & AT_BESIDE   ? "below 'start', 'stop' and 'wait'"
                                 : "below 'tmux'";
}

static int unknown_word(struct words *w, unsigned where, const struct script_options *options)
{
    const char *known[256];
    size_t count = 0;
    const char *name = vt_keyword(&w->line->words[0]);

    for (const struct play_word *word = play_words; word->name && count < 200; word++)
        if (word->where & where)
            known[count++] = word->name;
    for (const char *const *axis = options->axes.names;
         (where & AT_TOP) && axis && *axis && count < 256; axis++)
        known[count++] = *axis;
    words_wrong(w, "%s is not a word %s", w->line->words[0].source, place_name(where));
    const struct play_word *elsewhere = name ? find_word(name, ~0u) : NULL;
    if (elsewhere)
        return err_hint(w->err, "'%s' stands %s", name, place_name(elsewhere->where));
    const char *closest = name ? text_closest(name, known, count) : NULL;
    return closest ? err_hint(w->err, "did you mean '%s'?", closest)
                   : err_hint(w->err, "vitro test --words lists them");
}

static int check_line(const struct vt_line *line, unsigned where,
                      const struct script_options *options, struct err *err)
{
    CLEANUP(arena_done) struct arena arena = {0};
    struct words w = {.line = line, .arena = &arena, .options = options, .err = err};

    if (line->row)
        return words_wrong(&w, "a row of a table belongs below 'examples'");
    const struct play_word *word = word_of(line, where, options);
    if (!word)
        return unknown_word(&w, where, options);
    w.at = word == &axis_word ? 0 : 1;
    int r = word->verb ? word->verb(NULL, &w) : 0;
    if (r >= 0 && word->verb)
        r = words_end(&w);
    if (r < 0)
        return word->usage && word != &axis_word ? err_hint(err, "%s", word->usage) : r;
    if (line->line_count && !word->below) {
        w = (struct words){.line = &line->lines[0], .err = err};
        words_wrong(&w, "'%s' has no lines below it", word->name);
        return text_equal(word->name, "scenario")
                   ? err_hint(err, "the lines of a scenario are not indented")
                   : err->code;
    }
    return word->verb ? play_check(line->lines, line->line_count, word->below, options, err) : 0;
}

int play_check(const struct vt_line *lines, size_t count, unsigned where,
               const struct script_options *options, struct err *err)
{
    for (size_t i = 0; i < count; i++) {
        if (!lines[i].count)
            continue; /* a comment */
        int r = check_line(&lines[i], where, options, err);
        if (r < 0)
            return r;
    }
    return 0;
}

/* For the story of a failure: what went well before it. */
static void note_step(struct play *play, const struct vt_line *line)
{
    play->steps = mem_grow(play->steps, (play->step_count + 1) * sizeof *play->steps);
    play->steps[play->step_count++] = (struct play_step){.line = line, .depth = play->depth};
}

int play_lines(struct play *play, const struct vt_line *lines, size_t count, unsigned where)
{
    for (size_t i = 0; i < count; i++) {
        const struct play_word *word = word_of(&lines[i], where, play->options);
        struct arena_mark mark = arena_save(&play->arena);
        struct err err = {0};
        struct words w = {.line = &lines[i],
                          .at = word == &axis_word ? 0 : 1,
                          .play = play,
                          .arena = &play->arena,
                          .err = &err};

        if (!word || !word->verb)
            continue;
        note_step(play, &lines[i]);
        if (where == AT_TOP)
            play_mark(play); /* lines below one belong to it */
        play->depth++;
        int r = word->verb(play, &w);
        play->depth--;
        if (r < 0 && !play->failed_at)
            play->failed_at = &lines[i];
        if (r < 0 && !play->failure.length)
            (void)play_fail_err(play, &err);
        arena_rewind(&play->arena, mark);
        if (r < 0)
            return -ECANCELED;
    }
    return 0;
}

int play_fail(struct play *play, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    buf_addv(&play->failure, format, args);
    va_end(args);
    if (play->failure.length && play->failure.data[play->failure.length - 1] != '\n')
        buf_addc(&play->failure, '\n');
    return -ECANCELED;
}

int play_fail_err(struct play *play, const struct err *err)
{
    return play_fail(play, "%s", err->text);
}

int play_variable(const struct play *play, const char *name, const char **ret, struct err *err)
{
    const char *known[64];
    size_t count = 0;

    for (size_t i = 0; i < play->variable_count; i++) {
        if (strcmp(play->variables[i].name, name) == 0) {
            *ret = play->variables[i].value;
            return 0;
        }
        if (count < ARRAY_LENGTH(known))
            known[count++] = play->variables[i].name;
    }
    err_set(err, -EINVAL, "there is no variable '%s'", name);
    const char *closest = text_closest(name, known, count);
    return closest ? err_hint(err, "did you mean '$%s'? a dollar itself is written \\$", closest)
                   : err_hint(err, "write 'set %s VALUE' before, or \\$ for a dollar", name);
}

void play_set(struct play *play, const char *name, const char *value, bool lock)
{
    struct play_variable *variable = NULL;

    for (size_t i = 0; i < play->variable_count; i++)
        if (strcmp(play->variables[i].name, name) == 0)
            variable = &play->variables[i];
    if (variable && variable->locked)
        return;
    if (!variable) {
        play->variables =
            mem_grow(play->variables, (play->variable_count + 1) * sizeof *play->variables);
        variable = &play->variables[play->variable_count++];
        *variable = (struct play_variable){.name = mem_dup(name)};
    }
    free(variable->value);
    variable->value = mem_dup(value);
    variable->locked = lock;
}

int play_check_regex(const char *expression, struct err *err)
{
    struct match_text pattern;
    int r = match_text_init(&pattern, MATCH_REGEX, expression, err);

    if (r == 0)
        match_text_done(&pattern);
    return r;
}

bool play_capture(const char *expression, const char *bytes, size_t length, struct buf *ret)
{
    CLEANUP(mem_free) char *whole = mem_format("(?s)\\A.*?(?:(?-s)%s)(?s:.*)\\z", expression);
    void *code;

    if (regex_compile(whole, &code, NULL) < 0)
        return false;
    bool found = regex_finds(code, bytes, length);
    if (found)
        regex_replace(code, bytes, length, "$1", ret);
    regex_free(code);
    return found;
}
