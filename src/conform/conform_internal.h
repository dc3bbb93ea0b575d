/* SPDX-License-Identifier: MIT */
/* One fixture, from its box to its result. */
#pragma once
#include "base/arena.h"
#include "base/scratch.h"
#include "box/box_options.h"
#include "conform/conform.h"
#include "host/harness.h"

struct conform_run {
    const struct conform_fixture *fixture; /* borrowed */
    const struct conform_options *options; /* borrowed */
    struct box_options box;
    struct box_child child;
    struct box_findings findings;
    struct arena arena;     /* of what the box's options point at */
    struct harness harness; /* of the sidecar; path is NULL without one */
    struct scratch scratch; /* a directory of this run */
    char *bundle, *report;  /* owned; in it */
    char *report_dir;       /* owned */
    int stdio[3];           /* owned memory files; -1: none */
    struct buf output, errors;
    struct conform_result result;
    bool started, done;
};

/* 1: its box runs. 0: it has a result already: skipped, or failed before it could run. */
int conform_begin(struct conform_run *run, const struct conform_fixture *fixture,
                  const struct conform_options *options, struct err *err);
/* When the box has ended: takes its findings and checks all there is to check. */
void conform_end(struct conform_run *run);
void conform_run_done(struct conform_run *run);

void conform_fail(struct conform_run *run, const char *format, ...) PRINTF_LIKE(2, 3);
bool conform_has(const struct conform_fixture *fixture, enum conform_sidecar which);
void conform_check(struct conform_run *run);      /* conform_check.c */
void conform_check_tape(struct conform_run *run); /* conform_tape.c */
