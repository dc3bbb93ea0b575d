/* SPDX-License-Identifier: MIT */
/* What a mock holds: bytes as JSON, and entries by key: files, variables, answers. */
#include "base/base64.h"
#include "base/text.h"
#include "host/double.h"
#include <string.h>

/* ---- bytes */

json_t *double_bytes(const void *bytes, size_t length)
{
    if (text_is_utf8(bytes, length))
        return json_stringn(length ? bytes : "", length);
    CLEANUP(buf_done) struct buf coded = {0};
    base64_add(&coded, bytes, length);
    return json_pack("{s:s}", "base64", coded.data);
}

bool double_bytes_of(const json_t *value, char **ret, size_t *ret_length)
{
    const json_t *coded = json_is_object(value) && json_object_size(value) == 1
                              ? json_object_get(value, "base64")
                              : NULL;

    if (json_is_string(value)) {
        *ret_length = json_string_length(value);
        *ret = mem_dupn(json_string_value(value), *ret_length);
        return true;
    }
    CLEANUP(buf_done) struct buf bytes = {0};
    if (!json_is_string(coded) ||
        !base64_read(&bytes, json_string_value(coded), json_string_length(coded)))
        return false;
    *ret_length = bytes.length;
    *ret = bytes.data ? buf_take(&bytes) : mem_dup("");
    return true;
}

/* ---- entries */

static size_t entries_place(const struct host_entries *entries, const char *key, bool *ret_there)
{
    size_t low = 0, high = entries->count;

    *ret_there = false;
    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = strcmp(entries->items[middle].key, key);
        if (order == 0) {
            *ret_there = true;
            return middle;
        }
        *(order < 0 ? &low : &high) = order < 0 ? middle + 1 : middle;
    }
    return low;
}

const struct host_entry *entries_find(const struct host_entries *entries, const char *key)
{
    bool there;
    size_t place = entries_place(entries, key, &there);

    return there ? &entries->items[place] : NULL;
}

void entries_put(struct host_double *d, struct host_entries *entries, const char *key,
                 const void *bytes, size_t length, bool is_dir)
{
    bool there;
    size_t place = entries_place(entries, key, &there);

    if (!there) {
        entries->items = mem_grow(entries->items, (entries->count + 1) * sizeof *entries->items);
        memmove(&entries->items[place + 1], &entries->items[place],
                (entries->count++ - place) * sizeof *entries->items);
        entries->items[place].key = arena_dup(&d->arena, key, strlen(key));
    }
    struct host_entry *entry = &entries->items[place];
    entry->bytes = arena_dup(&d->arena, length ? bytes : "", length);
    entry->length = length;
    entry->is_dir = is_dir;
}

bool entries_remove(struct host_entries *entries, const char *key)
{
    bool there;
    size_t place = entries_place(entries, key, &there);

    if (there)
        memmove(&entries->items[place], &entries->items[place + 1],
                (--entries->count - place) * sizeof *entries->items);
    return there;
}
