/* SPDX-License-Identifier: MIT */
/* Patterns and answers of commands that are played: from words to JSON. */
#include "script/shim_words.h"
#include "sandbox/shim.h"
#include "base/text.h"
#include <errno.h>
#include <signal.h>
#include <string.h>

/* ---- patterns -------------------------------------------------------------------------------- */

/* "text", /expression/, glob*, * (any one) */
static int pattern_json(struct words *w, const struct vt_token *token, json_t **ret)
{
    const char *text;
    size_t length;

    if (token->kind == VT_REGEX) {
        int r = play_check_regex(token->parts[0].text, w->err);
        if (r < 0)
            return err_wrap(w->err, "%s:%u:%u", w->line->path, token->line, token->column);
        CLEANUP(mem_free) char *flagged =
            mem_format("%s%s%s%s", *token->flags ? "(?" : "", token->flags,
                       *token->flags ? ")" : "", token->parts[0].text);
        *ret = json_pack("{s:s}", "regex", flagged);
        return 0;
    }
    if (token->kind != VT_WORD)
        return words_wrong(w, "expected a text, an expression or a glob, found %s", token->source);
    int r = words_expand(w, token, &text, &length);
    if (r < 0)
        return r;
    if (!token->quoted && strcmp(text, "*") == 0)
        *ret = json_pack("{s:b}", "any", 1);
    else if (!token->quoted && strpbrk(text, "*?["))
        *ret = json_pack("{s:s}", "glob", text);
    else
        *ret = json_pack("{s:o}", "text", shim_bytes_to_json(text, length));
    return 0;
}

/* [pattern, ..., ...]: the three dots alone at the end stand for whatever follows. */
int shim_vector_words(struct words *w, const struct vt_token *token, json_t *match)
{
    CLEANUP(json_free) json_t *args = json_array();

    for (size_t i = 0; i < token->item_count; i++) {
        const struct vt_token *item = &token->items[i];
        json_t *pattern;
        if (text_equal(vt_keyword(item), "...")) {
            if (i + 1 < token->item_count)
                return words_wrong(w, "'...' stands at the end of a list");
            json_array_append_new(args, json_string("..."));
            continue;
        }
        int r = pattern_json(w, item, &pattern);
        if (r < 0)
            return r;
        json_array_append_new(args, pattern);
    }
    json_object_set(match, "args", args);
    w->at++;
    return 0;
}

/* Quoted texts and expressions, as many as there are. */
static int subset_json(struct words *w, json_t *match)
{
    CLEANUP(json_free) json_t *list = json_array();
    const struct vt_token *token;

    while ((token = words_next(w)) && (token->kind == VT_REGEX || token->quoted)) {
        json_t *pattern;
        int r = pattern_json(w, token, &pattern);
        if (r < 0)
            return r;
        json_array_append_new(list, pattern);
        w->at++;
    }
    if (!json_array_size(list))
        return words_wrong(w, "expected quoted texts or expressions behind 'with'");
    json_object_set_new(match, "args", json_pack("{s:O}", "subset", list));
    return 0;
}

/* What a rule matches: [vector] or with TEXT..., then env, stdin, cwd. */
int shim_match_words(struct words *w, json_t *match)
{
    const struct vt_token *token = words_next(w);
    json_t *pattern;
    int r = 0;

    if (token && token->kind == VT_VECTOR)
        r = shim_vector_words(w, token, match);
    else if (words_take(w, "with"))
        r = subset_json(w, match);
    while (r == 0 && words_take(w, "when")) {
        int which = WORDS_CHOICE(w, "env", "stdin", "cwd");
        const char *name = which == 1 ? "stdin" : "cwd";
        json_t *into = match;
        if (which < 0)
            return which;
        if (which == 0) {
            if ((r = words_text(w, "the name of a variable", &name)) < 0)
                return r;
            if (!json_object_get(match, "env"))
                json_object_set_new(match, "env", json_object());
            into = json_object_get(match, "env");
            if (words_take(w, "unset")) {
                json_object_set_new(into, name, json_null());
                continue;
            }
        }
        if (!(token = words_next(w)))
            return words_wrong(w, "expected a pattern");
        if ((r = pattern_json(w, token, &pattern)) == 0) {
            w->at++;
            json_object_set_new(into, name, pattern);
        }
    }
    return r;
}

/* ---- answers --------------------------------------------------------------------------------- */

static int step_bytes(struct words *w, json_t *steps, const char *name)
{
    const char *bytes;
    size_t length;
    int r = words_bytes(w, "a text", &bytes, &length);

    if (r == 0)
        json_array_append_new(steps, json_pack("{s:o}", name, shim_bytes_to_json(bytes, length)));
    return r;
}

