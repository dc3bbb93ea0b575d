/* SPDX-License-Identifier: MIT */
/* vitro tape gc, push and fetch: the contents of a tape. */
#include "cli/cmd_tape.h"
#include "tape/tape_refs.h"
#include <stdio.h>

static int gc_run(const struct cli_args *args);
static int push_run(const struct cli_args *args);
static int fetch_run(const struct cli_args *args);

static const struct cli_option gc_options[] = {
    {"dry-run", NULL, "say what would go, remove nothing", 'n', false},
    {0},
};
static const struct cli_option move_options[] = {
    {"store", "URL", "the HTTP store: contents live at URL/cas/<sha256>", 0, false},
    {0},
};
static const char *const push_examples[] = {"vitro tape push out/ --store http://cache.test:8080",
                                            "share the contents of a recording", NULL};

const struct command command_tape_gc = {
    .name = "tape gc",
    .summary = "remove contents the tape does not speak of",
    .operands = "TAPE",
    .operands_min = 1,
    .operands_max = 1,
    .options = gc_options,
    .run = gc_run,
};
const struct command command_tape_push = {
    .name = "tape push",
    .summary = "send the contents of a tape to an HTTP store",
    .operands = "TAPE",
    .operands_min = 1,
    .operands_max = 1,
    .options = move_options,
    .examples = push_examples,
    .run = push_run,
};
const struct command command_tape_fetch = {
    .name = "tape fetch",
    .summary = "get the contents of a tape from an HTTP store",
    .operands = "TAPE",
    .operands_min = 1,
    .operands_max = 1,
    .options = move_options,
    .run = fetch_run,
};

static int gc_run(const struct cli_args *args)
{
    CLEANUP(mem_free) char *path = cmd_tape_operand(args, 0);
    CLEANUP(store_free) struct store *store = NULL;
    struct tape_gc_result result = {0};
    struct err err = {0};
    bool dry_run = cli_flag(args, "dry-run");
    int r = cmd_tape_store(args, path, false, false, &store, &err);

    if (r == 0)
        r = tape_gc(path, store, dry_run, &result, &err);
    if (r < 0)
        return cli_fail(EXIT_USAGE, &err);
    if (cli_json(args))
        cmd_print_json(json_pack("{s:b,s:I,s:I,s:I,s:I}", "dry_run", dry_run, "kept",
                                 (json_int_t)result.kept, "removed", (json_int_t)result.removed,
                                 "removed_bytes", (json_int_t)result.removed_bytes, "strays",
                                 (json_int_t)result.strays));
    else
        printf("%llu contents kept, %llu %s (%llu bytes), %llu leftovers\n",
               (unsigned long long)result.kept, (unsigned long long)result.removed,
               dry_run ? "would go" : "removed", (unsigned long long)result.removed_bytes,
               (unsigned long long)result.strays);
    return EXIT_CLEAN;
}

static int move(const struct cli_args *args, const struct command *command,
                int (*function)(const char *, struct store *, struct tape_move_result *,
                                struct err *))
{
    CLEANUP(mem_free) char *path = cmd_tape_operand(args, 0);
    CLEANUP(store_free) struct store *store = NULL;
    struct tape_move_result result = {0};
    struct err err = {0};

    if (!cli_value(args, "store"))
        return cli_usage(command, "'vitro %s' needs --store URL", command->name);
    int r = cmd_tape_store(args, path, true, false, &store, &err);
    if (r == 0)
        r = function(path, store, &result, &err);
    if (r < 0)
        return cli_fail(EXIT_USAGE, &err);
    if (cli_json(args))
        cmd_print_json(json_pack("{s:I,s:I,s:I}", "absent", (json_int_t)result.absent, "moved",
                                 (json_int_t)result.moved, "present", (json_int_t)result.present));
    else
        printf("%llu contents moved, %llu there already, %llu nowhere\n",
               (unsigned long long)result.moved, (unsigned long long)result.present,
               (unsigned long long)result.absent);
    return result.absent ? EXIT_FINDINGS : EXIT_CLEAN;
}

static int push_run(const struct cli_args *args)
{
    return move(args, &command_tape_push, tape_push);
}

static int fetch_run(const struct cli_args *args)
{
    return move(args, &command_tape_fetch, tape_fetch);
}
