/* SPDX-License-Identifier: MIT */
/* The bench: one handle that pins everything around a piece of C code, in the test's own process.
 *
 *     VITRO_BENCH bench = vitro_bench_activate(
 *         &(struct vitro_bench_options){.clock = "2026-01-01T00:00:00Z", .fs = "fixtures/site",
 *                                       .net = "deny", .seed = 7}, &error);
 *     run();                                       any code, of any library, unchanged
 *     struct vitro_bench_findings found;
 *     vitro_bench_finalize(vitro_bench_take(&bench), &found, &error);
 *     assert(found.leak_count == 0);
 *     vitro_bench_findings_done(&found);
 *
 * From activation to the end of the handle, the axes that were asked for hold for the thread that
 * activated it and for every thread that is started under it. Other threads see nothing of it: so
 * any number of benches are active at once. Nothing global is changed, no environment variable, no
 * signal mask. Benches nest; the inner one answers for the axes it has, the outer one for the rest.
 *
 * What holds for libc. Linked with -lvitro_interpose before all others (or with
 * LD_PRELOAD=libvitro_interpose.so), time, sleeps, timeouts, timers, chance, the environment,
 * files, connections and processes of *all* code in the process obey. Without it
 * (vitro_interposed() is 0) the bench holds for calls of this library: clock NULL of vitro/clock.h,
 * the overlay and the cassette that the accessors give.
 *
 * THE TAPE has, by time and worker: sleeps (clock_sleep), programs (process_spawn), connections
 * made and refused (net_connect, net_denied), with audit_real what was asked of the environment
 * (env_read), and notes; then, as of the end, what each worker drew of the seed's chance (random)
 * and what became of the worktree (file_write, file_delete, file_rename, with contents in its
 * store). With a clock, two equal runs give equal tapes.
 *
 * The clock is paused and jumps: a sleep returns at once and time has passed, when every thread of
 * the bench sleeps or waits; timeouts end when nothing else can happen. With ",manual" it stands
 * until vitro_clock_advance moves it. */
#ifndef VITRO_BENCH_H
#define VITRO_BENCH_H

#include "vitro/box.h"
#include "vitro/clock.h"
#include "vitro/leaks.h"
#include "vitro/overlay.h"
#include "vitro/process.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Texts begin with the axis: "bench net: ...". */
struct vitro_bench_error {
    int code; /* -errno */
    char text[1024];
};

/* All may be zero: that axis is real, and a bench of zeros changes nothing. */
struct vitro_bench_options {
    const char *clock;            /* "2026-01-01T00:00:00Z", "@1767225600", "...,manual" */
    struct vitro_clock *clock_is; /* instead: a clock of yours, borrowed */
    const char *llm;              /* not built: -ENOSYS */
    const char *fs;               /* a worktree: writes to it stay in memory */
    const char *proc_record;      /* a cassette to write: programs run, and are recorded */
    const char *proc_replay;      /* a cassette to play: programs do not run */
    /* A directory of modules, for vitro_bench_spawn. Activating refuses it (-ENOSYS): a module is
     * told the time by the box around it, and a process of its own would be in real time. */
    const char *proc_wasi;
    const char *net; /* "deny": nobody but whom net_allow names */
    /* NULL-ended: "*.example.org", "10.0.0.0/8", "localhost:80". vitro_bench_spawn refuses it
     * (-ENOSYS): a box has a loopback of its own or all of the network, and nothing between. */
    const char *const *net_allow;
    const char *tape;             /* a tape to write, at finalize */
    const char *const *tape_argv; /* for its header; NULL-ended */
    const char *tape_script;
    uint64_t seed;          /* of chance; 0: real */
    const char *const *env; /* "NAME=VALUE", NULL-ended, in place of the environment */
    int audit_real;         /* axes that are real count as leaks, and so do pids and names */
    int allow_leaks;        /* finalize does not fail for them */
};

typedef struct vitro_bench vitro_bench;

/* Installs the axes in the order leaks, clock, proc, fs, net, tape, and takes them back if one
 * fails. NULL with words. The handle belongs to the thread. */
VITRO_API vitro_bench *vitro_bench_activate_at(const struct vitro_bench_options *options,
                                               const char *where, struct vitro_bench_error *error)
    __attribute__((warn_unused_result));
/* vitro_bench_activate(options, error). Variadic, for the commas of a compound literal. */
#define vitro_bench_activate(...) vitro_bench_activate_here(VITRO_WHERE, __VA_ARGS__)
static inline vitro_bench *vitro_bench_activate_here(const char *where,
                                                     const struct vitro_bench_options *options,
                                                     struct vitro_bench_error *error)
{
    return vitro_bench_activate_at(options, where, error);
}

