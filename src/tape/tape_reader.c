/* SPDX-License-Identifier: MIT */
#include "tape/tape_reader.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/when.h"
#include "tape/tape_writer.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { CHUNK_BYTES = 256 * 1024 };

struct tape_reader {
    char *path;
    int fd;            /* -1 at its end, or when reading memory */
    const char *bytes; /* borrowed memory that is left to read */
    size_t bytes_length, line_bytes_max;
    bool from_memory, at_end; /* at_end: no more input behind the buffer */
    struct buf buf;
    size_t next, searched; /* offsets in buf: start of the next line, no newline before */
    uint64_t line;         /* number of the line read last */
    json_t *header;
    int64_t start_ns;
    struct tape_summary summary;
    struct hash_state *hash; /* NULL unless asked for */
};

struct tape_reader *tape_reader_free(struct tape_reader *reader)
{
    if (reader) {
        fd_close(reader->fd);
        buf_done(&reader->buf);
        json_free(reader->header);
        hash_free(reader->hash);
        free(reader->path);
    }
    free(reader);
    return NULL;
}

const json_t *tape_reader_header(const struct tape_reader *reader)
{
    return reader->header;
}
const char *tape_reader_path(const struct tape_reader *reader)
{
    return reader->path;
}
int64_t tape_reader_start_ns(const struct tape_reader *reader)
{
    return reader->start_ns;
}
struct tape_summary tape_reader_summary(const struct tape_reader *reader)
{
    return reader->summary;
}

/* Makes room by dropping the lines that were handed out, then reads one chunk more. */
static int fill(struct tape_reader *reader, struct err *err)
{
    ssize_t count;

    buf_reserve(&reader->buf, 0);
    buf_drop(&reader->buf, reader->next);
    reader->searched -= reader->next;
    reader->next = 0;
    buf_reserve(&reader->buf, CHUNK_BYTES);
    char *to = reader->buf.data + reader->buf.length;
    if (reader->from_memory) {
        count = (ssize_t)(reader->bytes_length < CHUNK_BYTES ? reader->bytes_length : CHUNK_BYTES);
        if (count)
            memcpy(to, reader->bytes, (size_t)count);
        reader->bytes += count;
        reader->bytes_length -= (size_t)count;
    } else {
        do
            count = read(reader->fd, to, CHUNK_BYTES);
        while (count < 0 && errno == EINTR);
        if (count < 0)
            return err_set(err, -errno, "read tape '%s': %m", reader->path);
    }
    reader->at_end = count == 0;
    reader->buf.length += (size_t)count;
    reader->buf.data[reader->buf.length] = '\0';
    return 0;
}

/* 1 with a line, 0 at the end. The line is inside buf; *ret_whole is off when no newline ends it.
 */
static int next_line(struct tape_reader *reader, struct span *ret, bool *ret_whole, struct err *err)
{
    for (;;) {
        struct buf *buf = &reader->buf;
        const char *newline =
            buf->length > reader->searched
                ? memchr(buf->data + reader->searched, '\n', buf->length - reader->searched)
                : NULL;
        size_t end = newline ? (size_t)(newline - buf->data) : buf->length;
        if (end - reader->next > reader->line_bytes_max)
            return err_set(err, -EFBIG, "%s:%llu: the line is longer than %zu bytes", reader->path,
                           (unsigned long long)reader->line + 1, reader->line_bytes_max);
        reader->searched = end;
        if (!newline && !reader->at_end) {
            int r = fill(reader, err);
            if (r < 0)
                return r;
            continue;
        }
        if (!newline && end == reader->next)
            return 0;
        reader->line++;
        *ret = (struct span){buf->data + reader->next, end - reader->next};
        *ret_whole = newline != NULL;
        reader->next = reader->searched = newline ? end + 1 : end;
        return 1;
    }
}

static bool is_blank(struct span line)
{
    for (size_t i = 0; i < line.length; i++)
        if (line.text[i] != ' ' && line.text[i] != '\t' && line.text[i] != '\r')
            return false;
    return true;
}

static int line_error(struct tape_reader *reader, const char *problem, struct err *err)
{
    return err_set(err, -EBADMSG, "%s:%llu: %s", reader->path, (unsigned long long)reader->line,
                   problem);
}

/* 1 with a line that parses; a torn last one counts as the end. */
static int next_entry(struct tape_reader *reader, struct tape_entry *ret, struct err *err)
{
    struct span line = {0};
    const char *problem;
    size_t column;
    bool whole = false;

    for (;;) {
        int r = next_line(reader, &line, &whole, err);
        if (r <= 0)
            return r;
        if (!is_blank(line))
            break;
        if (reader->hash)
            hash_add(reader->hash, line.text, line.length + whole);
    }
    if (!tape_entry_parse(line.text, line.length, ret, &problem, &column)) {
        if (!whole && reader->line > 1) {
            reader->summary.torn_line = reader->line;
            return 0;
        }
        if (!whole)
            problem = "the header is cut short";
        return err_set(err, -EBADMSG, "%s:%llu: column %zu: %s", reader->path,
                       (unsigned long long)reader->line, column, problem);
    }
    ret->line = reader->line;
    if (reader->hash && ret->type != TAPE_LINE_END)
        hash_add(reader->hash, line.text, line.length + whole);
    return 1;
}

