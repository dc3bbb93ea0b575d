/* SPDX-License-Identifier: MIT */
/* include/vitro/sandbox.h over sandbox.h and shim.h. */
#include "sandbox/sandbox.h"
#include "sandbox/shim.h"
#include "base/text.h"
#include "match/match.h"
#include "vitro/sandbox.h"
#include <assert.h>
#include <errno.h>
#include <string.h>

static_assert(sizeof(struct vitro_box_error) == sizeof(struct err), "one layout");

struct vitro_sandbox {
    struct sandbox *inner; /* owned */
    const char *writable[2];
    struct shim_log log; /* of the last question about calls */
    char **argv, **env;  /* owned, of the call told last; texts are owned too */
    char *input, *cwd;   /* owned */
    char **records;      /* owned; command and cassette, in turns, to be written at the end */
    size_t record_count; /* of such pairs */
};

static struct err *as_err(struct vitro_box_error *error)
{
    return (struct err *)error;
}

vitro_sandbox *vitro_sandbox_open(const struct vitro_sandbox_options *options,
                                  struct vitro_box_error *error)
{
    vitro_sandbox *s = mem_alloc(sizeof *s);
    struct sandbox_options inner = {0};

    if (options)
        inner = (struct sandbox_options){.name = options->name,
                                         .base = options->base,
                                         .term = options->term,
                                         .quota_bytes = options->quota_bytes};
    if (sandbox_open(&inner, &s->inner, as_err(error)) < 0) {
        free(s);
        return NULL;
    }
    s->writable[0] = s->inner->root;
    return s;
}

static void forget_call(vitro_sandbox *s)
{
    for (size_t i = 0; s->argv && s->argv[i]; i++)
        free(s->argv[i]);
    for (size_t i = 0; s->env && s->env[i]; i++)
        free(s->env[i]);
    free(take_ptr(&s->argv));
    free(take_ptr(&s->env));
    free(take_ptr(&s->input));
    free(take_ptr(&s->cwd));
}

static int keep_records(vitro_sandbox *s, bool write, struct err *err)
{
    int r = 0;

    for (size_t i = 0; i < s->record_count; i++) {
        if (write && r == 0)
            r = shim_record(s->inner, s->records[2 * i], s->records[2 * i + 1], err);
        free(s->records[2 * i]);
        free(s->records[2 * i + 1]);
    }
    free(take_ptr(&s->records));
    return r;
}

int vitro_sandbox_close(vitro_sandbox *s, struct vitro_box_error *error)
{
    CLEANUP(buf_done) struct buf text = {0};
    struct sandbox_leaks leaks = {0};
    struct err closing = {0};
    size_t wrong = 0;

    if (!s)
        return 0;
    int r = shim_verify(s->inner, &text, &wrong, as_err(error));
    if (r == 0 && wrong)
        r = err_set(as_err(error), -EPROTO, "%s", buf_text(&text));
    if (r == 0)
        r = sandbox_check_quota(s->inner, NULL, as_err(error));
    int kept = keep_records(s, r == 0, as_err(error));
    r = r == 0 ? kept : r;
    int closed = sandbox_close(s->inner, &leaks, &closing);
    if (r == 0 && closed < 0)
        r = err_set(as_err(error), closed, "%s", closing.text);
    if (r == 0 && leaks.count)
        r = err_set(as_err(error), -EBUSY, "processes were still running:\n%s",
                    buf_text(&leaks.text));
    sandbox_leaks_done(&leaks);
    forget_call(s);
    shim_log_done(&s->log);
    free(s);
    return r;
}

static int no_sandbox(struct vitro_box_error *error)
{
    return err_no_handle(as_err(error), "sandbox", "vitro_sandbox_open");
}

/* For functions about a command, as shims are. */
static int check_command(const vitro_sandbox *s, const char *command, struct vitro_box_error *error)
{
    if (!s)
        return no_sandbox(error);
    return command ? 0 : err_set(as_err(error), -EINVAL, "shim: no command was given");
}

const char *vitro_sandbox_root(const vitro_sandbox *s)
{
    return s ? s->inner->root : "";
}

const char *vitro_sandbox_home(const vitro_sandbox *s)
{
    return s ? s->inner->home : "";
}