struct vitro_bench_leak {
    const char *capability, *worker, *callers; /* as of vitro/leaks.h */
    uint64_t count;
};
struct vitro_bench_program { /* that was recorded or played */
    const char *program;     /* as it was called: "git", "/usr/bin/git" */
    const char *const *argv; /* NULL-ended; the first is the program */
    int exit_code;           /* -1 if a signal ended it */
    int signal;              /* 0 if none did */
    int played;              /* it did not run */
    const char *worker;      /* who started it */
    int64_t at_ns;           /* when, on the bench's clock */
};
struct vitro_bench_findings {
    char *diff; /* what the overlay holds, as a patch; "" if nothing */
    size_t diff_length;
    size_t recorded;                      /* programs that were recorded */
    struct vitro_bench_program *programs; /* by time, then worker; NULL: real */
    size_t program_count;
    const char *tape; /* where it was written; NULL: no tape */
    uint64_t tape_records;
    struct vitro_bench_leak *leaks;
    size_t leak_count;
    const char *const *unmatched; /* calls that no recording answered, and what came closest */
    size_t unmatched_count;
    const char *const *unused; /* recordings that nobody asked for: "git status" */
    size_t unused_count;
    char *denied; /* connections that no rule allowed, a line each */
    uint64_t denied_count;
    size_t threads; /* that were started in it and still run, in the real world now */
    void *hidden;
};
/* Ends the bench and says what was found: the overlay's diff, then what was recorded is written,
 * then the tape, and leaks last, so that one made by writing is there. 0 when nothing is wrong;
 * -EUCLEAN with words when something is: leaks, calls without a recording, recordings without a
 * call. -EPERM, naming both places: it is not the one activated last in this thread, and goes on.
 * Any other failure is one to write a file. `ret` is filled but for -EPERM; it may be NULL. */
VITRO_API int vitro_bench_finalize_at(vitro_bench *bench, struct vitro_bench_findings *ret,
                                      const char *where, struct vitro_bench_error *error);
#define vitro_bench_finalize(bench, ret, error)                                                    \
    vitro_bench_finalize_at(bench, ret, VITRO_WHERE, error)
VITRO_API void vitro_bench_findings_done(struct vitro_bench_findings *findings);
/* Ends it, and nothing is written. NULL: nothing. A wrong order ends the program, with words that
 * name both places. */
VITRO_API void vitro_bench_drop(vitro_bench *bench);

/* A handle that drops itself at the end of its block, unless it is taken out. */
#define VITRO_BENCH __attribute__((cleanup(vitro_bench_drop_cleanup))) vitro_bench *
static inline void vitro_bench_drop_cleanup(vitro_bench **bench)
{
    vitro_bench_drop(*bench);
}
static inline vitro_bench *vitro_bench_take(vitro_bench **bench)
{
    vitro_bench *taken = *bench;
    *bench = 0;
    return taken;
}

/* ---- what it has: NULL for an axis that is real */
VITRO_API vitro_bench *vitro_bench_current(void); /* of this thread; NULL: none */
VITRO_API struct vitro_clock *vitro_bench_clock(vitro_bench *bench);
/* With all that libc wrote up to now. */
VITRO_API struct vitro_overlay *vitro_bench_overlay(vitro_bench *bench);
VITRO_API vitro_cassette *vitro_bench_cassette(vitro_bench *bench);
VITRO_API const char *vitro_bench_cassette_path(vitro_bench *bench);
VITRO_API const char *
vitro_bench_proc_mode(vitro_bench *bench);                    /* "real" "record" "replay" "wasi" */
VITRO_API vitro_leaks *vitro_bench_leaks(vitro_bench *bench); /* always there */
/* Puts a record on its tape. 0 when it has none. */
VITRO_API int vitro_bench_note(vitro_bench *bench, const char *kind, const char *data_json,
                               struct vitro_bench_error *error);

/* An unmodified program, in a box with the same clock, seed, worktree, environment and network.
 * `box` has what a bench has not (argv, limits); what the bench has goes before. */
VITRO_API vitro_box *vitro_bench_spawn(const struct vitro_bench_options *options,
                                       const struct vitro_box_options *box,
                                       struct vitro_bench_error *error);

/* 1: libvitro_interpose is in the process. */
VITRO_API int vitro_interposed(void);

#ifdef __cplusplus
}
#endif
#endif
