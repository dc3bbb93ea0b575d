/* SPDX-License-Identifier: MIT */
/* vt_reader: what the two halves of reading a text share: words of a line (vt_words.c), and lines
 * of a text (vt_read.c). */
#pragma once
#include "script/vt.h"

struct vt_reader {
    struct vt_text *text;
    const char *path;
    const char *start, *at, *end; /* of the line */
    unsigned line;
    struct err *err;
};

/* "path:line:column: text" */
int vt_wrong(const struct vt_reader *r, const char *at, const char *format, ...) PRINTF_LIKE(3, 4);
/* Room for one more; what was there before is left to the arena. */
void *vt_grow(struct arena *arena, void *items, size_t count, size_t size);
/* From `at` to the end of the line. */
int vt_read_words(struct vt_reader *r, struct vt_line *line);
