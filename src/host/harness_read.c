/* SPDX-License-Identifier: MIT */
/* Reading a sidecar: what each member must be. What is wrong is told with its line. */
#include "host/harness.h"
#include "base/fd.h"
#include "base/text.h"
#include "base/when.h"
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

struct reading {
    const char *text;
    size_t length;
    const char *path;     /* of the file */
    const char *steps[8]; /* where in it: names, and "#3" for places in lists */
    size_t depth;
    struct err *err;
    struct harness *harness;
};

static int wrong(struct reading *reading, const char *format, ...) PRINTF_LIKE(2, 3);
static int wrong(struct reading *reading, const char *format, ...)
{
    CLEANUP(buf_done) struct buf words = {0};
    va_list args;

    va_start(args, format);
    buf_addv(&words, format, args);
    va_end(args);
    return err_set(reading->err, -EINVAL, "%s:%zu: %s", reading->path,
                   harness_line(reading->text, reading->length, reading->steps, reading->depth),
                   buf_text(&words));
}

/* ---- kinds of members */

typedef int check(struct reading *reading, const json_t *value);

static int in(struct reading *reading, const char *step, check *kind, const json_t *value)
{
    if (reading->depth == ARRAY_LENGTH(reading->steps))
        return wrong(reading, "too deep");
    reading->steps[reading->depth++] = step;
    int r = kind(reading, value);
    reading->depth--;
    return r;
}

static const char *last(const struct reading *reading)
{
    for (size_t i = reading->depth; i-- > 0;)
        if (*reading->steps[i] != '#')
            return reading->steps[i];
    return "";
}

static int is_string(struct reading *reading, const json_t *value)
{
    if (!json_is_string(value))
        return wrong(reading, "'%s' is not a string", last(reading));
    if (strlen(json_string_value(value)) != json_string_length(value))
        return wrong(reading, "'%s' has a NUL in it", last(reading));
    return 0;
}

static int is_object(struct reading *reading, const json_t *value)
{
    return json_is_object(value) ? 0 : wrong(reading, "'%s' is not an object", last(reading));
}

static int is_anything(struct reading *reading, const json_t *value)
{
    (void)reading;
    (void)value;
    return 0;
}

static int is_bytes(struct reading *reading, const json_t *value)
{
    CLEANUP(mem_free) char *bytes = NULL;
    size_t length;

    return double_bytes_of(value, &bytes, &length)
               ? 0
               : wrong(reading, "'%s' is neither a string nor {\"base64\": ...}", last(reading));
}

static int is_number(struct reading *reading, const json_t *value)
{
    return json_is_integer(value) ? 0 : wrong(reading, "'%s' is not a whole number", last(reading));
}

static int is_positive(struct reading *reading, const json_t *value)
{
    return json_is_integer(value) && json_integer_value(value) >= 0
               ? 0
               : wrong(reading, "'%s' is not a whole number of 0 or more", last(reading));
}

static int is_status(struct reading *reading, const json_t *value)
{
    return json_is_integer(value) && json_integer_value(value) >= 100 &&
                   json_integer_value(value) <= 999
               ? 0
               : wrong(reading, "'%s' is not a status from 100 to 999", last(reading));
}

static int is_byte(struct reading *reading, const json_t *value)
{
    return json_is_integer(value) && json_integer_value(value) >= 0 &&
                   json_integer_value(value) <= 255
               ? 0
               : wrong(reading, "'%s' is not a number from 0 to 255", last(reading));
}

static int is_signal(struct reading *reading, const json_t *value)
{
    return json_is_integer(value) && json_integer_value(value) >= 0 &&
                   json_integer_value(value) < 65
               ? 0
               : wrong(reading, "'%s' is not the number of a signal", last(reading));
}

static int each(struct reading *reading, const json_t *list, check *kind)
{
    if (!json_is_array(list))
        return wrong(reading, "'%s' is not a list", last(reading));
    for (size_t i = 0; i < json_array_size(list); i++) {
        char step[24];
        (void)snprintf(step, sizeof step, "#%zu", i);
        int r = in(reading, step, kind, json_array_get(list, i));
        if (r < 0)
            return r;
    }
    return 0;
}

static int all(struct reading *reading, const json_t *object, check *kind)
{
    const char *name;
    json_t *value;

    if (!json_is_object(object))
        return wrong(reading, "'%s' is not an object", last(reading));
    json_object_foreach((json_t *)object, name, value)
    {
        int r = in(reading, name, kind, value);
        if (r < 0)
            return r;
    }
    return 0;
}