const char *vitro_sandbox_work(const vitro_sandbox *s)
{
    return s ? s->inner->work : "";
}

const char *vitro_sandbox_shims(const vitro_sandbox *s)
{
    return s ? s->inner->bin : "";
}

const char *const *vitro_sandbox_env(const vitro_sandbox *s)
{
    return s ? (const char *const *)s->inner->env : NULL;
}

int vitro_sandbox_env_set(vitro_sandbox *s, const char *name, const char *value,
                          struct vitro_box_error *error)
{
    if (!s)
        return no_sandbox(error);
    if (!name)
        return err_set(as_err(error), -EINVAL, "set a variable: no name was given");
    return sandbox_env_set(s->inner, name, value, as_err(error));
}

int vitro_sandbox_write(vitro_sandbox *s, const char *path, const void *bytes, size_t length,
                        struct vitro_box_error *error)
{
    if (!s)
        return no_sandbox(error);
    if (!path || (length && !bytes))
        return err_set(as_err(error), -EINVAL, "write into a sandbox: no %s given",
                       path ? "bytes were" : "path was");
    return sandbox_write(s->inner, path, bytes, length, as_err(error));
}

int vitro_sandbox_begin(vitro_sandbox *s, struct vitro_box_error *error)
{
    if (!s)
        return no_sandbox(error);
    return shim_flush(s->inner, as_err(error));
}

int vitro_sandbox_box(vitro_sandbox *s, struct vitro_box_options *options,
                      struct vitro_box_error *error)
{
    if (!s)
        return no_sandbox(error);
    options->envp = vitro_sandbox_env(s);
    options->writable = s->writable;
    options->share_tmp = 1;
    if (!options->directory)
        options->directory = s->inner->work;
    if (!options->worktree)
        options->worktree = s->inner->work;
    return vitro_sandbox_begin(s, error);
}

vitro_term *vitro_sandbox_spawn(vitro_sandbox *s, const char *const *env, const char *const *argv,
                                struct vitro_box_error *error)
{
    if (!s)
        return (void)no_sandbox(error), NULL;
    struct vitro_term_options options = {
        .box.argv = argv, .env = env, .term = sandbox_env_get(s->inner, "TERM")};

    for (size_t i = 0; env && env[i]; i++)
        if (text_starts(env[i], "TERM="))
            options.term = env[i] + 5;
    return vitro_sandbox_box(s, &options.box, error) < 0 ? NULL : vitro_term_open(&options, error);
}

int vitro_sandbox_build(const char *key, const char *stamp, const char *directory,
                        const char *const *argv, struct vitro_box_error *error)
{
    bool ran;

    return sandbox_build_once(
        &(struct sandbox_build){.key = key, .stamp = stamp, .argv = argv, .directory = directory},
        &ran, as_err(error));
}

/* ---- shims ---------------------------------------------------------------------------------- */

static int pattern_json(const char *spelled, json_t **ret, struct err *err)
{
    static const char *const names[] = {[MATCH_EXACT] = "text",
                                        [MATCH_GLOB] = "glob",
                                        [MATCH_REGEX] = "regex",
                                        [MATCH_CONTAINS] = "contains"};
    struct match_text match;
    int r = match_text_parse(&match, spelled, err);

    if (r < 0)
        return r;
    *ret = match.how == MATCH_ANY ? json_pack("{s:b}", "any", 1)
                                  : json_pack("{s:s}", names[match.how], match.source);
    match_text_done(&match);
    return *ret ? 0 : err_set(err, -EINVAL, "'%s' is no text in UTF-8", spelled);
}

static int match_env(const struct vitro_shim_rule *rule, json_t *match, struct err *err)
{
    json_t *env = json_object(), *pattern;
    int r = 0;

    for (size_t i = 0; r == 0 && rule->env && rule->env[i]; i++) {
        const char *equals = strchr(rule->env[i], '=');
        CLEANUP(mem_free) char *name = mem_dupn(rule->env[i], strcspn(rule->env[i], "="));
        if (!equals)
            json_object_set_new(env, name, json_null());
        else if ((r = pattern_json(equals + 1, &pattern, err)) == 0)
            json_object_set_new(env, name, pattern);
    }
    if (rule->env)
        json_object_set(match, "env", env);
    json_decref(env);
    return r;
}

