/* SPDX-License-Identifier: MIT */
/* title: a window's title, or its icon's, and those that programs put away to bring them back. */
#pragma once
#include "base/buf.h"
#include <stddef.h>

enum { TITLES_KEPT_MAX = 10 };

struct title {
    struct buf now;
    char *kept[TITLES_KEPT_MAX]; /* owned, the last one was put away last */
    size_t kept_count;
};

/* Whatever a program gives: cleaned of what is no text. */
void title_set(struct title *title, const char *given, size_t length);
void title_push(struct title *title); /* the oldest of too many is forgotten */
void title_pop(struct title *title);  /* without one there is nothing to do */
void title_done(struct title *title);
