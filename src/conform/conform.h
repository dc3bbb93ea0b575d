/* SPDX-License-Identifier: MIT */
/* conform: fixture programs and what stands beside them. A directory is searched for programs with
 * sidecars; each runs in a box of its own with what its sidecars give, and is then held against
 * what they say.
 *
 *     conform_find      paths to fixtures           conform_find.c
 *     conform_suite     fixtures to results         conform_suite.c, a few boxes at a time
 *       conform_begin   a fixture to a box          conform_run.c
 *       conform_check   what is not as it should be conform_check.c */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum conform_sidecar {
    CONFORM_PROCESS_TAPE,
    CONFORM_FS_OVERLAY,
    CONFORM_TAPE,
    CONFORM_ANNOTATIONS,
    CONFORM_HARNESS,
    CONFORM_LLM_MOCK,
    CONFORM_EXPECTED,
    CONFORM_ERROR,
    CONFORM_LINT,
    CONFORM_SIDECARS,
};
struct conform_sidecar_row {
    const char *suffix;
    bool is_directory, is_built; /* what is not built yet is refused by name */
    const char *help;
};
extern const struct conform_sidecar_row conform_sidecars[CONFORM_SIDECARS];

struct conform_fixture {
    char *name;      /* as it is told: the path that was given, and the way from there */
    char *directory; /* absolute */
    char *stem;      /* of its sidecars: "greet" */
    char *program;   /* file name: "greet.sh"; NULL: there is none */
    char *other;     /* a second program of the same stem, or a file that is no program; or NULL */
    bool is_twice;   /* `other` is a program */
    char *misspelt;  /* a file beside it that is nearly called as a sidecar; or NULL */
    unsigned has;    /* 1u << enum conform_sidecar */
};
struct conform_set {
    struct conform_fixture *fixtures; /* owned; by name */
    size_t count;
};
/* Directories with all below them, and single programs. -ENOENT names what is not there. */
int conform_find(const char *const *paths, const char *filter, struct conform_set *ret,
                 struct err *err);
void conform_set_done(struct conform_set *set);
char *conform_path(const struct conform_fixture *fixture, enum conform_sidecar which); /* owned */

enum conform_status { CONFORM_PASSED, CONFORM_FAILED, CONFORM_SKIPPED };
struct conform_result {
    enum conform_status status;
    struct buf text;    /* why it failed or was skipped; "" when it passed */
    struct buf updated; /* names of goldens that were written, a line each */
    uint64_t virtual_ns;
    int exit_code; /* of the program; -1: it did not run, or a signal ended it */
};
void conform_result_done(struct conform_result *result);

struct conform_options {
    bool update;         /* write goldens that differ */
    bool fail_fast;      /* start no more after a failure */
    unsigned jobs;       /* boxes at once; 0: one for each CPU */
    uint64_t timeout_ns; /* of real time, each; 0: one minute */
    uint64_t seed;       /* 0: 1 */
};
struct conform_totals {
    size_t passed, failed, skipped;
};
/* In the order of the fixtures, whoever ends first. */
typedef void conform_report(void *context, const struct conform_fixture *fixture,
                            const struct conform_result *result);
int conform_suite(const struct conform_set *set, const struct conform_options *options,
                  conform_report *report, void *context, struct conform_totals *ret,
                  struct err *err);
