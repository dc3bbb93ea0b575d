/* SPDX-License-Identifier: MIT */
#include "tape/pairs.h"
#include "base/json.h"
#include "tape/align.h"
#include "tape/fidelity_fields.h"
#include <string.h>

enum {
    WINDOW_MIN = 64,    /* records taken up at first on either side */
    WINDOW_MAX = 16384, /* and at most */
    WINDOW_BYTES_MAX = 32 << 20,
    SYNC_RUN = 8,    /* equal records in a row that count as having met again */
    LEVEL_COUNT = 3, /* whole record; kind, process, subject; kind */
};

struct item {
    char *line; /* owned copy, which the entry points into */
    struct tape_entry entry;
    uint64_t keys[LEVEL_COUNT];
};

struct side {
    struct tape_reader *reader;
    struct item *room;  /* owned: WINDOW_MAX places */
    struct item *items; /* the window, somewhere in the room */
    size_t count, bytes;
    struct tape_entry direct; /* read, not in the window: the spans are the reader's */
    bool has_direct, at_end;
};

struct walk {
    const struct pairs_options *options;
    struct side a, b;
    struct buf scratch;
    struct err *err;
};

bool pairs_is_strict(enum fidelity_mode mode, const struct tape_entry *entry)
{
    return mode == FIDELITY_BYTE || (mode == FIDELITY_PHASE && entry->phase == TAPE_USER_SCRIPT);
}

const char *pairs_subject(enum tape_kind kind, const json_t *data)
{
    if (kind >= TAPE_UNKNOWN || !tape_kinds[kind].subject)
        return NULL;
    return json_string_value(json_object_get(data, tape_kinds[kind].subject));
}

static bool is_dropped(const struct walk *walk, const struct tape_entry *entry)
{
    if (walk->options->mode == FIDELITY_PHASE && entry->phase == TAPE_RUNTIME_FINALIZE &&
        entry->kind == TAPE_CLOCK_READ)
        return true;
    if (noise_is_empty(walk->options->noise))
        return false;
    CLEANUP(mem_free) char *kind = mem_dupn(entry->kind_name.text, entry->kind_name.length);
    return noise_drops(walk->options->noise, kind);
}

/* Reads the next record that counts into side->direct; 0 at the end. */
static int pull(struct walk *walk, struct side *side)
{
    int r;

    if (side->at_end)
        return 0;
    do
        r = tape_reader_next(side->reader, &side->direct, walk->err);
    while (r > 0 && is_dropped(walk, &side->direct));
    side->has_direct = r > 0;
    side->at_end = r == 0;
    return r;
}

