/* SPDX-License-Identifier: MIT */
/* run_plan: from a command line to the options of a box: which cassette is read, what is recorded,
 * and where that goes. Shared by `vitro run` and `vitro replay`, which repeats a recorded `run`.
 *
 * A bundle that exists is never written to while a box runs: the new one is made beside it and
 * takes its place at the end. */
#pragma once
#include "cli/box_cli.h"
#include "cli/proc_cli.h"

struct run_plan {
    struct box_options box;
    struct proc_cli proc;
    char *staging;    /* owned: the bundle that the box writes; NULL: none, or the target itself */
    char *target;     /* owned: whose place it takes at the end; NULL: it is removed */
    const char *list; /* --process-record */
    bool to_tape;     /* the target is a tape of recordings, not a bundle */
};

/* -EINVAL with words for the person at the keyboard. */
int run_plan_read(const struct cli_args *args, struct run_plan *ret, struct err *err);
/* When the box has ended: puts what was recorded where it belongs. */
int run_plan_keep(const struct cli_args *args, struct run_plan *plan, int code, struct err *err);
void run_plan_done(struct run_plan *plan);
static inline __attribute__((unused)) void run_plan_done_cleanup(struct run_plan *plan)
{
    run_plan_done(plan);
}

/* run_file.c: BUNDLE/run.json, the command line of a recorded run. */
int run_file_write(const struct cli_args *args, const char *bundle, struct err *err);
struct run_file {
    char **words; /* owned: options, "--", the program and its arguments */
    char **env;   /* owned: its environment */
    char *directory;
};
int run_file_read(const char *bundle, struct run_file *ret, struct err *err);
void run_file_done(struct run_file *file);
static inline __attribute__((unused)) void run_file_done_cleanup(struct run_file *file)
{
    run_file_done(file);
}
int bundle_replace(const char *staging, const char *target, struct err *err);
