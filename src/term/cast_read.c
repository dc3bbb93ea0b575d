/* SPDX-License-Identifier: MIT */
/* cast_read: asciicasts of our own and of others, as logs. Files are untrusted: sizes, times and
 * lengths have limits, and what is wrong is told with its line. */
#include "term/term_internal.h"
#include "base/when.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EVENTS_MAX = 10 * 1000 * 1000, SIZE_MAX_CELLS = 1000 };
static const size_t STREAM_MAX = (size_t)1 << 30;

struct reader {
    struct log *log;
    struct cast_meta *meta;
    json_int_t version;
    uint64_t now_ns;
};

static bool size_is_good(json_int_t cols, json_int_t rows)
{
    return cols >= 2 && rows >= 1 && cols <= SIZE_MAX_CELLS && rows <= SIZE_MAX_CELLS;
}

static int read_header(struct reader *reader, const json_t *header, struct err *err)
{
    const json_t *term = json_object_get(header, "term");

    if (!json_is_object(header))
        return err_set(err, -EBADMSG, "the first line of a cast is an object with its version");
    reader->version = json_integer_value(json_object_get(header, "version"));
    if (reader->version != 2 && reader->version != 3)
        return err_set(err, -EBADMSG, "asciicast version %lld: 2 and 3 can be read",
                       (long long)reader->version);
    json_int_t cols = json_integer_value(reader->version == 2 ? json_object_get(header, "width")
                                                              : json_object_get(term, "cols"));
    json_int_t rows = json_integer_value(reader->version == 2 ? json_object_get(header, "height")
                                                              : json_object_get(term, "rows"));
    if (!size_is_good(cols, rows))
        return err_set(err, -EBADMSG, "a screen of %lld rows of %lld: at least 1 of 2, at most %d",
                       (long long)rows, (long long)cols, SIZE_MAX_CELLS);
    reader->log->cols = (unsigned short)cols;
    reader->log->rows = (unsigned short)rows;
    reader->meta->start_s = json_integer_value(json_object_get(header, "timestamp"));
    return 0;
}

static int read_time(struct reader *reader, const json_t *value, struct err *err)
{
    double seconds = json_number_value(value);

    if (!json_is_number(value) || !isfinite(seconds) || seconds < 0 || seconds > 1e9)
        return err_set(err, -EBADMSG, "the time of an event is a number of seconds, from 0 to 1e9");
    uint64_t ns = (uint64_t)llround(seconds * 1e6) * NS_PER_US;
    if (reader->version == 3)
        reader->now_ns += ns;
    else if (ns > reader->now_ns) /* some recorders step back a little */
        reader->now_ns = ns;
    return 0;
}

static int read_size(struct reader *reader, const char *text, struct err *err)
{
    unsigned cols = 0, rows = 0;

    if (sscanf(text, "%5ux%5u", &cols, &rows) != 2 || !size_is_good(cols, rows))
        return err_set(err, -EBADMSG, "a size is COLSxROWS, at least 2x1, at most %d",
                       SIZE_MAX_CELLS);
    struct log_event *event = log_add(reader->log, LOG_SIZE, reader->now_ns);
    event->rows = (unsigned short)rows;
    event->cols = (unsigned short)cols;
    return 0;
}

static int read_event(struct reader *reader, const json_t *event, struct err *err)
{
    const json_t *text = json_array_get(event, 2);
    const char *code = json_string_value(json_array_get(event, 1));
    size_t length = json_string_length(text);
    struct log *log = reader->log;

    if (json_array_size(event) != 3 || !code || !json_is_string(text))
        return err_set(err, -EBADMSG, "an event is [time, code, text]");
    if (log->count >= EVENTS_MAX || log->stream.length + log->texts.length + length > STREAM_MAX)
        return err_set(err, -EFBIG, "the cast is too large");
    int r = read_time(reader, json_array_get(event, 0), err);
    if (r < 0)
        return r;
    reader->meta->end_ns = reader->now_ns;
    switch (*code) {
    case 'o':
        buf_add(&log->stream, json_string_value(text), length);
        (void)log_add(log, LOG_FRAME, reader->now_ns);
        return 0;
    case 'i':
    case 'm':
        log_add_text(log, *code == 'i' ? LOG_INPUT : LOG_MARK, reader->now_ns,
                     json_string_value(text), length);
        return 0;
    case 'r':
        return read_size(reader, json_string_value(text), err);
    case 'x':
        reader->meta->ended = true;
        reader->meta->exit_code = (int)strtol(json_string_value(text), NULL, 10);
        return 0;
    default: /* codes of later versions are passed over */
        return 0;
    }
}

int cast_read(const char *text, size_t length, struct log *ret, struct cast_meta *meta,
              struct err *err)
{
    struct reader reader = {.log = ret, .meta = meta};
    size_t number = 0;

    *meta = (struct cast_meta){0};
    for (size_t at = 0; at < length;) {
        const char *newline = memchr(text + at, '\n', length - at);
        size_t end = newline ? (size_t)(newline - text) : length, start = at;
        CLEANUP(json_free) json_t *value = NULL;
        at = end + 1;
        number++;
        if (end == start || (text[start] == '#' && number > 1))
            continue;
        int r = json_parse(text + start, end - start, "cast", &value, err);
        if (r == 0)
            r = reader.version ? read_event(&reader, value, err) : read_header(&reader, value, err);
        if (r < 0)
            return err_wrap(err, "line %zu", number);
    }
    return reader.version ? 0 : err_set(err, -EBADMSG, "the cast is empty");
}
