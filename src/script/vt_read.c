/* SPDX-License-Identifier: MIT */
/* A text to a tree of lines, by indentation, and to the files behind them. */
#include "script/vt_reader.h"
#include "base/text.h"
#include <errno.h>
#include <string.h>

/* -- NAME -- alone on a line; NULL: it is none. */
static const char *embedded_name(struct vt_reader *r)
{
    const char *end = r->end > r->start && r->end[-1] == '\r' ? r->end - 1 : r->end;
    size_t length = (size_t)(end - r->start);

    if (length < 7 || memcmp(r->start, "-- ", 3) != 0 || memcmp(end - 3, " --", 3) != 0)
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
static void close_line(struct vt_reader *r, struct open_lines *open, struct vt_line *first)
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

static void pop_line(struct vt_reader *r, struct open_lines *open, struct chains *chains)
{
    close_line(r, open, chains->first[open->depth]);
    chains->first[open->depth] = NULL;
    open->depth--;
}

/* Puts a line below the one it belongs to. */
static int place_line(struct vt_reader *r, struct open_lines *open, struct chains *chains,
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
            return vt_wrong(r, r->start, "the first line is indented");
    } else if (line->indent != top->below && !comment_only) {
        return vt_wrong(r, r->start + line->indent, "indented by %u, and the lines before it by %u",
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
        return vt_wrong(r, r->start + line->indent, "more than %d levels", VT_DEPTH_MAX);
    open->items[++open->depth] = (struct open_line){.line = line, .indent = line->indent};
    return 0;
}

/* A text line becomes a struct line; NULL for a blank one. */
static int read_line(struct vt_reader *r, struct vt_line **ret)
{
    *ret = NULL;
    while (r->end > r->start && (r->end[-1] == '\r' || r->end[-1] == ' ' || r->end[-1] == '\t'))
        r->end--;
    r->at = r->start;
    if ((size_t)(r->end - r->start) > VT_LINE_MAX)
        return vt_wrong(r, r->start, "a line of more than %d bytes", VT_LINE_MAX);
    for (const char *p = r->start; p < r->end; p++)
        if ((unsigned char)*p < 32 && *p != '\t')
            return vt_wrong(r, p, "the byte \\x%02x is not text", (unsigned char)*p);
    while (r->at < r->end && *r->at == ' ')
        r->at++;
    if (r->at == r->end)
        return 0;
    if (*r->at == '\t')
        return vt_wrong(r, r->at, "a tab in the indentation; write spaces");
    if (r->end - r->at >= 3 && memcmp(r->at, "\xef\xbb\xbf", 3) == 0)
        return vt_wrong(r, r->at, "a byte order mark, which stands at the beginning of a file");
    struct vt_line *line = arena_alloc(&r->text->arena, sizeof *line);
    line->path = r->text->path;
    line->line = r->line;
    line->indent = (unsigned)(r->at - r->start);
    *ret = line;
    return vt_read_words(r, line);
}

static int read_files(struct vt_reader *r, const char *bytes, const char *end)
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
            for (const char *c = r->start + 3; c < r->start + 3 + strlen(name); c++)
                if ((unsigned char)*c < 32)
                    return vt_wrong(r, c, "the byte \\x%02x in the name of a file",
                                    (unsigned char)*c);
            for (size_t i = 0; i < r->text->file_count; i++)
                if (strcmp(r->text->files[i].name, name) == 0)
                    return vt_wrong(r, r->start + 3,
                                    "the file '%s' comes a second time, after line %u", name,
                                    r->text->files[i].line);
            if (file)
                file->length = (size_t)(p - body);
            r->text->files = vt_grow(&r->text->arena, r->text->files, r->text->file_count,
                                     sizeof *r->text->files);
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

static int read_all(struct vt_reader *r, const char *bytes, size_t length)
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
            return vt_wrong(r, p, "more than %d lines", VT_LINES_MAX);
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
    struct vt_reader r = {.text = text, .path = path, .line = 1, .err = err ? err : &unused};
    int e;

    text->path = arena_dup(&text->arena, path, strlen(path));
    text->trailer = "";
    if (length > VT_BYTES_MAX)
        e = err_set(err, -EINVAL, "%s: more than %d bytes", path, VT_BYTES_MAX);
    else if (!text_is_utf8(bytes, length))
        e = err_set(err, -EINVAL, "%s: not a text in UTF-8", path);
    else if (length >= 3 &&
             memcmp(bytes, "\xef\xbb\xbf", 3) == 0) /* a mark that some editors leave */
        e = read_all(&r, bytes + 3, length - 3);
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
