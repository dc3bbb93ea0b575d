/* SPDX-License-Identifier: MIT */
#include "tape/align.h"
#include "base/buf.h"
#include <stdbool.h>
#include <string.h>

enum { EDITS_MAX = 1024 };

struct problem {
    const uint64_t *a, *b;
    size_t *match; /* one place an element of a */
};

struct range { /* what is left to pair: a[a_start, a_end) and b[b_start, b_end) */
    size_t a_start, a_end, b_start, b_end;
};

static void align_range(struct problem *problem, struct range range, bool anchored);

/* Myers' greedy walk. Row d of the history holds, for each diagonal k in -d, -d+2 ... d, how far
 * along a the best path with d edits comes. Returns the number of edits, or -1 beyond the limit. */
static long walk_forward(const uint64_t *a, long n, const uint64_t *b, long m, int32_t **rows)
{
    for (long d = 0; d <= EDITS_MAX; d++) {
        int32_t *row = rows[d] = mem_alloc((size_t)(d + 1) * sizeof *row);
        const int32_t *last = d ? rows[d - 1] : NULL; /* diagonal k of row d - 1: (k + d - 1) / 2 */
        for (long k = -d; k <= d; k += 2) {
            long x = 0;
            if (d) {
                long left = (k + d - 2) / 2, right = (k + d) / 2; /* diagonals k - 1 and k + 1 */
                bool down = k == -d || (k != d && last[left] < last[right]);
                x = down ? last[right] : last[left] + 1;
            }
            long y = x - k;
            while (x < n && y < m && x >= 0 && y >= 0 && a[x] == b[y]) {
                x++;
                y++;
            }
            row[(k + d) / 2] = (int32_t)x;
            if (x >= n && y >= m)
                return d;
        }
    }
    return -1;
}

static void walk_back(struct problem *problem, struct range range, long edits, int32_t **rows)
{
    long x = (long)(range.a_end - range.a_start), y = (long)(range.b_end - range.b_start);

    for (long d = edits; d >= 0; d--) {
        long k = x - y, from_x = 0, from_y = 0;
        if (d) {
            const int32_t *last = rows[d - 1];
            long left = (k + d - 2) / 2, right = (k + d) / 2;
            bool down = k == -d || (k != d && last[left] < last[right]);
            from_x = down ? last[right] : last[left];
            from_y = from_x - (down ? k + 1 : k - 1);
        }
        while (x > from_x && y > from_y) { /* the run of equal elements behind the edit */
            x--;
            y--;
            problem->match[range.a_start + (size_t)x] = range.b_start + (size_t)y;
        }
        x = from_x;
        y = from_y;
    }
}

static bool align_myers(struct problem *problem, struct range range)
{
    int32_t *rows[EDITS_MAX + 1] = {0};
    long n = (long)(range.a_end - range.a_start), m = (long)(range.b_end - range.b_start);

    if ((n > m ? n - m : m - n) > EDITS_MAX)
        return false;
    long edits = walk_forward(problem->a + range.a_start, n, problem->b + range.b_start, m, rows);
    if (edits >= 0)
        walk_back(problem, range, edits, rows);
    for (size_t i = 0; i <= EDITS_MAX; i++)
        free(rows[i]);
    return edits >= 0;
}

struct place { /* an element with its place and side, to be sorted by key */
    uint64_t key;
    size_t index;
    bool in_b;
};

static int compare_places(const void *left, const void *right)
{
    const struct place *a = left, *b = right;

    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    if (a->in_b != b->in_b)
        return a->in_b ? 1 : -1;
    return a->index < b->index ? -1 : a->index > b->index;
}

/* Fills pairs[i] with the place in b of a[i] where both are the only ones of their key. */
static size_t find_unique(const struct problem *problem, struct range range, size_t *pairs)
{
    size_t n = range.a_end - range.a_start, m = range.b_end - range.b_start, found = 0;
    CLEANUP(mem_free) struct place *places = mem_alloc((n + m) * sizeof *places);

    for (size_t i = 0; i < n; i++) {
        places[i] = (struct place){problem->a[range.a_start + i], i, false};
        pairs[i] = ALIGN_NONE;
    }
    for (size_t i = 0; i < m; i++)
        places[n + i] = (struct place){problem->b[range.b_start + i], i, true};
    qsort(places, n + m, sizeof *places, compare_places);
    for (size_t i = 0, end; i < n + m; i = end) {
        for (end = i + 1; end < n + m && places[end].key == places[i].key;)
            end++;
        if (end - i == 2 && !places[i].in_b && places[i + 1].in_b) {
            pairs[places[i].index] = places[i + 1].index;
            found++;
        }
    }
    return found;
}

/* Keeps the longest increasing run of pairs and clears the others (patience sorting). */
static void keep_increasing(size_t *pairs, size_t n)
{
    CLEANUP(mem_free) size_t *tops = mem_alloc((n + 1) * sizeof *tops);
    CLEANUP(mem_free) size_t *before = mem_alloc((n + 1) * sizeof *before);
    size_t piles = 0;

    for (size_t i = 0; i < n; i++) {
        if (pairs[i] == ALIGN_NONE)
            continue;
        size_t low = 0, high = piles;
        while (low < high) {
            size_t middle = (low + high) / 2;
            if (pairs[tops[middle]] < pairs[i])
                low = middle + 1;
            else
                high = middle;
        }
        before[i] = low ? tops[low - 1] : ALIGN_NONE;
        tops[low] = i;
        piles += low == piles;
    }
    size_t keep = piles ? tops[piles - 1] : ALIGN_NONE;
    for (size_t i = n; i-- > 0;)
        if (i == keep)
            keep = before[i];
        else
            pairs[i] = ALIGN_NONE;
}

static void align_anchors(struct problem *problem, struct range range)
{
    size_t n = range.a_end - range.a_start;
    CLEANUP(mem_free) size_t *pairs = mem_alloc((n + 1) * sizeof *pairs);
    struct range gap = range;

    if (!find_unique(problem, range, pairs))
        return;
    keep_increasing(pairs, n);
    for (size_t i = 0; i < n; i++) {
        if (pairs[i] == ALIGN_NONE)
            continue;
        problem->match[range.a_start + i] = range.b_start + pairs[i];
        gap.a_end = range.a_start + i;
        gap.b_end = range.b_start + pairs[i];
        align_range(problem, gap, true);
        gap.a_start = gap.a_end + 1;
        gap.b_start = gap.b_end + 1;
    }
    gap.a_end = range.a_end;
    gap.b_end = range.b_end;
    align_range(problem, gap, true);
}

/* `anchored`: the range lies between anchors, so looking for more of them is of no use. */
static void align_range(struct problem *problem, struct range range, bool anchored)
{
    while (range.a_start < range.a_end && range.b_start < range.b_end &&
           problem->a[range.a_start] == problem->b[range.b_start])
        problem->match[range.a_start++] = range.b_start++;
    while (range.a_start < range.a_end && range.b_start < range.b_end &&
           problem->a[range.a_end - 1] == problem->b[range.b_end - 1])
        problem->match[--range.a_end] = --range.b_end;
    if (range.a_start == range.a_end || range.b_start == range.b_end)
        return;
    if (!align_myers(problem, range) && !anchored)
        align_anchors(problem, range);
}

void align(const uint64_t *a, size_t a_count, const uint64_t *b, size_t b_count, size_t *ret_match)
{
    struct problem problem = {a, b, ret_match};

    for (size_t i = 0; i < a_count; i++)
        ret_match[i] = ALIGN_NONE;
    align_range(&problem, (struct range){0, a_count, 0, b_count}, false);
}