/* FNV-1a over 64-bit words with a final mix: the keys stay in memory, so it need not be stable. */
static uint64_t key_add(uint64_t key, const void *bytes, size_t length)
{
    const char *next = bytes;
    uint64_t word = 0;

    for (; length >= 8; next += 8, length -= 8) {
        memcpy(&word, next, 8);
        key = (key ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        key ^= key >> 29;
    }
    word = 0;
    if (length)
        memcpy(&word, next, length);
    key = (key ^ word ^ (uint64_t)length << 56) * UINT64_C(0x9e3779b97f4a7c15);
    return key ^ key >> 32;
}

static void drop_strict(enum tape_kind kind, json_t *data)
{
    for (size_t i = 0; i < fidelity_field_count; i++)
        if (fidelity_fields[i].kind == kind && fidelity_fields[i].strict)
            json_object_del(data, fidelity_fields[i].member);
}

static int make_keys(struct walk *walk, const struct tape_entry *entry, uint64_t *ret_keys)
{
    const struct pairs_options *options = walk->options;
    CLEANUP(json_free) json_t *data = NULL;
    bool strict = pairs_is_strict(options->mode, entry);
    int r = tape_entry_data(entry, &data, walk->err);

    if (r < 0)
        return r;
    CLEANUP(mem_free) char *kind = mem_dupn(entry->kind_name.text, entry->kind_name.length);
    const char *subject = pairs_subject(entry->kind, data);
    uint64_t key = key_add(1, kind, entry->kind_name.length);
    ret_keys[2] = key;
    if (!noise_covers(options->noise, kind, subject, "process"))
        key = key_add(key, entry->process.text, entry->process.length);
    ret_keys[1] = key_add(key, subject, subject ? strlen(subject) : 0);
    if (strict && !noise_covers(options->noise, kind, subject, "phase"))
        key = key_add(key, &entry->phase, sizeof entry->phase);
    if (!strict)
        drop_strict(entry->kind, data);
    if (noise_touches(options->noise, kind))
        noise_strip(options->noise, kind, subject, data);
    buf_clear(&walk->scratch);
    json_add_canonical(&walk->scratch, data);
    ret_keys[0] = key_add(key, walk->scratch.data, walk->scratch.length);
    return 0;
}

static bool spans_equal(struct span a, struct span b)
{
    return a.length == b.length && (!a.length || memcmp(a.text, b.text, a.length) == 0);
}

/* Equal to the byte, whatever the mode: the quick way, which nearly all records take. */
static bool quick_equal(const struct tape_entry *a, const struct tape_entry *b)
{
    return a->form == TAPE_NATIVE && b->form == TAPE_NATIVE && a->phase == b->phase &&
           spans_equal(a->data, b->data) && spans_equal(a->kind_name, b->kind_name) &&
           spans_equal(a->process, b->process);
}

/* Copies the record just read into the window. */
static int take_up(struct walk *walk, struct side *side)
{
    struct item *item = &side->items[side->count];
    const char *problem;
    size_t column;
    uint64_t line = side->direct.line;

    *item = (struct item){.line = mem_dupn(side->direct.text.text, side->direct.text.length)};
    (void)tape_entry_parse(item->line, side->direct.text.length, &item->entry, &problem, &column);
    item->entry.line = line;
    side->count++;
    side->bytes += item->entry.text.length;
    side->has_direct = false;
    return make_keys(walk, &item->entry, item->keys);
}

static int fill(struct walk *walk, struct side *side, size_t wanted)
{
    memmove(side->room, side->items, side->count * sizeof *side->items);
    side->items = side->room;
    while (side->count < wanted && side->bytes < WINDOW_BYTES_MAX) {
        int r = side->has_direct ? 1 : pull(walk, side);
        if (r <= 0)
            return r;
        r = take_up(walk, side);
        if (r < 0)
            return r;
    }
    return 0;
}

static void consume(struct side *side, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        side->bytes -= side->items[i].entry.text.length;
        free(side->items[i].line);
    }
    side->items += count;
    side->count -= count;
}

static void align_items(const struct item *a, size_t n, const struct item *b, size_t m, int level,
                        size_t *ret_match)
{
    CLEANUP(mem_free) uint64_t *keys = mem_alloc((n + m + 1) * sizeof *keys);

    for (size_t i = 0; i < n; i++)
        keys[i] = a[i].keys[level];
    for (size_t i = 0; i < m; i++)
        keys[n + i] = b[i].keys[level];
    align(keys, n, keys + n, m, ret_match);
}

static int emit(struct walk *walk, const struct item *a, const struct item *b)
{
    return walk->options->pair(walk->options->context, a ? &a->entry : NULL, b ? &b->entry : NULL);
}

/* Nothing in common is left: by position if as many, else each for itself. */
static int emit_rest(struct walk *walk, const struct item *a, size_t n, const struct item *b,
                     size_t m)
{
    int r = 0;

    for (size_t i = 0; r == 0 && n == m && i < n; i++)
        r = emit(walk, &a[i], &b[i]);
    for (size_t i = 0; r == 0 && n != m && i < n; i++)
        r = emit(walk, &a[i], NULL);
    for (size_t i = 0; r == 0 && n != m && i < m; i++)
        r = emit(walk, NULL, &b[i]);
    return r;
}

static int emit_level(struct walk *walk, const struct item *a, size_t n, const struct item *b,
                      size_t m, int level)
{
    if (level == LEVEL_COUNT || !n || !m)
        return emit_rest(walk, a, n, b, m);
    CLEANUP(mem_free) size_t *match = mem_alloc((n + 1) * sizeof *match);
    size_t a_done = 0, b_done = 0;
    int r = 0;

    align_items(a, n, b, m, level, match);
    for (size_t i = 0; r == 0 && i < n; i++) {
        if (match[i] == ALIGN_NONE)
            continue;
        r = emit_level(walk, a + a_done, i - a_done, b + b_done, match[i] - b_done, level + 1);
        if (r == 0)
            r = emit(walk, &a[i], &b[match[i]]);
        a_done = i + 1;
        b_done = match[i] + 1;
    }
    if (r < 0)
        return r;
    return emit_level(walk, a + a_done, n - a_done, b + b_done, m - b_done, level + 1);
}

/* How much of the windows can be settled: up to where a run of equal records starts. At the largest
 * size, up to the last pair; everything if both tapes end here. False if the windows are too small.
 */
