/* SPDX-License-Identifier: MIT */
/* BUNDLE/run.json: what was typed, where, and with which environment. Secrets are hidden; `vitro
 * replay` takes their values from the environment it finds. */
#include "cli/run_plan.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/text.h"
#include "proc/recording.h"
#include "tape/bundle.h"
#include "tape/secrets.h"
#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { RUN_FILE_VERSION = 1, RUN_FILE_MAX = 64 << 20 };

/* Options that say how a run is seen, not what it does. */
static const char *const left_out[] = {"record",   "record-in-ci",   "name",          "control",
                                       "diff",     "apply",          "quiet",         "proc",
                                       "cassette", "process-record", "process-replay"};

static bool is_left_out(const char *name)
{
    for (size_t i = 0; i < ARRAY_LENGTH(left_out); i++)
        if (strcmp(left_out[i], name) == 0)
            return true;
    return false;
}

static void add_option(json_t *words, const struct cli_args *args, const struct cli_option *option)
{
    const char *const *values;

    if (is_left_out(option->name))
        return;
    if (!option->value) {
        if (cli_flag(args, option->name))
            json_array_append_new(words, json_sprintf("--%s", option->name));
        return;
    }
    size_t count = cli_values(args, option->name, &values);
    for (size_t i = 0; i < count; i++) {
        json_array_append_new(words, json_sprintf("--%s", option->name));
        json_array_append_new(words, json_string(values[i]));
    }
}

/* Takes a list of "NAME=value" and returns it with secrets hidden. */
static json_t *hide(const struct secrets *secrets, json_t *list)
{
    CLEANUP(buf_done) struct buf text = {0}, hidden = {0};
    CLEANUP(json_free) json_t *object = json_pack("{s:o}", "env", list);
    json_t *scrubbed = NULL;

    json_add_canonical(&text, object);
    if (secrets_scrub_data(secrets, "run", text.data, text.length, &hidden) &&
        json_parse(hidden.data, hidden.length, "environment", &scrubbed, NULL) == 0) {
        json_free(object);
        object = scrubbed;
    }
    return json_incref(json_object_get(object, "env"));
}

static json_t *environment(const struct secrets *secrets)
{
    json_t *list = json_array();

    for (char **at = environ; *at; at++)
        if (text_is_utf8(*at, strlen(*at)))
            json_array_append_new(list, json_string(*at));
    return hide(secrets, list);
}

/* A word with a token in it. What else looks like NAME=value may be a line of a script. */
static json_t *without_tokens(const struct secrets *secrets, const char *word)
{
    CLEANUP(buf_done) struct buf hidden = {0};
    bool any = secrets_scrub_bytes(secrets, word, strlen(word), &hidden);

    return json_string(any ? buf_text(&hidden) : word);
}

static const char *const input_words[] = {
    [BOX_INPUT_UNKNOWN] = "unknown",
    [BOX_INPUT_NOTHING] = "nothing",
    [BOX_INPUT_FILE] = "file",
    [BOX_INPUT_STREAM] = "stream",
};

static json_t *input_of(const struct box_findings *findings)
{
    return json_pack("{s:I, s:b, s:s}", "at", (json_int_t)findings->input_at, "ends",
                     findings->input_ends, "kind", input_words[findings->input]);
}

/* Runs that were recorded without it: the caller's own. */
static int read_input(const json_t *input, const char *path, struct run_file *ret, struct err *err)
{
    const char *kind = json_string_value(json_object_get(input, "kind"));
    json_int_t at = json_integer_value(json_object_get(input, "at"));
    size_t i = 0;

    if (!input)
        return 0;
    while (kind && i < ARRAY_LENGTH(input_words) && strcmp(kind, input_words[i]) != 0)
        i++;
    if (!kind || i == ARRAY_LENGTH(input_words) || at < 0)
        return err_set(err, -EBADMSG, "%s: stdin is not one of unknown, nothing, file, stream",
                       path);
    ret->input = (enum box_input)i;
    ret->input_ends = json_is_true(json_object_get(input, "ends"));
    ret->input_at = (uint64_t)at;
    return 0;
}

