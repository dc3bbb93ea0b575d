/* SPDX-License-Identifier: MIT */
/* stdio and terminal of null and mock hosts. */
#include "base/fd.h"
#include "base/text.h"
#include "host/double.h"
#include <errno.h>
#include <string.h>
#include <unistd.h>

static json_t *text_args(const char *name, const void *bytes, size_t length)
{
    json_t *args = json_object();

    json_object_set_new(args, name, double_bytes(bytes, length));
    return args;
}

static int stdio_write(struct vitro_stdio *stdio, int stream, const void *bytes, size_t length,
                       struct vitro_host_error *error)
{
    struct host_double *d = DOUBLE_OF(stdio, stdio);
    struct ask ask;
    int r = double_begin(d, stream == 1 ? STDIO_PRINT : STDIO_PRINT_ERROR,
                         text_args("text", bytes, length), &ask, host_err(error));

    if (r < 0)
        return r;
    (void)pthread_mutex_lock(&d->lock);
    buf_add(&d->captured[stream], bytes, length);
    if (d->echo)
        (void)fd_write_full(stream, bytes, length);
    (void)pthread_mutex_unlock(&d->lock);
    return double_end(&ask, 0, NULL);
}

static int stdio_read_line(struct vitro_stdio *stdio, char **ret, struct vitro_host_error *error)
{
    struct host_double *d = DOUBLE_OF(stdio, stdio);
    struct ask ask;
    int r = double_begin(d, STDIO_READ_LINE, json_object(), &ask, host_err(error));

    if (r < 0)
        return r;
    if (r == 1 && !json_is_string(ask.answer) && !json_is_null(ask.answer))
        return double_wrong(&ask, host_err(error));
    if (r == 1) {
        *ret = mem_dup(json_string_value(ask.answer));
    } else {
        (void)pthread_mutex_lock(&d->lock);
        if (d->lines && d->lines[d->line_next])
            *ret = mem_dup(d->lines[d->line_next++]);
        (void)pthread_mutex_unlock(&d->lock);
    }
    return double_end(&ask, *ret != NULL, *ret ? double_bytes(*ret, strlen(*ret)) : json_null());
}

static unsigned variable_number(const struct host_double *d, const char *name, unsigned otherwise)
{
    const struct host_entry *entry = entries_find(&d->variables, name);
    uint64_t number;

    return entry && text_to_u64(entry->bytes, &number) && number > 0 && number < 65536
               ? (unsigned)number
               : otherwise;
}

static int terminal_size(struct vitro_terminal *terminal, unsigned *ret_columns, unsigned *ret_rows,
                         struct vitro_host_error *error)
{
    struct host_double *d = DOUBLE_OF(terminal, terminal);
    struct ask ask;
    int columns = 0, rows = 0;
    int r = double_begin(d, TERMINAL_SIZE, json_object(), &ask, host_err(error));

    if (r < 0)
        return r;
    if (r == 1 && (json_unpack(ask.answer, "{s:i, s:i}", "columns", &columns, "rows", &rows) < 0 ||
                   columns < 1 || rows < 1))
        return double_wrong(&ask, host_err(error));
    (void)pthread_mutex_lock(&d->lock);
    *ret_columns = r == 1 ? (unsigned)columns : variable_number(d, "COLUMNS", 80);
    *ret_rows = r == 1 ? (unsigned)rows : variable_number(d, "LINES", 24);
    (void)pthread_mutex_unlock(&d->lock);
    return double_end(
        &ask, 0, json_pack("{s:i, s:i}", "columns", (int)*ret_columns, "rows", (int)*ret_rows));
}

static int terminal_is_tty(struct vitro_terminal *terminal, int stream,
                           struct vitro_host_error *error)
{
    struct host_double *d = DOUBLE_OF(terminal, terminal);
    struct ask ask;
    int r = double_begin(d, TERMINAL_IS_TTY, json_pack("{s:i}", "stream", stream), &ask,
                         host_err(error));

    if (r < 0)
        return r;
    if (r == 1 && !json_is_boolean(ask.answer))
        return double_wrong(&ask, host_err(error));
    int is_tty = r == 1 && json_is_true(ask.answer);
    return double_end(&ask, is_tty, json_boolean(is_tty));
}

void double_stdio_init(struct host_double *d)
{
    static const struct vitro_stdio_ops stdio = {.write = stdio_write,
                                                 .read_line = stdio_read_line};
    static const struct vitro_terminal_ops terminal = {.size = terminal_size,
                                                       .is_tty = terminal_is_tty};

    d->stdio.ops = &stdio;
    d->terminal.ops = &terminal;
}
