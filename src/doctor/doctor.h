/* SPDX-License-Identifier: MIT */
/* doctor: what this machine permits, found by trying it.
 *
 * One probe is one row of a table: a name, what it gives, a function that tries, and what to type
 * if it does not work. Probes try in children of their own and leave nothing behind. From the
 * answers follow the tier that `vitro run` will use and the axes it has. */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include <stdbool.h>
#include <stddef.h>

enum doctor_tier {
    DOCTOR_NONE, /* run cannot work */
    DOCTOR_B,    /* no namespaces: clock, random, subprocesses, network by stopping calls */
    DOCTOR_A,    /* everything */
};

enum doctor_need {
    DOCTOR_FOR_ALL, /* without it there is no run at all */
    DOCTOR_FOR_A,   /* without it tier B */
    DOCTOR_FOR_ONE, /* without it one thing is missing: what `gives` says */
};

struct doctor_answer {
    bool works;
    char detail[160];   /* what was seen: a version, an error; may be empty */
    const char *remedy; /* what to type; NULL takes the row's */
};

struct doctor_probe {
    const char *name;
    const char *gives;
    enum doctor_need need;
    void (*probe)(struct doctor_answer *ret);
    const char *remedy;
};

extern const struct doctor_probe doctor_probes[]; /* ends with a row without a name */

struct doctor_report {
    const struct doctor_probe *probes;
    struct doctor_answer *answers; /* owned, one a probe */
    size_t count;
    enum doctor_tier tier;
};

void doctor_examine(const struct doctor_probe *probes, struct doctor_report *ret);
void doctor_report_done(struct doctor_report *report);
static inline __attribute__((unused)) void doctor_report_done_cleanup(struct doctor_report *report)
{
    doctor_report_done(report);
}
void doctor_add_text(struct buf *buf, const struct doctor_report *report, bool colour);
void doctor_add_json(struct buf *buf, const struct doctor_report *report);

/* doctor_child.c: calls `try` in a child made with these CLONE_NEW* flags, with ids mapped to
 * themselves for CLONE_NEWUSER. What it returns, and its text, come back. A child that dies is -EIO
 * with the signal. */
int doctor_in_child(unsigned long flags, int (*try)(struct err *err), struct err *err);