static int match_json(const struct vitro_shim_rule *rule, json_t *match, struct buf *label,
                      struct err *err)
{
    json_t *pattern, *args = json_array();
    int r = 0;

    for (size_t i = 0; r == 0 && rule->args && rule->args[i]; i++) {
        buf_addf(label, "%s%s", i ? " " : "", rule->args[i]);
        if (strcmp(rule->args[i], "...") == 0)
            json_array_append_new(args, json_string("..."));
        else if ((r = pattern_json(rule->args[i], &pattern, err)) == 0)
            json_array_append_new(args, pattern);
    }
    if (rule->args && rule->subset)
        json_object_set_new(match, "args", json_pack("{s:O}", "subset", args));
    else if (rule->args)
        json_object_set(match, "args", args);
    json_decref(args);
    if (r == 0 && rule->input && (r = pattern_json(rule->input, &pattern, err)) == 0)
        json_object_set_new(match, "stdin", pattern);
    if (r == 0 && rule->cwd && (r = pattern_json(rule->cwd, &pattern, err)) == 0)
        json_object_set_new(match, "cwd", pattern);
    return r == 0 ? match_env(rule, match, err) : r;
}

static json_t *answer_json(const struct vitro_shim_rule *rule)
{
    json_t *steps = json_array(), *answer = json_pack("{s:o}", "steps", steps);

    if (rule->delay_ns)
        json_array_append_new(steps, json_pack("{s:I}", "delay_ns", (json_int_t)rule->delay_ns));
    if (rule->print_env)
        json_array_append_new(steps, json_pack("{s:b}", "env", 1));
    if (rule->output)
        json_array_append_new(
            steps,
            json_pack("{s:o}", "stdout", shim_bytes_to_json(rule->output, strlen(rule->output))));
    if (rule->errors)
        json_array_append_new(
            steps,
            json_pack("{s:o}", "stderr", shim_bytes_to_json(rule->errors, strlen(rule->errors))));
    if (rule->write_path)
        json_array_append_new(
            steps, json_pack("{s:{s:s, s:o}}", "write", "path", rule->write_path, "bytes",
                             shim_bytes_to_json(rule->write ? rule->write : "",
                                                rule->write ? strlen(rule->write) : 0)));
    if (rule->linger_ns)
        json_array_append_new(steps, json_pack("{s:I}", "linger_ns", (json_int_t)rule->linger_ns));
    if (rule->run)
        json_array_append_new(steps,
                              json_pack("{s:[s,s,s,s]}", "run", "sh", "-c", rule->run, "sh"));
    if (rule->pass)
        json_object_set_new(answer, "pass", json_true());
    else if (rule->signal)
        json_object_set_new(answer, "signal", json_integer(rule->signal));
    else if (rule->exit_code || !rule->run)
        json_object_set_new(answer, "exit", json_integer(rule->exit_code));
    return answer;
}

int vitro_shim_reply(vitro_sandbox *s, const char *command, const struct vitro_shim_rule *rule,
                     struct vitro_box_error *error)
{
    int bad = check_command(s, command, error);

    if (bad < 0)
        return bad;
    if (!rule)
        return err_set(as_err(error), -EINVAL, "shim '%s': no rule was given", command);
    CLEANUP(json_free) json_t *json =
        json_pack("{s:{}, s:[o], s:s}", "match", "answers", answer_json(rule), "kind",
                  rule->planned ? "plan" : "stub");
    CLEANUP(buf_done) struct buf label = {0};

    int r = match_json(rule, json_object_get(json, "match"), &label, as_err(error));
    if (r < 0)
        return r;
    json_object_set_new(json, "label", json_string(label.length ? label.data : "(any call)"));
    if (rule->times)
        json_object_set_new(json, "times", json_integer(rule->times));
    return shim_add_rule(s->inner, command, json_incref(json), as_err(error));
}

int vitro_shim_success(vitro_sandbox *s, const char *command, const char *output,
                       struct vitro_box_error *error)
{
    int bad = check_command(s, command, error);

