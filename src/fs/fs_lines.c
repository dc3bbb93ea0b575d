/* SPDX-License-Identifier: MIT */
/* Comparing lines after E. Myers, "An O(ND) Difference Algorithm and Its Variations" (1986), the
 * variant in linear space: a path through the edit graph is searched from both ends at once, and
 * where they meet the problem falls apart in two.
 *
 * Two things keep bad cases cheap. Lines that the other text does not have at all are taken out
 * first. And a search that went on for too long is cut at the furthest point it reached; the edits
 * are then not the fewest, but still right. */
#include "fs/fs_lines.h"
#include "base/buf.h"
#include <string.h>

struct side {
    struct fs_text *text;
    uint32_t *ids;   /* one a line; equal lines have equal ids in both texts */
    bool *changed;   /* one a line: not in the other text */
    uint32_t *dense; /* ids of the lines that take part in the search */
    size_t *place;   /* the line each of them is */
    size_t count;    /* how many */
};

struct search {
    struct side old, new;
    ptrdiff_t *forward, *backward; /* furthest x on each diagonal; indexed from the middle */
    ptrdiff_t steps_max;
};

static void split_lines(const char *bytes, size_t length, struct fs_text *ret)
{
    size_t lines = 0, capacity = 64;

    *ret = (struct fs_text){.bytes = bytes, .length = length};
    ret->starts = mem_alloc(capacity * sizeof *ret->starts);
    for (size_t at = 0; at < length;) {
        const char *newline = memchr(bytes + at, '\n', length - at);
        if (lines + 2 > capacity) {
            capacity *= 2;
            ret->starts = mem_grow(ret->starts, capacity * sizeof *ret->starts);
        }
        ret->starts[lines++] = at;
        at = newline ? (size_t)(newline - bytes) + 1 : length;
    }
    ret->starts[lines] = length;
    ret->line_count = lines;
}

/* A table from lines to small numbers. */
struct table {
    const char **lines;
    size_t *lengths;
    uint32_t *ids; /* 0: free */
    size_t mask;
    uint32_t next;
};

static uint64_t hash_line(const char *bytes, size_t length)
{
    uint64_t hash = UINT64_C(14695981039346656037); /* FNV-1a */

    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)bytes[i]) * UINT64_C(1099511628211);
    return hash ^ hash >> 29;
}

static uint32_t number_line(struct table *table, const char *line, size_t length)
{
    size_t slot = (size_t)hash_line(line, length) & table->mask;

    while (table->ids[slot]) {
        if (table->lengths[slot] == length && memcmp(table->lines[slot], line, length) == 0)
            return table->ids[slot];
        slot = (slot + 1) & table->mask;
    }
    table->lines[slot] = line;
    table->lengths[slot] = length;
    table->ids[slot] = ++table->next;
    return table->next;
}

static void number_side(struct table *table, struct side *side)
{
    const struct fs_text *text = side->text;

    side->ids = mem_alloc((text->line_count + 1) * sizeof *side->ids);
    side->changed = mem_alloc(text->line_count + 1);
    side->dense = mem_alloc((text->line_count + 1) * sizeof *side->dense);
    side->place = mem_alloc((text->line_count + 1) * sizeof *side->place);
    for (size_t i = 0; i < text->line_count; i++)
        side->ids[i] = number_line(table, text->bytes + text->starts[i],
                                   text->starts[i + 1] - text->starts[i]);
}

static uint32_t number_lines(struct search *search)
{
    size_t total = search->old.text->line_count + search->new.text->line_count, size = 64;

    while (size < total * 2)
        size *= 2;
    struct table table = {.mask = size - 1};
    table.lines = mem_alloc(size * sizeof *table.lines);
    table.lengths = mem_alloc(size * sizeof *table.lengths);
    table.ids = mem_alloc(size * sizeof *table.ids);
    number_side(&table, &search->old);
    number_side(&table, &search->new);
    free(table.lines);
    free(table.lengths);
    free(table.ids);
    return table.next;
}

