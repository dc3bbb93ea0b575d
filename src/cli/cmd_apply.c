/* SPDX-License-Identifier: MIT */
/* vitro apply: the changes of a run into the worktree, all or nothing. */
#include "cli/cli.h"
#include "fs/fs_apply.h"
#include "fs/fs_bundle.h"
#include <errno.h>
#include <stdio.h>

static const struct cli_option options[] = {
    {"dry-run", NULL, "only say whether it would succeed", 'n', false},
    {"worktree", "DIR", "apply there instead of where the run took place", 0, false},
    {0},
};

static const char *const examples[] = {
    "vitro apply .vitro/last",
    "keep what the last run did",
    "vitro apply --dry-run out/",
    "name the conflicts, change nothing",
    NULL,
};

static int apply_run(const struct cli_args *args)
{
    CLEANUP(fs_changes_free) struct fs_changes *changes = NULL;
    CLEANUP(fs_blobs_free) struct fs_blobs *blobs = NULL;
    struct fs_apply_options apply = {.worktree = cli_value(args, "worktree"),
                                     .dry_run = cli_flag(args, "dry-run")};
    struct fs_apply_report report = {0};
    const char *const *operands;
    struct err err = {0};

    (void)cli_operands(args, &operands);
    if (fs_bundle_read(operands[0], &changes, &blobs, &err) < 0)
        return cli_fail(EXIT_USAGE, &err);
    int r = fs_apply(changes, blobs, &apply, &report, &err);
    if (r < 0)
        return cli_fail(r == -ESTALE ? EXIT_FINDINGS : EXIT_USAGE, &err);
    if (report.recovered)
        (void)fputs("vitro: an apply that was interrupted has been undone first\n", stderr);
    if (cli_json(args)) {
        printf("{\"applied\":%zu,\"dry_run\":%s,\"outside\":%zu,\"recovered\":%s}\n",
               report.applied, apply.dry_run ? "true" : "false", report.outside,
               report.recovered ? "true" : "false");
        return EXIT_CLEAN;
    }
    printf("%zu %s %s\n", report.applied, report.applied == 1 ? "change" : "changes",
           apply.dry_run ? "would be applied" : "applied");
    if (report.outside)
        printf("%zu outside the worktree not applied\n", report.outside);
    return EXIT_CLEAN;
}

const struct command command_apply = {
    .name = "apply",
    .summary = "apply what a run changed to the worktree, all or nothing",
    .operands = "BUNDLE",
    .operands_min = 1,
    .operands_max = 1,
    .options = options,
    .examples = examples,
    .run = apply_run,
};
