/* SPDX-License-Identifier: MIT */
/* From a sidecar to a host, and whether what was called is what it says. */
#include "host/harness.h"
#include "base/text.h"
#include <errno.h>
#include <string.h>

/* ---- options: lists in an arena */

static const char **strings_of(struct arena *arena, const json_t *list)
{
    size_t count = json_array_size(list);
    const char **strings = arena_alloc(arena, (count + 1) * sizeof *strings);

    for (size_t i = 0; i < count; i++)
        strings[i] = json_string_value(json_array_get(list, i));
    return strings;
}

static const char **env_of(struct arena *arena, const json_t *object)
{
    const char **env = arena_alloc(arena, (json_object_size(object) + 1) * sizeof *env);
    const char *name;
    json_t *value;
    size_t count = 0;

    json_object_foreach((json_t *)object, name, value)
    {
        CLEANUP(mem_free) char *text = mem_format("%s=%s", name, json_string_value(value));
        env[count++] = arena_dup(arena, text, strlen(text));
    }
    return env;
}

static struct vitro_host_step *steps_of(struct arena *arena, const json_t *list)
{
    size_t count = json_array_size(list);
    struct vitro_host_step *steps = arena_alloc(arena, (count + 1) * sizeof *steps);

    for (size_t i = 0; i < count; i++) {
        const json_t *step = json_array_get(list, i);
        steps[i] = (struct vitro_host_step){
            .argv = strings_of(arena, json_object_get(step, "argv")),
            .output = json_string_value(json_object_get(step, "stdout")),
            .error_output = json_string_value(json_object_get(step, "stderr")),
            .exit_code = (int)json_integer_value(json_object_get(step, "exit_code")),
            .signal = (int)json_integer_value(json_object_get(step, "signal"))};
    }
    return steps;
}

/* ---- what is not options */

static int error_code(const char *name, int *ret, struct err *err)
{
    *ret = 0;
    for (int code = 1; name && code < 134; code++)
        if (text_equal(strerrorname_np(code), name))
            *ret = -code;
    if (name && !*ret) {
        err_set(err, -EINVAL, "error_code '%s' is not the name of an error", name);
        (void)err_hint(err, "ENOENT, ENOSPC, EACCES");
        return -EINVAL;
    }
    return 0;
}

static char *text_of(const json_t *value)
{
    CLEANUP(buf_done) struct buf text = {0};

    if (!value)
        return NULL;
    json_add_canonical(&text, value);
    return buf_take(&text);
}

static int add_response(struct host_double *d, const json_t *response, struct err *err)
{
    CLEANUP(mem_free) char *when = text_of(json_object_get(response, "when"));
    CLEANUP(mem_free) char *result = text_of(json_object_get(response, "result"));
    int code,
        r = error_code(json_string_value(json_object_get(response, "error_code")), &code, err);

    return r < 0 ? r
                 : responses_add(
                       d, &d->responses,
                       &(struct vitro_host_response){
                           .capability = json_string_value(json_object_get(response, "capability")),
                           .method = json_string_value(json_object_get(response, "method")),
                           .when = when,
                           .result = result,
                           .error = json_string_value(json_object_get(response, "error")),
                           .error_code = code,
                           .repeat =
                               (unsigned)json_integer_value(json_object_get(response, "repeat"))},
                       err);
}

static int fill(struct host_double *d, const struct harness *harness, struct err *err)
{
    const char *name;
    json_t *value;
    int r = 0;

    json_object_foreach((json_t *)harness->fs_reads, name, value)
    {
        CLEANUP(mem_free) char *bytes = NULL;
        size_t length;
        harness_bytes(value, &bytes, &length);
        entries_put(d, &d->files, name, bytes, length, false);
    }
    json_object_foreach((json_t *)harness->net_gets, name, value)
    {
        CLEANUP(mem_free) char *answer = text_of(value);
        entries_put(d, &d->answers, name, answer, strlen(answer), false);
    }
    for (size_t i = 0; r == 0 && i < json_array_size(harness->responses); i++)
        r = add_response(d, json_array_get(harness->responses, i), err);
    return r;
}

static struct vitro_host *mock_of(const struct harness *harness, bool echo, struct err *err)
{
    CLEANUP(arena_done) struct arena arena = {0};
    size_t count = json_array_size(harness->random_u64);
    uint64_t *numbers = arena_alloc(&arena, (count + 1) * sizeof *numbers);

    for (size_t i = 0; i < count; i++)
        numbers[i] = (uint64_t)json_integer_value(json_array_get(harness->random_u64, i));
    struct vitro_host *host = vitro_host_mock(
        &(struct vitro_host_mock_options){
            .clock_at_unix_ms = harness->clock_at_unix_ms,
            .clock_at_epoch = harness->has_clock,
            .env = env_of(&arena, harness->env),
            .random_u64 = numbers,
            .random_count = count,
            .stdin_lines = strings_of(&arena, harness->stdin_lines),
            .capabilities = strings_of(&arena, harness->capabilities),
            .steps = steps_of(&arena, harness->argv_steps),
            .echo = echo,
        },
        (struct vitro_host_error *)err);
    if (host && fill(host_double(host), harness, err) < 0) {
        vitro_host_free(host);
        return NULL;
    }
    return host;
}

struct vitro_host *harness_host(struct harness *harness, bool echo, struct err *err)
{
    struct err own = {0};
    struct vitro_host *host =
        harness->is_null ? vitro_host_null() : mock_of(harness, echo, err ? err : &own);

