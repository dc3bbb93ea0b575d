/* SPDX-License-Identifier: MIT */
/* A recording as JSON, both ways (docs/formats/cassette.md). */
#include "proc/recording.h"
#include "base/base64.h"
#include "tape/tape_data.h"
#include <errno.h>
#include <string.h>

static const char *const whats[RECORDING_WHAT_COUNT] = {
    [RECORDING_IN] = "in",         [RECORDING_EOF] = "eof",   [RECORDING_OUT] = "out",
    [RECORDING_ERR] = "err",       [RECORDING_WAKE] = "wake", [RECORDING_EXIT] = "exit",
    [RECORDING_SIGNAL] = "signal",
};
static const char *const types[] = {
    [RECORDING_NONE] = "none", [RECORDING_FILE] = "file", [RECORDING_DIRECTORY] = "dir",
    [RECORDING_LINK] = "link", [RECORDING_FIFO] = "fifo", [RECORDING_SOCKET] = "socket",
};
static const char *const stream_names[3] = {"stdin_payload", "stdout_payload", "stderr_payload"};

/* ---- writing ------------------------------------------------------------------------------- */

static void add_events(const struct recording *recording, struct buf *text)
{
    buf_addc(text, '[');
    for (size_t i = 0; i < recording->event_count; i++) {
        const struct recording_event *event = &recording->events[i];
        buf_addf(text, "%s[%lld,\"%s\"", i ? "," : "", (long long)event->at_ns, whats[event->what]);
        if (event->length)
            buf_addf(text, ",%llu", (unsigned long long)event->length);
        buf_addc(text, ']');
    }
    buf_addc(text, ']');
}

static void add_files(const struct recording *recording, struct buf *text)
{
    buf_addc(text, '[');
    for (size_t i = 0; i < recording->file_count; i++) {
        const struct recording_file *file = &recording->files[i];
        struct tape_data item = {0};
        char mode[16];
        tape_data_begin(&item);
        tape_data_i64(&item, "at_ns", file->at_ns);
        if (file->type == RECORDING_FILE) {
            tape_data_hash(&item, "content_hash", &file->hash);
            tape_data_u64(&item, "len_bytes", file->length);
        }
        if (file->type != RECORDING_NONE && file->type != RECORDING_LINK) {
            (void)snprintf(mode, sizeof mode, "%o", file->mode);
            tape_data_text(&item, "mode", mode);
        }
        tape_data_text(&item, "path", file->path);
        if (file->type == RECORDING_LINK)
            tape_data_text(&item, "target", file->target);
        tape_data_text(&item, "type", types[file->type]);
        tape_data_end(&item);
        buf_addf(text, "%s%s", i ? "," : "", item.text.data);
        tape_data_done(&item);
    }
    buf_addc(text, ']');
}

static void add_stream(struct tape_data *data, const struct recording *recording, int index)
{
    const struct recording_bytes *bytes = &recording->streams[index];
    struct tape_data payload = {0};

    if (!bytes->length)
        return;
    tape_data_begin(&payload);
    tape_data_hash(&payload, "content_hash", &bytes->hash);
    if (bytes->text)
        tape_data_bytes(&payload, "text", bytes->text, (size_t)bytes->length);
    else
        tape_data_u64(&payload, "len_bytes", bytes->length);
    tape_data_end(&payload);
    tape_data_raw(data, stream_names[index], payload.text.data);
    tape_data_done(&payload);
}

