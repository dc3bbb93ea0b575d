/* SPDX-License-Identifier: MIT */
/* vitro term expect, term screen: questions to a session. */
#include "cli/cmd_term.h"
#include "base/text.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int term_expect(const struct cli_args *args);
static int term_screen(const struct cli_args *args);

static const struct cli_option expect_options[] = {
    {"screen", NULL, "look at the screen, not at the stream", 's', false},
    {"regex", NULL, "what is expected are PCRE2 expressions", 'r', false},
    {"not", NULL, "it is not there, or no longer", 'n', false},
    {"ever", NULL, "it was on the screen at some time", 0, false},
    {"never", NULL, "it never was on the screen", 0, false},
    {"before", "TEXT", "and this does not come first", 0, false},
    {"before-read", NULL, "and it is there when the program waits for input", 0, false},
    {"not-seen", "TEXT", "and this is not seen on the way", 0, false},
    {"from-start", NULL, "from the start of the stream, not from behind the last match", 0, false},
    {"row", "N", "it begins in this row of the screen", 0, false},
    {"col", "N", "it begins in this column", 0, false},
    {"in", "REGION", "it is in this part of the screen: TOP,LEFT-BOTTOM,RIGHT", 0, false},
    {"scrollback", NULL, "the lines above the screen count as well", 0, false},
    {"alternate", NULL, "the alternate screen is shown", 0, false},
    {"style", "STYLE", "it looks like this: 'bold fg=red bg=#202020 no-underline'", 0, false},
    {"title", "TEXT", "the window has this title", 0, false},
    {"cursor", "ROW,COL", "the cursor is there", 0, false},
    {"after", "TEXT", "with --ever, --never: since this was written", 0, false},
    {"until", "TEXT", "with --ever, --never: until this was written", 0, false},
    {"read", NULL, "wait until the program waits for input", 0, false},
    {"exit", "CODE", "wait until the program exits with this code; 128+N for signal N", 0, false},
    {"row-ends", NULL, "no row ends while a colour or attribute is on", 0, false},
    {"within", "DURATION", "virtual time that may pass (default 60s)", 'w', false},
    {"timeout", "DURATION", "real time that may pass (default 30s)", 0, false},
    {0},
};
static const char *const expect_examples[] = {
    "vitro term expect demo 'Password: ' --before-read",
    "the prompt is there before the program waits",
    "vitro term expect demo --screen --style 'bold fg=green' passed",
    "on the screen, and how it looks",
    "vitro term expect demo ready failed",
    "whichever comes first",
    "vitro term expect demo --exit 0 --within 1h",
    "the program ends well, within an hour that takes no time",
    NULL,
};
const struct command command_term_expect = {
    .name = "term expect",
    .summary = "wait until a session shows something; exit 1 when it cannot",
    .operands = "NAME [options] [TEXT...]",
    .operands_min = 1,
    .operands_max = -1,
    .options = expect_options,
    .examples = expect_examples,
    .run = term_expect,
};

static int put_number(const struct cli_args *args, const char *option, json_t *request,
                      struct err *err)
{
    const char *text = cli_value(args, option);
    uint64_t number;

    if (!text)
        return 0;
    if (!text_to_u64(text, &number) || number > 1000)
        return err_set(err, -EINVAL, "--%s '%s' is not a number from 0 to 1000", option, text);
    (void)json_object_set_new(request, strcmp(option, "exit") ? option : "code",
                              json_integer((json_int_t)number));
    return 0;
}

static void put_text(const struct cli_args *args, const char *option, json_t *request,
                     const char *member)
{
    if (cli_value(args, option))
        (void)json_object_set_new(request, member, json_string(cli_value(args, option)));
}

static void put_flag(const struct cli_args *args, const char *option, json_t *request,
                     const char *member)
{
    if (cli_flag(args, option))
        (void)json_object_set_new(request, member, json_true());
}

static int put_region(const struct cli_args *args, json_t *request, struct err *err)
{
    static const char *const members[] = {"top", "left", "bottom", "right"};
    const char *text = cli_value(args, "in");
    int edges[4];
    char more;

    if (!text)
        return 0;
    if (sscanf(text, "%d,%d-%d,%d%c", &edges[0], &edges[1], &edges[2], &edges[3], &more) != 4 ||
        edges[0] < 1 || edges[1] < 1 || edges[2] < edges[0] || edges[3] < edges[1])
        return err_set(err, -EINVAL, "--in '%s' is not TOP,LEFT-BOTTOM,RIGHT, as 1,1-3,80", text);
    for (size_t i = 0; i < ARRAY_LENGTH(members); i++)
        (void)json_object_set_new(request, members[i], json_integer(edges[i]));
    return 0;
}

static int put_place(const struct cli_args *args, json_t *request, struct err *err)
{
    const char *cursor = cli_value(args, "cursor");
    int row, col;

    if (put_number(args, "row", request, err) < 0 || put_number(args, "col", request, err) < 0)
        return -EINVAL;
    if (put_region(args, request, err) < 0)
        return -EINVAL;
    if (!cursor)
        return 0;
    if (sscanf(cursor, "%d,%d", &row, &col) != 2 || row < 1 || col < 1)
        return err_set(err, -EINVAL, "--cursor '%s' is not ROW,COL", cursor);
    (void)json_object_set_new(request, "cursor_row", json_integer(row));
    (void)json_object_set_new(request, "cursor_col", json_integer(col));
    return 0;
}

