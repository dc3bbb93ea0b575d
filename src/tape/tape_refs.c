/* SPDX-License-Identifier: MIT */
#include "tape/tape_refs.h"
#include "base/fd.h"
#include "base/json.h"
#include "tape/tape_reader.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>

/* Looks at what stands between two quotes, 64 bytes apart. */
static void refs_in_line(struct span line, tape_refs_fn *fn, void *context)
{
    const char *end = line.text + line.length;
    char hex[HASH_TEXT_LENGTH + 1];
    struct hash hash;

    for (const char *p = line.text; (p = memchr(p, '"', (size_t)(end - p)));) {
        p++;
        if (end - p <= HASH_TEXT_LENGTH)
            return;
        if (p[HASH_TEXT_LENGTH] != '"')
            continue;
        memcpy(hex, p, HASH_TEXT_LENGTH);
        hex[HASH_TEXT_LENGTH] = '\0';
        if (hash_from_text(hex, &hash))
            fn(context, &hash);
    }
}

int tape_refs(const char *path, tape_refs_fn *fn, void *context, struct err *err)
{
    CLEANUP(tape_reader_free) struct tape_reader *reader = NULL;
    struct tape_entry entry;
    int r = tape_reader_open(&(struct tape_reader_options){.path = path}, &reader, err);

    while (r >= 0 && (r = tape_reader_next(reader, &entry, err)) > 0)
        refs_in_line(entry.text, fn, context);
    return r < 0 ? r : 0;
}

struct marks {
    const struct store_list *list;
    bool *used; /* one an entry */
};

static void mark(void *context, const struct hash *hash)
{
    struct marks *marks = context;
    const struct store_entry *entry = store_list_find(marks->list, hash);

    for (size_t i = entry ? (size_t)(entry - marks->list->entries) : marks->list->count;
         i < marks->list->count && memcmp(&marks->list->entries[i].hash, hash, sizeof *hash) == 0;
         i++)
        marks->used[i] = true;
}

/* Lists the store and marks what the tape speaks of; *ret_used is owned by the caller. */
static int mark_used(const char *path, struct store *store, struct store_list *ret_list,
                     bool **ret_used, struct err *err)
{
    int r = store_list(store, ret_list, err);
    if (r < 0)
        return r;
    struct marks marks = {ret_list, mem_alloc(ret_list->count + 1)};
    *ret_used = marks.used;
    return tape_refs(path, mark, &marks, err);
}

static int lock_tape(const char *path, int *ret_fd, struct err *err)
{
    *ret_fd = open(path, O_RDONLY | O_CLOEXEC);
    if (*ret_fd < 0)
        return err_set(err, -errno, "open tape '%s': %m", path);
    if (flock(*ret_fd, LOCK_EX | LOCK_NB) == 0)
        return 0;
    if (errno != EWOULDBLOCK)
        return err_set(err, -errno, "lock tape '%s': %m", path);
    return err_set(err, -EBUSY, "collect garbage of '%s': the tape is being written", path);
}

int tape_gc(const char *path, struct store *store, bool dry_run, struct tape_gc_result *ret,
            struct err *err)
{
    CLEANUP(store_list_done) struct store_list list = {0};
    CLEANUP(mem_free) bool *used = NULL;
    CLEANUP(fd_close) int fd = -1;
    struct tape_gc_result result = {0};
    int r = lock_tape(path, &fd, err);

    if (r == 0)
        r = mark_used(path, store, &list, &used, err);
    for (size_t i = 0; r == 0 && i < list.count; i++) {
        if (used[i]) {
            result.kept++;
            continue;
        }
        result.removed++;
        result.removed_bytes += list.entries[i].disk_bytes;
        if (!dry_run)
            r = store_remove(store, &list.entries[i], err);
    }
    if (r < 0)
        return r;
    result.strays = list.stray_count;
    if (!dry_run && list.stray_count)
        r = store_remove_strays(store, err);
    if (r < 0)
        return r;
    *ret = result;
    return 0;
}

int tape_push(const char *path, struct store *store, struct tape_move_result *ret, struct err *err)
{
    CLEANUP(store_list_done) struct store_list list = {0};
    CLEANUP(mem_free) bool *used = NULL;
    struct tape_move_result result = {0};
    int r = mark_used(path, store, &list, &used, err);

    for (size_t i = 0; r >= 0 && i < list.count; i++) {
        if (!used[i])
            continue;
        r = store_push(store, &list.entries[i].hash, err);
        result.moved += r > 0;
        result.present += r == 0;
    }
    if (r < 0)
        return r;
    *ret = result;
    return 0;
}

/* Fetches the payloads below a value: objects of content_hash and len_bytes. */
static int fetch_value(struct store *store, const json_t *value, struct tape_move_result *result,
                       struct err *err)
{
    const char *hex = json_string_value(json_object_get(value, "content_hash")), *key;
    json_t *child;
    struct hash hash;
    size_t index;
    int r = 0;

    if (hex && json_object_size(value) == 2 && json_object_get(value, "len_bytes") &&
        hash_from_text(hex, &hash)) {
        r = store_fetch(store, &hash, err);
        result->moved += r > 0;
        result->present += r == 0;
        result->absent += r == -ENOENT;
        return r == -ENOENT || r > 0 ? 0 : r;
    }
    json_object_foreach((json_t *)value, key, child)
    {
        if (r == 0)
            r = fetch_value(store, child, result, err);
    }
    if (json_is_array(value))
        json_array_foreach(value, index, child) if (r == 0) r =
            fetch_value(store, child, result, err);
    return r;
}

int tape_fetch(const char *path, struct store *store, struct tape_move_result *ret, struct err *err)
{
    CLEANUP(tape_reader_free) struct tape_reader *reader = NULL;
    struct tape_move_result result = {0};
    struct tape_entry entry;
    int r = tape_reader_open(&(struct tape_reader_options){.path = path}, &reader, err);

    while (r >= 0 && (r = tape_reader_next(reader, &entry, err)) > 0) {
        CLEANUP(json_free) json_t *data = NULL;
        if (!memmem(entry.text.text, entry.text.length, "\"len_bytes\"", 11))
            continue;
        r = tape_entry_data(&entry, &data, err);
        if (r == 0)
            r = fetch_value(store, data, &result, err);
    }
    if (r < 0)
        return r;
    *ret = result;
    return 0;
}