int run_file_write(const struct cli_args *args, const struct box_findings *findings,
                   const char *path, struct err *err)
{
    extern const struct command command_run;
    CLEANUP(bundle_free) struct bundle *bundle = NULL;
    CLEANUP(json_free) json_t *words = json_array();
    CLEANUP(buf_done) struct buf text = {0};
    CLEANUP(mem_free) char *directory = getcwd(NULL, 0);
    CLEANUP(secrets_free) struct secrets *secrets = NULL;
    const char *const *operands;
    size_t count = cli_operands(args, &operands);
    int r = secrets_new(NULL, &secrets, err);

    if (r < 0)
        return r;
    for (const struct cli_option *option = command_run.options; option->name; option++)
        add_option(words, args, option);
    json_array_append_new(words, json_string("--"));
    for (size_t i = 0; i < count; i++)
        if (json_array_append_new(words, without_tokens(secrets, operands[i])) < 0)
            return 0; /* an argument that is not text: the run can be seen, but not repeated */
    CLEANUP(json_free)
    json_t *file =
        json_pack("{s:s, s:o, s:s, s:o, s:i, s:O}", "directory", directory ? directory : ".", "env",
                  environment(secrets), "format", "vitro-run", "stdin", input_of(findings),
                  "version", RUN_FILE_VERSION, "words", words);
    json_add_canonical(&text, file);
    buf_addc(&text, '\n');
    r = bundle_open(path, &bundle, err);
    if (r < 0)
        return r;
    CLEANUP(mem_free) char *name = bundle_path(bundle, "run.json");
    r = file_write(name, text.data, text.length, err);
    return r < 0 ? r : bundle_add(bundle, "run.json", "run", err);
}

static char **read_list(const json_t *list)
{
    size_t count = json_array_size(list);
    char **texts = mem_alloc((count + 1) * sizeof *texts);

    for (size_t i = 0; i < count; i++) {
        const char *text = json_string_value(json_array_get(list, i));
        texts[i] = mem_dup(text ? text : "");
    }
    return texts;
}

/* What "NAME=<secret:...>" was, if the name has that value here; else NULL: a replay with another
 * would be another run. */
static char *same_secret(const struct secrets *secrets, const char *recorded)
{
    size_t length = strcspn(recorded, "=");
    CLEANUP(mem_free) char *name = mem_dupn(recorded, length);
    const char *now = strstr(recorded + length, "<secret:") ? getenv(name) : NULL;

    if (!now || !text_is_utf8(now, strlen(now)))
        return NULL;
    CLEANUP(mem_free) char *entry = mem_format("%s=%s", name, now);
    CLEANUP(json_free) json_t *hidden = hide(secrets, json_pack("[s]", entry));
    const char *text = json_string_value(json_array_get(hidden, 0));
    return text && strcmp(text, recorded) == 0 ? take_ptr(&entry) : NULL;
}

static char **read_environment(const json_t *list, const struct secrets *secrets)
{
    char **env = read_list(list);

    for (size_t i = 0; env[i]; i++) {
        char *entry = same_secret(secrets, env[i]);
        if (!entry)
            continue;
        free(env[i]);
        env[i] = entry;
    }
    return env;
}

int run_file_read(const char *bundle, struct run_file *ret, struct err *err)
{
    CLEANUP(mem_free) char *path = mem_format("%s/run.json", bundle);
    CLEANUP(buf_done) struct buf text = {0};
    CLEANUP(json_free) json_t *file = NULL;

    if (!file_exists(path)) {
        err_set(err, -ENOENT, "'%s' holds no recorded run (no run.json)", bundle);
        return err_hint(err, "record one with 'vitro run --record DIR -- PROGRAM'");
    }
    int r = file_read(path, RUN_FILE_MAX, &text, err);
    if (r == 0)
        r = json_parse(buf_text(&text), text.length, path, &file, err);
    if (r < 0)
        return r;
    const char *format = json_string_value(json_object_get(file, "format"));
    json_int_t version = json_integer_value(json_object_get(file, "version"));
    const json_t *words = json_object_get(file, "words");
    if (!format || strcmp(format, "vitro-run") != 0 || !json_array_size(words) ||
        !json_is_string(json_object_get(file, "directory")))
        return err_set(err, -EBADMSG, "%s: not the command line of a recorded run", path);
    if (version > RUN_FILE_VERSION)
        return err_set(err, -EPROTO, "%s: version %lld, but this vitro reads up to %d", path,
                       (long long)version, RUN_FILE_VERSION);
    CLEANUP(secrets_free) struct secrets *secrets = NULL;
    r = secrets_new(NULL, &secrets, err);
    if (r == 0)
        r = read_input(json_object_get(file, "stdin"), path, ret, err);
    if (r < 0)
        return r;
    ret->words = read_list(words);
    ret->env = read_environment(json_object_get(file, "env"), secrets);
    ret->directory = mem_dup(json_string_value(json_object_get(file, "directory")));
    return 0;
}

void run_file_done(struct run_file *file)
{
    strings_free(file->words);
    strings_free(file->env);
    free(file->directory);
    *file = (struct run_file){0};
}
