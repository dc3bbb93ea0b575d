/* SPDX-License-Identifier: MIT */
#include "tape/annotations.h"
#include "base/fd.h"
#include "base/json.h"
#include "tape/tape_reader.h"
#include "vitro/version.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

char *annotations_path_of(const char *tape_path)
{
    return mem_format("%s.annotations.jsonl", tape_path);
}

void annotations_done(struct annotations *annotations)
{
    json_decref(annotations->header);
    json_decref(annotations->list);
    json_decref(annotations->lines);
    *annotations = (struct annotations){0};
}

static int take_header(struct annotations *annotations, json_t *object, const char *where,
                       unsigned line, struct err *err)
{
    json_t *version = json_object_get(object, "schema_version");

    if (annotations->header)
        return err_set(err, -EBADMSG, "%s:%u: a second header", where, line);
    if (!json_is_integer(version))
        return err_set(err, -EBADMSG, "%s:%u: the header has no schema_version", where, line);
    if (json_integer_value(version) > ANNOTATIONS_VERSION)
        return err_set(err, -EPROTO, "%s:%u: schema version %lld, but this vitro reads up to %d",
                       where, line, (long long)json_integer_value(version), ANNOTATIONS_VERSION);
    annotations->header = json_incref(object);
    return 0;
}

static int take_line(struct annotations *annotations, const char *text, size_t length,
                     const char *where, unsigned line, struct err *err)
{
    CLEANUP(json_free) json_t *object = NULL;
    int r = json_parse(text, length, where, &object, NULL);

    if (r < 0 || !json_is_object(object))
        return err_set(err, -EBADMSG, "%s:%u: not a JSON object", where, line);
    const char *type = json_string_value(json_object_get(object, "type"));
    if (type && strcmp(type, "header") == 0)
        return take_header(annotations, object, where, line, err);
    if (!annotations->header)
        return err_set(err, -EBADMSG, "%s:%u: the first object is not a header", where, line);
    json_array_append(annotations->list, object);
    json_array_append_new(annotations->lines, json_integer(line));
    return 0;
}

int annotations_parse(const char *text, size_t length, const char *where, struct annotations *ret,
                      struct err *err)
{
    CLEANUP(annotations_done)
    struct annotations read = {.list = json_array(), .lines = json_array()};
    const char *end = text + length;
    unsigned line = 0;

    while (text < end) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        const char *stop = newline ? newline : end;
        line++;
        while (text < stop && (*text == ' ' || *text == '\t' || *text == '\r'))
            text++;
        if (text < stop && *text != '#') {
            int r = take_line(&read, text, (size_t)(stop - text), where, line, err);
            if (r < 0)
                return r;
        }
        text = newline ? newline + 1 : end;
    }
    if (!read.header)
        return err_set(err, -EBADMSG, "%s:1: the file is empty", where);
    *ret = read;
    read = (struct annotations){0};
    return 0;
}

int annotations_read(const char *path, struct annotations *ret, struct err *err)
{
    CLEANUP(buf_done) struct buf text = {0};
    int r = file_read(path, ANNOTATIONS_BYTES_MAX, &text, err);

    return r < 0 ? r : annotations_parse(buf_text(&text), text.length, path, ret, err);
}

int tape_extent_read(const char *tape_path, struct tape_extent *ret, struct err *err)
{
    CLEANUP(tape_reader_free) struct tape_reader *reader = NULL;
    CLEANUP(hash_free) struct hash_state *hash = hash_begin();
    struct tape_extent extent = {.last_seq = -1};
    struct tape_entry entry;
    int r = tape_reader_open(&(struct tape_reader_options){.path = tape_path}, &reader, err);

    while (r >= 0 && (r = tape_reader_next(reader, &entry, err)) > 0) {
        hash_add(hash, entry.text.text, entry.text.length);
        hash_add(hash, "\n", 1);
        extent.records++;
        extent.last_seq = (int64_t)entry.seq;
    }
    if (r < 0)
        return r;
    extent.digest = hash_end(take_ptr(&hash));
    *ret = extent;
    return 0;
}

static json_t *make_header(const char *tape_path, const struct tape_extent *extent)
{
    json_t *header = json_object();
    const char *slash = strrchr(tape_path, '/');

    json_object_set_new(header, "type", json_string("header"));
    json_object_set_new(header, "schema_version", json_integer(ANNOTATIONS_VERSION));
    json_object_set_new(header, "tape_path", json_string(slash ? slash + 1 : tape_path));
    json_object_set_new(header, "tape_content_hash",
                        json_string(hash_to_text(&extent->digest).text));
    json_object_set_new(header, "tool", json_string("vitro " VITRO_VERSION));
    return header;
}

/* The first problem validation has with the last annotation, or with none of the others. */
static int check_added(const struct annotations *annotations, const struct tape_extent *extent,
                       struct err *err)
{
    CLEANUP(json_free) json_t *report = annotations_validate(annotations, extent);
    json_t *problems = json_object_get(report, "problems"), *problem;
    json_int_t line = json_integer_value(
        json_array_get(annotations->lines, json_array_size(annotations->lines) - 1));
    size_t index;

    json_array_foreach(problems, index, problem)
    {
        if (json_integer_value(json_object_get(problem, "line")) == line)
            return err_set(err, -EINVAL, "annotation: %s (%s)",
                           json_string_value(json_object_get(problem, "message")),
                           json_string_value(json_object_get(problem, "code")));
    }
    return 0;
}

static int append(const char *path, const struct annotations *annotations, bool is_new,
                  const json_t *annotation, struct err *err)
{
    CLEANUP(buf_done) struct buf text = {0};
    CLEANUP(fd_close)
    int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | (is_new ? O_CREAT | O_EXCL : 0), 0666);

    if (fd < 0)
        return err_set(err, -errno, "open '%s': %m", path);
    if (is_new) {
        json_add_canonical(&text, annotations->header);
        buf_addc(&text, '\n');
    } else {
        buf_addc(&text, '\n'); /* the last line may lack its own; blank lines are skipped */
    }
    json_add_canonical(&text, annotation);
    buf_addc(&text, '\n');
    int r = fd_write_full(fd, text.data, text.length);
    return r < 0 ? err_set(err, r, "write '%s': %s", path, strerror(-r)) : 0;
}

int annotations_add(const char *tape_path, json_t *annotation, struct err *err)
{
    CLEANUP(annotations_done) struct annotations annotations = {0};
    CLEANUP(mem_free) char *path = annotations_path_of(tape_path);
    struct tape_extent extent;
    bool is_new = !file_exists(path);
    int r = tape_extent_read(tape_path, &extent, err);

    if (r == 0 && !is_new)
        r = annotations_read(path, &annotations, err);
    if (r < 0)
        return r;
    if (is_new)
        annotations = (struct annotations){
            .header = make_header(tape_path, &extent), .list = json_array(), .lines = json_array()};
    size_t place = json_array_size(annotations.list) + 1;
    json_object_set_new(annotation, "type", json_string("annotation"));
    if (!json_object_get(annotation, "id"))
        json_object_set_new(annotation, "id", json_sprintf("a%zu", place));
    json_array_append(annotations.list, annotation);
    json_array_append_new(annotations.lines, json_integer(1000000000 + (json_int_t)place));
    r = check_added(&annotations, &extent, err);
    return r < 0 ? r : append(path, &annotations, is_new, annotation, err);
}
