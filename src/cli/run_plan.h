/* SPDX-License-Identifier: MIT */
/* run_plan: from a command line to the options of a box. Shared by `vitro run` and `vitro replay`,
 * which repeats a recorded `run`. */
#pragma once
#include "cli/box_cli.h"
#include "cli/proc_cli.h"
#include "proc/proc_plan.h"

struct run_plan {
    struct box_options box;
    struct proc_cli proc;
    struct proc_plan files;
};

/* -EINVAL with words for the person at the keyboard. */
int run_plan_read(const struct cli_args *args, struct run_plan *ret, struct err *err);
/* When the box has ended: puts what was recorded where it belongs. */
int run_plan_keep(const struct cli_args *args, struct run_plan *plan,
                  const struct box_findings *findings, int code, struct err *err);
void run_plan_done(struct run_plan *plan);
static inline __attribute__((unused)) void run_plan_done_cleanup(struct run_plan *plan)
{
    run_plan_done(plan);
}

/* run_file.c: BUNDLE/run.json, the command line of a recorded run. */
int run_file_write(const struct cli_args *args, const struct box_findings *findings,
                   const char *bundle, struct err *err);
struct run_file {
    char **words; /* owned: options, "--", the program and its arguments */
    char **env;   /* owned: its environment */
    char *directory;
    enum box_input input; /* what its standard input was */
    bool input_ends;
    uint64_t input_at;
};
int run_file_read(const char *bundle, struct run_file *ret, struct err *err);
void run_file_done(struct run_file *file);
static inline __attribute__((unused)) void run_file_done_cleanup(struct run_file *file)
{
    run_file_done(file);
}

/* run_input.c: standard input of a recorded run, again. */
struct run_input {
    int fd;       /* owned; -1: the caller's own */
    pid_t feeder; /* 0: none */
};
int run_input_open(const char *bundle, const struct run_file *file, struct run_input *ret,
                   struct err *err);
void run_input_close(struct run_input *input);
