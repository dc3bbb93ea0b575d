/* SPDX-License-Identifier: MIT */
/* Cassettes from files: tapes, bundles, and the plain JSON list of Harn. */
#include "proc/cassette_internal.h"
#include "base/fd.h"
#include "base/json.h"
#include "tape/tape.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static struct store *add_store(struct cassette *cassette, const char *tape)
{
    CLEANUP(mem_free) char *path = store_path_of(tape);
    struct store *store = NULL;
    struct err err;

    if (store_open(&(struct store_options){.path = path, .read_only = true}, &store, &err) < 0)
        return NULL;
    cassette->stores =
        mem_grow(cassette->stores, (cassette->store_count + 1) * sizeof(struct store *));
    cassette->stores[cassette->store_count++] = store;
    return store;
}

/* A list begins with '[', and so does nothing on a tape; a blank file is an empty list. */
static bool is_list(const char *path)
{
    char head[256];
    CLEANUP(fd_close) int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t count = fd < 0 ? -1 : read(fd, head, sizeof head - 1);

    if (count < 0)
        return false;
    head[count] = '\0';
    size_t blank = strspn(head, " \t\r\n");
    return head[blank] == '[' || (blank == (size_t)count && count < (ssize_t)sizeof head - 1);
}

static int load_list(struct cassette *cassette, const char *path, struct err *err)
{
    CLEANUP(buf_done) struct buf text = {0};
    int r = file_read(path, 1u << 30, &text, err);

    return r < 0 ? r : harn_load(cassette, path, &text, err);
}

static int add_record(struct cassette *cassette, const struct tape_entry *entry, const char *tape,
                      struct store *store, struct err *err)
{
    CLEANUP(buf_done) struct buf data = {0};
    CLEANUP(mem_free)
    char *host = entry->host.length ? mem_dupn(entry->host.text, entry->host.length) : NULL;
    CLEANUP(mem_free)
    char *where = mem_format("%s:%llu", tape, (unsigned long long)entry->line);
    int r = tape_entry_add_data(entry, &data, err);

    return r < 0 ? r : cassette_add(cassette, buf_text(&data), host, store, where, err);
}

int cassette_load(struct cassette *cassette, const char *path, struct err *err)
{
    CLEANUP(mem_free) char *tape = tape_path_resolve(path);
    CLEANUP(tape_reader_free) struct tape_reader *reader = NULL;
    struct tape_entry entry;

    if (is_list(tape))
        return load_list(cassette, tape, err);
    int r = tape_reader_open(&(struct tape_reader_options){.path = tape}, &reader, err);
    if (r < 0)
        return err_wrap(err, "load cassette '%s'", path);
    struct store *store = add_store(cassette, tape);
    while ((r = tape_reader_next(reader, &entry, err)) > 0) {
        if (entry.kind != TAPE_SUBPROCESS)
            continue;
        r = add_record(cassette, &entry, tape, store, err);
        if (r < 0)
            break;
    }
    return r < 0 ? err_wrap(err, "load cassette '%s'", path) : 0;
}
