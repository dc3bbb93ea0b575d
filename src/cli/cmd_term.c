/* SPDX-License-Identifier: MIT */
/* vitro term: programs in a terminal, for shells and agents. A session has a name and stays until
 * it is closed; every sub-verb is one request to it (term/remote.h). */
#include "cli/cmd_term.h"
#include "cli/box_cli.h"
#include "cli/cmd_tape.h"
#include "term/remote.h"
#include "base/text.h"
#include "base/when.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static int term_open(const struct cli_args *args);
static int term_send(const struct cli_args *args);
static int term_advance(const struct cli_args *args);
static int term_settle(const struct cli_args *args);
static int term_resize(const struct cli_args *args);
static int term_signal(const struct cli_args *args);
static int term_close(const struct cli_args *args);
static int term_list(const struct cli_args *args);
static int term_output(const struct cli_args *args);

/* ---- what all of them share ------------------------------------------------------------------ */

const char *cmd_term_name(const struct cli_args *args)
{
    const char *const *words;

    (void)cli_operands(args, &words);
    return words[0];
}

int cmd_term_duration(const struct cli_args *args, const char *option, json_t *request,
                      const char *member, struct err *err)
{
    const char *text = cli_value(args, option);
    uint64_t ns;

    if (!text)
        return 0;
    if (when_parse_duration(text, &ns, err) < 0)
        return err_wrap(err, "--%s", option);
    (void)json_object_set_new(request, member, json_integer((json_int_t)ns));
    return 0;
}

/* What a failure means for the exit status. */
static int failure_code(const json_t *failure)
{
    const char *why = json_string_value(json_object_get(failure, "why"));

    if (!why || strcmp(why, "usage") == 0)
        return EXIT_USAGE;
    if (strcmp(why, "budget") == 0 || strcmp(why, "ceiling") == 0)
        return EXIT_CEILING;
    return strcmp(why, "trouble") == 0 ? EXIT_TROUBLE : EXIT_FINDINGS;
}

int cmd_term_ask(const struct cli_args *args, json_t *request, json_t **ret)
{
    CLEANUP(json_free) json_t *reply = NULL;
    struct err err = {0};
    int r = remote_ask(cmd_term_name(args), request, &reply, &err);

    json_decref(request);
    if (r < 0)
        return cli_fail(EXIT_USAGE, &err);
    const char *error = json_string_value(json_object_get(reply, "error"));
    const json_t *failure = json_object_get(reply, "failure");
    int code = error ? EXIT_USAGE : failure ? failure_code(failure) : EXIT_CLEAN;
    if (cli_json(args))
        cmd_print_json(json_incref(reply));
    else if (error)
        (void)fprintf(stderr, "vitro: %s\n", error);
    else if (failure)
        (void)fprintf(stderr, "vitro: %s", json_string_value(json_object_get(failure, "text")));
    if (ret)
        *ret = take_ptr(&reply);
    return code;
}

static int ask_simply(const struct cli_args *args, json_t *request)
{
    return cmd_term_ask(args, request, NULL);
}

void cmd_term_print(const struct cli_args *args, const json_t *reply, const char *member)
{
    const json_t *value = json_object_get(reply, member);

    if (!cli_json(args) && json_is_string(value))
        (void)fwrite(json_string_value(value), 1, json_string_length(value), stdout);
}

/* ---- open ------------------------------------------------------------------------------------ */

static const struct cli_option open_options[] = {
    BOX_CLI_OPTIONS,
    {"rows", "N", "rows of the screen (default 24)", 0, false},
    {"cols", "N", "columns of the screen (default 80)", 0, false},
    {"term", "NAME", "the variable TERM (default xterm-256color)", 0, false},
    {"env", "KEY=VALUE", "a variable for the program", 'e', true},
    {"directory", "DIR", "where the program starts", 'C', false},
    {"plain", NULL, "no box: the real clock, files and network", 0, false},
    {"record", "PATH", "leave FILE.cast (an asciicast), or a bundle with its tape, at the end", 0,
     true},
    {"v2", NULL, "asciicasts are of version 2 (default 3)", 0, false},
    {"idle", "DURATION", "end the session when nobody asks it anything (default 10m)", 0, false},
    {0},
};
static const char *const open_examples[] = {
    "vitro term open demo -- bash --norc",
    "a shell in a box, on a screen of 24 rows of 80",
    "vitro term open demo --clock 2026-01-01,manual -- ./spinner",
    "time moves only by 'vitro term advance demo 100ms'",
    "vitro term open demo --record demo.cast --record demo -- bash --norc",
    "leaves an asciicast and a bundle with its tape",
    NULL,
};
const struct command command_term_open = {
    .name = "term open",
    .summary = "start a program in a terminal of its own",
    .operands = "NAME [options] -- PROGRAM [ARG...]",
    .operands_min = 2,
    .operands_max = -1,
    .options = open_options,
    .examples = open_examples,
    .run = term_open,
};