    if (bad < 0)
        return bad;
    return shim_set_else(s->inner, command, shim_answer_success(output), as_err(error));
}

int vitro_shim_failure(vitro_sandbox *s, const char *command, const char *errors,
                       struct vitro_box_error *error)
{
    int bad = check_command(s, command, error);

    if (bad < 0)
        return bad;
    return shim_set_else(s->inner, command, shim_answer_failure(errors ? errors : "", 1),
                         as_err(error));
}

int vitro_shim_record(vitro_sandbox *s, const char *command, const char *cassette,
                      struct vitro_box_error *error)
{
    int bad = check_command(s, command, error);

    if (bad < 0)
        return bad;
    if (!cassette)
        return err_set(as_err(error), -EINVAL, "shim '%s': no cassette was given", command);
    const char *ci = getenv("CI");

    if (ci && *ci)
        return err_set(as_err(error), -EPERM, "recording is refused while CI is set");
    int r = shim_set_else(s->inner, command, json_pack("{s:b, s:b}", "pass", 1, "record", 1),
                          as_err(error));
    if (r < 0)
        return r;
    s->records = mem_grow(s->records, 2 * (s->record_count + 1) * sizeof *s->records);
    s->records[2 * s->record_count] = mem_dup(command);
    s->records[2 * s->record_count + 1] = mem_dup(cassette);
    s->record_count++;
    return 0;
}

int vitro_shim_replay(vitro_sandbox *s, const char *command, const char *cassette,
                      struct vitro_box_error *error)
{
    int bad = check_command(s, command, error);

    if (bad < 0)
        return bad;
    if (!cassette)
        return err_set(as_err(error), -EINVAL, "shim '%s': no cassette was given", command);
    return shim_replay(s->inner, command, cassette, as_err(error));
}

static int read_log(vitro_sandbox *s, struct vitro_box_error *error)
{
    forget_call(s);
    shim_log_done(&s->log);
    return shim_log_read(s->inner, &s->log, as_err(error));
}

static char *bytes_of(const json_t *value)
{
    CLEANUP(buf_done) struct buf bytes = {0};

    (void)shim_bytes_from_json(value, &bytes);
    return mem_dup(buf_text(&bytes));
}

static void tell_env(vitro_sandbox *s, json_t *env)
{
    size_t count = 0;
    const char *name;
    json_t *value;

    s->env = mem_alloc((json_object_size(env) + 1) * sizeof *s->env);
    json_object_foreach(env, name, value)
    {
        CLEANUP(mem_free) char *text = bytes_of(value);
        s->env[count++] = mem_format("%s=%s", name, text);
    }
}

static void tell_call(vitro_sandbox *s, const json_t *entry, struct vitro_shim_call *ret)
{
    const json_t *argv = json_object_get(entry, "argv"), *input = json_object_get(entry, "stdin");
    size_t count = json_array_size(argv);

    if (!ret)
        return;
    s->argv = mem_alloc((count + 1) * sizeof *s->argv);
    for (size_t i = 0; i < count; i++)
        s->argv[i] = bytes_of(json_array_get(argv, i));
    s->input = input ? bytes_of(input) : NULL;
    s->cwd = bytes_of(json_object_get(entry, "cwd"));
    tell_env(s, json_object_get(entry, "env"));
    *ret = (struct vitro_shim_call){
        .argv = (const char *const *)s->argv,
        .input = s->input,
        .cwd = s->cwd,
        .env = (const char *const *)s->env,
        .pid = (int)json_integer_value(json_object_get(json_object_get(entry, "host"), "pid")),
        .time_ns = json_integer_value(json_object_get(entry, "time_ns")),
        .number = (unsigned)json_integer_value(json_object_get(entry, "call")),
    };
}

int vitro_shim_call(vitro_sandbox *s, const char *command, size_t index,
                    struct vitro_shim_call *ret, struct vitro_box_error *error)
{
    int bad = check_command(s, command, error);

    if (bad < 0)
        return bad;
    int r = read_log(s, error);
    const json_t *entry = r < 0 ? NULL : shim_call_at(&s->log, command, index);

