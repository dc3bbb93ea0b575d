/* SPDX-License-Identifier: MIT */
#include "term/grid.h"
#include "base/text.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

static void add_place(struct grid *grid, unsigned row, unsigned col)
{
    struct place16 place = {(unsigned short)row, (unsigned short)col};

    buf_add(&grid->places, &place, sizeof place);
}

static void trim_row(struct grid *grid, size_t start)
{
    while (grid->text.length > start && grid->text.data[grid->text.length - 1] == ' ') {
        buf_cut(&grid->text, grid->text.length - 1);
        buf_cut(&grid->places, grid->places.length - sizeof(struct place16));
    }
}

static void end_row(struct grid *grid, unsigned row, unsigned col)
{
    buf_addc(&grid->text, '\n');
    add_place(grid, row, col);
}

static void add_row(struct grid *grid, struct screen *screen, unsigned row, unsigned left,
                    unsigned right, bool trimmed)
{
    CLEANUP(buf_done) struct buf text = {0}, columns = {0};
    size_t start = grid->text.length;

    screen_row_text(screen, row, &text, &columns);
    for (size_t i = 0; i < text.length; i++) {
        unsigned short col;
        memcpy(&col, columns.data + i * sizeof col, sizeof col);
        if (col < left || col > right)
            continue;
        buf_addc(&grid->text, text.data[i]);
        add_place(grid, row, col);
    }
    if (trimmed)
        trim_row(grid, start);
    end_row(grid, row, right);
}

static void fill(struct grid *grid, struct screen *screen, const struct vitro_term_look *what,
                 bool trimmed)
{
    struct vitro_term_state state = {0};

    screen_state(screen, &state);
    buf_clear(&grid->text);
    buf_clear(&grid->places);
    for (unsigned line = what->scrollback ? state.scrollback : 0; line; line--) {
        size_t start = grid->text.length;
        (void)screen_scrollback_text(screen, line, &grid->text);
        for (size_t i = start; i < grid->text.length; i++)
            add_place(grid, 0, (unsigned)(i - start) + 1);
        end_row(grid, 0, state.cols);
    }
    unsigned bottom = what->bottom && what->bottom < state.rows ? what->bottom : state.rows;
    unsigned right = what->right && what->right < state.cols ? what->right : state.cols;
    for (unsigned row = what->top ? what->top : 1; row <= bottom; row++)
        add_row(grid, screen, row, what->left ? what->left : 1, right, trimmed);
}

/* ---- what is looked for -------------------------------------------------------------------- */

static void add_name(struct look *look)
{
    const struct vitro_term_look *what = look->what;
    CLEANUP(buf_done) struct buf name = {0};

    buf_adds(&name, "the screen shows ");
    if (what->text) {
        buf_adds(&name, what->regex ? "a match of \"" : "\"");
        text_add_escaped(&name, what->text, strnlen(what->text, 100));
        buf_adds(&name, "\" ");
    }
    if (what->row)
        buf_addf(&name, "in row %u ", what->row);
    if (what->col)
        buf_addf(&name, "from column %u ", what->col);
    if (what->top || what->left || what->bottom || what->right)
        buf_addf(&name, "within rows %u-%u, columns %u-%u ", what->top, what->bottom, what->left,
                 what->right);
    if (what->style)
        buf_addf(&name, "in style '%s' ", what->style);
    if (what->title)
        buf_addf(&name, "under the title \"%s\" ", what->title);
    if (what->cursor_row || what->cursor_col)
        buf_addf(&name, "with the cursor at %u,%u ", what->cursor_row, what->cursor_col);
    if (what->alternate)
        buf_addf(&name, "with the alternate screen %s ", what->alternate > 0 ? "on" : "off");
    if (what->cursor_visible)
        buf_addf(&name, "with the cursor %s ", what->cursor_visible > 0 ? "visible" : "hidden");
    buf_cut(&name, name.length - 1);
    (void)snprintf(look->name, sizeof look->name, "%s", buf_text(&name));
}

int look_begin(struct look *look, const struct vitro_term_look *what, struct err *err)
{
    int r = 0;

    *look = (struct look){.what = what};
    if (!what->text && !what->title && !what->cursor_row && !what->cursor_col && !what->alternate &&
        !what->cursor_visible)
        return err_set(err, -EINVAL, "nothing is looked for: give text, title, cursor or a mode");
    if (what->text && !*what->text)
        return err_set(err, -EINVAL, "the text that is looked for is empty");
    if (what->style && !what->text)
        return err_set(err, -EINVAL, "a style needs a text that has it");
    if (what->style)
        r = style_parse(what->style, &look->style, err);
    if (r == 0 && what->regex && what->text)
        r = pattern_new(what->text, strlen(what->text), true, &look->pattern, err);
    if (r == 0)
        add_name(look);
    return r;
}

void look_end(struct look *look)
{
    pattern_free(look->pattern);
    buf_done(&look->grid.text);
    buf_done(&look->grid.places);
}

static bool next_match(struct look *look, size_t from, size_t *start, size_t *end)
{
    const struct grid *grid = &look->grid;
    const char *text = look->what->text;

    if (look->pattern) {
        struct pattern_match match;
        if (pattern_find(look->pattern, grid->text.data, grid->text.length, &from, false, &match,
                         NULL) <= 0)
            return false;
        *start = match.start;
        *end = match.end;
        return true;
    }
    const char *at = from < grid->text.length ? strstr(grid->text.data + from, text) : NULL;
    if (!at)
        return false;
    *start = (size_t)(at - grid->text.data);
    *end = *start + strlen(text);
    return true;
}

static bool styled(struct look *look, struct screen *screen, size_t start, size_t end)
{
    const struct place16 *places = (const struct place16 *)look->grid.places.data;

    for (size_t i = start; i < end; i++) {
        struct vitro_term_cell cell;
        if (look->grid.text.data[i] == '\n')
            continue;
        if (!places[i].row || screen_cell(screen, places[i].row, places[i].col, &cell) < 0 ||
            !style_fits(&look->style, &cell))
            return false;
    }
    return true;
}

static bool finds_text(struct look *look, struct screen *screen, struct vitro_term_place *ret)
{
    const struct vitro_term_look *what = look->what;
    size_t start, end;

    fill(&look->grid, screen, what, look->pattern || strchr(what->text, '\n'));
    const struct place16 *places = (const struct place16 *)look->grid.places.data;
    for (size_t from = 0; next_match(look, from, &start, &end); from = start + 1) {
        if (start >= look->grid.text.length)
            break;
        struct place16 first = places[start], last = places[end > start ? end - 1 : start];
        if ((what->row && first.row != what->row) || (what->col && first.col != what->col) ||
            (what->style && !styled(look, screen, start, end)))
            continue;
        ret->row = first.row;
        ret->col = first.col;
        ret->end_row = last.row;
        ret->end_col = last.col;
        return true;
    }
    return false;
}

bool look_finds(struct look *look, struct screen *screen, struct vitro_term_place *ret)
{
    const struct vitro_term_look *what = look->what;
    struct vitro_term_state state = {0};

    screen_state(screen, &state);
    if ((what->title && strcmp(what->title, state.title) != 0) ||
        (what->cursor_row && what->cursor_row != state.cursor_row) ||
        (what->cursor_col && what->cursor_col != state.cursor_col) ||
        (what->alternate && (what->alternate > 0) != state.alternate) ||
        (what->cursor_visible && (what->cursor_visible > 0) != state.cursor_visible))
        return false;
    return !what->text || finds_text(look, screen, ret);
}
