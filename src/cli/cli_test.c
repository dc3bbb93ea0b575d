/* SPDX-License-Identifier: MIT */
#include "cli/cli.h"
#include "base/text.h"
#include "lib/check.h"
#include <errno.h>

static const struct cli_option options[] = {
    {"clock", "WHEN", "start time", 'c', false},
    {"hide", "PATH", "hide a path", 0, true},
    {"quiet", NULL, "say less", 'q', false},
    {0},
};
static const struct command sample = {
    .name = "sample",
    .summary = "a verb",
    .operands = "-- PROGRAM [ARG...]",
    .operands_min = 1,
    .operands_max = -1,
    .options = options,
    .stops_at_operand = true,
};

static int parse(struct cli_args **ret, struct err *err, int argc, const char *const *argv)
{
    return cli_parse(&sample, argc, (char **)argv, ret, err);
}
#define PARSE(...)                                                                                 \
    parse(&args, &err, (int)ARRAY_LENGTH(((const char *[]){__VA_ARGS__})),                         \
          (const char *[]){__VA_ARGS__})

TEST(options_in_all_their_forms_are_read)
{
    CLEANUP(cli_args_free) struct cli_args *args = NULL;
    struct err err = {0};
    const char *const *words;

    CHECK_OK(PARSE("--clock=x", "--hide", "/a", "--hide=/b", "-q", "prog", "--quiet", "--", "-c"),
             err);
    CHECK_TEXT(cli_value(args, "clock"), "x");
    CHECK_INT(cli_values(args, "hide", &words), 2);
    CHECK_TEXT(words[1], "/b");
    CHECK_TRUE(cli_flag(args, "quiet") && !cli_json(args));
    CHECK_INT(cli_operands(args, &words), 4);
    CHECK_TEXT(words[1], "--quiet");
    CHECK_TEXT(words[2], "--");
}

TEST(a_double_dash_ends_the_options)
{
    CLEANUP(cli_args_free) struct cli_args *args = NULL;
    struct err err = {0};
    const char *const *words;

    CHECK_OK(PARSE("-cx", "--", "--help", "y"), err);
    CHECK_INT(cli_operands(args, &words), 2);
    CHECK_TEXT(words[0], "--help");
    CHECK_TEXT(cli_value(args, "clock"), "x");
}

TEST(mistakes_are_named_with_the_closest_option)
{
    struct cli_args *args = NULL;
    struct err err = {0};

    CHECK_INT(PARSE("--clokc", "x", "prog"), -EINVAL);
    CHECK_HAS(err.text, "unknown option '--clokc' of 'vitro sample'\nhint: did you mean --clock?");
    CHECK_INT(PARSE("--clock"), -EINVAL);
    CHECK_HAS(err.text, "--clock needs a value: --clock WHEN");
    CHECK_INT(PARSE("--quiet=1", "prog"), -EINVAL);
    CHECK_HAS(err.text, "takes no value");
    CHECK_INT(PARSE("--clock", "a", "--clock", "b", "prog"), -EINVAL);
    CHECK_HAS(err.text, "given twice");
    CHECK_INT(PARSE("-q"), -EINVAL);
    CHECK_HAS(err.text, "needs -- PROGRAM [ARG...]");
    CHECK_TRUE(args == NULL);
}

TEST(help_man_and_completions_name_every_verb_and_option)
{
    CLEANUP(buf_done) struct buf bash = {0};
    CLEANUP(buf_done) struct buf fish = {0};
    const char *last = "";

    CHECK_INT(cli_add_completions(&bash, "bash"), 0);
    CHECK_INT(cli_add_completions(&fish, "fish"), 0);
    CHECK_INT(cli_add_completions(&fish, "csh"), -EINVAL);
    for (const struct command *const *c = cli_commands; *c; c++) {
        CLEANUP(buf_done) struct buf help = {0};
        CLEANUP(buf_done) struct buf man = {0};
        CLEANUP(mem_free) char *verb = mem_dupn((*c)->name, strcspn((*c)->name, " "));
        CHECK_TRUE(strcmp(last, (*c)->name) < 0); /* sorted, no verb twice */
        last = (*c)->name;
        cli_add_help(&help, *c);
        cli_add_man(&man, verb);
        CHECK_HAS(help.data, (*c)->summary);
        CHECK_HAS(bash.data, (*c)->name);
        for (const struct cli_option *o = (*c)->options; o && o->name; o++) {
            CLEANUP(mem_free) char *flag = mem_format("--%s", o->name);
            CLEANUP(mem_free) char *fish_flag = mem_format("-l %s", o->name);
            CHECK_HAS(help.data, flag);
            CHECK_HAS(bash.data, flag);
            CHECK_HAS(fish.data, fish_flag);
        }
    }
}