void recording_add_data(const struct recording *recording, struct buf *ret)
{
    struct tape_data data = {0};
    CLEANUP(buf_done) struct buf events = {0};
    CLEANUP(buf_done) struct buf files = {0};
    CLEANUP(buf_done) struct buf terminal = {0};

    add_events(recording, &events);
    add_files(recording, &files);
    tape_data_begin(&data);
    tape_data_texts(&data, "args", (const char *const *)recording->argv);
    if (recording->awaits_signal)
        tape_data_bool(&data, "awaits_signal", true);
    tape_data_text(&data, "cwd", recording->cwd);
    tape_data_i64(&data, "duration_ns", recording->duration_ns);
    tape_data_texts(&data, "env", (const char *const *)recording->env);
    tape_data_raw(&data, "events", events.data);
    if (!recording->signal)
        tape_data_i64(&data, "exit_code", recording->exit_code);
    if (recording->file_count)
        tape_data_raw(&data, "files", files.data);
    tape_data_text(&data, "program", recording->program);
    if (recording->signal)
        tape_data_i64(&data, "signal", recording->signal);
    add_stream(&data, recording, 2);
    add_stream(&data, recording, 0);
    add_stream(&data, recording, 1);
    for (int i = 0; i < 3; i++)
        if (recording->terminal[i])
            buf_addf(&terminal, "%s%d", terminal.length ? "," : "[", i);
    if (terminal.length) {
        buf_addc(&terminal, ']');
        tape_data_raw(&data, "terminal", terminal.data);
    }
    tape_data_end(&data);
    buf_add(ret, data.text.data, data.text.length);
    tape_data_done(&data);
}

void recording_add_host(const struct recording *recording, struct buf *ret)
{
    struct tape_data host = {0};

    tape_data_begin(&host);
    if (recording->has_digest)
        tape_data_hash(&host, "digest", &recording->digest);
    if (recording->path)
        tape_data_text(&host, "path", recording->path);
    tape_data_u64(&host, "real_ns", recording->real_ns);
    tape_data_i64(&host, "recorded_at_ns", recording->recorded_at_ns);
    if (recording->version)
        tape_data_text(&host, "version", recording->version);
    tape_data_end(&host);
    buf_add(ret, host.text.data, host.text.length);
    tape_data_done(&host);
}

/* ---- reading ------------------------------------------------------------------------------- */

struct reading {
    const char *where;
    struct err *err;
};

static int wrong(const struct reading *in, const char *member, const char *why)
{
    return err_set(in->err, -EBADMSG, "%s: subprocess: '%s' %s", in->where, member, why);
}

/* A text, or {"base64": ..}; without NUL. Returns owned, NULL if it is neither. */
static char *read_text(const json_t *value)
{
    const json_t *coded = json_object_get(value, "base64");

    if (json_is_string(value) && strlen(json_string_value(value)) == json_string_length(value))
        return mem_dup(json_string_value(value));
    CLEANUP(buf_done) struct buf bytes = {0};
    if (!json_string_length(coded) ||
        !base64_read(&bytes, json_string_value(coded), json_string_length(coded)) ||
        memchr(bytes.data, 0, bytes.length))
        return NULL;
    return buf_take(&bytes);
}

static int read_texts(const struct reading *in, const json_t *data, const char *name, char ***ret)
{
    const json_t *list = json_object_get(data, name);
    size_t count = json_array_size(list);

    if (list && !json_is_array(list))
        return wrong(in, name, "is not a list");
    *ret = mem_alloc((count + 1) * sizeof **ret);
    for (size_t i = 0; i < count; i++)
        if (!((*ret)[i] = read_text(json_array_get(list, i))))
            return wrong(in, name, "holds something that is not a text");
    return 0;
}

static int read_number(const struct reading *in, const json_t *data, const char *name, int64_t low,
                       int64_t high, int64_t *ret)
{
    const json_t *value = json_object_get(data, name);

    if (!value)
        return 0;
    *ret = json_integer_value(value);
    if (!json_is_integer(value) || *ret < low || *ret > high)
        return wrong(in, name, "is not a number in its range");
    return 0;
}

