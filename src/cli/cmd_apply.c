/* SPDX-License-Identifier: MIT */
/* vitro apply: the changes of a run into the worktree, all or nothing. */
#include "cli/changes_cli.h"
#include <errno.h>
#include <stdio.h>

static const struct cli_option options[] = {
    {"dry-run", NULL, "only say whether it would succeed", 'n', false},
    {"worktree", "DIR", "apply there instead of where the run took place", 0, false},
    {0},
};

static const char *const examples[] = {
    "vitro apply",
    "keep what the last run in this directory did",
    "vitro apply --dry-run out/",
    "name the conflicts, change nothing",
    NULL,
};

static int apply_run(const struct cli_args *args)
{
    CLEANUP(mem_free) char *bundle = changes_bundle(args);
    struct err err = {0};

    if (changes_none(args, bundle)) {
        (void)puts(cli_json(args) ? "{\"applied\":0}" : "0 changes applied");
        return EXIT_CLEAN;
    }
    int r = changes_apply(bundle, cli_value(args, "worktree"), cli_flag(args, "dry-run"),
                          cli_json(args), &err);

    if (r < 0)
        return cli_fail(r == -ESTALE ? EXIT_FINDINGS : EXIT_USAGE, &err);
    return EXIT_CLEAN;
}

const struct command command_apply = {
    .name = "apply",
    .summary = "apply what a run changed to the worktree, all or nothing",
    .operands = "[BUNDLE]",
    .operands_max = 1,
    .options = options,
    .examples = examples,
    .run = apply_run,
};
