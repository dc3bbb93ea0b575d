/* SPDX-License-Identifier: MIT */
/* fs_lines: which lines of one text became which of another; the fewest edits, or nearly so for
 * texts that have little in common. Lines end behind their newline; the last may lack it. */
#pragma once
#include "base/cleanup.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fs_text {
    const char *bytes; /* borrowed */
    size_t length;
    size_t *starts; /* owned; line_count + 1 entries */
    size_t line_count;
};

/* Lines [old_start, old_start + old_count) were replaced by [new_start, new_start + new_count). */
struct fs_edit {
    size_t old_start, old_count, new_start, new_count;
};

struct fs_edits {
    struct fs_text old_text, new_text;
    struct fs_edit *items; /* owned; in order, never touching each other */
    size_t count;
};

void fs_lines_compare(const char *old_bytes, size_t old_length, const char *new_bytes,
                      size_t new_length, struct fs_edits *ret);
void fs_edits_done(struct fs_edits *edits);
static inline __attribute__((unused)) void fs_edits_done_cleanup(struct fs_edits *edits)
{
    fs_edits_done(edits);
}