    if (r < 0)
        return r;
    if (!entry)
        return err_set(as_err(error), -ENOENT, "'%s' was called %zu times, there is no call %zu",
                       command, shim_call_count(&s->log, command), index + 1);
    tell_call(s, entry, ret);
    return 0;
}

int vitro_shim_call_count(vitro_sandbox *s, const char *command, struct vitro_box_error *error)
{
    int bad = check_command(s, command, error);

    if (bad < 0)
        return bad;
    int r = read_log(s, error);

    return r < 0 ? r : (int)shim_call_count(&s->log, command);
}

static int tell_calls(vitro_sandbox *s, const char *command, const char *const *texts,
                      const char *verdict, int code, struct vitro_box_error *error)
{
    CLEANUP(buf_done) struct buf text = {0};

    buf_addf(&text, "'%s' %s", command, verdict);
    for (size_t i = 0; texts && texts[i]; i++)
        buf_addf(&text, "%s\"%s\"", i ? " and " : " with ", texts[i]);
    buf_addc(&text, '\n');
    shim_log_show(&s->log, command, &text);
    return err_set(as_err(error), code, "%s", buf_text(&text));
}

int vitro_shim_called(vitro_sandbox *s, const char *command, const char *const *texts,
                      struct vitro_shim_call *ret, struct vitro_box_error *error)
{
    int bad = check_command(s, command, error);

    if (bad < 0)
        return bad;
    int r = read_log(s, error);
    const json_t *entry = r < 0 ? NULL : shim_call_with(&s->log, command, texts);

    if (r < 0)
        return r;
    if (!entry)
        return tell_calls(s, command, texts, "was not called", -ENOENT, error);
    tell_call(s, entry, ret);
    return 0;
}

int vitro_shim_never_called(vitro_sandbox *s, const char *command, const char *const *texts,
                            struct vitro_box_error *error)
{
    int bad = check_command(s, command, error);

    if (bad < 0)
        return bad;
    int r = read_log(s, error);

    if (r < 0 || !shim_call_with(&s->log, command, texts))
        return r;
    return tell_calls(s, command, texts, "was called", -EEXIST, error);
}

/* ---- tmux ----------------------------------------------------------------------------------- */

const char *vitro_tmux_socket(vitro_sandbox *s)
{
    return s ? sandbox_tmux_socket(s->inner) : "";
}

int vitro_tmux_install(vitro_sandbox *s, struct vitro_box_error *error)
{
    if (!s)
        return no_sandbox(error);
    return sandbox_tmux_install(s->inner, as_err(error));
}

int vitro_tmux_try(vitro_sandbox *s, const char *const *args, char **ret_output,
                   struct vitro_box_error *error)
{
    if (!s)
        return no_sandbox(error);
    if (!args)
        return err_set(as_err(error), -EINVAL, "tmux: no arguments were given");
    CLEANUP(buf_done) struct buf output = {0};
    int r = sandbox_tmux(s->inner, args, &output, as_err(error));

    if (r >= 0 && ret_output)
        *ret_output = mem_dup(buf_text(&output));
    return r;
}

int vitro_tmux(vitro_sandbox *s, const char *const *args, char **ret_output,
               struct vitro_box_error *error)
{
    CLEANUP(mem_free) char *output = NULL;
    int r = vitro_tmux_try(s, args, &output, error);

    if (r > 0)
        return err_set(as_err(error), -EPROTO, "tmux %s exited with %d: %s", args[0] ? args[0] : "",
                       r, output);
    if (r == 0 && ret_output)
        *ret_output = take_ptr(&output);
    return r;
}

vitro_term *vitro_tmux_pane(vitro_sandbox *s, const char *target, struct vitro_box_error *error)
{
    if (!s)
        return (void)no_sandbox(error), NULL;
    if (!target)
        return (void)err_set(as_err(error), -EINVAL, "tmux: no pane was given"), NULL;
    CLEANUP(buf_done) struct buf bytes = {0};
    unsigned rows, cols;

    if (sandbox_tmux_pane(s->inner, target, &rows, &cols, &bytes, as_err(error)) < 0)
        return NULL;
    return vitro_term_still(rows, cols, bytes.data, bytes.length, error);
}
