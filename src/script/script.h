/* SPDX-License-Identifier: MIT */
/* script: scenarios, files that tell what a person would see and are held to it. Front header.
 *
 *     script_load()    files and directories to cases; everything is checked, nothing runs
 *     script_suite()   plays cases, each in a sandbox of its own
 *     out_*.c          the results as text for people, TAP, JUnit, JSON
 *
 * A case is one scenario with one row of its examples. */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "box/box_options.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vt_line;
struct vt_text;

/* The words of `vitro run`, which this part does not know: the command line gives them. */
struct script_axes {
    const char *const *names; /* "clock", "seed", ...; NULL-ended */
    bool (*has_value)(const char *name);
    /* Fills `ret` from `count` pairs of name and value (NULL for a flag). */
    int (*read)(const char *const *names, const char *const *values, size_t count,
                struct box_options *ret, struct err *err);
    void (*done)(struct box_options *options);
    /* Whether one of them may have this value; the words have no dashes. NULL: nobody knows. */
    int (*check)(const char *name, const char *value, struct err *err);
};

struct script_options {
    struct script_axes axes;
    const char *sandbox_base;     /* NULL: the default */
    const char *filter;           /* part of the name; NULL: all */
    const char *const *tags;      /* any of these, or none of "-tag"; NULL-ended, may be NULL */
    const char *const *variables; /* NAME=VALUE of all scenarios; NULL-ended, may be NULL */
    unsigned jobs;                /* 0: one for each CPU */
    unsigned repeat;              /* 0: once */
    unsigned retries;             /* more tries for what fails */
    uint64_t shuffle;             /* a seed; 0: in the order of the files */
    uint64_t seed;                /* of the boxes, where the scenario says none; 0: 1 */
    bool update;                  /* goldens are written */
    bool no_sabotage;
    bool only_list; /* nothing will be played: variables may be missing */
    bool fail_fast;
    int64_t today_ns;   /* for quarantines; since 1970 */
    const char *stamp;  /* of this suite: builds once each */
    const char *record; /* a directory: casts and bundles of the programs; NULL: none are kept */
};

enum script_status { SCRIPT_PASSED, SCRIPT_FAILED, SCRIPT_SKIPPED };

struct script_case {
    char *name; /* owned: "feedback" or "feedback: says no [name=Ada]" */
    char *path; /* owned */
    unsigned line;
    const struct vt_text *text; /* borrowed */
    const struct vt_line *prelude, *lines;
    size_t prelude_count, line_count;
    const struct vt_line *examples; /* the header row's parent; NULL: none */
    size_t example_row;             /* index of the row in it */
    char **tags;                    /* owned, NULL-ended */
    const char *skip;               /* reason; NULL: it runs */
    const char *missing;            /* a program it needs and that is not there; NULL: none */
    const char *quarantine;         /* reason; NULL: none */
    int64_t quarantine_until_ns;
    int retries; /* -1: as the suite */
};

struct script_result {
    enum script_status status;
    bool flaky; /* failed first, passed later */
    unsigned tries;
    uint64_t virtual_ns;
    char *reason;  /* owned; why skipped */
    char *text;    /* owned; what failed, for people */
    char *section; /* owned; where */
    unsigned line; /* where it failed */
    bool outside;  /* it failed, or something ran that was not in a box: who knows what is left */
};

struct script_set { /* everything that was loaded */
    struct vt_text **texts;
    size_t text_count;
    struct script_case *cases;
    size_t case_count;
};

/* Paths are files, FILE:LINE for the scenario that holds this line, or directories (all *.vt below,
 * in the order of their names). */
int script_load(const char *const *paths, const struct script_options *options,
                struct script_set *ret, struct err *err);
void script_set_done(struct script_set *set);
/* Goldens that no scenario names, one line each: screens (.screen, .svg, .ansi, and .json that is
 * one), cassettes (.tape), and FILE.actual of those; only in directories whose scenarios were all
 * loaded. */
void script_unused_goldens(const struct script_set *set, struct buf *ret);

/* Called once a case in the order of the set, in the caller's process. */
typedef void script_report(void *context, const struct script_case *which,
                           const struct script_result *result, size_t index);
struct script_totals {
    size_t passed, failed, skipped, flaky;
    uint64_t seed; /* of the shuffle */
    uint64_t virtual_ns;
};
typedef void script_progress(void *context, const struct script_case *which, size_t done,
                             size_t total);
int script_suite(const struct script_set *set, const struct script_options *options,
                 script_report *report, script_progress *progress, void *context,
                 struct script_totals *ret, struct err *err);
void script_result_done(struct script_result *result);

/* Plays one case in this process; the result is filled whatever happens. */
void script_play(const struct script_case *which, const struct script_options *options,
                 struct script_result *ret);

/* The results in four languages. */
enum script_format { SCRIPT_PEOPLE, SCRIPT_TAP, SCRIPT_JUNIT, SCRIPT_JSON };
struct script_out; /* one report being written */
struct script_out *script_out_new(enum script_format format, bool colour, size_t case_count);
void script_out_case(struct script_out *out, const struct script_case *which,
                     const struct script_result *result, struct buf *ret);
void script_out_end(struct script_out *out, const struct script_totals *totals, struct buf *ret);
struct script_out *script_out_free(struct script_out *out);