static int read_version(struct tape_reader *reader, struct err *err)
{
    json_t *version = json_object_get(reader->header, "version");

    if (!json_is_integer(version) || json_integer_value(version) < 1)
        return line_error(reader, "the header has no version", err);
    if (json_integer_value(version) <= TAPE_VERSION)
        return 0;
    json_t *tool = json_object_get(reader->header, "tool");
    err_set(err, -EPROTO, "%s:%llu: tape version %lld, but this vitro reads up to version %d",
            reader->path, (unsigned long long)reader->line, (long long)json_integer_value(version),
            TAPE_VERSION);
    return err_hint(err, "it was written by '%s'; read it with that version or a newer one",
                    json_is_string(tool) ? json_string_value(tool) : "an unnamed tool");
}

static int read_header(struct tape_reader *reader, struct err *err)
{
    struct tape_entry entry;
    int r = next_entry(reader, &entry, err);

    if (r < 0)
        return r;
    if (r == 0)
        return err_set(err, -EBADMSG, "%s:1: the tape is empty", reader->path);
    if (entry.type != TAPE_LINE_HEADER)
        return line_error(reader, "the first line is not a header", err);
    r = json_parse(entry.text.text, entry.text.length, reader->path, &reader->header, err);
    if (r < 0)
        return r;
    json_t *started = json_object_get(reader->header, "started_at_unix_ms");
    if (json_is_integer(started) &&
        __builtin_mul_overflow(json_integer_value(started), (int64_t)NS_PER_MS, &reader->start_ns))
        return line_error(reader, "started_at_unix_ms is out of range", err);
    return read_version(reader, err);
}

int tape_reader_open(const struct tape_reader_options *options, struct tape_reader **ret,
                     struct err *err)
{
    CLEANUP(tape_reader_free) struct tape_reader *reader = mem_alloc(sizeof *reader);

    reader->path = mem_dup(options->path);
    reader->line_bytes_max =
        options->line_bytes_max ? options->line_bytes_max : (size_t)TAPE_LINE_BYTES_MAX;
    reader->from_memory = options->bytes != NULL;
    reader->bytes = options->bytes;
    reader->bytes_length = options->bytes_length;
    reader->fd = -1;
    if (!options->bytes) {
        bool standard = strcmp(options->path, "-") == 0;
        reader->fd = standard ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
                              : open(options->path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
        if (reader->fd < 0)
            return err_set(err, -errno, "open tape '%s': %m", options->path);
    }
    if (options->digest)
        reader->hash = hash_begin();
    int r = read_header(reader, err);
    if (r < 0)
        return r;
    *ret = take_ptr(&reader);
    return 0;
}

static int read_end(struct tape_reader *reader, const struct tape_entry *entry, struct err *err)
{
    CLEANUP(json_free) json_t *end = NULL;
    static const char prefix[] = "sha256:";

    if (json_parse(entry->text.text, entry->text.length, reader->path, &end, NULL) < 0)
        return line_error(reader, "the end line has a member twice", err);
    json_t *records = json_object_get(end, "records"), *digest = json_object_get(end, "digest");
    if (!json_is_integer(records) || !json_is_string(digest) ||
        strncmp(json_string_value(digest), prefix, sizeof prefix - 1) != 0 ||
        !hash_from_text(json_string_value(digest) + sizeof prefix - 1, &reader->summary.end_hash))
        return line_error(reader, "the end line needs records and a sha256 digest", err);
    reader->summary.closed = true;
    reader->summary.end_records = (uint64_t)json_integer_value(records);
    return 0;
}

int tape_reader_next(struct tape_reader *reader, struct tape_entry *ret, struct err *err)
{
    int r = next_entry(reader, ret, err);

    if (r < 0)
        return r;
    if (r == 0) {
        if (reader->hash)
            reader->summary.read_hash = hash_end(take_ptr(&reader->hash));
        return 0;
    }
    if (ret->type == TAPE_LINE_HEADER)
        return line_error(reader, "a second header", err);
    if (reader->summary.closed)
        return line_error(reader, "a line behind the end of the tape", err);
    if (ret->type == TAPE_LINE_END) {
        r = read_end(reader, ret, err);
        return r < 0 ? r : tape_reader_next(reader, ret, err);
    }
    reader->summary.records++;
    return 1;
}
