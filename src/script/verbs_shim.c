/* SPDX-License-Identifier: MIT */
/* shim: what commands answer, and what was asked of them. Rules become the JSON of
 * docs/formats/shim.md.
 *
 *     shim gh
 *       reply ["issue", "create", ...] stdout "https://example.test/1\n"
 *       expect ["pr", /^[0-9]+$/] times 2 exit 1 then exit 0
 *     shim gh called 3 times with "issue" */
#include "script/play.h"
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
static int vector_json(struct words *w, const struct vt_token *token, json_t *match)
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
static int match_json(struct words *w, json_t *match)
{
    const struct vt_token *token = words_next(w);
    json_t *pattern;
    int r = 0;

    if (token && token->kind == VT_VECTOR)
        r = vector_json(w, token, match);
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

static int answer_json(struct play *play, struct words *w, json_t *answer)
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

static int answers_json(struct play *play, struct words *w, json_t *answers)
{
    do {
        json_t *answer = json_object();
        json_array_append_new(answers, answer);
        int r = answer_json(play, w, answer);
        if (r < 0)
            return r;
    } while (words_take(w, "then"));
    return 0;
}

/* ---- rules ----------------------------------------------------------------------------------- */

static const char *shim_name(const struct play *play)
{
    const char *name = "";

    (void)play_variable(play, "SHIM", &name, NULL);
    return name;
}

/* reply|expect [MATCH] [times N] ANSWER [then ANSWER...] */
static int add_rule(struct play *play, struct words *w, const char *kind)
{
    CLEANUP(json_free) json_t *rule =
        json_pack("{s:{}, s:[], s:s}", "match", "answers", "kind", kind);
    CLEANUP(buf_done) struct buf label = {0};
    size_t from = w->at;
    uint64_t times = 0;
    int r = match_json(w, json_object_get(rule, "match"));

    for (size_t i = from; i < w->at; i++)
        buf_addf(&label, "%s%s", i > from ? " " : "", w->line->words[i].source);
    json_object_set_new(rule, "label", json_string(label.length ? buf_text(&label) : "(any call)"));
    if (r == 0 && words_take(w, "times") &&
        (r = words_number(w, "how often", 1000000, &times)) == 0)
        json_object_set_new(rule, "times", json_integer((json_int_t)times));
    if (r == 0)
        r = answers_json(play, w, json_object_get(rule, "answers"));
    return r < 0 || !play
               ? r
               : shim_add_rule(play->sandbox, shim_name(play), json_incref(rule), w->err);
}

int verb_reply(struct play *play, struct words *w)
{
    return add_rule(play, w, "stub");
}

int verb_expect(struct play *play, struct words *w)
{
    return add_rule(play, w, "plan");
}

int verb_else(struct play *play, struct words *w)
{
    CLEANUP(json_free) json_t *answer = json_object();
    int r = words_take(w, "fail") ? 1 : answer_json(play, w, answer);

    return r || !play ? (r < 0 ? r : 0)
                      : shim_set_else(play->sandbox, shim_name(play), json_incref(answer), w->err);
}

int verb_spy(struct play *play, struct words *w)
{
    (void)w;
    return play ? shim_set_else(play->sandbox, shim_name(play), json_pack("{s:b}", "pass", 1),
                                w->err)
                : 0;
}

/* A cassette beside the scenario. */
static char *cassette_path(const struct play *play, const char *name)
{
    const char *directory = ".";

    (void)play_variable(play, "DIR", &directory, NULL);
    return *name == '/' ? mem_dup(name) : mem_format("%s/%s", directory, name);
}

/* record FILE: the real command, once; replay FILE: what it did then */
int verb_record(struct play *play, struct words *w)
{
    const char *name;
    int r = words_text(w, "a file", &name);

    if (r < 0 || !play)
        return r;
    const char *ci = getenv("CI");
    if (ci && *ci)
        return play_fail(play, "recording is refused while CI is set");
    CLEANUP(mem_free) char *path = cassette_path(play, name);
    CLEANUP(mem_free) char *pair = mem_format("%s=%s", shim_name(play), path);
    play->cassettes = mem_grow(play->cassettes, (play->cassette_count + 1) * sizeof(char *));
    play->cassettes[play->cassette_count++] = take_ptr(&pair);
    return shim_set_else(play->sandbox, shim_name(play),
                         json_pack("{s:b, s:b}", "pass", 1, "record", 1), w->err);
}

int verb_replay(struct play *play, struct words *w)
{
    const char *name;
    int r = words_text(w, "a file", &name);

    if (r < 0 || !play)
        return r;
    CLEANUP(mem_free) char *path = cassette_path(play, name);
    r = shim_replay(play->sandbox, shim_name(play), path, w->err);
    return r == -ENOENT
               ? err_hint(w->err, "write 'record %s' in its place, play the scenario once", name)
               : r;
}

int verb_success(struct play *play, struct words *w)
{
    const char *text = NULL;
    int r = words_next(w) ? words_text(w, "standard output", &text) : 0;

    return r < 0 || !play
               ? r
               : shim_set_else(play->sandbox, shim_name(play), shim_answer_success(text), w->err);
}

int verb_failure(struct play *play, struct words *w)
{
    const char *text = "failed\n";
    int r = words_next(w) ? words_text(w, "standard error", &text) : 0;

    return r < 0 || !play ? r
                          : shim_set_else(play->sandbox, shim_name(play),
                                          shim_answer_failure(text, 1), w->err);
}

/* no stdin: what is piped into the command is left alone */
int verb_no(struct play *play, struct words *w)
{
    int r = WORDS_CHOICE(w, "stdin");

    return r < 0 || !play ? r : shim_set_stdin(play->sandbox, shim_name(play), false, w->err);
}

/* ---- what was called ------------------------------------------------------------------------- */

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
        return vector_json(w, token, ret->pattern);
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
static int check_called(struct play *play, struct words *w, const char *name, bool never)
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
static int check_call(struct play *play, struct words *w, const char *name)
{
    CLEANUP(shim_log_done) struct shim_log log = {0};
    CLEANUP(buf_done) struct buf bytes = {0};
    CLEANUP(json_free) json_t *pattern = json_object();
    const json_t *call = NULL, *found;
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
        if ((r = vector_json(w, token, pattern)) < 0 || !play)
            return r;
        struct shim_log one = {.calls = json_pack("[O]", call)};
        r = shim_call_like(&one, name, pattern, &found, w->err);
        shim_log_done(&one);
        return r < 0 || found ? r : fail_calls(play, &log, name, w->line, "that call was another");
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

int verb_shim(struct play *play, struct words *w)
{
    const char *name;
    int r = words_text(w, "the name of a command", &name);

    if (r < 0)
        return r;
    if (words_take(w, "called"))
        return check_called(play, w, name, false);
    if (words_take(w, "never"))
        return words_take(w, "called") ? check_called(play, w, name, true)
                                       : WORDS_CHOICE(w, "called");
    if (words_take(w, "call"))
        return check_call(play, w, name);
    if (words_next(w))
        return WORDS_CHOICE(w, "called", "never", "call");
    if (!play)
        return 0;
    if (strcmp(name, "tmux") == 0 && !w->line->line_count)
        return sandbox_tmux_install(play->sandbox, w->err);
    if ((r = shim_install(play->sandbox, name, w->err)) < 0)
        return r;
    play_set(play, "SHIM", name, false);
    return play_lines(play, w->line->lines, w->line->line_count, AT_SHIM);
}
