/* SPDX-License-Identifier: MIT */
/* Reading what shims were asked, and holding it against the plan. */
#include "sandbox/shim.h"
#include "base/fd.h"
#include "base/text.h"
#include "match/call.h"
#include <errno.h>
#include <string.h>

enum { JOURNAL_MAX = 1 << 30 };

int shim_log_read(const struct sandbox *sandbox, struct shim_log *ret, struct err *err)
{
    CLEANUP(mem_free) char *path = mem_format("%s/journal.jsonl", sandbox->shim);
    CLEANUP(buf_done) struct buf text = {0};
    CLEANUP(json_free) json_t *calls = json_array();
    size_t line = 1;

    if (file_exists(path)) {
        int r = file_read(path, JOURNAL_MAX, &text, err);
        if (r < 0)
            return r;
    }
    for (const char *p = buf_text(&text), *end; (end = strchr(p, '\n')); p = end + 1, line++) {
        CLEANUP(mem_free) char *where = mem_format("%s:%zu", path, line);
        json_t *entry;
        int r = json_parse(p, (size_t)(end - p), where, &entry, err);
        if (r < 0)
            return r;
        json_t *seq = json_object_get(entry, "end");
        if (!seq) {
            json_array_append_new(calls, entry);
            continue;
        }
        json_t *call = json_array_get(calls, (size_t)json_integer_value(seq) - 1);
        json_object_del(entry, "time_ns");
        json_object_update_missing(call, entry);
        json_decref(entry);
    }
    ret->calls = json_incref(calls);
    return 0;
}

void shim_log_done(struct shim_log *log)
{
    json_decref(log->calls);
    log->calls = NULL;
}

static bool is_of(const json_t *entry, const char *name)
{
    return text_equal(json_string_value(json_object_get(entry, "name")), name);
}

static void add_argument(struct buf *ret, const json_t *argument)
{
    CLEANUP(buf_done) struct buf bytes = {0};

    (void)shim_bytes_from_json(argument, &bytes);
    buf_add(ret, buf_text(&bytes), bytes.length);
}

void shim_call_words(const json_t *entry, struct buf *ret)
{
    const json_t *argv = json_object_get(entry, "argv");

    for (size_t i = 1; i < json_array_size(argv); i++) {
        buf_adds(ret, i > 1 ? " " : "");
        add_argument(ret, json_array_get(argv, i));
    }
}

const json_t *shim_call_at(const struct shim_log *log, const char *name, size_t index)
{
    size_t i;
    json_t *entry;

    json_array_foreach(log->calls, i, entry)
    {
        if (is_of(entry, name) && index-- == 0)
            return entry;
    }
    return NULL;
}

size_t shim_call_count(const struct shim_log *log, const char *name)
{
    size_t i, count = 0;
    json_t *entry;

    json_array_foreach(log->calls, i, entry) count += is_of(entry, name);
    return count;
}

static bool holds_all(const json_t *entry, const char *const *parts)
{
    CLEANUP(buf_done) struct buf words = {0};

    shim_call_words(entry, &words);
    for (; parts && *parts; parts++)
        if (!strstr(buf_text(&words), *parts))
            return false;
    return true;
}

const json_t *shim_call_with(const struct shim_log *log, const char *name, const char *const *parts)
{
    size_t i;
    json_t *entry;

    json_array_foreach(log->calls, i, entry)
    {
        if (is_of(entry, name) && holds_all(entry, parts))
            return entry;
    }
    return NULL;
}

/* The entry as a call, for the matcher. */
static bool entry_fits(const struct call_rule *rule, const json_t *entry, struct buf *why)
{
    const json_t *argv = json_object_get(entry, "argv"), *env = json_object_get(entry, "env");
    size_t args = json_array_size(argv), at = 0;
    CLEANUP(buf_done) struct buf input = {0};
    CLEANUP(buf_done) struct buf cwd = {0};
    const char **texts = mem_alloc((args + 1) * sizeof *texts);
    char **vars = mem_alloc((json_object_size(env) + 1) * sizeof *vars);
    const char *name;
    json_t *value;

    for (; at < args; at++) {
        struct buf one = {0};
        add_argument(&one, json_array_get(argv, at));
        texts[at] = one.data ? buf_take(&one) : mem_dup("");
    }
    at = 0;
    json_object_foreach((json_t *)env, name, value)
    {
        CLEANUP(buf_done) struct buf one = {0};
        add_argument(&one, value);
        vars[at++] = mem_format("%s=%s", name, buf_text(&one));
    }
    add_argument(&input, json_object_get(entry, "stdin"));
    add_argument(&cwd, json_object_get(entry, "cwd"));
    bool fit =
        call_rule_fits(rule,
                       &(struct call){.program = json_string_value(json_object_get(entry, "name")),
                                      .argv = texts,
                                      .cwd = buf_text(&cwd),
                                      .env = (const char *const *)vars},
                       buf_text(&input), input.length, why);
    for (size_t i = 0; i < args; i++)
        free((void *)texts[i]);
    for (size_t i = 0; i < at; i++)
        free(vars[i]);
    free(texts);
    free(vars);
    return fit;
}