static int are_strings(struct reading *reading, const json_t *value)
{
    return each(reading, value, is_string);
}

static int are_numbers(struct reading *reading, const json_t *value)
{
    return each(reading, value, is_positive);
}

/* ---- records: objects with known members */

struct field {
    const char *name;
    check *kind;
    bool needed;
};

static int unknown(struct reading *reading, const char *name, const struct field *fields)
{
    const char *names[24];
    size_t count = 0;
    CLEANUP(buf_done) struct buf list = {0};

    for (; fields[count].name; count++) {
        names[count] = fields[count].name;
        buf_addf(&list, "%s%s", count ? ", " : "", names[count]);
    }
    const char *closest = text_closest(name, names, count);
    (void)wrong(reading, "unknown field '%s'", name);
    if (closest)
        (void)err_hint(reading->err, "did you mean '%s'?", closest);
    else
        (void)err_hint(reading->err, "fields: %s", buf_text(&list));
    return -EINVAL;
}

static int record(struct reading *reading, const json_t *object, const struct field *fields)
{
    const char *name;
    json_t *value;

    if (!json_is_object(object))
        return *last(reading) ? wrong(reading, "an entry of '%s' is not an object", last(reading))
                              : wrong(reading, "a sidecar is one JSON object");
    json_object_foreach((json_t *)object, name, value)
    {
        const struct field *field = fields;
        while (field->name && strcmp(field->name, name) != 0)
            field++;
        reading->steps[reading->depth++] = name;
        int r = field->name ? field->kind(reading, value) : unknown(reading, name, fields);
        reading->depth--;
        if (r < 0)
            return r;
    }
    for (const struct field *field = fields; field->name; field++)
        if (field->needed && !json_object_get(object, field->name))
            return wrong(reading, "'%s' is missing", field->name);
    return 0;
}

static int is_header(struct reading *reading, const json_t *value)
{
    return all(reading, value, is_string);
}

static int is_answer(struct reading *reading, const json_t *value)
{
    static const struct field fields[] = {{"status", is_status, false},
                                          {"headers", is_header, false},
                                          {"body", is_bytes, false},
                                          {0}};

    return json_is_object(value) && !json_object_get(value, "base64")
               ? record(reading, value, fields)
               : is_bytes(reading, value);
}

static int is_call(struct reading *reading, const json_t *value)
{
    static const struct field fields[] = {{"sub_handle", is_string, true},
                                          {"method", is_string, true},
                                          {"args", are_strings, true},
                                          {0}};

    return record(reading, value, fields);
}

static int is_response(struct reading *reading, const json_t *value)
{
    static const struct field fields[] = {
        {"capability", is_string, true}, {"method", is_string, true},
        {"when", is_object, false},      {"result", is_anything, false},
        {"error", is_string, false},     {"error_code", is_string, false},
        {"repeat", is_positive, false},  {0}};

    return record(reading, value, fields);
}

static int is_step(struct reading *reading, const json_t *value)
{
    static const struct field fields[] = {
        {"argv", are_strings, true},   {"stdout", is_string, false}, {"stderr", is_string, false},
        {"exit_code", is_byte, false}, {"signal", is_signal, false}, {0}};

    return record(reading, value, fields);
}

/* ---- the members of a sidecar */

static int take_mode(struct reading *reading, const json_t *value)
{
    const char *mode = json_string_value(value);

    if (!text_equal(mode, "null") && !text_equal(mode, "mock"))
        return wrong(reading, "'mode' is not \"null\" or \"mock\"");
    reading->harness->is_null = *mode == 'n';
    return 0;
}

static int set_clock(struct reading *reading, int64_t ms)
{
    if (reading->harness->has_clock)
        return wrong(reading, "both 'clock_at' and 'clock_at_unix_ms' are given");
    if (ms < 0 || ms > INT64_MAX / (int64_t)NS_PER_MS)
        return wrong(reading, "'%s' is not from 1970 to 2262", last(reading));
    reading->harness->has_clock = true;
    reading->harness->clock_at_unix_ms = ms;
    return 0;
}

static int take_clock_ms(struct reading *reading, const json_t *value)
{
    int r = is_number(reading, value);

    return r < 0 ? r : set_clock(reading, json_integer_value(value));
}