static int read_size(const struct cli_args *args, const char *name, unsigned *ret, struct err *err)
{
    const char *text = cli_value(args, name);
    uint64_t number;

    if (!text)
        return 0;
    if (!text_to_u64(text, &number) || number < 1 || number > 1000)
        return err_set(err, -EINVAL, "--%s '%s' is not a number from 1 to 1000", name, text);
    *ret = (unsigned)number;
    return 0;
}

static void take_box(const struct cli_args *args, const struct box_options *box,
                     struct vitro_term_options *ret)
{
    ret->box = (struct vitro_box_options){
        .clock = cli_value(args, "clock"),
        .directory = cli_value(args, "directory"),
        .fs = cli_value(args, "fs"),
        .worktree = box->fs.worktree,
        .writable = box->fs.writable,
        .hide = box->fs.hide,
        .size_limit = box->fs.size_limit,
        .share_tmp = box->fs.share_tmp,
        .seed = box->seed,
        .max_time_ns = box->max_time_ns,
        .timeout_ns = box->timeout_ns ? box->timeout_ns : 86400 * NS_PER_SEC, /* --idle ends it */
        .max_steps = box->max_steps,
        .cpus = box->cpus,
        .max_procs = box->max_procs,
        .random_real = box->random_real,
        .identity_real = box->identity_real,
        .net_real = box->net_real,
        .allow_leak = box->allow_leak,
        .allow_orphan = box->allow_orphan,
    };
}

/* FILE.cast and a bundle, each at most once. */
static int read_record(const struct cli_args *args, struct vitro_term_options *ret, struct err *err)
{
    const char *const *paths;
    size_t count = cli_values(args, "record", &paths);

    ret->cast_version = cli_flag(args, "v2") ? 2 : 3;
    for (size_t i = 0; i < count; i++) {
        bool is_cast = text_ends(paths[i], ".cast");
        const char **place = is_cast ? &ret->cast : &ret->box.record;
        if (*place)
            return err_set(err, -EINVAL, "--record '%s': there is one %s already", paths[i],
                           is_cast ? "cast" : "bundle");
        *place = paths[i];
    }
    if (ret->box.record && ret->plain)
        return err_set(err, -EINVAL, "--record '%s': bundles are recorded in boxes, not --plain",
                       ret->box.record);
    return 0;
}

static int term_open(const struct cli_args *args)
{
    CLEANUP(box_cli_done) struct box_options box = {0};
    struct vitro_term_options options = {0};
    const char *const *words, *const *env;
    uint64_t idle_ns = 600 * NS_PER_SEC;
    struct err err = {0};

    (void)cli_operands(args, &words);
    if (box_cli_read(args, &box, &err) < 0 || read_size(args, "rows", &options.rows, &err) < 0 ||
        read_size(args, "cols", &options.cols, &err) < 0)
        return cli_usage(&command_term_open, "%s", err.text);
    if (cli_value(args, "idle") && when_parse_duration(cli_value(args, "idle"), &idle_ns, &err) < 0)
        return cli_usage(&command_term_open, "--idle: %s", err.text);
    take_box(args, &box, &options);
    size_t env_count = cli_values(args, "env", &env); /* good until the next question */
    CLEANUP(mem_free) const char **extra = mem_alloc((env_count + 1) * sizeof *extra);
    memcpy(extra, env, env_count * sizeof *extra);
    options.env = extra;
    options.box.argv = words + 1;
    options.plain = cli_flag(args, "plain");
    options.term = cli_value(args, "term");
    if (read_record(args, &options, &err) < 0)
        return cli_usage(&command_term_open, "%s", err.text);
    if (remote_open(words[0], &options, idle_ns, &err) < 0)
        return cli_fail(err.code == -EEXIST || err.code == -EINVAL ? EXIT_USAGE : EXIT_TROUBLE,
                        &err);
    if (cli_json(args))
        return cmd_term_ask(args, json_pack("{s:s}", "op", "state"), NULL);
    return EXIT_CLEAN;
}

