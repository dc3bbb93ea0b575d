/* SPDX-License-Identifier: MIT */
#include "script/words.h"
#include "script/play.h"
#include "base/text.h"
#include "base/when.h"
#include <errno.h>
#include <stdarg.h>
#include <string.h>

const struct vt_token *words_next(const struct words *w)
{
    return w->at < w->line->count ? &w->line->words[w->at] : NULL;
}

bool words_checking(const struct words *w)
{
    return !w->play;
}

bool words_is_open(const struct words *w, const struct vt_token *token)
{
    for (size_t i = 0; words_checking(w) && i < token->part_count; i++)
        if (token->parts[i].variable)
            return true;
    return false;
}

bool words_take(struct words *w, const char *keyword)
{
    const struct vt_token *token = words_next(w);

    if (!token || !text_equal(vt_keyword(token), keyword))
        return false;
    w->at++;
    return true;
}

static int wrong_at(const struct words *w, unsigned column, const char *format, va_list args)
{
    err_setv(w->err, -EINVAL, format, args);
    return err_wrap(w->err, "%s:%u:%u", w->line->path, w->line->line, column);
}

int words_wrong(const struct words *w, const char *format, ...)
{
    const struct vt_token *token = words_next(w);
    unsigned column = w->line->indent + 1;
    va_list args;

    if (token) {
        column = token->column;
    } else if (w->line->count) {
        token = &w->line->words[w->line->count - 1];
        column = token->column;
        for (const char *p = token->source; *p; p++)
            column += ((unsigned char)*p & 0xc0) != 0x80;
    }
    va_start(args, format);
    int r = wrong_at(w, column, format, args);
    va_end(args);
    return r;
}

static int missing(struct words *w, const char *what)
{
    const struct vt_token *token = words_next(w);

    return token ? words_wrong(w, "expected %s, found %s", what, token->source)
                 : words_wrong(w, "expected %s, found the end of the line", what);
}

int words_end(struct words *w)
{
    const struct vt_token *token = words_next(w);

    return token ? words_wrong(w, "expected the end of the line, found %s", token->source) : 0;
}

int words_expand(const struct words *w, const struct vt_token *token, const char **ret,
                 size_t *ret_length)
{
    CLEANUP(buf_done) struct buf bytes = {0};

    for (size_t i = 0; i < token->part_count; i++) {
        const struct vt_part *part = &token->parts[i];
        const char *value = part->text;
        if (part->variable && w->play) {
            int r = play_variable(w->play, part->text, &value, w->err);
            if (r < 0)
                return err_wrap(w->err, "%s:%u:%u", w->line->path, token->line, token->column);
        }
        buf_add(&bytes, value, part->variable ? strlen(value) : part->length);
    }
    *ret = arena_dup(w->arena, buf_text(&bytes), bytes.length);
    *ret_length = bytes.length;
    return 0;
}

int words_bytes(struct words *w, const char *what, const char **ret, size_t *ret_length)
{
    const struct vt_token *token = words_next(w);

    if (!token || (token->kind != VT_WORD && token->kind != VT_REGEX))
        return missing(w, what);
    if (token->kind == VT_REGEX) { /* a path that ends in a slash, most likely */
        if (strchr(token->source, ' '))
            return words_wrong(w, "expected %s, found an expression; quote it", what);
        *ret = token->source;
        *ret_length = strlen(token->source);
        w->at++;
        return 0;
    }
    int r = words_expand(w, token, ret, ret_length);
    if (r == 0)
        w->at++;
    return r;
}

int words_text(struct words *w, const char *what, const char **ret)
{
    size_t length;
    int r = words_bytes(w, what, ret, &length);

    if (r == 0 && strlen(*ret) != length) {
        w->at--;
        return words_wrong(w, "%s cannot hold a NUL", what);
    }
    return r;
}

int words_pattern(struct words *w, const char *what, struct words_pattern *ret)
{
    const struct vt_token *token = words_next(w);

    *ret = (struct words_pattern){0};
    if (!token || token->kind != VT_REGEX)
        return words_bytes(w, what, &ret->text, &ret->length);
    ret->regex = true;
    ret->text = token->parts[0].text;
    if (*token->flags) {
        CLEANUP(mem_free) char *text = mem_format("(?%s)%s", token->flags, ret->text);
        ret->text = arena_dup(w->arena, text, strlen(text));
    }
    ret->length = strlen(ret->text);
    int r = play_check_regex(ret->text, w->err);
    if (r < 0)
        return err_wrap(w->err, "%s:%u:%u", w->line->path, token->line, token->column);
    w->at++;
    return 0;
}

const char *words_as_regex(struct words *w, const struct words_pattern *pattern)
{
    CLEANUP(buf_done) struct buf text = {0};

    if (pattern->regex)
        return pattern->text;
    for (const char *p = pattern->text; *p; p++) {
        if (strchr("\\^$.|?*+()[]{}", *p))
            buf_addc(&text, '\\');
        buf_addc(&text, *p);
    }
    return arena_dup(w->arena, buf_text(&text), text.length);
}

int words_number(struct words *w, const char *what, uint64_t max, uint64_t *ret)
{
    const struct vt_token *token = words_next(w);
    const char *text;
    int r = words_text(w, what, &text);

    *ret = 0;
    if (r < 0 || words_is_open(w, token))
        return r;
    if (text_to_u64(text, ret) && *ret <= max)
        return 0;
    w->at--;
    return words_wrong(w, "expected %s, a number up to %llu, found %s", what,
                       (unsigned long long)max, token->source);
}

int words_duration(struct words *w, const char *what, uint64_t *ret_ns)
{
    const struct vt_token *token = words_next(w);
    const char *text;
    int r = words_text(w, what, &text);

    *ret_ns = 0;
    if (r < 0 || words_is_open(w, token) || when_parse_duration(text, ret_ns, NULL) == 0)
        return r;
    w->at--;
    return words_wrong(w, "expected %s, as 90s, 1h30m or 250ms, found %s", what, token->source);
}

int words_choice(struct words *w, const char *const *candidates, size_t count)
{
    const struct vt_token *token = words_next(w);
    const char *word = token ? vt_keyword(token) : NULL;
    CLEANUP(buf_done) struct buf list = {0};

    for (size_t i = 0; word && i < count; i++)
        if (strcmp(word, candidates[i]) == 0) {
            w->at++;
            return (int)i;
        }
    for (size_t i = 0; i < count; i++)
        buf_addf(&list, "%s'%s'", !i ? "" : i + 1 < count ? ", " : " or ", candidates[i]);
    missing(w, buf_text(&list));
    const char *closest = word ? text_closest(word, candidates, count) : NULL;
    return closest ? err_hint(w->err, "did you mean '%s'?", closest) : -EINVAL;
}

int words_command(struct words *w, const char *const **ret)
{
    size_t count = w->line->count - w->at;
    const char **argv = arena_alloc(w->arena, (count + 1) * sizeof *argv);

    if (!count)
        return missing(w, "a command");
    for (size_t i = 0; i < count; i++) {
        int r = words_text(w, "a word of the command", &argv[i]);
        if (r < 0) {
            const struct vt_token *token = words_next(w);
            return token && token->kind != VT_WORD ? err_hint(w->err, "put quotes around it") : r;
        }
    }
    *ret = argv;
    return 0;
}

void words_show(const struct vt_line *line, struct buf *ret)
{
    for (size_t i = 0; i < line->count; i++)
        buf_addf(ret, "%s%s", i ? " " : "", line->words[i].source);
}
