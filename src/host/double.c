/* SPDX-License-Identifier: MIT */
/* The core of null and mock hosts: the table of methods, the way of a call, and their life. What is
 * asked of a double afterwards is in double_calls.c. */
#include "host/double.h"
#include "base/fd.h"
#include "base/text.h"
#include "host/harness.h"
#include "proc/recording.h"
#include <errno.h>
#include <string.h>

const struct host_method_row host_methods[HOST_METHOD_COUNT] = {
    [STDIO_PRINT] = {"stdio", "print", {"text"}, "null"},
    [STDIO_PRINT_ERROR] = {"stdio", "print_error", {"text"}, "null"},
    [STDIO_READ_LINE] = {"stdio", "read_line", {0}, "string, or null at the end"},
    [CLOCK_NOW] = {"clock", "now", {0}, "nanoseconds since 1970"},
    [CLOCK_MONO] = {"clock", "monotonic", {0}, "nanoseconds"},
    [CLOCK_SLEEP] = {"clock", "sleep", {"ns"}, "null"},
    [CLOCK_SLEEP_UNTIL] = {"clock", "sleep_until", {"ns"}, "null"},
    [ENV_GET] = {"env", "get", {"name"}, "string, or null when it is not set"},
    [ENV_SET] = {"env", "set", {"name", "value"}, "null"},
    [ENV_LIST] = {"env", "list", {0}, "list of \"NAME=VALUE\""},
    [FS_READ] = {"fs", "read", {"path"}, "bytes"},
    [FS_WRITE] = {"fs", "write", {"path", "bytes"}, "null"},
    [FS_APPEND] = {"fs", "append", {"path", "bytes"}, "null"},
    [FS_STAT] = {"fs", "stat", {"path"}, "{\"type\": \"file\" or \"dir\", \"size\": bytes}"},
    [FS_REMOVE] = {"fs", "remove", {"path"}, "null"},
    [FS_RENAME] = {"fs", "rename", {"from", "to"}, "null"},
    [FS_MAKE_DIR] = {"fs", "make_dir", {"path"}, "null"},
    [FS_LIST] = {"fs", "list", {"path"}, "list of names"},
    [RANDOM_U64] = {"random", "u64", {0}, "number"},
    [RANDOM_BYTES] = {"random", "bytes", {"length"}, "bytes"},
    [RANDOM_UUID] = {"random", "uuid", {0}, "string"},
    [NET_GET] = {"net", "get", {"url"}, "bytes, or {\"status\", \"headers\", \"body\"}"},
    [NET_REQUEST] = {"net", "request", {"method", "url", "body"}, "as of net.get"},
    [PROCESS_RUN] = {"process",
                     "run",
                     {"argv..."},
                     "{\"stdout\", \"stderr\", \"exit_code\", \"signal\"}, all may be left out"},
    [PROCESS_SPAWN] = {"process", "spawn", {"argv..."}, "as of process.run"},
    [TERMINAL_SIZE] = {"terminal", "size", {0}, "{\"columns\", \"rows\"}"},
    [TERMINAL_IS_TTY] = {"terminal", "is_tty", {"stream"}, "true or false"},
};

static char methods_text[4096];

static void methods_write(void)
{
    CLEANUP(buf_done) struct buf buf = {0};

    for (size_t i = 0; i < HOST_METHOD_COUNT; i++) {
        const struct host_method_row *row = &host_methods[i];
        buf_addf(&buf, "%s.%s", row->sub_handle, row->method);
        for (size_t k = 0; k < ARRAY_LENGTH(row->args) && row->args[k]; k++)
            buf_addf(&buf, " %s", row->args[k]);
        buf_addf(&buf, " -> %s\n", row->result);
    }
    memcpy(methods_text, buf_text(&buf),
           buf.length < sizeof methods_text ? buf.length : sizeof methods_text - 1);
}

const char *vitro_host_methods(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    (void)pthread_once(&once, methods_write);
    return methods_text;
}

/* ---- the way of a call */

