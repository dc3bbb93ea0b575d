/* SPDX-License-Identifier: MIT */
/* grid: a screen as text that can be searched, with the place of every byte. And what is looked for
 * in it, checked once and compiled. */
#pragma once
#include "term/term_internal.h"

struct place16 { /* of one byte; row 0 is above the screen */
    unsigned short row, col;
};

struct grid {
    struct buf text;   /* rows joined by \n, blanks at their ends left out if `trimmed` */
    struct buf places; /* a struct place16 for each byte of text */
};

struct style {
    unsigned on, off; /* attributes */
    bool has_fg, has_bg;
    struct vitro_term_colour fg, bg;
    bool fg_is_rgb, bg_is_rgb; /* compared by what the eye sees */
};

/* "bold fg=red bg=#202020 no-underline"; -EINVAL names the word and the closest known one. */
int style_parse(const char *text, struct style *ret, struct err *err);
bool style_fits(const struct style *style, const struct vitro_term_cell *cell);

struct look {
    const struct vitro_term_look *what; /* borrows */
    struct pattern *pattern;            /* of an expression; NULL otherwise */
    struct style style;
    struct grid grid; /* kept between looks */
    char name[256];   /* for messages: the screen shows "..." at ... */
};

int look_begin(struct look *look, const struct vitro_term_look *what, struct err *err);
bool look_finds(struct look *look, struct screen *screen, struct vitro_term_place *ret);
void look_end(struct look *look);
