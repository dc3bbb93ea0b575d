/* SPDX-License-Identifier: MIT */
/* A line to words: bare, quoted, joined, expressions, keys, lists and rows. Nothing here is
 * recursive but lists, whose depth is one. */
#include "script/vt_reader.h"
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Columns are characters, as an editor counts them. */
static unsigned column_of(const struct vt_reader *r, const char *at)
{
    unsigned column = 1;

    for (const char *p = r->start; p < at; p++)
        column += ((unsigned char)*p & 0xc0) != 0x80;
    return column;
}

int vt_wrong(const struct vt_reader *r, const char *at, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    err_setv(r->err, -EINVAL, format, args);
    va_end(args);
    return err_wrap(r->err, "%s:%u:%u", r->path, r->line, column_of(r, at));
}

void *vt_grow(struct arena *arena, void *items, size_t count, size_t size)
{
    /* Doubling at powers of two: what was there before is left to the arena. */
    if (count && (count & (count - 1)))
        return items;
    void *more = arena_alloc(arena, (count ? count * 2 : 1) * size);
    if (count)
        memcpy(more, items, count * size);
    return more;
}

static struct vt_part *add_part(struct vt_reader *r, struct vt_token *token)
{
    token->parts = vt_grow(&r->text->arena, token->parts, token->part_count, sizeof *token->parts);
    return &token->parts[token->part_count++];
}

static void add_text(struct vt_reader *r, struct vt_token *token, const struct buf *bytes,
                     bool quoted)
{
    struct vt_part *part = add_part(r, token);

    part->quoted = quoted;
    part->text = arena_dup(&r->text->arena, buf_text(bytes), bytes->length);
    part->length = bytes->length;
}

static bool starts_name(char c)
{
    return isalpha((unsigned char)c) || c == '_';
}

/* $NAME or ${NAME}; r->at stands on the dollar. 0: it is none, a plain dollar. */
static int read_variable(struct vt_reader *r, struct vt_token *token, bool quoted)
{
    const char *name = r->at + 1;
    bool braces = name < r->end && *name == '{';
    name += braces;
    const char *p = name;

    while (p < r->end && (starts_name(*p) || (p > name && isdigit((unsigned char)*p))))
        p++;
    if (braces && (p == name || p == r->end || *p != '}'))
        return vt_wrong(r, r->at, "'${' is not followed by a name and '}'");
    if (p == name)
        return 0;
    struct vt_part *part = add_part(r, token);
    part->variable = true;
    part->quoted = quoted;
    part->length = (size_t)(p - name);
    part->text = arena_dup(&r->text->arena, name, part->length);
    r->at = p + braces;
    return 1;
}

static int hex_digits(struct vt_reader *r, const char *at, size_t min, size_t max, unsigned *ret)
{
    size_t n = 0;

    *ret = 0;
    for (; n < max && at + n < r->end && isxdigit((unsigned char)at[n]); n++)
        *ret = *ret * 16 + (unsigned)(isdigit((unsigned char)at[n])
                                          ? at[n] - '0'
                                          : tolower((unsigned char)at[n]) - 'a' + 10);
    return n >= min ? (int)n : -1;
}

static void add_utf8(struct buf *bytes, unsigned code)
{
    if (code < 0x80) {
        buf_addc(bytes, (char)code);
    } else if (code < 0x800) {
        buf_addc(bytes, (char)(0xc0 | code >> 6));
        buf_addc(bytes, (char)(0x80 | (code & 63)));
    } else if (code < 0x10000) {
        buf_addc(bytes, (char)(0xe0 | code >> 12));
        buf_addc(bytes, (char)(0x80 | (code >> 6 & 63)));
        buf_addc(bytes, (char)(0x80 | (code & 63)));
    } else {
        buf_addc(bytes, (char)(0xf0 | code >> 18));
        buf_addc(bytes, (char)(0x80 | (code >> 12 & 63)));
        buf_addc(bytes, (char)(0x80 | (code >> 6 & 63)));
        buf_addc(bytes, (char)(0x80 | (code & 63)));
    }
}

