/* SPDX-License-Identifier: MIT */
/* Between journals and cassettes: what spies heard becomes recordings, recordings become rules. */
#include "sandbox/shim.h"
#include "base/fd.h"
#include "base/text.h"
#include "proc/cassette.h"
#include "proc/spool.h"
#include "tape/tape_writer.h"
#include <errno.h>
#include <string.h>

enum { BYTES_MAX = 64 << 20 };

/* ---- to a cassette --------------------------------------------------------------------------- */

static char *text_of(const json_t *value)
{
    CLEANUP(buf_done) struct buf bytes = {0};

    (void)shim_bytes_from_json(value, &bytes);
    return mem_dup(buf_text(&bytes));
}

/* As boxes note it: relative to the work directory where it lies there. */
static char *directory_of(const struct sandbox *sandbox, const json_t *entry)
{
    CLEANUP(mem_free) char *path = text_of(json_object_get(entry, "cwd"));
    size_t length = strlen(sandbox->work);

    if (strcmp(path, sandbox->work) == 0)
        return mem_dup(".");
    return text_starts(path, sandbox->work) && path[length] == '/' ? mem_dup(path + length + 1)
                                                                   : take_ptr(&path);
}

static int put_stream(struct tape_writer *writer, const struct sandbox *sandbox,
                      const json_t *bytes, struct recording_bytes *ret, struct err *err)
{
    CLEANUP(spool_done) struct spool spool = {0};
    CLEANUP(buf_done) struct buf text = {0};

    (void)shim_bytes_from_json(bytes, &text);
    int r = spool_add(&spool, sandbox->tmp, buf_text(&text), text.length);
    if (r < 0)
        return err_set(err, r, "keep what was written: %s", strerror(-r));
    return spool_put(&spool, writer, sandbox->tmp, ret, err);
}

static void add_events(struct recording *recording, const json_t *entry, const json_t *heard)
{
    static const enum recording_what kinds[] = {[1] = RECORDING_OUT, [2] = RECORDING_ERR};
    const json_t *input = json_object_get(entry, "stdin"), *event;
    CLEANUP(buf_done) struct buf bytes = {0};
    size_t index;

    if (input) {
        (void)shim_bytes_from_json(input, &bytes);
        if (bytes.length)
            recording_add_event(recording, 0, RECORDING_IN, bytes.length);
        recording_add_event(recording, 0, RECORDING_EOF, 0);
    }
    json_array_foreach(json_object_get(heard, "events"), index, event)
    {
        json_int_t fd = json_integer_value(json_array_get(event, 0));
        recording_add_event(recording, json_integer_value(json_array_get(event, 2)),
                            kinds[fd == 2 ? 2 : 1],
                            (uint64_t)json_integer_value(json_array_get(event, 1)));
    }
    recording_add_event(recording, recording->duration_ns, RECORDING_EXIT, 0);
}

static int record_one(const struct sandbox *sandbox, struct tape_writer *writer,
                      const json_t *entry, struct err *err)
{
    const json_t *heard = json_object_get(entry, "heard"), *argv = json_object_get(entry, "argv");
    CLEANUP(recording_done) struct recording recording = {0};
    CLEANUP(buf_done) struct buf data = {0};
    const json_t *const streams[] = {json_object_get(entry, "stdin"),
                                     json_object_get(heard, "stdout"),
                                     json_object_get(heard, "stderr")};
    int r = 0;

    recording.program = mem_dup(json_string_value(json_object_get(entry, "name")));
    recording.argv = mem_alloc((json_array_size(argv) + 1) * sizeof *recording.argv);
    for (size_t i = 0; i < json_array_size(argv); i++)
        recording.argv[i] = i ? text_of(json_array_get(argv, i)) : mem_dup(recording.program);
    recording.env = mem_alloc(sizeof *recording.env);
    recording.cwd = directory_of(sandbox, entry);
    recording.duration_ns = json_integer_value(json_object_get(heard, "duration_ns"));
    recording.exit_code = (int)json_integer_value(json_object_get(entry, "exit"));
    recording.signal = (int)json_integer_value(json_object_get(entry, "signal"));
    for (int i = 0; r == 0 && i < 3; i++)
        r = put_stream(writer, sandbox, streams[i], &recording.streams[i], err);
    if (r < 0)
        return r;
    add_events(&recording, entry, heard);
    recording_fit_events(&recording, RECORDING_OUT, recording.streams[1].length);
    recording_fit_events(&recording, RECORDING_ERR, recording.streams[2].length);
    recording_add_data(&recording, &data);
    return tape_writer_record(writer,
                              &(struct tape_record){.kind = TAPE_SUBPROCESS,
                                                    .data = data.data,
                                                    .data_length = data.length},
                              err);
}

int shim_record(const struct sandbox *sandbox, const char *name, const char *path, struct err *err)
{
    CLEANUP(tape_writer_free) struct tape_writer *writer = NULL;
    CLEANUP(shim_log_done) struct shim_log log = {0};
    int r = shim_log_read(sandbox, &log, err);

    if (r == 0)
        r = tape_writer_open(&(struct tape_writer_options){.path = path, .replace = true}, &writer,
                             err);
    for (size_t i = 0; r == 0 && i < shim_call_count(&log, name); i++) {
        const json_t *entry = shim_call_at(&log, name, i);
        if (json_object_get(entry, "heard"))
            r = record_one(sandbox, writer, entry, err);
    }
    return r < 0 ? r : tape_writer_close(writer, err);
}

/* ---- from a cassette ------------------------------------------------------------------------- */

