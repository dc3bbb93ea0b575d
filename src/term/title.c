/* SPDX-License-Identifier: MIT */
#include "term/title.h"
#include "term/term_internal.h"
#include <string.h>

void title_set(struct title *title, const char *given, size_t length)
{
    size_t whole = length - utf8_cut_tail(given, length);
    CLEANUP(mem_free) char *copy = mem_dupn(given, whole);

    for (char *at = copy; at < copy + whole; at++)
        if ((unsigned char)*at < 0x20 || *at == 0x7f)
            *at = ' ';
    buf_clear(&title->now);
    utf8_add_clean(&title->now, copy, whole);
}

void title_push(struct title *title)
{
    if (title->kept_count == TITLES_KEPT_MAX) {
        free(title->kept[0]);
        memmove(title->kept, title->kept + 1, (TITLES_KEPT_MAX - 1) * sizeof title->kept[0]);
        title->kept_count--;
    }
    title->kept[title->kept_count++] = mem_dup(buf_text(&title->now));
}

void title_pop(struct title *title)
{
    if (!title->kept_count)
        return;
    CLEANUP(mem_free) char *kept = title->kept[--title->kept_count];
    buf_clear(&title->now);
    buf_adds(&title->now, kept);
}

void title_done(struct title *title)
{
    while (title->kept_count)
        free(title->kept[--title->kept_count]);
    buf_done(&title->now);
}