/* r->at stands behind the backslash. */
static int read_escape(struct vt_reader *r, struct buf *bytes)
{
    static const char from[] = "ntre0\\\"'$#", to[] = "\n\t\r\033\0\\\"'$#";
    const char *known;
    unsigned code;
    int n;

    if (r->at >= r->end)
        return vt_wrong(r, r->at - 1, "a backslash at the end of the line");
    char c = *r->at;
    if (c == 'x') {
        if ((n = hex_digits(r, r->at + 1, 2, 2, &code)) < 0)
            return vt_wrong(r, r->at - 1, "'\\x' is not followed by two hexadecimal digits");
        buf_addc(bytes, (char)code);
        r->at += 3;
        return 0;
    }
    if (c == 'u') {
        bool open = r->at + 1 < r->end && r->at[1] == '{';
        n = open ? hex_digits(r, r->at + 2, 1, 6, &code) : -1;
        if (n < 0 || r->at + 2 + n >= r->end || r->at[2 + n] != '}' || code > 0x10ffff ||
            (code >= 0xd800 && code < 0xe000))
            return vt_wrong(r, r->at - 1, "write a character as \\u{1F600}");
        add_utf8(bytes, code);
        r->at += n + 3;
        return 0;
    }
    known = memchr(from, c, sizeof from - 1);
    if (!known) {
        vt_wrong(r, r->at - 1, "'\\%c' is not an escape", isprint((unsigned char)c) ? c : '?');
        return err_hint(r->err, "there are \\n \\t \\r \\e \\0 \\xNN \\u{N} \\\\ \\\" \\' \\$ \\#");
    }
    buf_addc(bytes, to[known - from]);
    r->at++;
    return 0;
}

static int read_quoted(struct vt_reader *r, struct vt_token *token)
{
    CLEANUP(buf_done) struct buf bytes = {0};
    const char *open = r->at;
    char quote = *r->at++;
    bool any = false;
    int e;

    token->quoted = true;
    while (r->at < r->end && *r->at != quote) {
        if (quote == '"' && *r->at == '\\') {
            r->at++;
            if ((e = read_escape(r, &bytes)) < 0)
                return e;
            continue;
        }
        if (quote == '"' && *r->at == '$') {
            if (bytes.length) {
                add_text(r, token, &bytes, true);
                buf_clear(&bytes);
                any = true;
            }
            if ((e = read_variable(r, token, true)) < 0)
                return e;
            if (e > 0) {
                any = true;
                continue;
            }
        }
        buf_addc(&bytes, *r->at++);
    }
    if (r->at == r->end)
        return vt_wrong(r, open, "the text that begins here has no closing %c", quote);
    r->at++;
    if (bytes.length || !any)
        add_text(r, token, &bytes, true);
    return 0;
}

static bool ends_word(const struct vt_reader *r, const char *p, bool in_vector)
{
    return p == r->end || *p == ' ' || *p == '\t' || (in_vector && (*p == ',' || *p == ']'));
}

static int read_word(struct vt_reader *r, struct vt_token *token, bool in_vector)
{
    CLEANUP(buf_done) struct buf bytes = {0};
    int e;

    while (!ends_word(r, r->at, in_vector)) {
        bool quote = *r->at == '"' || *r->at == '\'';
        if ((quote || *r->at == '$') && bytes.length) {
            add_text(r, token, &bytes, false);
            buf_clear(&bytes);
        }
        if (quote) {
            if ((e = read_quoted(r, token)) < 0)
                return e;
            continue;
        }
        if (*r->at == '$') {
            if ((e = read_variable(r, token, false)) < 0)
                return e;
            if (e > 0)
                continue;
        }
        buf_addc(&bytes, *r->at++);
    }
    if (bytes.length)
        add_text(r, token, &bytes, false);
    return 0;
}

/* The closing slash of an expression that begins at r->at; NULL: it is a path. */
static const char *regex_end(const struct vt_reader *r, bool in_vector)
{
    for (const char *p = r->at + 1; p < r->end; p++) {
        if (*p == '\\' && p + 1 < r->end) {
            p++;
        } else if (*p == '/' && p > r->at + 1) {
            const char *flags = p + 1;
            while (flags < r->end && memchr("imsx", *flags, 4))
                flags++;
            if (ends_word(r, flags, in_vector))
                return p;
        }
    }
    return NULL;
}

static void set_inside(struct vt_reader *r, struct vt_token *token, const char *from,
                       const char *to)
{
    struct vt_part *part = add_part(r, token);

    part->text = arena_dup(&r->text->arena, from, (size_t)(to - from));
    part->length = (size_t)(to - from);
}

static void skip_spaces(struct vt_reader *r)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t'))
        r->at++;
}

static int read_token(struct vt_reader *r, struct vt_token *token, bool in_vector);

static int read_vector(struct vt_reader *r, struct vt_token *token)
{
    const char *open = r->at++;
    int e;

    token->kind = VT_VECTOR;
    for (;;) {
        skip_spaces(r);
        if (r->at == r->end)
            return vt_wrong(r, open, "the list that begins here has no closing ]");
        if (*r->at == ']')
            break;
        if (*r->at == ',')
            return vt_wrong(r, r->at, "a pattern is missing before this comma");
        token->items =
            vt_grow(&r->text->arena, token->items, token->item_count, sizeof *token->items);
        if ((e = read_token(r, &token->items[token->item_count++], true)) < 0)
            return e;
        skip_spaces(r);
        if (r->at < r->end && *r->at == ',') {
            r->at++;
            skip_spaces(r);
            if (r->at < r->end && *r->at == ']')
                return vt_wrong(r, r->at, "a pattern is missing behind the comma");
        } else if (r->at < r->end && *r->at != ']') {
            return vt_wrong(r, r->at, "expected a comma or ]");
        }
    }
    r->at++;
    return 0;
}

