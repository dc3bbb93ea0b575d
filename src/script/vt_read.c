/* SPDX-License-Identifier: MIT */
/* Text to lines to words. Errors have the place; nothing here is recursive but vectors, whose depth
 * is one. */
#include "script/vt.h"
#include "base/text.h"
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

struct reader {
    struct vt_text *text;
    const char *path;
    const char *start, *at, *end; /* of the line */
    unsigned line;
    struct err *err;
};

/* Columns are characters, as an editor counts them. */
static unsigned column_of(const struct reader *r, const char *at)
{
    unsigned column = 1;

    for (const char *p = r->start; p < at; p++)
        column += ((unsigned char)*p & 0xc0) != 0x80;
    return column;
}

static int wrong(const struct reader *r, const char *at, const char *format, ...) PRINTF_LIKE(3, 4);
static int wrong(const struct reader *r, const char *at, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    err_setv(r->err, -EINVAL, format, args);
    va_end(args);
    return err_wrap(r->err, "%s:%u:%u", r->path, r->line, column_of(r, at));
}

static void *grow(struct arena *arena, void *items, size_t count, size_t size)
{
    /* Doubling at powers of two: what was there before is left to the arena. */
    if (count && (count & (count - 1)))
        return items;
    void *more = arena_alloc(arena, (count ? count * 2 : 1) * size);
    if (count)
        memcpy(more, items, count * size);
    return more;
}

static struct vt_part *add_part(struct reader *r, struct vt_token *token)
{
    token->parts = grow(&r->text->arena, token->parts, token->part_count, sizeof *token->parts);
    return &token->parts[token->part_count++];
}

static void add_text(struct reader *r, struct vt_token *token, const struct buf *bytes, bool quoted)
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
static int read_variable(struct reader *r, struct vt_token *token, bool quoted)
{
    const char *name = r->at + 1;
    bool braces = name < r->end && *name == '{';
    name += braces;
    const char *p = name;

    while (p < r->end && (starts_name(*p) || (p > name && isdigit((unsigned char)*p))))
        p++;
    if (braces && (p == name || p == r->end || *p != '}'))
        return wrong(r, r->at, "'${' is not followed by a name and '}'");
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

static int hex_digits(struct reader *r, const char *at, size_t min, size_t max, unsigned *ret)
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
static int read_escape(struct reader *r, struct buf *bytes)
{
    static const char from[] = "ntre0\\\"'$#", to[] = "\n\t\r\033\0\\\"'$#";
    const char *known;
    unsigned code;
    int n;

    if (r->at >= r->end)
        return wrong(r, r->at - 1, "a backslash at the end of the line");
    char c = *r->at;
    if (c == 'x') {
        if ((n = hex_digits(r, r->at + 1, 2, 2, &code)) < 0)
            return wrong(r, r->at - 1, "'\\x' is not followed by two hexadecimal digits");
        buf_addc(bytes, (char)code);
        r->at += 3;
        return 0;
    }
    if (c == 'u') {
        bool open = r->at + 1 < r->end && r->at[1] == '{';
        n = open ? hex_digits(r, r->at + 2, 1, 6, &code) : -1;
        if (n < 0 || r->at + 2 + n >= r->end || r->at[2 + n] != '}' || code > 0x10ffff ||
            (code >= 0xd800 && code < 0xe000))
            return wrong(r, r->at - 1, "write a character as \\u{1F600}");
        add_utf8(bytes, code);
        r->at += n + 3;
        return 0;
    }
    known = memchr(from, c, sizeof from - 1);
    if (!known) {
        wrong(r, r->at - 1, "'\\%c' is not an escape", isprint((unsigned char)c) ? c : '?');
        return err_hint(r->err, "there are \\n \\t \\r \\e \\0 \\xNN \\u{N} \\\\ \\\" \\' \\$ \\#");
    }
    buf_addc(bytes, to[known - from]);
    r->at++;
    return 0;
}

static int read_quoted(struct reader *r, struct vt_token *token)
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
        return wrong(r, open, "the text that begins here has no closing %c", quote);
    r->at++;
    if (bytes.length || !any)
        add_text(r, token, &bytes, true);
    return 0;
}

static bool ends_word(const struct reader *r, const char *p, bool in_vector)
{
    return p == r->end || *p == ' ' || *p == '\t' || (in_vector && (*p == ',' || *p == ']'));
}

static int read_word(struct reader *r, struct vt_token *token, bool in_vector)
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
static const char *regex_end(const struct reader *r, bool in_vector)
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

static void set_inside(struct reader *r, struct vt_token *token, const char *from, const char *to)
{
    struct vt_part *part = add_part(r, token);

    part->text = arena_dup(&r->text->arena, from, (size_t)(to - from));
    part->length = (size_t)(to - from);
}

static void skip_spaces(struct reader *r)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t'))
        r->at++;
}

static int read_token(struct reader *r, struct vt_token *token, bool in_vector);