/* Takes lines [start, end) into the search, but for those the other side lacks. */
static void condense(struct side *side, size_t start, size_t end, const bool *other_has)
{
    for (size_t i = start; i < end; i++) {
        if (!other_has[side->ids[i]]) {
            side->changed[i] = true;
            continue;
        }
        side->dense[side->count] = side->ids[i];
        side->place[side->count++] = i;
    }
}

static void condense_both(struct search *search, uint32_t id_count)
{
    struct side *old = &search->old, *new = &search->new;
    size_t old_end = old->text->line_count, new_end = new->text->line_count, start = 0;
    CLEANUP(mem_free) bool *old_has = mem_alloc((size_t)id_count + 1);
    CLEANUP(mem_free) bool *new_has = mem_alloc((size_t)id_count + 1);

    while (start < old_end && start < new_end && old->ids[start] == new->ids[start])
        start++;
    while (old_end > start && new_end > start && old->ids[old_end - 1] == new->ids[new_end - 1])
        old_end--, new_end--;
    for (size_t i = start; i < old_end; i++)
        old_has[old->ids[i]] = true;
    for (size_t i = start; i < new_end; i++)
        new_has[new->ids[i]] = true;
    condense(old, start, old_end, new_has);
    condense(new, start, new_end, old_has);
}

/* A part of the edit graph: old lines [x, x_end), new lines [y, y_end). Diagonal d is x - y = d. */
struct box {
    ptrdiff_t x, x_end, y, y_end;
};
struct point {
    ptrdiff_t x, y;
};
struct band { /* diagonals in use by one direction */
    ptrdiff_t min, max;
};

/* Widens the band by one on each side, or narrows it where it would leave the graph; `outside` is
 * the value that never wins. */
static void widen(struct band *band, const struct box *box, ptrdiff_t *furthest, ptrdiff_t outside)
{
    if (band->min > box->x - box->y_end)
        furthest[--band->min - 1] = outside;
    else
        ++band->min;
    if (band->max < box->x_end - box->y)
        furthest[++band->max + 1] = outside;
    else
        --band->max;
}

static bool step_forward(const struct search *search, const struct box *box, struct band *band,
                         const struct band *other, bool may_meet, struct point *ret)
{
    ptrdiff_t *furthest = search->forward;

    widen(band, box, furthest, -1);
    for (ptrdiff_t d = band->max; d >= band->min; d -= 2) {
        ptrdiff_t x = furthest[d - 1] >= furthest[d + 1] ? furthest[d - 1] + 1 : furthest[d + 1];
        ptrdiff_t y = x - d;
        while (x < box->x_end && y < box->y_end && search->old.dense[x] == search->new.dense[y])
            x++, y++;
        furthest[d] = x;
        if (may_meet && d >= other->min && d <= other->max && search->backward[d] <= x) {
            *ret = (struct point){x, y};
            return true;
        }
    }
    return false;
}

static bool step_backward(const struct search *search, const struct box *box, struct band *band,
                          const struct band *other, bool may_meet, struct point *ret)
{
    ptrdiff_t *furthest = search->backward;

    widen(band, box, furthest, PTRDIFF_MAX);
    for (ptrdiff_t d = band->max; d >= band->min; d -= 2) {
        ptrdiff_t x = furthest[d - 1] < furthest[d + 1] ? furthest[d - 1] : furthest[d + 1] - 1;
        ptrdiff_t y = x - d;
        while (x > box->x && y > box->y && search->old.dense[x - 1] == search->new.dense[y - 1])
            x--, y--;
        furthest[d] = x;
        if (may_meet && d >= other->min && d <= other->max && x <= search->forward[d]) {
            *ret = (struct point){x, y};
            return true;
        }
    }
    return false;
}

/* The point the forward search came furthest to. */
static struct point give_up(const struct search *search, const struct box *box,
                            const struct band *band)
{
    struct point best = {box->x, box->y};

    for (ptrdiff_t d = band->max; d >= band->min; d -= 2) {
        ptrdiff_t x = search->forward[d] < box->x_end ? search->forward[d] : box->x_end;
        ptrdiff_t y = x - d;
        if (y > box->y_end) {
            y = box->y_end;
            x = y + d;
        }
        if (x >= box->x && y >= box->y && x + y > best.x + best.y)
            best = (struct point){x, y};
    }
    return best;
}