/* ---- send, time, size ------------------------------------------------------------------------ */

static const struct cli_option send_options[] = {
    {"text", NULL, "the operands are bytes, not names of keys; sent at once", 't', false},
    {"line", NULL, "press Enter behind the last", 'l', false},
    {"mark", "LABEL", "a marker for recordings, before the input", 0, false},
    {0},
};
static const char *const send_examples[] = {
    "vitro term send demo 'ls -l<Enter>'",
    "types when the program has settled",
    "vitro term send demo '<C-c>' '<Up>' '<F5>' '<Click 3,10>' '<Paste two words>'",
    "keys, mouse and clipboard",
    NULL,
};
const struct command command_term_send = {
    .name = "term send",
    .summary = "type into a session",
    .operands = "NAME [KEYS...]",
    .operands_min = 1,
    .operands_max = -1,
    .options = send_options,
    .examples = send_examples,
    .run = term_send,
};

static int term_send(const struct cli_args *args)
{
    const char *const *words;
    size_t count = cli_operands(args, &words);
    CLEANUP(buf_done) struct buf keys = {0};
    bool text = cli_flag(args, "text");

    if (count == 1 && !cli_flag(args, "line") && !cli_value(args, "mark"))
        return cli_usage(&command_term_send, "what is to be typed?");
    for (size_t i = 1; i < count; i++)
        buf_adds(&keys, words[i]);
    if (cli_flag(args, "line"))
        buf_adds(&keys, text ? "\r" : "<Enter>");
    if (cli_value(args, "mark")) {
        CLEANUP(json_free) json_t *unused = NULL;
        int code = cmd_term_ask(
            args, json_pack("{s:s,s:s}", "op", "mark", "label", cli_value(args, "mark")), &unused);
        if (code)
            return code;
    }
    json_t *request = text ? json_pack("{s:s,s:s}", "op", "send", "text", buf_text(&keys))
                           : json_pack("{s:s,s:s}", "op", "type", "keys", buf_text(&keys));
    if (!request)
        return cli_usage(&command_term_send,
                         "what is sent has to be UTF-8; other bytes are written "
                         "<0xNN>");
    return ask_simply(args, request);
}

const struct command command_term_advance = {
    .name = "term advance",
    .summary = "let exactly so much virtual time pass in a session",
    .operands = "NAME DURATION",
    .operands_min = 2,
    .operands_max = 2,
    .run = term_advance,
};

static int term_advance(const struct cli_args *args)
{
    const char *const *words;
    struct err err = {0};
    uint64_t ns;

    (void)cli_operands(args, &words);
    if (when_parse_duration(words[1], &ns, &err) < 0)
        return cli_fail(EXIT_USAGE, &err);
    return ask_simply(args, json_pack("{s:s,s:I}", "op", "advance", "by_ns", (json_int_t)ns));
}

static const struct cli_option settle_options[] = {
    {"quiet", "DURATION", "and nothing is due within this much virtual time", 0, false},
    {0},
};
const struct command command_term_settle = {
    .name = "term settle",
    .summary = "wait until every process of a session is blocked and all output is taken",
    .operands = "NAME",
    .operands_min = 1,
    .operands_max = 1,
    .options = settle_options,
    .run = term_settle,
};

static int term_settle(const struct cli_args *args)
{
    json_t *request = json_pack("{s:s}", "op", "settle");
    struct err err = {0};

    if (cmd_term_duration(args, "quiet", request, "quiet_ns", &err) < 0) {
        json_decref(request);
        return cli_fail(EXIT_USAGE, &err);
    }
    return ask_simply(args, request);
}

const struct command command_term_resize = {
    .name = "term resize",
    .summary = "give a session's window a new size",
    .operands = "NAME ROWS COLS",
    .operands_min = 3,
    .operands_max = 3,
    .run = term_resize,
};