static int read_token(struct vt_reader *r, struct vt_token *token, bool in_vector)
{
    const char *start = r->at, *close;
    int e = 0;

    *token = (struct vt_token){.line = r->line, .column = column_of(r, start)};
    if (*start == '[' && !in_vector) {
        e = read_vector(r, token);
    } else if (*start == '<' && (close = memchr(start, '>', (size_t)(r->end - start))) &&
               close > start + 1) {
        token->kind = VT_KEY;
        set_inside(r, token, start, close + 1);
        r->at = close + 1;
    } else if (*start == '/' && (close = regex_end(r, in_vector))) {
        token->kind = VT_REGEX;
        set_inside(r, token, start + 1, close);
        r->at = close + 1;
        while (!ends_word(r, r->at, in_vector))
            r->at++;
        token->flags = arena_dup(&r->text->arena, close + 1, (size_t)(r->at - close - 1));
    } else {
        e = read_word(r, token, in_vector);
    }
    token->source = arena_dup(&r->text->arena, start, (size_t)(r->at - start));
    return e;
}

static struct vt_token *add_word(struct vt_reader *r, struct vt_line *line)
{
    line->words = vt_grow(&r->text->arena, line->words, line->count, sizeof *line->words);
    return &line->words[line->count++];
}

/* The quote that ends a literal cell: a bar comes behind it. NULL: the cell is as it stands. */
static const char *literal_end(const struct vt_reader *r)
{
    const char *close =
        *r->at == '\'' ? memchr(r->at + 1, '\'', (size_t)(r->end - r->at - 1)) : NULL;
    const char *next = close ? close + 1 : r->end;

    while (next < r->end && (*next == ' ' || *next == '\t'))
        next++;
    return next < r->end && *next == '|' ? close : NULL;
}

/* | cell | cell | */
static int read_row(struct vt_reader *r, struct vt_line *line)
{
    line->row = true;
    r->at++;
    for (;;) {
        skip_spaces(r);
        if (r->at == r->end)
            break;
        const char *literal = literal_end(r);
        const char *bar = literal ? literal : r->at;
        bool in_quotes = false;
        for (; bar < r->end && (in_quotes || *bar != '|'); bar++) {
            if (*bar == '\\' && in_quotes && bar + 1 < r->end)
                bar++;
            else if (*bar == '"')
                in_quotes = !in_quotes;
        }
        if (bar == r->end)
            return vt_wrong(r, r->at, "a row ends with |");
        const char *stop = bar;
        while (stop > r->at && (stop[-1] == ' ' || stop[-1] == '\t'))
            stop--;
        struct vt_token *token = add_word(r, line);
        *token = (struct vt_token){.line = r->line, .column = column_of(r, r->at)};
        token->source = arena_dup(&r->text->arena, r->at, (size_t)(stop - r->at));
        if (literal) {
            set_inside(r, token, r->at + 1, literal);
        } else if (r->at < stop && *r->at == '"') {
            int e = read_quoted(r, token);
            if (e < 0)
                return e;
            if (r->at != stop)
                return vt_wrong(r, r->at, "expected | behind the closing quote");
        } else {
            set_inside(r, token, r->at, stop);
        }
        r->at = bar + 1;
    }
    return line->count ? 0 : vt_wrong(r, r->start, "a row without cells");
}

int vt_read_words(struct vt_reader *r, struct vt_line *line)
{
    if (*r->at == '|')
        return read_row(r, line);
    while (skip_spaces(r), r->at < r->end) {
        if (*r->at == '#') {
            const char *stop = r->end;
            while (stop > r->at && isspace((unsigned char)stop[-1]))
                stop--;
            line->comment = arena_dup(&r->text->arena, r->at, (size_t)(stop - r->at));
            return 0;
        }
        /* It grows while it is read: into a local first. */
        struct vt_token token;
        int e = read_token(r, &token, false);
        if (e < 0)
            return e;
        if (r->at < r->end && *r->at != ' ' && *r->at != '\t' && token.kind != VT_WORD &&
            token.kind != VT_KEY)
            return vt_wrong(r, r->at, "expected a space");
        *add_word(r, line) = token;
    }
    return 0;
}
