/* SPDX-License-Identifier: MIT */
/* pen: faint and hidden text, which libvterm 0.1 does not know. They go on as the "font" of a cell,
 * which it keeps and nobody else asks for: bit 0 of the font is faint, bit 1 hidden. Its pen is
 * saved and restored by many sequences; what we know of it is, too. Colours of underlines, which it
 * would take for other attributes, are left out. */
#pragma once
#include "base/buf.h"
#include <stdbool.h>
#include <stddef.h>

enum { PEN_FAINT = 1, PEN_HIDDEN = 2 };

struct pen {
    unsigned char now, saved; /* PEN_FAINT | PEN_HIDDEN */
};

/* SGR: `numbers` is what stands between ESC [ and m, with a NUL behind it. What libvterm gets for
 * them is written to `ret`, which has room for length + PEN_ROOM bytes; returns how much that is.
 */
enum { PEN_ROOM = 16 };
size_t pen_sgr(struct pen *pen, const char *numbers, size_t length, char *ret);
/* Other sequences, which may save, restore or reset the pen: ESC FINAL, ESC [ SEQUENCE FINAL. */
void pen_escape(struct pen *pen, char final);
void pen_control(struct pen *pen, const char *sequence, char final);
/* What libvterm tells of its pen (DECRQSS), in the numbers that a program gave. */
void pen_add_told(struct buf *ret, const char *told);