int shim_call_like(const struct shim_log *log, const char *name, const json_t *pattern,
                   const json_t **ret, struct err *err)
{
    struct call_rule rule;
    size_t i;
    json_t *entry;
    int r = call_rule_from_json(&rule, pattern, "match", err);

    if (r < 0)
        return r;
    *ret = NULL;
    json_array_foreach(log->calls, i, entry)
    {
        if (!*ret && is_of(entry, name) && entry_fits(&rule, entry, NULL))
            *ret = entry;
    }
    call_rule_done(&rule);
    return 0;
}

int shim_call_fits(const json_t *call, const json_t *pattern, struct buf *why, struct err *err)
{
    struct call_rule rule;
    int r = call_rule_from_json(&rule, pattern, "match", err);

    if (r < 0)
        return r;
    r = entry_fits(&rule, call, why);
    call_rule_done(&rule);
    return r;
}

static void add_call(struct buf *ret, const json_t *entry)
{
    const json_t *argv = json_object_get(entry, "argv");

    buf_adds(ret, json_string_value(json_object_get(entry, "name")));
    for (size_t i = 1; i < json_array_size(argv); i++) {
        CLEANUP(buf_done) struct buf word = {0};
        add_argument(&word, json_array_get(argv, i));
        buf_addc(ret, ' ');
        text_add_quoted(ret, buf_text(&word));
    }
}

void shim_log_show(const struct shim_log *log, const char *name, struct buf *ret)
{
    size_t i, shown = 0, all = shim_call_count(log, name);
    json_t *entry;

    if (!all)
        buf_addf(ret, "  %s was not called\n", name);
    json_array_foreach(log->calls, i, entry)
    {
        if (!is_of(entry, name) || ++shown > 20)
            continue;
        const char *outcome = json_string_value(json_object_get(entry, "outcome"));
        buf_addf(ret, "  call %zu  ", shown);
        add_call(ret, entry);
        if (!text_equal(outcome, "answered"))
            buf_addf(ret, "  (%s)", outcome ? outcome : "?");
        buf_addc(ret, '\n');
    }
    if (all > 20)
        buf_addf(ret, "  and %zu more\n", all - 20);
}

static void add_indented(struct buf *ret, const char *text)
{
    for (const char *p = text; *p;) {
        size_t length = strcspn(p, "\n");
        buf_addf(ret, "  %.*s\n", (int)length, p);
        p += length + (p[length] == '\n');
    }
}

static size_t verify_calls(const struct shim_log *log, struct buf *ret)
{
    size_t i, count = 0;
    json_t *entry;

    json_array_foreach(log->calls, i, entry)
    {
        const char *outcome = json_string_value(json_object_get(entry, "outcome"));
        const char *why = json_string_value(json_object_get(entry, "why"));
        if (text_equal(outcome, "answered"))
            continue;
        buf_adds(ret, "shim: ");
        add_call(ret, entry);
        buf_adds(ret, text_equal(outcome, "too_many")       ? ": called too often\n"
                      : text_equal(outcome, "out_of_order") ? ": called out of order\n"
                                                            : ": no rule answers this call\n");
        add_indented(ret, why ? why : "");
        count++;
    }
    return count;
}

static size_t verify_plans(const struct sandbox *sandbox, const struct shim_log *log,
                           struct buf *ret)
{
    size_t count = 0, index, i;
    const char *name;
    json_t *command, *rule, *entry;

    json_object_foreach(json_object_get(sandbox->plan, "commands"), name, command)
    {
        json_array_foreach(json_object_get(command, "rules"), index, rule)
        {
            json_int_t wanted = json_integer_value(json_object_get(rule, "times")), got = 0;
            const char *label = json_string_value(json_object_get(rule, "label"));

            if (!text_equal(json_string_value(json_object_get(rule, "kind")), "plan") &&
                !json_is_true(json_object_get(rule, "must")))
                continue;
            wanted = json_object_get(rule, "times") ? wanted : 1;
            json_array_foreach(log->calls, i, entry)
            {
                got += is_of(entry, name) &&
                       json_integer_value(json_object_get(entry, "rule")) == (json_int_t)index;
            }
            if (got >= wanted)
                continue;
            buf_addf(ret, "shim: %s %s: expected %lld call%s, got %lld\n", name, label ? label : "",
                     (long long)wanted, wanted == 1 ? "" : "s", (long long)got);
            shim_log_show(log, name, ret);
            count++;
        }
    }
    return count;
}

int shim_verify(const struct sandbox *sandbox, struct buf *ret, size_t *ret_count, struct err *err)
{
    CLEANUP(shim_log_done) struct shim_log log = {0};

    *ret_count = 0;
    if (!sandbox->plan)
        return 0;
    int r = shim_log_read(sandbox, &log, err);
    if (r == 0)
        *ret_count = verify_calls(&log, ret) + verify_plans(sandbox, &log, ret);
    return r;
}