    if (!host) {
        (void)err_wrap(err, "%s", harness->path);
        harness_done(harness);
        return NULL;
    }
    struct harness *kept = mem_alloc(sizeof *kept);
    *kept = *harness;
    *harness = (struct harness){0};
    host_double(host)->harness = kept;
    return host;
}

struct vitro_host *vitro_host_from_sidecar(const char *path, struct vitro_host_error *error)
{
    struct harness harness;

    if (!path || !*path) {
        (void)err_set(host_err(error), -EINVAL, "load a sidecar: no path was given");
        return NULL;
    }
    if (harness_read(path, &harness, host_err(error)) < 0)
        return NULL;
    return harness_host(&harness, false, host_err(error));
}

/* ---- expectations */

static void add_call(struct buf *buf, const json_t *call)
{
    buf_addf(buf, "%s.%s ", json_string_value(json_object_get(call, "sub_handle")),
             json_string_value(json_object_get(call, "method")));
    json_add_canonical(buf, json_object_get(call, "args"));
}

static bool same_call(const json_t *a, const json_t *b)
{
    static const char *const names[] = {"sub_handle", "method", "args"};

    for (size_t i = 0; i < ARRAY_LENGTH(names); i++)
        if (!json_equal(json_object_get(a, names[i]), json_object_get(b, names[i])))
            return false;
    return true;
}

int harness_check_calls(const struct harness *harness, const char *what, const json_t *expected,
                        harness_call_at *at, void *context, struct err *err)
{
    size_t count = json_array_size(expected);

    if (!count)
        return 0;
    for (size_t i = 0;; i++) {
        const json_t *wanted = json_array_get(expected, i), *made = at(context, i);
        CLEANUP(buf_done) struct buf want = {0};
        CLEANUP(buf_done) struct buf got = {0};
        if (!wanted && !made)
            return 0;
        if (wanted && made && same_call(wanted, made))
            continue;
        if (wanted)
            add_call(&want, wanted);
        if (made)
            add_call(&got, made);
        if (!made)
            return err_set(err, -EPROTO, "%s: %s %zu is missing: expected %s", harness->path, what,
                           i + 1, buf_text(&want));
        if (!wanted)
            return err_set(err, -EPROTO, "%s: %s %zu was not expected: %s", harness->path, what,
                           i + 1, buf_text(&got));
        return err_set(err, -EPROTO, "%s: %s %zu is %s\n  expected %s", harness->path, what, i + 1,
                       buf_text(&got), buf_text(&want));
    }
}

int harness_check_text(const struct harness *harness, const char *what, const char *expected,
                       const char *actual, size_t length, struct err *err)
{
    size_t line = 1, start = 0, i = 0;

    if (!expected || (strlen(expected) == length && memcmp(expected, actual, length) == 0))
        return 0;
    for (; i < length && expected[i] && expected[i] == actual[i]; i++)
        if (actual[i] == '\n') {
            line++;
            start = i + 1;
        }
    CLEANUP(buf_done) struct buf want = {0};
    CLEANUP(buf_done) struct buf got = {0};
    text_add_escaped(&want, expected + start, strcspn(expected + start, "\n"));
    const char *end = memchr(actual + start, '\n', length - start);
    text_add_escaped(&got, actual + start, (end ? (size_t)(end - actual) : length) - start);
    return err_set(err, -EPROTO, "%s: %s, line %zu is \"%s\"\n  expected \"%s\"", harness->path,
                   what, line, buf_text(&got), buf_text(&want));
}

struct made {
    const struct host_double *d;
    bool denied_only;
    json_t *call; /* owned; the one told last */
};

static const json_t *made_at(void *context, size_t index)
{
    struct made *made = context;
    const struct host_note *note = NULL;

    for (size_t i = 0; i < made->d->note_count && !note; i++)
        if ((!made->denied_only || made->d->notes[i]->denied) && index-- == 0)
            note = made->d->notes[i];
    json_decref(made->call);
    made->call = NULL;
    if (!note)
        return NULL;
    json_t *args = json_array();
    for (size_t i = 0; i < note->arg_count; i++)
        json_array_append_new(args, double_bytes(note->args[i], strlen(note->args[i])));
    made->call = json_object();
    json_object_set_new(made->call, "sub_handle", json_string(note->sub_handle));
    json_object_set_new(made->call, "method", json_string(note->method));
    json_object_set_new(made->call, "args", args);
    return made->call;
}

int vitro_host_check_sidecar(const struct vitro_host *host, struct vitro_host_error *error)
{
    struct host_double *d = host_double(host);
    struct err *err = host_err(error);
    const struct harness *harness = d ? d->harness : NULL;

    if (!harness)
        return err_set(err, -EINVAL, "check a sidecar: this host was not made from one");
    (void)pthread_mutex_lock(&d->lock);
    struct made made = {.d = d}, denied = {.d = d, .denied_only = true};
    int r = harness_check_calls(harness, "call", harness->expect_calls, made_at, &made, err);
    if (r == 0)
        r = harness_check_calls(harness, "denial", harness->expect_deny_events, made_at, &denied,
                                err);
    if (r == 0)
        r = harness_check_text(harness, "standard output", harness->expect_stdio,
                               buf_text(&d->captured[1]), d->captured[1].length, err);
    if (r == 0)
        r = harness_check_text(harness, "standard error", harness->expect_stderr,
                               buf_text(&d->captured[2]), d->captured[2].length, err);
    (void)pthread_mutex_unlock(&d->lock);
    json_decref(made.call);
    json_decref(denied.call);
    return r;
}