static int term_resize(const struct cli_args *args)
{
    const char *const *words;
    uint64_t rows, cols;

    (void)cli_operands(args, &words);
    if (!text_to_u64(words[1], &rows) || !text_to_u64(words[2], &cols) || !rows || !cols ||
        rows > 1000 || cols > 1000)
        return cli_usage(&command_term_resize, "rows and columns are numbers from 1 to 1000");
    return ask_simply(args, json_pack("{s:s,s:I,s:I}", "op", "resize", "rows", (json_int_t)rows,
                                      "cols", (json_int_t)cols));
}

const struct command command_term_signal = {
    .name = "term signal",
    .summary = "send a signal to the processes in the foreground of a session",
    .operands = "NAME SIGNAL",
    .operands_min = 2,
    .operands_max = 2,
    .run = term_signal,
};

static int term_signal(const struct cli_args *args)
{
    const char *const *words;
    uint64_t number = 0;

    (void)cli_operands(args, &words);
    const char *name = strncmp(words[1], "SIG", 3) == 0 ? words[1] + 3 : words[1];
    if (!text_to_u64(words[1], &number))
        for (int i = 1; i < NSIG && !number; i++)
            if (sigabbrev_np(i) && strcmp(sigabbrev_np(i), name) == 0)
                number = (uint64_t)i;
    if (!number || number >= NSIG)
        return cli_usage(&command_term_signal, "'%s' is not a signal", words[1]);
    return ask_simply(args, json_pack("{s:s,s:I}", "op", "signal", "signal", (json_int_t)number));
}

/* ---- output, list, close --------------------------------------------------------------------- */

const struct command command_term_output = {
    .name = "term output",
    .summary = "print everything a session's program wrote",
    .operands = "NAME",
    .operands_min = 1,
    .operands_max = 1,
    .run = term_output,
};

static int term_output(const struct cli_args *args)
{
    CLEANUP(json_free) json_t *reply = NULL;
    int code = cmd_term_ask(args, json_pack("{s:s}", "op", "output"), &reply);

    cmd_term_print(args, reply, "output");
    cmd_term_print(args, reply, "escaped");
    return code;
}

const struct command command_term_list = {
    .name = "term list",
    .summary = "list the sessions there are",
    .operands = "",
    .operands_min = 0,
    .operands_max = 0,
    .run = term_list,
};

static int term_list(const struct cli_args *args)
{
    json_t *list = NULL, *one;
    struct err err = {0};
    size_t i;

    if (remote_list(&list, &err) < 0)
        return cli_fail(EXIT_USAGE, &err);
    if (cli_json(args)) {
        cmd_print_json(json_pack("{s:o}", "sessions", list));
        return EXIT_CLEAN;
    }
    json_array_foreach(list, i, one)
    {
        (void)puts(json_string_value(one));
    }
    json_decref(list);
    return EXIT_CLEAN;
}

static const struct cli_option close_options[] = {
    {"all", NULL, "close all sessions", 0, false},
    {0},
};
const struct command command_term_close = {
    .name = "term close",
    .summary = "end a session, and every process in it",
    .operands = "[NAME]",
    .operands_min = 0,
    .operands_max = 1,
    .options = close_options,
    .run = term_close,
};

static int close_all(void)
{
    CLEANUP(json_free) json_t *list = NULL;
    CLEANUP(json_free) json_t *request = json_pack("{s:s}", "op", "close");
    struct err err = {0};
    json_t *one;
    size_t i;

    if (remote_list(&list, &err) < 0)
        return cli_fail(EXIT_USAGE, &err);
    json_array_foreach(list, i, one)
    {
        CLEANUP(json_free) json_t *reply = NULL;
        (void)remote_ask(json_string_value(one), request, &reply, &err);
    }
    return EXIT_CLEAN;
}

static int term_close(const struct cli_args *args)
{
    const char *const *words;

    if (cli_flag(args, "all"))
        return close_all();
    if (cli_operands(args, &words) != 1)
        return cli_usage(&command_term_close, "which session? give its name, or --all");
    return ask_simply(args, json_pack("{s:s}", "op", "close"));
}
