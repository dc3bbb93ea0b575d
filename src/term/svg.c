/* SPDX-License-Identifier: MIT */
/* svg: a screen as a picture. Every number is an integer multiple of the cell; no ids, no classes,
 * no fonts: equal screens give equal bytes, on every machine. */
#include "term/term_internal.h"
#include <string.h>

enum { CELL_WIDTH = SVG_CELL_WIDTH, CELL_HEIGHT = SVG_CELL_HEIGHT, BASELINE = 14, MARGIN = 9 };
static const struct vitro_term_colour paper = {VITRO_TERM_RGB, 0, 0x1c, 0x1c, 0x1c};
static const struct vitro_term_colour ink = {VITRO_TERM_RGB, 0, 0xe0, 0xe0, 0xe0};

static void add_escaped(struct buf *buf, const char *text)
{
    for (; *text; text++)
        switch (*text) {
        case '&':
            buf_adds(buf, "&amp;");
            break;
        case '<':
            buf_adds(buf, "&lt;");
            break;
        case '>':
            buf_adds(buf, "&gt;");
            break;
        default:
            buf_addc(buf, *text);
        }
}

static void add_hex(struct buf *buf, const struct vitro_term_colour *colour)
{
    buf_addf(buf, "#%02x%02x%02x", colour->red, colour->green, colour->blue);
}

/* What is seen, with reverse and the defaults resolved. */
static void colours_of(const struct vitro_term_cell *cell, struct vitro_term_colour *fg,
                       struct vitro_term_colour *bg)
{
    bool reverse = cell->attributes & VITRO_TERM_REVERSE;
    struct vitro_term_colour front = cell->fg.kind == VITRO_TERM_DEFAULT ? ink : cell->fg;
    struct vitro_term_colour back = cell->bg.kind == VITRO_TERM_DEFAULT ? paper : cell->bg;

    *fg = reverse ? back : front;
    *bg = reverse ? front : back;
    if (cell->attributes & VITRO_TERM_FAINT) { /* halfway to what is behind it */
        fg->red = (unsigned char)((fg->red + bg->red) / 2);
        fg->green = (unsigned char)((fg->green + bg->green) / 2);
        fg->blue = (unsigned char)((fg->blue + bg->blue) / 2);
    }
}

static void add_background(struct buf *buf, unsigned row, const struct snapshot_run *run)
{
    struct vitro_term_colour fg, bg;

    colours_of(&run->cell, &fg, &bg);
    if (memcmp(&bg, &paper, sizeof bg) == 0)
        return;
    buf_addf(buf, "<rect x=\"%u\" y=\"%u\" width=\"%u\" height=\"%d\" fill=\"",
             MARGIN + (run->from - 1) * CELL_WIDTH, MARGIN + (row - 1) * CELL_HEIGHT,
             (run->to - run->from + 1) * CELL_WIDTH, CELL_HEIGHT);
    add_hex(buf, &bg);
    buf_adds(buf, "\"/>\n");
}

static void add_glyphs(struct buf *buf, unsigned row, struct snapshot_run *run)
{
    struct vitro_term_colour fg, bg;
    unsigned a = run->cell.attributes;

    if (!(a & (VITRO_TERM_UNDERLINE | VITRO_TERM_STRIKE)))
        for (; run->text.length && run->text.data[run->text.length - 1] == ' '; run->to--)
            buf_cut(&run->text, run->text.length - 1);
    if (!run->text.length)
        return;
    colours_of(&run->cell, &fg, &bg);
    /* The length pins the run to the grid, whatever font the viewer has. */
    buf_addf(buf, "<text x=\"%u\" y=\"%u\" textLength=\"%u\" fill=\"",
             MARGIN + (run->from - 1) * CELL_WIDTH, MARGIN + (row - 1) * CELL_HEIGHT + BASELINE,
             (run->to - run->from + 1) * CELL_WIDTH);
    add_hex(buf, &fg);
    buf_addc(buf, '"');
    if (a & VITRO_TERM_BOLD)
        buf_adds(buf, " font-weight=\"bold\"");
    if (a & VITRO_TERM_ITALIC)
        buf_adds(buf, " font-style=\"italic\"");
    if (a & (VITRO_TERM_UNDERLINE | VITRO_TERM_STRIKE))
        buf_addf(buf, " text-decoration=\"%s%s%s\"", a & VITRO_TERM_UNDERLINE ? "underline" : "",
                 a & VITRO_TERM_UNDERLINE && a & VITRO_TERM_STRIKE ? " " : "",
                 a & VITRO_TERM_STRIKE ? "line-through" : "");
    buf_addc(buf, '>');
    add_escaped(buf, buf_text(&run->text));
    buf_adds(buf, "</text>\n");
}

void snapshot_add_svg(struct buf *buf, struct screen *screen)
{
    struct vitro_term_state state = {0};
    struct snapshot_run run = {0};

    screen_state(screen, &state);
    unsigned width = state.cols * CELL_WIDTH + 2 * MARGIN;
    unsigned height = state.rows * CELL_HEIGHT + 2 * MARGIN;
    buf_addf(buf,
             "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\" "
             "viewBox=\"0 0 %u %u\">\n",
             width, height, width, height);
    if (*state.title) {
        buf_adds(buf, "<title>");
        add_escaped(buf, state.title);
        buf_adds(buf, "</title>\n");
    }
    buf_addf(buf, "<rect width=\"%u\" height=\"%u\" fill=\"", width, height);
    add_hex(buf, &paper);
    buf_adds(buf, "\"/>\n<g font-family=\"monospace\" font-size=\"15\" xml:space=\"preserve\">\n");
    for (unsigned row = 1; row <= state.rows; row++) {
        for (unsigned col = 1; snapshot_next_run(screen, row, state.cols, col, &run);
             col = run.to + 1)
            add_background(buf, row, &run);
        for (unsigned col = 1, next; snapshot_next_run(screen, row, state.cols, col, &run);
             col = next) {
            next = run.to + 1;
            add_glyphs(buf, row, &run);
        }
    }
    if (state.cursor_visible)
        buf_addf(buf,
                 "<rect x=\"%u\" y=\"%u\" width=\"%d\" height=\"%d\" fill=\"none\" "
                 "stroke=\"#e0e0e0\"/>\n",
                 MARGIN + (state.cursor_col - 1) * CELL_WIDTH,
                 MARGIN + (state.cursor_row - 1) * CELL_HEIGHT, CELL_WIDTH, CELL_HEIGHT);
    buf_adds(buf, "</g>\n</svg>\n");
    buf_done(&run.text);
}
