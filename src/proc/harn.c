/* SPDX-License-Identifier: MIT */
/* The plain list of Harn: a JSON array of calls with program, args, cwd, stdout, stderr, exit_code
 * and duration_ms. Everything but the program may be missing. */
#include "proc/cassette_internal.h"
#include "base/json.h"
#include "base/when.h"
#include <errno.h>
#include <string.h>

static void read_output(const json_t *item, const char *name, int index, int64_t at_ns,
                        struct recording *recording)
{
    const json_t *text = json_object_get(item, name);
    struct recording_bytes *bytes = &recording->streams[index];

    bytes->length = json_string_length(text);
    bytes->hash = hash_of(bytes->length ? json_string_value(text) : "", (size_t)bytes->length);
    if (!bytes->length)
        return;
    bytes->text = mem_dupn(json_string_value(text), (size_t)bytes->length);
    recording_add_event(recording, at_ns, index == 1 ? RECORDING_OUT : RECORDING_ERR,
                        bytes->length);
}

static int read_call(const json_t *item, const char *where, struct recording *ret, struct err *err)
{
    const json_t *args = json_object_get(item, "args");
    const char *program = json_string_value(json_object_get(item, "program"));
    json_int_t duration = json_integer_value(json_object_get(item, "duration_ms"));
    json_int_t code = json_integer_value(json_object_get(item, "exit_code"));
    size_t count = json_array_size(args);

    if (!program || !*program)
        return err_set(err, -EBADMSG, "%s: 'program' is missing", where);
    if ((args && !json_is_array(args)) || duration < 0 || duration > INT64_MAX / 1000000)
        return err_set(err, -EBADMSG, "%s: 'args' or 'duration_ms' is not what it should be",
                       where);
    ret->program = mem_dup(program);
    ret->argv = mem_alloc((count + 2) * sizeof *ret->argv);
    ret->argv[0] = mem_dup(program);
    for (size_t i = 0; i < count; i++) {
        const char *arg = json_string_value(json_array_get(args, i));
        if (!arg)
            return err_set(err, -EBADMSG, "%s: 'args' holds something that is not a text", where);
        ret->argv[i + 1] = mem_dup(arg);
    }
    ret->env = mem_alloc(sizeof *ret->env);
    ret->cwd = mem_dup(json_string_value(json_object_get(item, "cwd")));
    ret->streams[0].hash = hash_of("", 0);
    ret->duration_ns = duration * (int64_t)NS_PER_MS;
    read_output(item, "stdout", 1, ret->duration_ns, ret);
    read_output(item, "stderr", 2, ret->duration_ns, ret);
    recording_add_event(ret, ret->duration_ns, RECORDING_EXIT, 0);
    ret->exit_code = (int)(code & 0xff);
    return 0;
}

int harn_load(struct cassette *cassette, const char *path, const struct buf *text, struct err *err)
{
    CLEANUP(json_free) json_t *list = NULL;

    if (strspn(buf_text(text), " \t\r\n") == text->length)
        return 0;
    int r = json_parse(buf_text(text), text->length, path, &list, err);
    if (r < 0)
        return err_wrap(err, "load process tape");
    if (!json_is_array(list))
        return err_set(err, -EBADMSG, "%s: not a list of calls", path);
    for (size_t i = 0; i < json_array_size(list); i++) {
        CLEANUP(recording_done) struct recording recording = {0};
        CLEANUP(buf_done) struct buf data = {0};
        CLEANUP(mem_free) char *where = mem_format("%s: call #%zu", path, i);
        r = read_call(json_array_get(list, i), where, &recording, err);
        if (r < 0)
            return r;
        recording_add_data(&recording, &data);
        cassette_keep(cassette, &recording, buf_text(&data), NULL, NULL);
    }
    return 0;
}
