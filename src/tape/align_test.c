/* SPDX-License-Identifier: MIT */
#include "tape/align.h"
#include "base/rng.h"
#include "lib/check.h"

/* Length of the longest common subsequence, the slow and plain way. */
static size_t lcs(const uint64_t *a, size_t n, const uint64_t *b, size_t m)
{
    CLEANUP(mem_free) size_t *row = mem_alloc((m + 1) * sizeof *row);

    for (size_t i = 0; i < n; i++)
        for (size_t j = 0, diagonal = 0; j < m; j++) {
            size_t above = row[j + 1];
            row[j + 1] = a[i] == b[j] ? diagonal + 1 : above > row[j] ? above : row[j];
            diagonal = above;
        }
    return row[m];
}

/* The pairs are equal and increasing; returns their number. */
static size_t check_pairs(const uint64_t *a, size_t n, const uint64_t *b, size_t m)
{
    CLEANUP(mem_free) size_t *match = mem_alloc((n + 1) * sizeof *match);
    size_t count = 0, next = 0;

    align(a, n, b, m, match);
    for (size_t i = 0; i < n; i++) {
        if (match[i] == ALIGN_NONE)
            continue;
        CHECK_TRUE(match[i] >= next && match[i] < m);
        CHECK_TRUE(a[i] == b[match[i]]);
        next = match[i] + 1;
        count++;
    }
    return count;
}

TEST(as_many_pairs_are_found_as_there_can_be)
{
    struct rng rng;
    uint64_t a[40], b[40];

    rng_seed(&rng, 7);
    for (int round = 0; round < 3000; round++) {
        size_t n = rng_below(&rng, 40), m = rng_below(&rng, 40);
        uint64_t letters = 1 + rng_below(&rng, 12);
        for (size_t i = 0; i < n; i++)
            a[i] = rng_below(&rng, letters);
        for (size_t i = 0; i < m; i++)
            b[i] = rng_below(&rng, letters);
        CHECK_INT(check_pairs(a, n, b, m), lcs(a, n, b, m));
    }
}

TEST(one_inserted_element_leaves_all_others_paired)
{
    enum { COUNT = 10000 };
    CLEANUP(mem_free) uint64_t *a = mem_alloc(COUNT * sizeof *a);
    CLEANUP(mem_free) uint64_t *b = mem_alloc((COUNT + 1) * sizeof *b);

    for (size_t i = 0; i < COUNT; i++)
        a[i] = b[i + (i >= 5000)] = i % 7;
    b[5000] = 99;
    CHECK_INT(check_pairs(a, COUNT, b, COUNT + 1), COUNT);
}

TEST(beyond_the_edit_limit_anchors_carry_the_alignment)
{
    enum { COUNT = 20000 };
    CLEANUP(mem_free) uint64_t *a = mem_alloc(COUNT * sizeof *a);
    CLEANUP(mem_free) uint64_t *b = mem_alloc(COUNT * sizeof *b);

    for (size_t i = 0; i < COUNT; i++) { /* every fifth element is the same on both sides */
        a[i] = i;
        b[i] = i % 5 ? i + 1000000 : i;
    }
    CHECK_INT(check_pairs(a, COUNT, b, COUNT), COUNT / 5);
    for (size_t i = 0; i < COUNT; i++)
        b[i] = i + 1000000;
    CHECK_INT(check_pairs(a, COUNT, b, COUNT), 0);
}
