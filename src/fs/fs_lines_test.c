/* SPDX-License-Identifier: MIT */
#include "fs/fs_lines.h"
#include "base/rng.h"
#include "lib/check.h"

/* The new text, made from the old one and the edits alone. */
static void rebuild(const struct fs_edits *edits, struct buf *ret)
{
    const struct fs_text *old = &edits->old_text, *new = &edits->new_text;
    size_t at = 0;

    for (size_t i = 0; i < edits->count; i++) {
        const struct fs_edit *e = &edits->items[i];
        buf_add(ret, old->bytes + old->starts[at], old->starts[e->old_start] - old->starts[at]);
        buf_add(ret, new->bytes + new->starts[e->new_start],
                new->starts[e->new_start + e->new_count] - new->starts[e->new_start]);
        at = e->old_start + e->old_count;
    }
    buf_add(ret, old->bytes + old->starts[at], old->length - old->starts[at]);
}

static size_t edit_size(const struct fs_edits *edits)
{
    size_t size = 0;

    for (size_t i = 0; i < edits->count; i++)
        size += edits->items[i].old_count + edits->items[i].new_count;
    return size;
}

/* The least number of deleted and added lines, by the table everybody knows. */
static size_t least_size(const char *a, const char *b)
{
    size_t table[34][34], n = strlen(a), m = strlen(b);

    for (size_t i = 0; i <= n; i++)
        for (size_t j = 0; j <= m; j++)
            table[i][j] = !i || !j                            ? i + j
                          : a[i - 1] == b[j - 1]              ? table[i - 1][j - 1]
                          : table[i - 1][j] < table[i][j - 1] ? table[i - 1][j] + 1
                                                              : table[i][j - 1] + 1;
    return table[n][m];
}

static void letters_to_lines(const char *letters, struct buf *ret)
{
    for (; *letters; letters++)
        buf_addf(ret, "%c\n", *letters);
}

TEST(the_edits_are_right_and_the_fewest_for_all_short_texts)
{
    struct rng rng;

    rng_seed(&rng, 7);
    for (int round = 0; round < 20000; round++) {
        char words[2][33] = {{0}, {0}};
        CLEANUP(buf_done) struct buf old = {0};
        CLEANUP(buf_done) struct buf new = {0};
        CLEANUP(buf_done) struct buf again = {0};
        CLEANUP(fs_edits_done) struct fs_edits edits = {0};
        for (int side = 0; side < 2; side++)
            for (uint64_t i = 0, n = rng_below(&rng, 32); i < n; i++)
                words[side][i] = (char)('a' + rng_below(&rng, 2 + (uint64_t)round % 5));
        letters_to_lines(words[0], &old);
        letters_to_lines(words[1], &new);
        fs_lines_compare(buf_text(&old), old.length, buf_text(&new), new.length, &edits);
        rebuild(&edits, &again);
        CHECK_TEXT(buf_text(&again), buf_text(&new));
        CHECK_INT(edit_size(&edits), least_size(words[0], words[1]));
    }
}

TEST(large_texts_with_little_in_common_are_compared_in_bounded_time)
{
    enum { LINES = 60000 };
    CLEANUP(buf_done) struct buf old = {0};
    CLEANUP(buf_done) struct buf new = {0};
    CLEANUP(buf_done) struct buf again = {0};
    CLEANUP(fs_edits_done) struct fs_edits edits = {0};
    struct rng rng;

    rng_seed(&rng, 1);
    for (int i = 0; i < LINES; i++) {
        buf_addf(&old, "%d\n", (int)rng_below(&rng, 500));
        buf_addf(&new, "%d\n", (int)rng_below(&rng, 500));
    }
    fs_lines_compare(old.data, old.length, new.data, new.length, &edits);
    rebuild(&edits, &again);
    CHECK_TRUE(again.length == new.length &&memcmp(again.data, new.data, new.length) == 0);
    CHECK_TRUE(edit_size(&edits) < 2 * LINES);
}

TEST(texts_without_lines_and_without_a_last_newline_are_compared)
{
    static const char *const cases[][2] = {
        {"", ""}, {"", "a"}, {"a", ""}, {"a", "a\n"}, {"a\nb", "a\nb\n"}, {"a\nb", "b"},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        CLEANUP(buf_done) struct buf again = {0};
        CLEANUP(fs_edits_done) struct fs_edits edits = {0};
        fs_lines_compare(cases[i][0], strlen(cases[i][0]), cases[i][1], strlen(cases[i][1]),
                         &edits);
        rebuild(&edits, &again);
        CHECK_TEXT(buf_text(&again), cases[i][1]);
    }
}