static int read_event(const struct reading *in, const json_t *item, struct recording *ret)
{
    const json_t *at = json_array_get(item, 0), *length = json_array_get(item, 2);
    const char *what = json_string_value(json_array_get(item, 1));
    size_t i = 0;

    while (what && i < RECORDING_WHAT_COUNT && strcmp(whats[i], what) != 0)
        i++;
    if (!what || i == RECORDING_WHAT_COUNT || !json_is_integer(at) || json_integer_value(at) < 0 ||
        (length && (!json_is_integer(length) || json_integer_value(length) < 0)))
        return wrong(in, "events", "holds something that is no event");
    if (ret->event_count && json_integer_value(at) < ret->events[ret->event_count - 1].at_ns)
        return wrong(in, "events", "goes back in time");
    if (i == RECORDING_SIGNAL &&
        (json_integer_value(length) < 1 || json_integer_value(length) > 64))
        return wrong(in, "events", "holds a signal without a number");
    recording_add_event(ret, json_integer_value(at), (enum recording_what)i,
                        (uint64_t)json_integer_value(length));
    return 0;
}

static int read_events(const struct reading *in, const json_t *data, struct recording *ret)
{
    const json_t *list = json_object_get(data, "events");
    uint64_t bytes[3] = {0};
    unsigned ends = 0;

    if (!json_is_array(list))
        return wrong(in, "events", "is not a list");
    for (size_t i = 0; i < json_array_size(list); i++) {
        int r = read_event(in, json_array_get(list, i), ret);
        if (r < 0)
            return r;
    }
    for (size_t i = 0; i < ret->event_count; i++) {
        const struct recording_event *event = &ret->events[i];
        bytes[1] += event->what == RECORDING_OUT ? event->length : 0;
        bytes[2] += event->what == RECORDING_ERR ? event->length : 0;
        ends += event->what == RECORDING_EXIT;
    }
    if (ends != 1)
        return wrong(in, "events", "does not hold one 'exit'");
    for (int i = 1; i < 3; i++)
        if (bytes[i] != ret->streams[i].length)
            return wrong(in, "events", "writes another number of bytes than the streams have");
    return 0;
}

static int read_stream(const struct reading *in, const json_t *data, int index,
                       struct recording *ret)
{
    const json_t *payload = json_object_get(data, stream_names[index]);
    struct recording_bytes *bytes = &ret->streams[index];
    int64_t length = 0;

    bytes->hash = hash_of("", 0);
    if (!payload)
        return 0;
    const char *hash = json_string_value(json_object_get(payload, "content_hash"));
    if (!hash || !hash_from_text(hash, &bytes->hash))
        return wrong(in, stream_names[index], "has no content_hash");
    const json_t *text = json_object_get(payload, "text");
    if (json_is_string(text)) {
        bytes->length = json_string_length(text);
        bytes->text = mem_dupn(json_string_value(text), json_string_length(text));
        struct hash found = hash_of(bytes->text, (size_t)bytes->length);
        if (memcmp(&found, &bytes->hash, sizeof found) != 0)
            return wrong(in, stream_names[index], "holds a text that is not what its hash says");
        return 0;
    }
    if (!json_is_integer(json_object_get(payload, "len_bytes")))
        return wrong(in, stream_names[index], "has neither a text nor len_bytes");
    int r = read_number(in, payload, "len_bytes", 0, INT64_MAX, &length);
    bytes->length = (uint64_t)length;
    return r;
}

static bool climbs(const char *path)
{
    for (const char *part = path; *part;) {
        size_t length = strcspn(part, "/");
        if (length == 2 && memcmp(part, "..", 2) == 0)
            return true;
        part += length;
        part += *part == '/';
    }
    return false;
}

