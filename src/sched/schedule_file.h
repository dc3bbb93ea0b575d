/* SPDX-License-Identifier: MIT */
/* schedule_file: what a saved schedule says, for people: its notes, its decisions and the steps of
 * the run. Whoever replays uses decider_schedule_new instead. Format: docs/formats/schedule.md. */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include <stddef.h>

struct schedule_step {
    char *task, *op, *object, *where; /* owned; object and where may be NULL */
};

struct schedule_file {
    char *test, *strategy, *seed, *kind, *error; /* owned; NULL: not said */
    char **decisions;                            /* owned lines: "run main/left *2" */
    size_t decision_count;
    struct schedule_step *steps;
    size_t step_count;
};

/* -EBADMSG, -EPROTO for a newer format; the texts name the path. */
int schedule_file_read(const char *path, struct schedule_file *ret, struct err *err);
void schedule_file_done(struct schedule_file *file);
static inline __attribute__((unused)) void schedule_file_done_cleanup(struct schedule_file *file)
{
    schedule_file_done(file);
}

/* A column a task, a line for each stretch of one task. */
void schedule_file_add_lanes(const struct schedule_file *file, struct buf *buf);
