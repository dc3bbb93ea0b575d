/* SPDX-License-Identifier: MIT */
/* The tape of a bench. First what threads noted, in the order of tape_notes.h; then, as of the end,
 * what each worker drew of chance, and what became of the files. Nothing on it says which thread
 * came first, so that two equal runs give equal tapes. */
#include "base/hash.h"
#include "base/when.h"
#include "bench/bench.h"
#include "clock/clock.h"
#include "fs/overlay_internal.h"
#include "tape/tape_data.h"
#include "vitro/tape.h"
#include <stdio.h>
#include <string.h>

enum { CONTENT_MAX = 1 << 30 };

struct writing {
    struct vitro_bench *bench;
    vitro_tape_writer *tape;
    uint64_t records;
    struct vitro_tape_error why;
};

static int put(struct writing *to, const struct vitro_tape_entry *entry)
{
    int r = vitro_tape_record(to->tape, entry, &to->why);

    to->records += r == 0;
    return r;
}

static int put_at_end(struct writing *to, const char *kind, const char *worker,
                      struct tape_data *data)
{
    tape_data_end(data);
    return put(to, &(struct vitro_tape_entry){.kind = kind,
                                              .process = worker,
                                              .data = buf_text(&data->text),
                                              .virtual_time_ns = to->bench->ended_ns,
                                              .monotonic_ns = to->bench->ended_monotonic_ns,
                                              .is_final = 1});
}

static int write_notes(struct writing *to)
{
    struct tape_notes *notes = &to->bench->notes;
    int r = 0;

    tape_notes_sort(notes);
    for (size_t i = 0; r == 0 && i < notes->count; i++)
        r = put(to, &(struct vitro_tape_entry){.kind = notes->notes[i].kind,
                                               .process = notes->notes[i].worker,
                                               .data = notes->notes[i].data,
                                               .virtual_time_ns = notes->notes[i].now_ns,
                                               .monotonic_ns = notes->notes[i].monotonic_ns});
    return r;
}

/* ---- chance */

static int by_worker(const void *a, const void *b)
{
    return lane_compare(((const struct world_stream *)a)->name,
                        ((const struct world_stream *)b)->name);
}

static int write_draws(struct writing *to, const char *worker, const char *source, uint64_t draws,
                       uint64_t bytes)
{
    CLEANUP(tape_data_done) struct tape_data data = {0};

    if (!draws)
        return 0;
    tape_data_begin(&data);
    tape_data_u64(&data, "draws", draws);
    tape_data_u64(&data, "len_bytes", bytes);
    tape_data_text(&data, "source", source);
    return put_at_end(to, "random", worker, &data);
}

static int write_chance(struct writing *to)
{
    struct vitro_world *world = &to->bench->world;
    int r = 0;

    qsort(world->streams, world->stream_count, sizeof *world->streams, by_worker);
    for (size_t i = 0; r == 0 && i < world->stream_count; i++) {
        const struct world_stream *stream = &world->streams[i];
        r = write_draws(to, stream->name, "getrandom", stream->random_draws, stream->random_bytes);
        if (r == 0)
            r = write_draws(to, stream->name, "rand", stream->plain_draws, stream->plain_draws * 4);
    }
    return r;
}

/* ---- files */

static int put_content(struct writing *to, const struct fs_node *node, struct tape_data *data)
{
    CLEANUP(buf_done) struct buf bytes = {0};
    char hash[65];
    struct err err;

    if (node->type != FS_FILE && node->type != FS_SYMLINK)
        return 0;
    int r = fs_content_load(to->bench->overlay->blobs, node, CONTENT_MAX, &bytes, &err);
    if (r < 0) {
        (void)snprintf(to->why.text, sizeof to->why.text, "%.1000s", err.text);
        return r;
    }
    r = vitro_tape_put(to->tape, buf_text(&bytes), bytes.length, hash, &to->why);
    if (r == 0)
        tape_data_text(data, "content_hash", hash);
    return r;
}

static int write_file(struct writing *to, const struct fs_change *change)
{
    CLEANUP(tape_data_done) struct tape_data data = {0};
    const struct fs_node *now = &change->after;
    char mode[16];

    tape_data_begin(&data);
    if (now->type == FS_NONE) {
        tape_data_text(&data, "path", change->path);
        return put_at_end(to, "file_delete", "", &data);
    }
    int r = put_content(to, now, &data);
    if (r < 0)
        return r;
    if (change->from) {
        tape_data_text(&data, "from", change->from);
        tape_data_text(&data, "to", change->path);
        return put_at_end(to, "file_rename", "", &data);
    }
    (void)snprintf(mode, sizeof mode, "%o", (unsigned)now->mode);
    tape_data_u64(&data, "len_bytes", now->size);
    tape_data_text(&data, "mode", mode);
    tape_data_text(&data, "path", change->path);
    if (now->type != FS_FILE)
        tape_data_text(&data, "type", fs_type_name(now->type));
    return put_at_end(to, "file_write", "", &data);
}

static int write_files(struct writing *to)
{
    CLEANUP(fs_changes_free) struct fs_changes *changes = NULL;
    struct vitro_overlay *overlay = to->bench->overlay;
    int r = overlay ? overlay_changes(overlay, &changes) : 0;

    if (r < 0)
        (void)snprintf(to->why.text, sizeof to->why.text, "%.1000s", vitro_overlay_error(overlay));
    for (size_t i = 0; r == 0 && changes && i < changes->count; i++)
        r = write_file(to, &changes->items[i]);
    return r;
}

int bench_tape_write(struct vitro_bench *bench, uint64_t *ret_records, struct err *err)
{
    struct writing to = {.bench = bench};

    to.tape = vitro_tape_create(
        bench->tape_path,
        &(struct vitro_tape_options){.argv = (const char *const *)bench->tape_argv,
                                     .script = bench->tape_script,
                                     .replace = 1,
                                     .started_at_unix_ms = bench->started_ns / (int64_t)NS_PER_MS},
        &to.why);
    if (!to.tape)
        return err_set(err, to.why.code, "%.900s", to.why.text);
    (void)pthread_mutex_lock(&bench->world.lock);
    int r = write_notes(&to);
    if (r == 0)
        r = write_chance(&to);
    if (r == 0)
        r = write_files(&to);
    (void)pthread_mutex_unlock(&bench->world.lock);
    int closed = vitro_tape_close(to.tape, r == 0 ? &to.why : NULL);
    r = r < 0 ? r : closed;
    if (r < 0)
        return err_set(err, r, "%.900s", to.why.text);
    *ret_records = to.records;
    return 0;
}
