/* SPDX-License-Identifier: MIT */
/* proc_plan: from what is asked to what a box does about subprocesses: which cassette is read, what
 * is recorded, and where that goes.
 *
 * A bundle that exists is never written to while a box runs: the new one is made beside it and
 * takes its place at the end. */
#pragma once
#include "base/err.h"
#include "base/scratch.h"
#include "proc/proc_options.h"

struct proc_asked_for { /* as of `vitro run`; all may be NULL */
    const char *mode;   /* --proc */
    const char *record; /* --record */
    const char *cassette;
    const char *record_list, *replay_list; /* --process-record, --process-replay */
    bool record_in_ci;
};

struct proc_plan {          /* all owned */
    char *record;           /* the bundle that the box writes; NULL: none */
    bool is_staging;        /* which is not there to stay */
    struct scratch scratch; /* where it is, if it takes no place */
    char *target; /* whose place it takes at the end, or what is made of it; NULL: nothing */
    char *list;   /* also a plain JSON list */
    bool to_tape; /* the target is a tape of recordings, not a bundle */
};

/* Completes the options, which hold what else was asked. -EINVAL with words for the person at the
 * keyboard. */
int proc_plan_make(const struct proc_asked_for *asked, struct proc_options *options,
                   struct proc_plan *ret, struct err *err);
/* When the box has ended well: the forms that are no bundle, then the bundle. */
int proc_plan_convert(const struct proc_plan *plan, struct err *err);
bool proc_plan_keeps_bundle(const struct proc_plan *plan);
int proc_plan_place(const struct proc_plan *plan, struct err *err);
void proc_plan_done(struct proc_plan *plan); /* and what is not there to stay */

int bundle_replace(const char *staging, const char *target, struct err *err);