static const char *operation_of(const struct cli_args *args)
{
    if (cli_flag(args, "read"))
        return "read";
    if (cli_value(args, "exit"))
        return "exit";
    if (cli_flag(args, "row-ends"))
        return "row_ends";
    return cli_flag(args, "screen") || cli_flag(args, "ever") || cli_flag(args, "never") ||
                   cli_value(args, "style") || cli_value(args, "title") ||
                   cli_value(args, "cursor") || cli_value(args, "row") || cli_value(args, "col") ||
                   cli_value(args, "in") || cli_flag(args, "scrollback") ||
                   cli_flag(args, "alternate")
               ? "see"
               : "expect";
}

static int put_texts(const struct cli_args *args, json_t *request, struct err *err)
{
    const char *const *words;
    size_t count = cli_operands(args, &words) - 1;
    const char *op = json_string_value(json_object_get(request, "op"));
    bool see = strcmp(op, "see") == 0;

    if (!count && strcmp(op, "expect") == 0) {
        err_set(err, -EINVAL, "what is expected?");
        return err_hint(err, "give a TEXT, or --read, --exit CODE, --title, --cursor");
    }
    if (count > 1 && see)
        return err_set(err, -EINVAL, "one TEXT is looked for on the screen, not %zu", count);
    if (count == 1) {
        (void)json_object_set_new(request, "text", json_string(words[1]));
    } else if (count > 1) {
        json_t *any = json_array();
        for (size_t i = 1; i <= count; i++)
            (void)json_array_append_new(any, json_string(words[i]));
        (void)json_object_set_new(request, "any", any);
    }
    if (see)
        (void)json_object_set_new(request, "how",
                                  json_string(cli_flag(args, "ever")    ? "ever"
                                              : cli_flag(args, "never") ? "never"
                                              : cli_flag(args, "not")   ? "not"
                                                                        : ""));
    else
        put_flag(args, "not", request, "not");
    return 0;
}

static int term_expect(const struct cli_args *args)
{
    json_t *request = json_pack("{s:s}", "op", operation_of(args));
    struct err err = {0};

    put_flag(args, "regex", request, "regex");
    put_flag(args, "before-read", request, "before_read");
    put_flag(args, "from-start", request, "from_start");
    put_flag(args, "scrollback", request, "scrollback");
    put_flag(args, "alternate", request, "alternate");
    put_text(args, "before", request, "before");
    put_text(args, "not-seen", request, "not_seen");
    put_text(args, "style", request, "style");
    put_text(args, "title", request, "title");
    put_text(args, "after", request, "after");
    put_text(args, "until", request, "until");
    if (put_texts(args, request, &err) < 0 || put_place(args, request, &err) < 0 ||
        put_number(args, "exit", request, &err) < 0 ||
        cmd_term_duration(args, "within", request, "within_ns", &err) < 0 ||
        cmd_term_duration(args, "timeout", request, "ceiling_ns", &err) < 0) {
        json_decref(request);
        return cli_usage(&command_term_expect, "%s", err.text);
    }
    return cmd_term_ask(args, request, NULL);
}

/* ---- screen ---------------------------------------------------------------------------------- */

static const struct cli_option screen_options[] = {
    {"format", "FORMAT", "text (default), styled, ansi, json or svg", 'f', false},
    {"golden", "FILE", "compare with this file; exit 1 when it differs", 'g', false},
    {"update", NULL, "write the golden; refused where CI is set", 'u', false},
    {"mask", "RULE", "leave out what differs each time: time, uuid, temp, s/EXPRESSION/TEXT/", 0,
     true},
    {"frame", NULL, "put a frame around it, with the cursor and what is due", 0, false},
    {0},
};
static const char *const screen_examples[] = {
    "vitro term screen demo",
    "what a person would see now",
    "vitro term screen demo --format styled --golden menu.screen",
    "exit 1 unless it is the same, colours too; --update makes the file",
    NULL,
};
const struct command command_term_screen = {
    .name = "term screen",
    .summary = "print the screen of a session, or compare it with a golden",
    .operands = "NAME",
    .operands_min = 1,
    .operands_max = 1,
    .options = screen_options,
    .examples = screen_examples,
    .run = term_screen,
};

/* The session's process has a working directory of its own. */
static char *whole_path(const char *path)
{
    CLEANUP(mem_free) char *here = path[0] == '/' ? NULL : getcwd(NULL, 0);

    return here ? mem_format("%s/%s", here, path) : mem_dup(path);
}

static int compare(const struct cli_args *args)
{
    const char *const *masks; /* good until the next question */
    CLEANUP(mem_free) char *path = whole_path(cli_value(args, "golden"));
    const char *ci = getenv("CI");
    json_t *list = json_array();

    if (cli_flag(args, "update") && ci && *ci) {
        json_decref(list);
        return cli_usage(&command_term_screen,
                         "goldens are not written while CI is set\nhint: run this where you work");
    }
    size_t count = cli_values(args, "mask", &masks);
    for (size_t i = 0; i < count; i++)
        (void)json_array_append_new(list, json_string(masks[i]));
    const char *format = cli_value(args, "format");
    return cmd_term_ask(args,
                        json_pack("{s:s,s:s,s:s,s:b,s:o}", "op", "golden", "path", path, "format",
                                  format ? format : "text", "update", cli_flag(args, "update"),
                                  "mask", list),
                        NULL);
}

static int term_screen(const struct cli_args *args)
{
    CLEANUP(json_free) json_t *reply = NULL;
    const char *format = cli_value(args, "format");
    bool frame = cli_flag(args, "frame");

    if (cli_value(args, "golden"))
        return compare(args);
    int code = cmd_term_ask(
        args,
        frame ? json_pack("{s:s}", "op", "dump")
              : json_pack("{s:s,s:s}", "op", "screen", "format", format ? format : "text"),
        &reply);
    cmd_term_print(args, reply, frame ? "dump" : "screen");
    return code;
}