static int read_vector(struct reader *r, struct vt_token *token)
{
    const char *open = r->at++;
    int e;

    token->kind = VT_VECTOR;
    for (;;) {
        skip_spaces(r);
        if (r->at == r->end)
            return wrong(r, open, "the list that begins here has no closing ]");
        if (*r->at == ']')
            break;
        if (*r->at == ',')
            return wrong(r, r->at, "a pattern is missing before this comma");
        token->items = grow(&r->text->arena, token->items, token->item_count, sizeof *token->items);
        if ((e = read_token(r, &token->items[token->item_count++], true)) < 0)
            return e;
        skip_spaces(r);
        if (r->at < r->end && *r->at == ',') {
            r->at++;
            skip_spaces(r);
            if (r->at < r->end && *r->at == ']')
                return wrong(r, r->at, "a pattern is missing behind the comma");
        } else if (r->at < r->end && *r->at != ']') {
            return wrong(r, r->at, "expected a comma or ]");
        }
    }
    r->at++;
    return 0;
}

static int read_token(struct reader *r, struct vt_token *token, bool in_vector)
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

static struct vt_token *add_word(struct reader *r, struct vt_line *line)
{
    line->words = grow(&r->text->arena, line->words, line->count, sizeof *line->words);
    return &line->words[line->count++];
}

/* | cell | cell | */
static int read_row(struct reader *r, struct vt_line *line)
{
    line->row = true;
    r->at++;
    for (;;) {
        skip_spaces(r);
        if (r->at == r->end)
            break;
        const char *bar = r->at;
        bool in_quotes = false;
        for (; bar < r->end && (in_quotes || *bar != '|'); bar++) {
            if (*bar == '\\' && in_quotes && bar + 1 < r->end)
                bar++;
            else if (*bar == '"')
                in_quotes = !in_quotes;
        }
        if (bar == r->end)
            return wrong(r, r->at, "a row ends with |");
        const char *stop = bar;
        while (stop > r->at && (stop[-1] == ' ' || stop[-1] == '\t'))
            stop--;
        struct vt_token *token = add_word(r, line);
        *token = (struct vt_token){.line = r->line, .column = column_of(r, r->at)};
        token->source = arena_dup(&r->text->arena, r->at, (size_t)(stop - r->at));
        if (r->at < stop && *r->at == '"') {
            int e = read_quoted(r, token);
            if (e < 0)
                return e;
            if (r->at != stop)
                return wrong(r, r->at, "expected | behind the closing quote");
        } else {
            set_inside(r, token, r->at, stop);
        }
        r->at = bar + 1;
    }
    return line->count ? 0 : wrong(r, r->start, "a row without cells");
}

static int read_words(struct reader *r, struct vt_line *line)
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
            return wrong(r, r->at, "expected a space");
        *add_word(r, line) = token;
    }
    return 0;
}

/* -- NAME -- alone on a line; NULL: it is none. */
static const char *embedded_name(struct reader *r)
{
    size_t length = (size_t)(r->end - r->start);

    if (length < 7 || memcmp(r->start, "-- ", 3) != 0 || memcmp(r->end - 3, " --", 3) != 0)
        return NULL;
    return arena_dup(&r->text->arena, r->start + 3, length - 6);
}

struct open_line { /* lines that may still get lines below them */
    struct vt_line *line;
    unsigned indent, below; /* below: the indentation of its lines, 0 while it has none */
    struct vt_line *last;
    size_t count;
};

struct open_lines {
    struct open_line items[VT_DEPTH_MAX + 1]; /* the first stands for the file */
    size_t depth;
};

/* The list below a line is closed: from a chain to an array. */
static void close_line(struct reader *r, struct open_lines *open, struct vt_line *first)
{
    struct open_line *top = &open->items[open->depth];
    struct vt_line *items = arena_alloc(&r->text->arena, (top->count + 1) * sizeof *items);
    size_t n = 0;

    for (struct vt_line *line = first; line; line = line->next)
        items[n++] = *line;
    if (top->line) {
        top->line->lines = items;
        top->line->line_count = n;
    } else {
        r->text->lines = items;
        r->text->line_count = n;
    }
}

struct chains {
    struct vt_line *first[VT_DEPTH_MAX + 1];
};

static void pop_line(struct reader *r, struct open_lines *open, struct chains *chains)
{
    close_line(r, open, chains->first[open->depth]);
    chains->first[open->depth] = NULL;
    open->depth--;
}

/* Puts a line below the one it belongs to. */
static int place_line(struct reader *r, struct open_lines *open, struct chains *chains,
                      struct vt_line *line)
{
    bool comment_only = !line->count;
    struct open_line *top;

    while (open->depth && line->indent <= open->items[open->depth].indent)
        pop_line(r, open, chains);
    top = &open->items[open->depth];
    if (!top->count) {
        top->below = line->indent;
        if (!open->depth && line->indent)
            return wrong(r, r->start, "the first line is indented");
    } else if (line->indent != top->below && !comment_only) {
        return wrong(r, r->start + line->indent, "indented by %u, and the lines before it by %u",
                     line->indent, top->below);
    }
    if (top->last)
        top->last->next = line;
    else
        chains->first[open->depth] = line;
    top->last = line;
    top->count++;
    if (comment_only)
        return 0;
    if (open->depth == VT_DEPTH_MAX)
        return wrong(r, r->start + line->indent, "more than %d levels", VT_DEPTH_MAX);
    open->items[++open->depth] = (struct open_line){.line = line, .indent = line->indent};
    return 0;
}

