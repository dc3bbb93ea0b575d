/* SPDX-License-Identifier: MIT */
#include "proc/cassette_file.h"
#include "proc/cassette_internal.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/text.h"
#include "base/when.h"
#include "tape/tape.h"
#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { OUTPUT_MAX = 256 << 20 };

int cassette_copy_contents(const struct recording *recording, struct store *from, struct store *to,
                           struct err *err)
{
    int r = 0;

    for (int i = 0; r == 0 && i < 3; i++)
        if (recording->streams[i].length && !recording->streams[i].text)
            r = store_copy(from, to, &recording->streams[i].hash, err);
    for (size_t i = 0; r == 0 && i < recording->file_count; i++)
        if (recording->files[i].type == RECORDING_FILE)
            r = store_copy(from, to, &recording->files[i].hash, err);
    return r;
}

static int load(const char *bundle, struct cassette **ret, struct err *err)
{
    *ret = cassette_new(&(struct cassette_options){0});
    return cassette_load(*ret, bundle, err);
}

static int make_parents(const char *path, struct err *err)
{
    CLEANUP(mem_free) char *copy = mem_dup(path);

    return dir_make_all(dirname(copy), err);
}

/* The store keeps what older recordings put there; `vitro tape gc` removes what nobody names. */
int cassette_write_tape(const char *bundle, const char *path, struct err *err)
{
    CLEANUP(cassette_free) struct cassette *cassette = NULL;
    CLEANUP(tape_writer_free) struct tape_writer *writer = NULL;
    int r = load(bundle, &cassette, err);

    if (r == 0)
        r = make_parents(path, err);
    if (r == 0)
        r = tape_writer_open(&(struct tape_writer_options){.path = path, .replace = true}, &writer,
                             err);
    for (size_t i = 0; r == 0 && i < cassette->count; i++) {
        const struct cassette_entry *entry = &cassette->entries[i];
        CLEANUP(recording_done) struct recording recording = {0};
        r = cassette_recording(cassette, i, &recording, err);
        if (r == 0)
            r = cassette_copy_contents(&recording, entry->store, tape_writer_store(writer), err);
        if (r == 0)
            r = tape_writer_record(writer,
                                   &(struct tape_record){.kind = TAPE_SUBPROCESS,
                                                         .data = entry->data,
                                                         .data_length = strlen(entry->data),
                                                         .host = entry->host},
                                   err);
    }
    return r < 0 ? r : tape_writer_close(writer, err);
}

/* Bytes that are not text become U+FFFD, as Harn has it. */
static json_t *lossy_text(const char *bytes, size_t length)
{
    CLEANUP(buf_done) struct buf text = {0};

    for (size_t at = 0; at < length;) {
        size_t step = 1;
        while (step < 4 && at + step < length && ((unsigned char)bytes[at + step] & 0xc0) == 0x80 &&
               !text_is_utf8(bytes + at, step))
            step++;
        if (text_is_utf8(bytes + at, step)) {
            buf_add(&text, bytes + at, step);
            at += step;
        } else {
            buf_adds(&text, "\xef\xbf\xbd");
            at++;
        }
    }
    return json_stringn(buf_text(&text), text.length);
}

static int stream_text(const struct recording *recording, int index, struct store *store,
                       json_t **ret, struct err *err)
{
    const struct recording_bytes *bytes = &recording->streams[index];
    CLEANUP(buf_done) struct buf text = {0};
    int r = 0;

    if (bytes->text)
        buf_add(&text, bytes->text, (size_t)bytes->length);
    else if (bytes->length)
        r = store_get(store, &bytes->hash, OUTPUT_MAX, &text, err);
    *ret = r < 0 ? NULL : lossy_text(buf_text(&text), text.length);
    return r;
}

static int add_call(struct cassette *cassette, size_t id, json_t *list, struct err *err)
{
    CLEANUP(recording_done) struct recording recording = {0};
    struct store *store = cassette->entries[id].store;
    json_t *output = NULL, *error = NULL, *args = json_array();
    int r = cassette_recording(cassette, id, &recording, err);

    if (r == 0)
        r = stream_text(&recording, 1, store, &output, err);
    if (r == 0)
        r = stream_text(&recording, 2, store, &error, err);
    for (size_t i = 1; r == 0 && recording.argv[0] && recording.argv[i]; i++)
        json_array_append_new(args, lossy_text(recording.argv[i], strlen(recording.argv[i])));
    if (r < 0) {
        json_decref(output);
        json_decref(args);
        return r;
    }
    const char *slash = strrchr(recording.program, '/');
    json_t *call = json_pack("{s:s, s:o, s:s?, s:{}, s:o, s:o, s:i, s:I}", "program",
                             slash ? slash + 1 : recording.program, "args", args, "cwd",
                             recording.cwd, "env", "stdout", output, "stderr", error, "exit_code",
                             recording.signal ? -1 : recording.exit_code, "duration_ms",
                             (json_int_t)(recording.duration_ns / (int64_t)NS_PER_MS));
    return json_array_append_new(list, call) < 0
               ? err_set(err, -EBADMSG, "'%s' cannot be written as JSON", recording.program)
               : 0;
}

int cassette_write_list(const char *bundle, const char *path, struct err *err)
{
    CLEANUP(cassette_free) struct cassette *cassette = NULL;
    CLEANUP(json_free) json_t *list = json_array();
    int r = load(bundle, &cassette, err);

    for (size_t i = 0; r == 0 && i < cassette->count; i++)
        r = add_call(cassette, i, list, err);
    if (r == 0)
        r = make_parents(path, err);
    if (r < 0)
        return err_wrap(err, "write process tape '%s'", path);
    CLEANUP(mem_free) char *text = json_dumps(list, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
    CLEANUP(mem_free) char *line = mem_format("%s\n", text);
    return file_write(path, line, strlen(line), err);
}
