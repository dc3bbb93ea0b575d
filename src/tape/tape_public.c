/* SPDX-License-Identifier: MIT */
/* include/vitro/tape.h, over the parts of this folder. */
#include "base/buf.h"
#include "tape/fidelity.h"
#include "tape/tape.h"
#include "tape/tape_reader.h"
#include "vitro/tape.h"
#include <assert.h>
#include <errno.h>
#include <string.h>

static_assert(sizeof(struct vitro_tape_error) == sizeof(struct err), "one layout");
static_assert(offsetof(struct vitro_tape_error, text) == offsetof(struct err, text), "one layout");

struct vitro_tape_writer {
    struct tape_writer *writer;
};
struct vitro_tape_reader {
    struct tape_reader *reader;
    struct buf kind, process, data; /* texts of the record handed out last */
};

static struct err *as_err(struct vitro_tape_error *error)
{
    return (struct err *)error;
}

static int no_tape(struct vitro_tape_error *error, const char *maker)
{
    return err_no_handle(as_err(error), "tape", maker);
}

static const char *path_given(const char *path, struct vitro_tape_error *error)
{
    if (!path)
        (void)err_set(as_err(error), -EINVAL, "open a tape: no path was given");
    return path;
}

vitro_tape_writer *vitro_tape_create(const char *path, const struct vitro_tape_options *options,
                                     struct vitro_tape_error *error)
{
    static const struct vitro_tape_options none;
    struct tape_writer *writer = NULL;

    options = options ? options : &none;
    if (!path_given(path, error))
        return NULL;
    if (tape_writer_open(
            &(struct tape_writer_options){.path = path,
                                          .argv = options->argv,
                                          .script = options->script,
                                          .options = options->options,
                                          .store_url = options->store_url,
                                          .started_at_unix_ms = options->started_at_unix_ms,
                                          .replace = options->replace != 0},
            &writer, as_err(error)) < 0)
        return NULL;
    vitro_tape_writer *tape = mem_alloc(sizeof *tape);
    tape->writer = writer;
    return tape;
}

int vitro_tape_record(vitro_tape_writer *tape, const struct vitro_tape_entry *entry,
                      struct vitro_tape_error *error)
{
    if (!tape)
        return no_tape(error, "vitro_tape_create");
    if (!entry)
        return err_set(as_err(error), -EINVAL, "tape record: no entry was given");
    struct tape_record record = {
        .kind = entry->kind ? tape_kind_find(entry->kind, strlen(entry->kind)) : TAPE_UNKNOWN,
        .kind_name = entry->kind,
        .phase = entry->is_final ? TAPE_RUNTIME_FINALIZE : TAPE_USER_SCRIPT,
        .virtual_time_ns = entry->virtual_time_ns,
        .monotonic_ns = entry->monotonic_ns,
        .process = entry->process,
        .data = entry->data,
        .data_length = entry->data ? strlen(entry->data) : 0,
    };

    return tape_writer_record(tape->writer, &record, as_err(error));
}

int vitro_tape_put(vitro_tape_writer *tape, const void *bytes, size_t length, char ret_hash[65],
                   struct vitro_tape_error *error)
{
    if (!tape)
        return no_tape(error, "vitro_tape_create");
    struct hash hash;
    int r = tape_writer_put(tape->writer, bytes, length, &hash, as_err(error));

    if (r < 0)
        return r;
    struct hash_text text = hash_to_text(&hash);
    memcpy(ret_hash, text.text, sizeof text.text);
    return 0;
}

int vitro_tape_close(vitro_tape_writer *tape, struct vitro_tape_error *error)
{
    if (!tape)
        return no_tape(error, "vitro_tape_create");
    int r = tape_writer_close(tape->writer, as_err(error));

    tape_writer_free(tape->writer);
    free(tape);
    return r;
}

vitro_tape_reader *vitro_tape_open(const char *path, struct vitro_tape_error *error)
{
    if (!path_given(path, error))
        return NULL;
    struct tape_reader *reader = NULL;

    if (tape_reader_open(&(struct tape_reader_options){.path = path}, &reader, as_err(error)) < 0)
        return NULL;
    vitro_tape_reader *tape = mem_alloc(sizeof *tape);
    tape->reader = reader;
    return tape;
}

int vitro_tape_next(vitro_tape_reader *tape, struct vitro_tape_entry *ret,
                    struct vitro_tape_error *error)
{
    if (!tape)
        return no_tape(error, "vitro_tape_open");
    struct tape_entry entry;
    int r = tape_reader_next(tape->reader, &entry, as_err(error));

    if (r <= 0)
        return r;
    buf_clear(&tape->kind);
    buf_clear(&tape->process);
    buf_clear(&tape->data);
    buf_add(&tape->kind, entry.kind_name.text, entry.kind_name.length);
    tape_entry_add_process(&entry, &tape->process);
    r = tape_entry_add_data(&entry, &tape->data, as_err(error));
    if (r < 0)
        return r;
    *ret = (struct vitro_tape_entry){.kind = buf_text(&tape->kind),
                                     .process = buf_text(&tape->process),
                                     .data = buf_text(&tape->data),
                                     .virtual_time_ns = entry.virtual_time_ns,
                                     .monotonic_ns = entry.monotonic_ns,
                                     .seq = entry.seq,
                                     .is_final = entry.phase == TAPE_RUNTIME_FINALIZE};
    return 1;
}

void vitro_tape_reader_free(vitro_tape_reader *tape)
{
    if (!tape)
        return;
    tape_reader_free(tape->reader);
    buf_done(&tape->kind);
    buf_done(&tape->process);
    buf_done(&tape->data);
    free(tape);
}

int64_t vitro_tape_compare(const char *recorded, const char *replay, const char *mode,
                           char **ret_report, struct vitro_tape_error *error)
{
    if (!path_given(recorded, error) || !path_given(replay, error))
        return -EINVAL;
    CLEANUP(fidelity_report_done) struct fidelity_report report = {0};
    struct fidelity_options options = {.recorded = recorded, .replay = replay};
    struct buf text = {0};
    int r = fidelity_mode_parse(mode, &options.mode, as_err(error));

    if (r == 0)
        r = fidelity_compare(&options, &report, as_err(error));
    if (r < 0)
        return r;
    if (ret_report) {
        fidelity_report_add(&text, &report, 20);
        *ret_report = buf_take(&text);
    }
    return (int64_t)report.total;
}