static struct point find_split(const struct search *search, const struct box *box)
{
    ptrdiff_t first = box->x - box->y, last = box->x_end - box->y_end;
    struct band forward = {first, first}, backward = {last, last};
    bool odd = (first - last) & 1;
    struct point split;

    search->forward[first] = box->x;
    search->backward[last] = box->x_end;
    for (ptrdiff_t steps = 1;; steps++) {
        if (step_forward(search, box, &forward, &backward, odd, &split) ||
            step_backward(search, box, &backward, &forward, !odd, &split))
            return split;
        if (steps >= search->steps_max)
            return give_up(search, box, &forward);
    }
}

static void compare(struct search *search, struct box box)
{
    for (;;) {
        while (box.x < box.x_end && box.y < box.y_end &&
               search->old.dense[box.x] == search->new.dense[box.y])
            box.x++, box.y++;
        while (box.x < box.x_end && box.y < box.y_end &&
               search->old.dense[box.x_end - 1] == search->new.dense[box.y_end - 1])
            box.x_end--, box.y_end--;
        if (box.x == box.x_end || box.y == box.y_end)
            break;
        struct point split = find_split(search, &box);
        compare(search, (struct box){box.x, split.x, box.y, split.y});
        box.x = split.x;
        box.y = split.y;
    }
    for (; box.x < box.x_end; box.x++)
        search->old.changed[search->old.place[box.x]] = true;
    for (; box.y < box.y_end; box.y++)
        search->new.changed[search->new.place[box.y]] = true;
}

static void run_search(struct search *search)
{
    size_t old_count = search->old.count, new_count = search->new.count;
    size_t diagonals = old_count + new_count + 3;
    CLEANUP(mem_free) ptrdiff_t *vectors = mem_alloc(2 * diagonals * sizeof *vectors);

    search->forward = vectors + new_count + 1;
    search->backward = search->forward + diagonals;
    search->steps_max = 256;
    while (search->steps_max * search->steps_max < (ptrdiff_t)diagonals)
        search->steps_max *= 2;
    compare(search, (struct box){0, (ptrdiff_t)old_count, 0, (ptrdiff_t)new_count});
}

static void collect_edits(const struct search *search, struct fs_edits *ret)
{
    size_t i = 0, j = 0, capacity = 0;
    const struct side *old = &search->old, *new = &search->new;

    while (i < old->text->line_count || j < new->text->line_count) {
        struct fs_edit edit = {.old_start = i, .new_start = j};
        while (i < old->text->line_count && old->changed[i])
            i++;
        while (j < new->text->line_count &&new->changed[j])
            j++;
        edit.old_count = i - edit.old_start;
        edit.new_count = j - edit.new_start;
        if (edit.old_count || edit.new_count) {
            if (ret->count == capacity) {
                capacity = capacity ? capacity * 2 : 16;
                ret->items = mem_grow(ret->items, capacity * sizeof *ret->items);
            }
            ret->items[ret->count++] = edit;
        } else {
            i++, j++; /* a line both have */
        }
    }
}

static void side_done(struct side *side)
{
    free(side->ids);
    free(side->changed);
    free(side->dense);
    free(side->place);
}

void fs_lines_compare(const char *old_bytes, size_t old_length, const char *new_bytes,
                      size_t new_length, struct fs_edits *ret)
{
    *ret = (struct fs_edits){0};
    split_lines(old_bytes, old_length, &ret->old_text);
    split_lines(new_bytes, new_length, &ret->new_text);
    struct search search = {.old.text = &ret->old_text, .new.text = &ret->new_text};
    condense_both(&search, number_lines(&search));
    run_search(&search);
    collect_edits(&search, ret);
    side_done(&search.old);
    side_done(&search.new);
}

void fs_edits_done(struct fs_edits *edits)
{
    free(edits->old_text.starts);
    free(edits->new_text.starts);
    free(edits->items);
    *edits = (struct fs_edits){0};
}
