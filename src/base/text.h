/* SPDX-License-Identifier: MIT */
/* text: small questions about strings, and the words we print for people. */
#pragma once
#include "base/buf.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

bool text_equal(const char *a, const char *b); /* two NULLs are equal */
bool text_starts(const char *text, const char *prefix);
bool text_ends(const char *text, const char *suffix);

/* Insertions, deletions, substitutions and swaps of neighbours that turn a into b. */
size_t text_distance(const char *a, const char *b);
/* The candidate nearest to `word`, if it is near enough to be what was meant; else NULL. */
const char *text_closest(const char *word, const char *const *candidates, size_t count);

bool text_is_utf8(const void *bytes, size_t length); /* strict: no overlong forms, no surrogates */
/* Appends bytes so that a terminal shows them as they are: \n, \t, \xNN for what is not printable.
 */
void text_add_escaped(struct buf *buf, const void *bytes, size_t length);
/* The last of an output, for a report: the title, then its lines, indented and escaped. */
void text_add_tail(struct buf *ret, const char *title, const struct buf *output);
/* Appends one argument so that a POSIX shell reads it back as it is. */
void text_add_quoted(struct buf *buf, const char *argument);
bool text_to_u64(const char *text, uint64_t *ret); /* decimal, nothing before or behind */
/* A number of bytes, at least 1: 4096, 512k, 64m, 2g, 2GiB. */
bool text_to_size(const char *text, uint64_t *ret);
