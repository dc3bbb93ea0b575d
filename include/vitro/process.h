/* SPDX-License-Identifier: MIT */
/* Programs called from C tests, recorded once and played back, without a box.
 *
 *     static const char *const argv[] = {"git", "log", "--format=%s", NULL};
 *     vitro_cassette *tools = vitro_cassette_open(
 *         &(struct vitro_cassette_options){.path = "tests/tools.tape"}, &error);
 *     struct vitro_process_result result;
 *     vitro_process_run(tools, &(struct vitro_process_call){.argv = argv}, &result, &error);
 *     assert_string_equal(result.output, "first\n");
 *     vitro_process_result_done(&result);
 *     assert_int_equal(vitro_cassette_close(tools, &error), 0);
 *
 * A cassette is a tape of recorded calls (docs/formats/cassette.md): the same file, found by the
 * same rules, as for `vitro run --cassette`. A bundle that `vitro run --record` made is one as
 * well. Here a program is seen from outside: what it writes to its streams, in which order, and how
 * it ends. What it reads is what it is given; files that it changes are recorded in boxes only.
 *
 * Functions that can fail return -errno and fill `error`, which may be NULL. A cassette is for one
 * thread at a time; cassettes are independent of each other. */
#ifndef VITRO_PROCESS_H
#define VITRO_PROCESS_H

#include "vitro/version.h"
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct vitro_process_error {
    int code; /* -errno */
    char text[1024];
};

typedef struct vitro_cassette vitro_cassette;

struct vitro_cassette_options {     /* zero is the default of each; path has none */
    const char *path;               /* a tape, or a plain JSON list, or a bundle (played only) */
    const char *mode;               /* as of vitro run --proc; NULL: "once" */
    const char *on_miss;            /* "fail" (NULL), "passthrough", "record" */
    const char *match;              /* fields that count: "program,argv,cwd"; NULL: all */
    const char *const *match_env;   /* variables that count, NULL-ended */
    const char *const *match_rules; /* what is taken out: "temp", "s/REGEX/TEXT/"; NULL-ended */
    const char *worktree;           /* paths are told relative to it; NULL: the current directory */
    uint64_t max_age_ns;            /* of recordings; 0: any */
    int strict_order;               /* calls must come in the recorded order */
    int allow_unused;               /* recordings that nobody asked for are no failure */
    int apply_files;                /* changes of files in the worktree are made again */
    int record_in_ci;               /* otherwise recording fails while CI is set */
    /* What is played takes as long as it did, on the clock that is mocked (vitro/clock.h): one that
     * jumps moves ahead, at one that does not the call waits until it is moved. No mock: no time.
     */
    int takes_time;
};

/* NULL with `error` filled: no cassette where one is needed, a damaged one, recording in CI. */
VITRO_API vitro_cassette *vitro_cassette_open(const struct vitro_cassette_options *options,
                                              struct vitro_process_error *error);
/* Writes what was recorded and frees. -ENODATA if calls had no recording, -ENOTEMPTY if recordings
 * were not used, -EBADMSG if what ran differs from its recording ("verify"): `error` lists them. */
VITRO_API int vitro_cassette_close(vitro_cassette *cassette, struct vitro_process_error *error);
/* Frees, and nothing is written. NULL: nothing. */
VITRO_API void vitro_cassette_discard(vitro_cassette *cassette);
VITRO_API size_t vitro_cassette_recorded(const vitro_cassette *cassette); /* so far */

struct vitro_process_call {
    const char *const *argv; /* NULL behind the last; argv[0] is searched in PATH */
    const char *const *envp; /* NULL: the caller's */
    const char *directory;   /* NULL: the caller's */
    const void *input;       /* its standard input */
    size_t input_length;
    size_t output_max; /* of both outputs together; 0: 64 MiB */
};

struct vitro_process_result {
    int exit_code; /* 0 to 255; -1 if a signal ended it */
    int signal;    /* 0 if none did */
    char *output;  /* what it wrote to standard output, with a NUL behind it */
    size_t output_length;
    char *error_output;
    size_t error_length;
    uint64_t duration_ns; /* played: as recorded; else real */
    int played;           /* it did not run */
};

/* Runs a program, or plays it. A NULL cassette runs it. -ENODATA: no recording answers, and `error`
 * has the key, the closest recording and the first difference. */
VITRO_API int vitro_process_run(vitro_cassette *cassette, const struct vitro_process_call *call,
                                struct vitro_process_result *result,
                                struct vitro_process_error *error);
VITRO_API void vitro_process_result_done(struct vitro_process_result *result);

#ifdef __cplusplus
}
#endif
#endif
