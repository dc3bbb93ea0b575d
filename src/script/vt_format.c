/* SPDX-License-Identifier: MIT */
/* The one way to write a scenario. Words keep their spelling; what is settled is the space between
 * them: two spaces a level, one between words, two before a comment, at most one empty line,
 * aligned tables. */
#include "script/vt.h"
#include <string.h>

static void indent(struct buf *ret, unsigned level)
{
    for (unsigned i = 0; i < level; i++)
        buf_adds(ret, "  ");
}

static size_t width_of(const char *text)
{
    size_t width = 0;

    for (; *text; text++)
        width += ((unsigned char)*text & 0xc0) != 0x80;
    return width;
}

static void add_token(struct buf *ret, const struct vt_token *token)
{
    if (token->kind != VT_VECTOR) {
        buf_adds(ret, token->source);
        return;
    }
    buf_addc(ret, '[');
    for (size_t i = 0; i < token->item_count; i++) {
        buf_adds(ret, i ? ", " : "");
        add_token(ret, &token->items[i]);
    }
    buf_addc(ret, ']');
}

/* The widest cell of each column in the rows that stand together. */
static void add_row(struct buf *ret, const struct vt_line *lines, size_t count, size_t at)
{
    size_t first = at, last = at;

    while (first > 0 && lines[first - 1].row)
        first--;
    while (last + 1 < count && lines[last + 1].row)
        last++;
    buf_addc(ret, '|');
    for (size_t cell = 0; cell < lines[at].count; cell++) {
        size_t widest = 0, width = width_of(lines[at].words[cell].source);
        for (size_t i = first; i <= last; i++)
            if (cell < lines[i].count && width_of(lines[i].words[cell].source) > widest)
                widest = width_of(lines[i].words[cell].source);
        buf_addf(ret, " %s", lines[at].words[cell].source);
        for (; width < widest; width++)
            buf_addc(ret, ' ');
        buf_adds(ret, " |");
    }
}

static void add_lines(struct buf *ret, const struct vt_line *lines, size_t count, unsigned level)
{
    for (size_t i = 0; i < count; i++) {
        const struct vt_line *line = &lines[i];

        if (line->blank_before && ret->length)
            buf_addc(ret, '\n');
        indent(ret, level);
        if (line->row)
            add_row(ret, lines, count, i);
        for (size_t w = 0; !line->row && w < line->count; w++) {
            buf_adds(ret, w ? " " : "");
            add_token(ret, &line->words[w]);
        }
        if (line->comment)
            buf_addf(ret, "%s%s", line->count ? "  " : "", line->comment);
        buf_addc(ret, '\n');
        add_lines(ret, line->lines, line->line_count, level + 1);
    }
}

void vt_format(const struct vt_text *text, struct buf *ret)
{
    add_lines(ret, text->lines, text->line_count, 0);
    if (text->trailer_length) {
        buf_adds(ret, ret->length ? "\n" : "");
        buf_add(ret, text->trailer, text->trailer_length);
    }
}
