/* SPDX-License-Identifier: MIT */
/* vitro clock: moves the manual clock of a running box. */
#include "cli/cli.h"
#include "box/control.h"
#include "base/json.h"
#include "base/when.h"
#include <stdio.h>

static int ask(const struct cli_args *args, const char *request, struct buf *reply)
{
    const char *const *words;
    struct err err = {0};

    cli_operands(args, &words);
    CLEANUP(mem_free) char *path = control_path(words[0]);
    if (control_ask(path, request, reply, &err) < 0)
        return cli_fail(EXIT_USAGE, &err);
    CLEANUP(json_free) json_t *value = NULL;
    if (json_parse(reply->data, reply->length, "answer", &value, &err) < 0)
        return cli_fail(EXIT_USAGE, &err);
    const char *problem = json_string_value(json_object_get(value, "error"));
    if (problem) {
        (void)fprintf(stderr, "vitro: %s\n", problem);
        return EXIT_USAGE;
    }
    return EXIT_CLEAN;
}

static int show_now(const struct cli_args *args, const char *request)
{
    CLEANUP(buf_done) struct buf reply = {0};
    struct err err = {0};
    CLEANUP(json_free) json_t *value = NULL;
    int code = ask(args, request, &reply);

    if (code != EXIT_CLEAN)
        return code;
    if (cli_json(args)) {
        (void)fputs(buf_text(&reply), stdout);
    } else if (json_parse(reply.data, reply.length, "answer", &value, &err) == 0) {
        (void)printf("%s\n", json_string_value(json_object_get(value, "now")));
    }
    return EXIT_CLEAN;
}

static int clock_now(const struct cli_args *args)
{
    return show_now(args, "{\"op\":\"now\"}\n");
}

static int clock_advance(const struct cli_args *args)
{
    const char *const *words;
    struct err err = {0};
    uint64_t ns;

    cli_operands(args, &words);
    if (when_parse_duration(words[1], &ns, &err) < 0)
        return cli_fail(EXIT_USAGE, &err);
    CLEANUP(mem_free) char *request =
        mem_format("{\"op\":\"advance\",\"ns\":%llu}\n", (unsigned long long)ns);
    return show_now(args, request);
}

static int clock_set(const struct cli_args *args)
{
    const char *const *words;
    struct err err = {0};
    int64_t ns;

    cli_operands(args, &words);
    if (when_parse(words[1], &ns, &err) < 0)
        return cli_fail(EXIT_USAGE, &err);
    CLEANUP(mem_free) char *request = mem_format("{\"op\":\"set\",\"ns\":%lld}\n", (long long)ns);
    return show_now(args, request);
}

static int clock_pending(const struct cli_args *args)
{
    CLEANUP(buf_done) struct buf reply = {0};
    CLEANUP(buf_done) struct buf text = {0};
    struct err err = {0};
    CLEANUP(json_free) json_t *value = NULL;
    int code = ask(args, "{\"op\":\"pending\"}\n", &reply);
    size_t i;
    json_t *one;

    if (code != EXIT_CLEAN)
        return code;
    if (cli_json(args)) {
        (void)fputs(buf_text(&reply), stdout);
        return EXIT_CLEAN;
    }
    if (json_parse(reply.data, reply.length, "answer", &value, &err) < 0)
        return cli_fail(EXIT_USAGE, &err);
    json_array_foreach(json_object_get(value, "pending"), i, one)
    {
        json_int_t in = json_integer_value(json_object_get(one, "in_ns"));
        when_add_duration(&text, in > 0 ? (uint64_t)in : 0);
        buf_addf(&text, "  %s\n", json_string_value(json_object_get(one, "who")));
    }
    (void)fputs(buf_text(&text), stdout);
    return EXIT_CLEAN;
}

const struct command command_clock_advance = {
    .name = "clock advance",
    .summary = "move a box's manual clock forward, stopping at every deadline on the way",
    .operands = "BOX DURATION",
    .operands_min = 2,
    .operands_max = 2,
    .run = clock_advance,
};
const struct command command_clock_now = {
    .name = "clock now",
    .summary = "print what time it is in a box",
    .operands = "BOX",
    .operands_min = 1,
    .operands_max = 1,
    .run = clock_now,
};
const struct command command_clock_pending = {
    .name = "clock pending",
    .summary = "list what is due in a box, earliest first",
    .operands = "BOX",
    .operands_min = 1,
    .operands_max = 1,
    .run = clock_pending,
};
const struct command command_clock_set = {
    .name = "clock set",
    .summary = "set the wall clock of a box; sleeps are not affected",
    .operands = "BOX WHEN",
    .operands_min = 2,
    .operands_max = 2,
    .run = clock_set,
};