static int stream_json(const struct recording_bytes *bytes, struct store *store, json_t **ret,
                       struct err *err)
{
    CLEANUP(buf_done) struct buf text = {0};
    int r = 0;

    if (bytes->text)
        buf_add(&text, bytes->text, (size_t)bytes->length);
    else if (bytes->length)
        r = store_get(store, &bytes->hash, BYTES_MAX, &text, err);
    if (r == 0)
        *ret = shim_bytes_to_json(buf_text(&text), text.length);
    return r;
}

/* What is printed, in the order and at the times in which it was. */
static int answer_of(const struct recording *recording, struct store *store, json_t **ret,
                     struct err *err)
{
    CLEANUP(buf_done) struct buf out = {0};
    CLEANUP(buf_done) struct buf error = {0};
    struct buf *const texts[] = {&out, &error};
    size_t at[2] = {0};
    int64_t now = 0;
    json_t *steps = json_array();

    *ret = json_pack("{s:o}", "steps", steps);
    for (int i = 0; i < 2; i++) {
        CLEANUP(json_free) json_t *bytes = NULL;
        int r = stream_json(&recording->streams[i + 1], store, &bytes, err);
        if (r < 0)
            return r;
        (void)shim_bytes_from_json(bytes, texts[i]);
    }
    for (size_t i = 0; i < recording->event_count; i++) {
        const struct recording_event *event = &recording->events[i];
        if (event->what == RECORDING_IN || event->what == RECORDING_EOF)
            continue;
        if (event->at_ns > now) {
            json_array_append_new(steps,
                                  json_pack("{s:I}", "delay_ns", (json_int_t)(event->at_ns - now)));
            now = event->at_ns;
        }
        if (event->what != RECORDING_OUT && event->what != RECORDING_ERR)
            continue;
        int which = event->what == RECORDING_ERR;
        size_t left = texts[which]->length - at[which];
        size_t length = event->length < left ? (size_t)event->length : left;
        json_array_append_new(
            steps, json_pack("{s:o}", which ? "stderr" : "stdout",
                             shim_bytes_to_json(buf_text(texts[which]) + at[which], length)));
        at[which] += length;
    }
    json_object_set_new(*ret, recording->signal ? "signal" : "exit",
                        json_integer(recording->signal ? recording->signal : recording->exit_code));
    return 0;
}

static int match_of(const struct recording *recording, struct store *store, json_t *match,
                    struct buf *label, struct err *err)
{
    json_t *args = json_array(), *input;

    for (size_t i = 1; recording->argv[0] && recording->argv[i]; i++) {
        buf_adds(label, i > 1 ? " " : "");
        text_add_quoted(label, recording->argv[i]);
        json_array_append_new(
            args, json_pack("{s:o}", "text",
                            shim_bytes_to_json(recording->argv[i], strlen(recording->argv[i]))));
    }
    json_object_set_new(match, "args", args);
    if (!recording_reads_end(recording))
        return 0;
    int r = stream_json(&recording->streams[0], store, &input, err);
    if (r == 0)
        json_object_set_new(match, "stdin", json_pack("{s:o}", "text", input));
    return r;
}

/* The rule for the same call, if there is one: its answers come one after the other. */
static json_t *rule_for(json_t *rules, const json_t *match)
{
    size_t index;
    json_t *rule;

    json_array_foreach(rules, index, rule)
    {
        if (json_equal(json_object_get(rule, "match"), match))
            return rule;
    }
    return NULL;
}

static int replay_one(struct cassette *cassette, size_t id, json_t *rules, struct err *err)
{
    CLEANUP(recording_done) struct recording recording = {0};
    CLEANUP(buf_done) struct buf label = {0};
    CLEANUP(json_free) json_t *match = json_object();
    struct store *store = cassette_entry(cassette, id)->store;
    json_t *answer = NULL;

    int r = cassette_recording(cassette, id, &recording, err);
    if (r < 0 || (r = match_of(&recording, store, match, &label, err)) < 0 ||
        (r = answer_of(&recording, store, &answer, err)) < 0) {
        json_decref(answer);
        return r;
    }
    json_t *rule = rule_for(rules, match);
    if (rule) {
        json_array_append_new(json_object_get(rule, "answers"), answer);
        json_object_set_new(
            rule, "times",
            json_integer((json_int_t)json_array_size(json_object_get(rule, "answers"))));
        return 0;
    }
    json_array_append_new(rules, json_pack("{s:O, s:s, s:s, s:i, s:b, s:[o]}", "match", match,
                                           "label", buf_text(&label), "kind", "stub", "times", 1,
                                           "must", 1, "answers", answer));
    return 0;
}

int shim_replay(struct sandbox *sandbox, const char *name, const char *path, struct err *err)
{
    CLEANUP(cassette_free) struct cassette *cassette = cassette_new(&(struct cassette_options){0});
    CLEANUP(json_free) json_t *rules = json_array();
    int r = cassette_load(cassette, path, err);

    for (size_t i = 0; r == 0 && i < cassette_count(cassette); i++)
        if (strcmp(cassette_entry(cassette, i)->name, name) == 0)
            r = replay_one(cassette, i, rules, err);
    if (r == 0 && !json_array_size(rules))
        r = err_set(err, -ENOENT, "'%s' holds no call of '%s'", path, name);
    for (size_t i = 0; r == 0 && i < json_array_size(rules); i++)
        r = shim_add_rule(sandbox, name, json_incref(json_array_get(rules, i)), err);
    return r;
}
