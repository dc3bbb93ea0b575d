/* SPDX-License-Identifier: MIT */
/* changes_cli: showing and keeping what a run changed, shared by diff, apply and run. */
#pragma once
#include "cli/cli.h"

struct changes_view {
    bool all, stat, json;
};

/* Prints the patch of a bundle to standard output; *ret_any tells whether there was anything. */
int changes_print(const char *bundle, const struct changes_view *view, bool *ret_any,
                  struct err *err);
/* Applies a bundle to its worktree, or to `worktree`, and says so. -ESTALE for a conflict. */
int changes_apply(const char *bundle, const char *worktree, bool dry_run, bool json,
                  struct err *err);
/* Whether a verb without an operand has nothing to do, which is then told: there is no last run, or
 * it changed nothing. */
bool changes_none(const struct cli_args *args, const char *bundle);
/* The bundle a verb means: its operand, or the last run of the current directory. Returns owned. */
char *changes_bundle(const struct cli_args *args);
