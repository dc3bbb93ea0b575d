/* SPDX-License-Identifier: MIT */
/* vitro diff: what a run changed, as a patch. The patch alone goes to standard output; what it
 * cannot say goes to standard error. */
#include "cli/changes_cli.h"
#include <stdio.h>

static const struct cli_option options[] = {
    {"all", NULL, "list writes outside the worktree too, before the patch", 0, false},
    {"stat", NULL, "only how many lines of each file changed", 0, false},
    {"exit-code", NULL, "exit with 1 if anything changed", 0, false},
    {0},
};

static const char *const examples[] = {
    "vitro diff",
    "the changes of the last run in this directory",
    "vitro diff out/ | git apply",
    "the same changes, in another checkout",
    NULL,
};

static int diff_run(const struct cli_args *args)
{
    const struct changes_view view = {cli_flag(args, "all"), cli_flag(args, "stat"),
                                      cli_json(args)};
    CLEANUP(mem_free) char *bundle = changes_bundle(args);
    struct err err = {0};
    bool any = false;

    if (changes_none(args, bundle)) {
        if (view.json)
            (void)puts("{\"changes\":[],\"notes\":[]}");
        return EXIT_CLEAN;
    }
    if (changes_print(bundle, &view, &any, &err) < 0)
        return cli_fail(EXIT_USAGE, &err);
    return cli_flag(args, "exit-code") && any ? EXIT_FINDINGS : EXIT_CLEAN;
}

const struct command command_diff = {
    .name = "diff",
    .summary = "show what a run changed, as a patch",
    .operands = "[BUNDLE]",
    .operands_max = 1,
    .options = options,
    .examples = examples,
    .run = diff_run,
};
