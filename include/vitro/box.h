/* SPDX-License-Identifier: MIT */
/* Boxes from C: run any program under a virtual clock, move that clock, and see what it did.
 *
 *     static const char *const argv[] = {"sh", "-c", "sleep 3600; date", NULL};
 *     struct vitro_box_findings findings;
 *     struct vitro_box_error error;
 *     vitro_box *box = vitro_box_spawn(
 *         &(struct vitro_box_options){.argv = argv, .clock = "2026-01-01,manual",
 *                                     .capture_output = 1}, &error);
 *     vitro_box_clock_advance(box, 3600000000000, NULL, &error);
 *     vitro_box_wait(box, &findings, &error);
 *     puts(findings.output);
 *     vitro_box_free(box);
 *
 * What a box makes virtual is told in vitro-run(1). Functions that can fail return -errno and fill
 * `error`, which may be NULL; for a box that is NULL they fail with -EINVAL. The supervisor of a
 * box is a child process of the caller's. Neither the caller's signal mask nor its handlers or
 * environment are changed. A box ends when its program ends, when it is killed or freed, and with
 * the thread that spawned it. One handle is for one thread at a time; boxes are independent of each
 * other. */
#ifndef VITRO_BOX_H
#define VITRO_BOX_H

#include "vitro/process.h"
#include "vitro/version.h"
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct vitro_box_error {
    int code; /* -errno */
    char text[1024];
};

struct vitro_box_options {   /* zero is the default of each; argv has none */
    const char *const *argv; /* PROGRAM and its arguments, NULL behind the last */
    const char *const *envp; /* NULL: the caller's environment */
    const char *directory;   /* working directory; NULL: the caller's */
    const char *clock;       /* as of vitro run --clock: "2026-01-01T00:00:00Z,manual", "x10" */
    const char *record;      /* bundle to write; NULL: none */
    const char *fs;          /* "overlay" (NULL): writes stay in memory; "ro"; "real" */
    const char *worktree;    /* whose changes are counted, and kept for vitro diff; NULL: here */
    const char *const *writable; /* directories whose writes do reach the disk; NULL-ended */
    const char *const *hide;     /* files and directories that guests find empty; NULL-ended */
    uint64_t size_limit;         /* bytes that guests may write; 0: half of the memory */
    int share_tmp;               /* show the machine's /tmp, with writes in memory */
    int trace_reads;             /* what guests open and list goes on the tape too */
    /* Programs that the program calls: recorded once, then played back (vitro/process.h). `path` is
     * a tape, or a bundle that is there; its `worktree`, `apply_files` and `takes_time` do not
     * matter here: in a box files are always changed, and time always passes. NULL: they just run.
     */
    const struct vitro_cassette_options *cassette;
    const char *const *tape_only;   /* patterns of the programs it is about: "git"; NULL-ended */
    const char *const *tape_except; /* and of those it is not */
    int allow_miss;                 /* calls without a recording do not change exit_code */
    uint64_t seed;                  /* 0 reads as 1 */
    uint64_t max_time_ns;           /* virtual; 0: none */
    uint64_t timeout_ns;            /* real; 0: ten minutes */
    uint64_t max_steps;             /* stops; 0: none */
    unsigned cpus;                  /* 0 reads as 1 */
    unsigned max_procs;             /* processes at once; 0: 4096 */
    int stdio[3];       /* 0: the caller's; else an fd of the caller's, borrowed by spawn */
    int capture_output; /* keep standard output and error in memory, for the findings */
    int random_real, identity_real, net_real;
    int allow_leak, allow_orphan; /* they do not change exit_code */
};

enum vitro_box_outcome {
    VITRO_BOX_EXITED, /* wait_status is the program's */
    VITRO_BOX_DEADLOCK,
    VITRO_BOX_CEILING, /* a budget or the real ceiling */
    VITRO_BOX_REFUSED, /* the program asked for what a box cannot give */
    VITRO_BOX_NOT_FOUND,
    VITRO_BOX_NOT_EXECUTABLE,
    VITRO_BOX_KILLED,
    VITRO_BOX_TROUBLE, /* vitro's own; text says what */
};

struct vitro_box_leak {
    const char *capability; /* "proc/timer_list" */
    const char *process;    /* who did it first: "1.2 (cat)" */
    uint64_t count;
};

struct vitro_box_findings { /* all it points at is the box's, until vitro_box_free */
    int exit_code;          /* what vitro run would end with */
    int wait_status;        /* of the program, as of wait(2) */
    enum vitro_box_outcome outcome;
    uint64_t virtual_ns, real_ns; /* how much time passed, inside and outside */
    uint64_t jumps, ticks;        /* moves of the clock, by idleness and by spinning */
    uint64_t stops, processes, orphans, seed;
    uint64_t files_changed, files_outside; /* of the worktree, and elsewhere */
    uint64_t recorded, played;             /* subprocesses */
    uint64_t misses, unused;               /* calls without a recording, and the other way round */
    uint64_t differences;                  /* of mode "verify" */
    const char *subprocesses;              /* what is wrong with them, in words; "" for nothing */
    uint64_t leak_count;
    const struct vitro_box_leak *leaks;
    const char *text;  /* why it ended, or what is blocked on what; "" when it just ended */
    const char *notes; /* lines worth telling */
    const char *output, *error_output; /* captured, with a NUL behind; "" without capturing */
    size_t output_length, error_output_length;
};

struct vitro_box_pending {
    int64_t in_ns; /* virtual time left */
    char who[72];  /* "1.2 (sleep)", or "timer" */
};

typedef struct vitro_box vitro_box;

/* Starts a program and returns at once; NULL on failure. That the program is not there or cannot
 * run is found by vitro_box_wait. */
VITRO_API vitro_box *vitro_box_spawn(const struct vitro_box_options *options,
                                     struct vitro_box_error *error);
/* Waits for the end of the box. 0 with *ret filled, also when the program failed or was killed; may
 * be called again. */
VITRO_API int vitro_box_wait(vitro_box *box, struct vitro_box_findings *ret,
                             struct vitro_box_error *error);
/* Ends the box at once: outcome VITRO_BOX_KILLED, exit_code 137. */
VITRO_API void vitro_box_kill(vitro_box *box);
/* Readable when the box has ended, for an event loop; -1 when that is known to vitro_box_wait. */
VITRO_API int vitro_box_fd(const vitro_box *box);
/* Kills the box if it still runs. Accepts NULL. */
VITRO_API void vitro_box_free(vitro_box *box);

/* The wall clock in the box, ns since 1970. These fail with -ESRCH when the box has ended. */
VITRO_API int vitro_box_clock_now(vitro_box *box, int64_t *ret_ns, struct vitro_box_error *error);
/* Manual clocks only: moves forward, stopping at every deadline on the way, and returns when the
 * box stands idle at the end (or ended on the way). By 0 it just waits until the box is idle.
 * `ret_ns` is as of clock_now and may be NULL. */
VITRO_API int vitro_box_clock_advance(vitro_box *box, uint64_t by_ns, int64_t *ret_ns,
                                      struct vitro_box_error *error);
/* Manual clocks only: sets the wall clock, forward or back. Durations are not affected. */
VITRO_API int vitro_box_clock_set(vitro_box *box, int64_t to_ns, struct vitro_box_error *error);
/* What is due, earliest first. Fills at most `max`, returns how many there are. */
VITRO_API int vitro_box_clock_pending(vitro_box *box, struct vitro_box_pending *ret, size_t max,
                                      struct vitro_box_error *error);

#ifdef __cplusplus
}
#endif

#endif