static bool find_sync(const struct walk *walk, const size_t *match, bool largest, size_t *ret_a,
                      size_t *ret_b)
{
    size_t run = 0, last = ALIGN_NONE;

    for (size_t i = 0; i < walk->a.count; i++) {
        bool goes_on = match[i] != ALIGN_NONE && i && match[i - 1] != ALIGN_NONE &&
                       match[i] == match[i - 1] + 1;
        run = match[i] == ALIGN_NONE ? 0 : goes_on ? run + 1 : 1;
        last = match[i] == ALIGN_NONE ? last : i;
        if (run == SYNC_RUN) {
            *ret_a = i + 1 - SYNC_RUN;
            *ret_b = match[i] + 1 - SYNC_RUN;
            return true;
        }
    }
    *ret_a = walk->a.count;
    *ret_b = walk->b.count;
    if (walk->a.at_end && walk->b.at_end)
        return true;
    if (largest && last != ALIGN_NONE) {
        *ret_a = last + 1;
        *ret_b = match[last] + 1;
    }
    return largest;
}

/* The tapes differ here: takes up windows until they meet again, and hands out what lies before. */
static int settle(struct walk *walk)
{
    CLEANUP(mem_free) size_t *match = mem_alloc((WINDOW_MAX + 1) * sizeof *match);

    for (size_t wanted = WINDOW_MIN;; wanted *= 4) {
        size_t a_count, b_count;
        int r = fill(walk, &walk->a, wanted);
        if (r >= 0)
            r = fill(walk, &walk->b, wanted);
        if (r < 0)
            return r;
        bool largest = wanted >= WINDOW_MAX || walk->a.bytes >= WINDOW_BYTES_MAX ||
                       walk->b.bytes >= WINDOW_BYTES_MAX;
        align_items(walk->a.items, walk->a.count, walk->b.items, walk->b.count, 0, match);
        if (!find_sync(walk, match, largest, &a_count, &b_count))
            continue;
        r = emit_level(walk, walk->a.items, a_count, walk->b.items, b_count, 0);
        consume(&walk->a, a_count);
        consume(&walk->b, b_count);
        return r;
    }
}

/* The next record of a side, from the window or the reader; NULL at the end. */
static int peek(struct walk *walk, struct side *side, const struct tape_entry **ret)
{
    *ret = NULL;
    if (side->count) {
        *ret = &side->items[0].entry;
        return 0;
    }
    int r = side->has_direct ? 1 : pull(walk, side);
    if (r > 0)
        *ret = &side->direct;
    return r < 0 ? r : 0;
}

static void advance(struct side *side)
{
    if (side->count)
        consume(side, 1);
    else
        side->has_direct = false;
}

static int same(struct walk *walk, const struct tape_entry *a, const struct tape_entry *b)
{
    uint64_t a_keys[LEVEL_COUNT] = {0}, b_keys[LEVEL_COUNT] = {0};

    if (quick_equal(a, b))
        return 1;
    int r = make_keys(walk, a, a_keys);
    if (r == 0)
        r = make_keys(walk, b, b_keys);
    return r < 0 ? r : a_keys[0] == b_keys[0];
}

static int step(struct walk *walk)
{
    const struct tape_entry *a, *b;
    int r = peek(walk, &walk->a, &a);

    if (r == 0)
        r = peek(walk, &walk->b, &b);
    if (r < 0 || (!a && !b))
        return r;
    if (a && b) {
        r = same(walk, a, b);
        if (r < 0)
            return r;
        if (r == 0) {
            r = settle(walk);
            return r < 0 ? r : 1;
        }
    }
    r = walk->options->pair(walk->options->context, a, b);
    if (a)
        advance(&walk->a);
    if (b)
        advance(&walk->b);
    return r < 0 ? r : 1;
}

int pairs_run(struct tape_reader *recorded, struct tape_reader *replay,
              const struct pairs_options *options, struct err *err)
{
    struct walk walk = {.options = options, .err = err};
    int r;

    walk.a = (struct side){.reader = recorded};
    walk.b = (struct side){.reader = replay};
    walk.a.room = walk.a.items = mem_alloc((WINDOW_MAX + 1) * sizeof(struct item));
    walk.b.room = walk.b.items = mem_alloc((WINDOW_MAX + 1) * sizeof(struct item));
    do
        r = step(&walk);
    while (r > 0);
    consume(&walk.a, walk.a.count);
    consume(&walk.b, walk.b.count);
    free(walk.a.room);
    free(walk.b.room);
    buf_done(&walk.scratch);
    return r;
}