static void add_arg(struct host_note *note, const json_t *value)
{
    CLEANUP(buf_done) struct buf text = {0};

    if (json_is_string(value))
        buf_add(&text, json_string_value(value), json_string_length(value));
    else
        json_add_canonical(&text, value);
    note->args = mem_grow(note->args, (note->arg_count + 2) * sizeof *note->args);
    note->args[note->arg_count++] = text.data ? buf_take(&text) : mem_dup("");
    note->args[note->arg_count] = NULL;
}

static struct host_note *note_new(struct host_double *d, const char *sub_handle, const char *method,
                                  const char *const *names, const json_t *args)
{
    struct host_note *note = mem_alloc(sizeof *note);

    note->sub_handle = mem_dup(sub_handle);
    note->method = mem_dup(method);
    note->worker = mem_dup(vitro_worker_name());
    note->args = mem_alloc(sizeof *note->args);
    note->result = -EINPROGRESS;
    for (size_t i = 0; names && i < 3 && names[i]; i++) {
        CLEANUP(mem_free) char *name =
            mem_dupn(names[i], strlen(names[i]) - (text_ends(names[i], "...") ? 3 : 0));
        const json_t *value = json_object_get(args, name);
        if (!text_ends(names[i], "..."))
            add_arg(note, value);
        for (size_t k = 0; text_ends(names[i], "...") && k < json_array_size(value); k++)
            add_arg(note, json_array_get(value, k));
    }
    if (!names)
        add_arg(note, args);
    d->notes = mem_grow(d->notes, (d->note_count + 1) * sizeof(struct host_note *));
    d->notes[d->note_count++] = note;
    return note;
}

static int deny(struct ask *ask, struct err *err)
{
    struct host_note *note = ask->note;

    note->denied = true;
    note->result = -EPERM;
    CLEANUP(buf_done) struct buf args = {0};
    for (size_t i = 0; i < note->arg_count; i++) {
        buf_adds(&args, i ? ", " : "");
        json_add_string(&args, note->args[i], strlen(note->args[i]));
    }
    json_decref(ask->args);
    return err_set(err, -EPERM, "%s.%s(%s): denied, this is a null host", note->sub_handle,
                   note->method, buf_text(&args));
}

int double_begin_named(struct host_double *d, const char *sub_handle, const char *method,
                       const char *const *names, json_t *args, struct ask *ret, struct err *err)
{
    (void)pthread_mutex_lock(&d->lock);
    *ret = (struct ask){.d = d, .args = args, .note = note_new(d, sub_handle, method, names, args)};
    int r = 0;
    harness_report_call(d, ret->note);
    struct host_response *response = d->is_null ? NULL : responses_find(d, ret);
    if (d->is_null) {
        r = deny(ret, err);
    } else if (response && response->error) {
        r = err_set(err, response->error_code, "%s.%s: %s", sub_handle, method, response->error);
        ret->note->result = r;
        ret->note->given = json_string(response->error);
        json_decref(args);
    } else if (response) {
        ret->answer = json_incref(response->result);
        r = 1;
    }
    (void)pthread_mutex_unlock(&d->lock);
    return r;
}

int double_begin(struct host_double *d, enum host_method method, json_t *args, struct ask *ret,
                 struct err *err)
{
    const struct host_method_row *row = &host_methods[method];

    return double_begin_named(d, row->sub_handle, row->method, row->args, args, ret, err);
}

int double_end(struct ask *ask, int result, json_t *given)
{
    (void)pthread_mutex_lock(&ask->d->lock);
    ask->note->result = result;
    ask->note->given = given;
    (void)pthread_mutex_unlock(&ask->d->lock);
    json_decref(ask->args);
    json_decref(ask->answer);
    return result;
}

int double_missing(struct ask *ask, const char *key, struct err *err)
{
    CLEANUP(buf_done) struct buf words = {0};

    (void)pthread_mutex_lock(&ask->d->lock);
    ask->d->unanswered++;
    (void)pthread_mutex_unlock(&ask->d->lock);
    buf_addf(&words, "%s.%s", ask->note->sub_handle, ask->note->method);
    if (key) {
        buf_addc(&words, ' ');
        json_add_string(&words, key, strlen(key));
    }
    return double_end(
        ask, err_set(err, -ENODATA, "%s: this mock host has no answer for it", buf_text(&words)),
        NULL);
}