static int take_clock(struct reading *reading, const json_t *value)
{
    struct err err = {0};
    int64_t ns;
    int r = is_string(reading, value);

    if (r < 0)
        return r;
    if (when_parse(json_string_value(value), &ns, &err) < 0)
        return wrong(reading, "%s", err.text);
    return set_clock(reading, ns / (int64_t)NS_PER_MS);
}

#define TAKE(member, test)                                                                         \
    static int take_##member(struct reading *reading, const json_t *value)                         \
    {                                                                                              \
        reading->harness->member = value;                                                          \
        return test;                                                                               \
    }
TAKE(env, all(reading, value, is_string))
TAKE(fs_reads, all(reading, value, is_bytes))
TAKE(random_u64, are_numbers(reading, value))
TAKE(net_gets, all(reading, value, is_answer))
TAKE(stdin_lines, are_strings(reading, value))
TAKE(capabilities, are_strings(reading, value))
TAKE(responses, each(reading, value, is_response))
TAKE(argv_steps, each(reading, value, is_step))
TAKE(expect_calls, each(reading, value, is_call))
TAKE(expect_deny_events, each(reading, value, is_call))

static const char *text_of(const json_t *value)
{
    const char *text = json_string_value(value);

    return text && *text ? text : NULL;
}

static int take_expect_stdio(struct reading *reading, const json_t *value)
{
    reading->harness->expect_stdio = text_of(value);
    return is_string(reading, value);
}

static int take_expect_stderr(struct reading *reading, const json_t *value)
{
    reading->harness->expect_stderr = text_of(value);
    return is_string(reading, value);
}

static const struct field members[] = {
    {"mode", take_mode, true},
    {"clock_at_unix_ms", take_clock_ms, false},
    {"clock_at", take_clock, false},
    {"env", take_env, false},
    {"fs_reads", take_fs_reads, false},
    {"random_u64", take_random_u64, false},
    {"net_gets", take_net_gets, false},
    {"stdin_lines", take_stdin_lines, false},
    {"capabilities", take_capabilities, false},
    {"responses", take_responses, false},
    {"argv_steps", take_argv_steps, false},
    {"expect_calls", take_expect_calls, false},
    {"expect_deny_events", take_expect_deny_events, false},
    {"expect_stdio", take_expect_stdio, false},
    {"expect_stderr", take_expect_stderr, false},
    {0},
};

/* A null host is given nothing, and a mock denies nothing. */
static int fit_mode(struct reading *reading)
{
    const struct harness *harness = reading->harness;
    static const char *const given[] = {
        "clock_at_unix_ms", "clock_at",    "env",          "fs_reads",  "random_u64",
        "net_gets",         "stdin_lines", "capabilities", "responses", "argv_steps"};

    for (size_t i = 0; harness->is_null && i < ARRAY_LENGTH(given); i++)
        if (json_object_get(harness->root, given[i])) {
            reading->steps[reading->depth++] = given[i];
            return wrong(reading, "'%s' is of mode \"mock\", and the mode is \"null\"", given[i]);
        }
    if (!harness->is_null && json_array_size(harness->expect_deny_events)) {
        reading->steps[reading->depth++] = "expect_deny_events";
        return wrong(reading, "'expect_deny_events' is of mode \"null\", and the mode is \"mock\"");
    }
    return 0;
}

int harness_parse(const char *text, size_t length, const char *path, struct harness *ret,
                  struct err *err)
{
    struct err own = {0};
    CLEANUP(harness_done) struct harness harness = {.path = mem_dup(path)};
    struct reading reading = {
        .text = text, .length = length, .path = path, .err = err ? err : &own, .harness = &harness};
    int r = json_parse(text, length, path, &harness.root, err);

    if (r < 0)
        return r;
    r = record(&reading, harness.root, members);
    if (r == 0)
        r = fit_mode(&reading);
    if (r < 0)
        return r;
    *ret = harness;
    harness = (struct harness){0};
    return 0;
}

int harness_read(const char *path, struct harness *ret, struct err *err)
{
    CLEANUP(buf_done) struct buf text = {0};
    int r = file_read(path, HARNESS_BYTES_MAX, &text, err);

    return r < 0 ? r : harness_parse(buf_text(&text), text.length, path, ret, err);
}

void harness_done(struct harness *harness)
{
    free(harness->path);
    json_decref(harness->root);
    *harness = (struct harness){0};
}

void harness_bytes(const json_t *value, char **ret, size_t *ret_length)
{
    if (!double_bytes_of(value, ret, ret_length)) {
        *ret = mem_dup("");
        *ret_length = 0;
    }
}
