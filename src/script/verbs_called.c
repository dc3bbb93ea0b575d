/* SPDX-License-Identifier: MIT */
/* What was asked of commands that are played: how often, with what, by which call. */
#include "script/shim_words.h"
#include "sandbox/shim.h"
#include "base/text.h"
#include <errno.h>
#include <string.h>

/* with TEXT... or with [vector]; nothing: any call. */
struct called_with {
    const char **parts;
    json_t *pattern; /* owned */
};

static int read_with(struct words *w, struct called_with *ret)
{
    const struct vt_token *token;
    size_t count = 0;
    int r;

    *ret = (struct called_with){0};
    if (!words_take(w, "with"))
        return 0;
    token = words_next(w);
    if (token && token->kind == VT_VECTOR) {
        ret->pattern = json_object();
        return shim_vector_words(w, token, ret->pattern);
    }
    ret->parts = arena_alloc(w->arena, (w->line->count + 1) * sizeof *ret->parts);
    do
        r = words_text(w, "a text", &ret->parts[count++]);
    while (r == 0 && words_next(w));
    return r;
}

static size_t count_calls(const struct shim_log *log, const char *name,
                          const struct called_with *with)
{
    struct shim_log one = {.calls = NULL};
    size_t count = 0, index;
    json_t *entry;

    json_array_foreach(log->calls, index, entry)
    {
        const json_t *found = NULL;
        one.calls = json_pack("[O]", entry);
        if (with->pattern)
            (void)shim_call_like(&one, name, with->pattern, &found, NULL);
        else
            found = shim_call_with(&one, name, with->parts);
        count += found != NULL;
        json_decref(one.calls);
    }
    return count;
}

static int fail_calls(struct play *play, const struct shim_log *log, const char *name,
                      const struct vt_line *line, const char *verdict)
{
    CLEANUP(buf_done) struct buf calls = {0};

    (void)line;
    shim_log_show(log, name, &calls);
    return play_fail(play, "%s\n%s", verdict, buf_text(&calls));
}

/* called [N times] [with ...] */
int shim_called(struct play *play, struct words *w, const char *name, bool never)
{
    CLEANUP(shim_log_done) struct shim_log log = {0};
    struct called_with with;
    uint64_t times = 0;
    bool counted = false;
    int r = 0;

    if (!never && words_next(w) && !text_equal(vt_keyword(words_next(w)), "with")) {
        if (words_take(w, "once")) {
            times = 1;
        } else if ((r = words_number(w, "how often", 1000000, &times)) == 0) {
            r = WORDS_CHOICE(w, "times", "time");
        }
        counted = true;
    }
    if (r < 0 || (r = read_with(w, &with)) < 0 || !play) {
        if (r >= 0)
            json_decref(with.pattern);
        return r < 0 ? r : 0;
    }
    if ((r = shim_log_read(play->sandbox, &log, w->err)) == 0) {
        size_t count = count_calls(&log, name, &with);
        CLEANUP(mem_free) char *verdict = NULL;
        if (never && count)
            verdict = mem_format("%s was called so %zu time%s", name, count, count == 1 ? "" : "s");
        else if (counted && count != times)
            verdict = mem_format("%s was called so %zu time%s, not %llu", name, count,
                                 count == 1 ? "" : "s", (unsigned long long)times);
        else if (!never && !counted && !count)
            verdict = mem_format("%s was not called so; its calls were", name);
        if (verdict)
            r = fail_calls(play, &log, name, w->line, verdict);
    }
    json_decref(with.pattern);
    return r;
}

/* call N is [vector] | stdin ... | cwd ... | env NAME ... */
int shim_call_is(struct play *play, struct words *w, const char *name)
{
    CLEANUP(shim_log_done) struct shim_log log = {0};
    CLEANUP(buf_done) struct buf bytes = {0};
    CLEANUP(json_free) json_t *pattern = json_object();
    const json_t *call = NULL;
    const char *variable = NULL;
    uint64_t number;
    int r = words_number(w, "the number of a call", 1000000, &number);

    if (r < 0)
        return r;
    int which = WORDS_CHOICE(w, "is", "stdin", "cwd", "env");
    if (which < 0 || (which == 3 && (r = words_text(w, "the name of a variable", &variable)) < 0))
        return which < 0 ? which : r;
    if (play) {
        if ((r = shim_log_read(play->sandbox, &log, w->err)) < 0)
            return r;
        call = number ? shim_call_at(&log, name, (size_t)number - 1) : NULL;
        if (!call)
            return fail_calls(play, &log, name, w->line, "there is no such call");
    }
    if (which == 0) {
        const struct vt_token *token = words_next(w);
        if (!token || token->kind != VT_VECTOR)
            return words_wrong(w, "expected a list, as [\"issue\", ...]");
        if ((r = shim_vector_words(w, token, pattern)) < 0 || !play)
            return r;
        CLEANUP(buf_done) struct buf why = {0};
        if ((r = shim_call_fits(call, pattern, &why, w->err)) != 0)
            return r < 0 ? r : 0;
        CLEANUP(mem_free) char *verdict = mem_format(
            "call %llu of %s was another: %s", (unsigned long long)number, name, buf_text(&why));
        return fail_calls(play, &log, name, w->line, verdict);
    }
    const json_t *value = which == 3 ? json_object_get(json_object_get(call, "env"), variable)
                                     : json_object_get(call, which == 1 ? "stdin" : "cwd");
    if (play && value)
        (void)shim_bytes_from_json(value, &bytes);
    CLEANUP(mem_free) char *subject = mem_format("%s of call %llu of %s",
                                                 which == 3   ? variable
                                                 : which == 1 ? "standard input"
                                                              : "directory",
                                                 (unsigned long long)number, name);
    return play_compare(play, w, subject, buf_text(&bytes), bytes.length);
}