static int read_file(const struct reading *in, const json_t *item, struct recording_file *file)
{
    const char *type = json_string_value(json_object_get(item, "type"));
    const char *mode = json_string_value(json_object_get(item, "mode"));
    const char *hash = json_string_value(json_object_get(item, "content_hash"));
    int64_t length = 0;
    size_t i = 0;

    while (type && i < ARRAY_LENGTH(types) && strcmp(types[i], type) != 0)
        i++;
    file->path = read_text(json_object_get(item, "path"));
    file->target = read_text(json_object_get(item, "target"));
    if (!type || i == ARRAY_LENGTH(types) || !file->path || !*file->path)
        return wrong(in, "files", "holds an entry without a path or a type");
    if (climbs(file->path)) {
        CLEANUP(mem_free) char *why =
            mem_format("has a path that leaves the worktree: '%s'", file->path);
        return wrong(in, "files", why);
    }
    file->type = (enum recording_type)i;
    if (file->type == RECORDING_FILE && (!hash || !hash_from_text(hash, &file->hash)))
        return wrong(in, "files", "holds a file without a content_hash");
    if (file->type == RECORDING_LINK && !file->target)
        return wrong(in, "files", "holds a link without a target");
    char *end = NULL;
    file->mode = mode ? (unsigned)strtoul(mode, &end, 8) : 0644;
    if (mode && (*end || file->mode > 07777))
        return wrong(in, "files", "holds a mode that is none");
    int r = read_number(in, item, "at_ns", 0, INT64_MAX, &file->at_ns);
    if (r == 0)
        r = read_number(in, item, "len_bytes", 0, INT64_MAX, &length);
    file->length = (uint64_t)length;
    return r;
}

static int read_files(const struct reading *in, const json_t *data, struct recording *ret)
{
    const json_t *list = json_object_get(data, "files");
    int r = 0;

    if (list && !json_is_array(list))
        return wrong(in, "files", "is not a list");
    for (size_t i = 0; r == 0 && i < json_array_size(list); i++)
        r = read_file(in, json_array_get(list, i), recording_add_file(ret));
    return r;
}

static void read_host(const json_t *host, struct recording *ret)
{
    const char *digest = json_string_value(json_object_get(host, "digest"));

    ret->has_digest = digest && hash_from_text(digest, &ret->digest);
    ret->path = mem_dup(json_string_value(json_object_get(host, "path")));
    ret->version = mem_dup(json_string_value(json_object_get(host, "version")));
    ret->real_ns = (uint64_t)json_integer_value(json_object_get(host, "real_ns"));
    ret->recorded_at_ns = json_integer_value(json_object_get(host, "recorded_at_ns"));
}

int recording_from_json(const json_t *data, const json_t *host, const char *where,
                        struct recording *ret, struct err *err)
{
    const struct reading in = {where, err};
    int64_t code = 0, signal = 0;
    CLEANUP(recording_done) struct recording recording = {0};

    recording.program = read_text(json_object_get(data, "program"));
    recording.cwd = read_text(json_object_get(data, "cwd"));
    if (!recording.program || !*recording.program)
        return wrong(&in, "program", "is not a text");
    int r = read_texts(&in, data, "args", &recording.argv);
    if (r == 0)
        r = read_texts(&in, data, "env", &recording.env);
    for (int i = 0; r == 0 && i < 3; i++)
        r = read_stream(&in, data, i, &recording);
    if (r == 0)
        r = read_events(&in, data, &recording);
    if (r == 0)
        r = read_files(&in, data, &recording);
    if (r == 0)
        r = read_number(&in, data, "exit_code", 0, 255, &code);
    if (r == 0)
        r = read_number(&in, data, "signal", 1, 64, &signal);
    if (r == 0)
        r = read_number(&in, data, "duration_ns", 0, INT64_MAX, &recording.duration_ns);
    if (r < 0)
        return r;
    recording.exit_code = (int)code;
    recording.signal = (int)signal;
    recording.awaits_signal = json_is_true(json_object_get(data, "awaits_signal"));
    const json_t *terminal = json_object_get(data, "terminal");
    for (size_t i = 0; i < json_array_size(terminal); i++) {
        int64_t fd = json_integer_value(json_array_get(terminal, i));
        if (fd >= 0 && fd < 3)
            recording.terminal[fd] = true;
    }
    read_host(host, &recording);
    *ret = recording;
    recording = (struct recording){0};
    return 0;
}
