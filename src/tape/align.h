/* SPDX-License-Identifier: MIT */
/* align: which elements of two sequences belong together. Elements are 64-bit keys; equal keys are
 * equal elements. The result is an increasing set of pairs, as many as can be found:
 *
 *     1. equal beginnings and ends are paired,
 *     2. the middle by Myers' shortest edit script, up to EDITS_MAX edits,
 *     3. beyond that by anchors, elements that occur once on both sides (patience), and then again
 *        between the anchors.
 *
 * A middle with neither few edits nor anchors stays unpaired: it has nothing in common worth the
 * time. Memory is bounded by a few words an element and 4 MB of edit history. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#define ALIGN_NONE SIZE_MAX

/* ret_match has a_count places: the index in b, or ALIGN_NONE. */
void align(const uint64_t *a, size_t a_count, const uint64_t *b, size_t b_count, size_t *ret_match);