/* A text line becomes a struct line; NULL for a blank one. */
static int read_line(struct reader *r, struct vt_line **ret)
{
    *ret = NULL;
    while (r->end > r->start && (r->end[-1] == '\r' || r->end[-1] == ' ' || r->end[-1] == '\t'))
        r->end--;
    r->at = r->start;
    if ((size_t)(r->end - r->start) > VT_LINE_MAX)
        return wrong(r, r->start, "a line of more than %d bytes", VT_LINE_MAX);
    for (const char *p = r->start; p < r->end; p++)
        if ((unsigned char)*p < 32 && *p != '\t')
            return wrong(r, p, "the byte \\x%02x is not text", (unsigned char)*p);
    while (r->at < r->end && *r->at == ' ')
        r->at++;
    if (r->at == r->end)
        return 0;
    if (*r->at == '\t')
        return wrong(r, r->at, "a tab in the indentation; write spaces");
    struct vt_line *line = arena_alloc(&r->text->arena, sizeof *line);
    line->path = r->text->path;
    line->line = r->line;
    line->indent = (unsigned)(r->at - r->start);
    *ret = line;
    return read_words(r, line);
}

static int read_files(struct reader *r, const char *bytes, const char *end)
{
    struct vt_embedded *file = NULL;
    const char *body = NULL;

    r->text->trailer_length = (size_t)(end - bytes);
    r->text->trailer = arena_dup(&r->text->arena, bytes, r->text->trailer_length);
    for (const char *p = bytes; p < end; r->line++) {
        const char *newline = memchr(p, '\n', (size_t)(end - p));
        r->start = p;
        r->end = newline ? newline : end;
        const char *name = embedded_name(r);
        if (name) {
            for (const char *c = r->start; c < r->end; c++)
                if ((unsigned char)*c < 32)
                    return wrong(r, c, "the byte \\x%02x in the name of a file", (unsigned char)*c);
            if (file)
                file->length = (size_t)(p - body);
            r->text->files =
                grow(&r->text->arena, r->text->files, r->text->file_count, sizeof *r->text->files);
            file = &r->text->files[r->text->file_count++];
            body = newline ? newline + 1 : end;
            *file = (struct vt_embedded){.name = name, .bytes = body, .line = r->line};
        }
        p = newline ? newline + 1 : end;
    }
    if (file)
        file->length = (size_t)(end - body);
    for (size_t i = 0; i < r->text->file_count; i++) {
        file = &r->text->files[i];
        file->bytes = arena_dup(&r->text->arena, file->bytes, file->length);
    }
    return 0;
}

static int read_all(struct reader *r, const char *bytes, size_t length)
{
    const char *end = bytes + length;
    struct open_lines open = {0};
    struct chains chains = {0};
    bool blank = false;
    int e;

    for (const char *p = bytes; p < end; r->line++) {
        const char *newline = memchr(p, '\n', (size_t)(end - p));
        struct vt_line *line;

        r->start = p;
        r->end = newline ? newline : end;
        if (embedded_name(r)) {
            if ((e = read_files(r, p, end)) < 0)
                return e;
            break;
        }
        if (r->line > VT_LINES_MAX)
            return wrong(r, p, "more than %d lines", VT_LINES_MAX);
        if ((e = read_line(r, &line)) < 0 ||
            (line && (line->blank_before = blank, e = place_line(r, &open, &chains, line)) < 0))
            return e;
        blank = !line;
        p = newline ? newline + 1 : end;
    }
    while (open.depth)
        pop_line(r, &open, &chains);
    close_line(r, &open, chains.first[0]);
    return 0;
}

int vt_read(const char *path, const char *bytes, size_t length, struct vt_text **ret,
            struct err *err)
{
    struct err unused;
    struct vt_text *text = mem_alloc(sizeof *text);
    struct reader r = {.text = text, .path = path, .line = 1, .err = err ? err : &unused};
    int e;

    text->path = arena_dup(&text->arena, path, strlen(path));
    text->trailer = "";
    if (length > VT_BYTES_MAX)
        e = err_set(err, -EINVAL, "%s: more than %d bytes", path, VT_BYTES_MAX);
    else if (!text_is_utf8(bytes, length))
        e = err_set(err, -EINVAL, "%s: not a text in UTF-8", path);
    else
        e = read_all(&r, bytes, length);
    if (e < 0) {
        vt_free(text);
        return e;
    }
    *ret = text;
    return 0;
}

struct vt_text *vt_free(struct vt_text *text)
{
    if (text)
        arena_done(&text->arena);
    free(text);
    return NULL;
}

const char *vt_keyword(const struct vt_token *token)
{
    return token->kind == VT_WORD && !token->quoted && token->part_count == 1 &&
                   !token->parts[0].variable
               ? token->parts[0].text
               : NULL;
}