int double_wrong(struct ask *ask, struct err *err)
{
    const char *wanted = "";

    for (size_t i = 0; i < HOST_METHOD_COUNT; i++)
        if (text_equal(host_methods[i].sub_handle, ask->note->sub_handle) &&
            text_equal(host_methods[i].method, ask->note->method))
            wanted = host_methods[i].result;
    CLEANUP(buf_done) struct buf got = {0};
    json_add_canonical(&got, ask->answer);
    return double_end(ask,
                      err_set(err, -EPROTO, "%s.%s: the response is %s; wanted: %s",
                              ask->note->sub_handle, ask->note->method, buf_text(&got), wanted),
                      NULL);
}

static int double_ask(struct vitro_host *host, const char *capability, const char *method,
                      const char *args, char **ret, struct vitro_host_error *error)
{
    struct host_double *d = (struct host_double *)host;
    struct err *err = host_err(error);
    CLEANUP(buf_done) struct buf text = {0};
    json_t *value = NULL;
    struct ask ask;
    int r = json_parse(args, strlen(args), "arguments", &value, err);

    if (r == 0 && !json_is_object(value)) {
        json_decref(value);
        r = err_set(err, -EINVAL, "%s.%s: its arguments are no JSON object", capability, method);
    }
    if (r < 0)
        return r;
    r = double_begin_named(d, capability, method, NULL, value, &ask, err);
    if (r < 0)
        return r;
    if (r == 0)
        return double_missing(&ask, args, err);
    json_add_canonical(&text, ask.answer);
    *ret = buf_take(&text);
    return double_end(&ask, 0, json_incref(ask.answer));
}

/* ---- life */

static const struct vitro_host_ops double_ops = {.ask = double_ask, .free = double_free};

struct host_double *host_double(const struct vitro_host *host)
{
    return host && host->ops == &double_ops ? (struct host_double *)host : NULL;
}

struct host_double *double_new(void)
{
    struct host_double *d = mem_alloc(sizeof *d);

    (void)pthread_mutex_init(&d->lock, NULL);
    d->report_fd = -1;
    d->responses.last = &d->responses.first;
    d->host = (struct vitro_host){.stdio = &d->stdio,
                                  .clock = &d->clock,
                                  .env = &d->env,
                                  .fs = &d->fs,
                                  .random = &d->random,
                                  .net = &d->net,
                                  .process = &d->processes,
                                  .terminal = &d->terminal,
                                  .ops = &double_ops};
    double_stdio_init(d);
    double_env_init(d);
    double_fs_init(d);
    double_net_init(d);
    double_process_init(d);
    return d;
}

static void note_free(struct host_note *note)
{
    free(note->sub_handle);
    free(note->method);
    free(note->worker);
    strings_free(note->args);
    json_decref(note->given);
    free(note);
}

void double_free(struct vitro_host *host)
{
    struct host_double *d = (struct host_double *)host;

    for (size_t i = 0; i < d->note_count; i++)
        note_free(d->notes[i]);
    free(d->notes);
    responses_done(&d->responses);
    free(d->variables.items);
    free(d->files.items);
    free(d->answers.items);
    free(d->numbers);
    strings_free(d->lines);
    strings_free(d->capabilities);
    for (size_t i = 0; i < d->step_count; i++) {
        call_rule_done(&d->steps[i].rule);
        free(d->steps[i].output);
        free(d->steps[i].error_output);
    }
    free(d->steps);
    vitro_spawner_free(d->own_spawner);
    vitro_clock_free(d->own_clock);
    for (int i = 0; i < 3; i++)
        buf_done(&d->captured[i]);
    if (d->harness)
        harness_done(d->harness);
    free(d->harness);
    fd_close(d->report_fd);
    arena_done(&d->arena);
    (void)pthread_mutex_destroy(&d->lock);
    free(d);
}