static int step_file(struct play *play, struct words *w, json_t *steps, bool append)
{
    CLEANUP(mem_free) char *full = NULL;
    const char *path, *bytes;
    size_t length;
    int r = words_text(w, "a path", &path);

    if (r < 0 || (r = words_bytes(w, "a text", &bytes, &length)) < 0 ||
        (play && (r = sandbox_path(play->sandbox, path, &full, w->err)) < 0))
        return r;
    json_array_append_new(steps,
                          json_pack("{s:{s:s, s:o, s:b}}", "write", "path", full ? full : path,
                                    "bytes", shim_bytes_to_json(bytes, length), "append", append));
    return 0;
}

static int step_time(struct words *w, json_t *steps, const char *name)
{
    uint64_t ns;
    int r = words_duration(w, "how long", &ns);

    if (r == 0)
        json_array_append_new(steps, json_pack("{s:I}", name, (json_int_t)ns));
    return r;
}

/* run "shell command" or run [program, argument, ...] */
static int step_run(struct words *w, json_t *steps)
{
    const struct vt_token *token = words_next(w);
    const char *text;
    int r;

    if (!token || token->kind != VT_VECTOR) {
        if ((r = words_text(w, "a command for the shell", &text)) == 0)
            json_array_append_new(steps, json_pack("{s:[s,s,s,s]}", "run", "sh", "-c", text, "sh"));
        return r;
    }
    CLEANUP(json_free) json_t *argv = json_array();
    for (size_t i = 0; i < token->item_count; i++) {
        size_t length;
        if ((r = words_expand(w, &token->items[i], &text, &length)) < 0)
            return r;
        json_array_append_new(argv, json_string(text));
    }
    if (!json_array_size(argv))
        return words_wrong(w, "expected a program");
    json_array_append_new(steps, json_pack("{s:O}", "run", argv));
    w->at++;
    return 0;
}

static int signal_number(const char *name)
{
    name += text_starts(name, "SIG") ? 3 : 0;
    for (int i = 1; i < 32; i++)
        if (text_equal(sigabbrev_np(i), name))
            return i;
    return 0;
}

static int answer_end(struct words *w, json_t *answer, bool is_signal)
{
    uint64_t code = 0;
    const char *name;
    int r = is_signal ? words_text(w, "the name of a signal", &name)
                      : words_number(w, "an exit code", 255, &code);

    if (r < 0)
        return r;
    if (is_signal && !(code = (uint64_t)signal_number(name))) {
        w->at--;
        return words_wrong(w, "'%s' is not a signal, as TERM or KILL", name);
    }
    json_object_set_new(answer, is_signal ? "signal" : "exit", json_integer((json_int_t)code));
    return 0;
}

int shim_answer_words(struct play *play, struct words *w, json_t *answer)
{
    static const char *const words[] = {"stdout", "stderr", "exit",    "signal", "delay",
                                        "write",  "append", "run",     "env",    "linger",
                                        "pass",   "hang",   "success", "failure"};
    json_t *steps = json_array();
    int r = 0;

    json_object_set_new(answer, "steps", steps);
    while (r >= 0 && words_next(w) && !text_equal(vt_keyword(words_next(w)), "then")) {
        int which = words_choice(w, words, ARRAY_LENGTH(words));
        switch (which) {
        case 0:
        case 1:
            r = step_bytes(w, steps, words[which]);
            break;
        case 2:
        case 3:
            r = answer_end(w, answer, which == 3);
            break;
        case 4:
            r = step_time(w, steps, "delay_ns");
            break;
        case 5:
        case 6:
            r = step_file(play, w, steps, which == 6);
            break;
        case 7:
            r = step_run(w, steps);
            break;
        case 8:
            json_array_append_new(steps, json_pack("{s:b}", "env", 1));
            break;
        case 9:
            r = step_time(w, steps, "linger_ns");
            break;
        case 10:
        case 11:
            json_object_set_new(answer, words[which], json_true());
            break;
        case 12:
            json_object_set_new(answer, "exit", json_integer(0));
            break;
        case 13:
            json_object_set_new(answer, "exit", json_integer(1));
            if (words_next(w) && words_next(w)->quoted)
                r = step_bytes(w, steps, "stderr");
            break;
        default:
            r = which;
        }
    }
    return r;
}

int shim_answers_words(struct play *play, struct words *w, json_t *answers)
{
    do {
        json_t *answer = json_object();
        json_array_append_new(answers, answer);
        int r = shim_answer_words(play, w, answer);
        if (r < 0)
            return r;
    } while (words_take(w, "then"));
    return 0;
}
