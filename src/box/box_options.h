/* SPDX-License-Identifier: MIT */
/* box_options: what a box is asked for, and what it found. Resolved once, by box_options_resolve;
 * the resolved form is what the tape's header holds. */
#pragma once
#include "base/err.h"
#include "fs/fs.h"
#include "proc/proc_options.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum box_clock_mode {
    BOX_CLOCK_PAUSED,  /* stands, and jumps to the next deadline when every guest is idle */
    BOX_CLOCK_MANUAL,  /* stands, and moves by command only */
    BOX_CLOCK_SHIFTED, /* runs, at an offset */
    BOX_CLOCK_SCALED,  /* runs, faster */
    BOX_CLOCK_REAL,
};

struct box_clock {
    enum box_clock_mode mode;
    int64_t start_ns; /* since 1970; otherwise: 2026-01-01T00:00:00Z, or now for running clocks */
    int64_t shift_ns; /* BOX_CLOCK_SHIFTED */
    uint32_t scale;   /* BOX_CLOCK_SCALED */
    bool start_given; /* start_ns counts, even if it is 0 */
};

/* "real", WHEN, "WHEN,manual", "manual", "+7d", "-2h", "x10". -EINVAL with the forms. */
int box_clock_parse(const char *text, struct box_clock *ret, struct err *err);
/* What a clock that stands shows at the start; for one that runs, the machine's time. */
int64_t box_clock_start_ns(const struct box_clock *clock);

struct box_options {
    const char *const *argv;    /* PROGRAM and its arguments, NULL behind the last */
    const char *const *envp;    /* NULL: the caller's environment */
    const char *path_first;     /* a directory to search before those of PATH; NULL: none */
    const char *const *add_env; /* "NAME=VALUE" that guests get beside it; NULL: none */
    const char *directory;      /* working directory; NULL: the caller's */
    struct box_clock clock;
    uint64_t seed; /* 0 reads as 1 */
    bool random_real, identity_real, net_real;
    bool tape_net_real;       /* the tape says that the network was real: a replay of such a run */
    unsigned cpus;            /* 0 reads as 1 */
    uint64_t max_time_ns;     /* virtual; 0: none */
    uint64_t timeout_ns;      /* real; 0: ten minutes */
    uint64_t max_steps;       /* stops; 0: none */
    unsigned max_procs;       /* processes at once; 0: 4096 */
    struct fs_options fs;     /* userns is filled in by the box */
    struct proc_options proc; /* what is recorded or played of subprocesses */
    const char *record;       /* bundle to write; NULL: none */
    const char *control;      /* path of the control socket; NULL: none */
    int stdio[3];             /* 0: inherit; else an fd that becomes 0, 1, 2 */
    bool trace_reads;         /* what guests open and list goes on the tape too */
    bool allow_leak, allow_orphan;
    bool wait_for_cpu; /* for a CPU for real-time guests, where that is permitted; not for ever */
    bool foreground;   /* the program gets the controlling terminal */
    const struct box_terminal *terminal; /* settle.h: a terminal of its own; NULL: none */
};

enum box_outcome {
    BOX_EXITED, /* status is the program's */
    BOX_DEADLOCK,
    BOX_CEILING, /* a budget or the real ceiling */
    BOX_REFUSED, /* the program asked for what a box cannot give (32-bit code) */
    BOX_NOT_FOUND,
    BOX_NOT_EXECUTABLE,
    BOX_KILLED,  /* by the person in front of it */
    BOX_TROUBLE, /* ours; the text says what */
};

enum box_input {                    /* what standard input of the program was */
                 BOX_INPUT_UNKNOWN, /* nothing that can be had again: a terminal, a device, or not
                                       recorded */
                 BOX_INPUT_NOTHING, /* /dev/null */
                 BOX_INPUT_FILE,    /* kept as RECORD/stdin */
                 BOX_INPUT_STREAM,  /* what was read of it is kept there */
};

struct box_leak {
    char capability[40];
    char process[64];
    uint64_t count;
};

enum { BOX_LEAKS_MAX = 32, BOX_TEXT_MAX = 16384 };

struct box_findings { /* plain data: it crosses from the supervisor by a pipe */
    enum box_outcome outcome;
    int wait_status; /* of the program, as of wait(2) */
    uint64_t virtual_ns, real_ns;
    uint64_t jumps, ticks, stops, processes;
    uint64_t seed;
    uint64_t leak_count;
    struct box_leak leaks[BOX_LEAKS_MAX];
    uint64_t orphans;
    bool lacks_namespaces;                 /* the machine permits none: bare.h */
    bool lacked_cpu;                       /* other boxes had them while this one waited */
    uint64_t files_changed, files_outside; /* of the worktree, and elsewhere */
    struct proc_findings proc;
    enum box_input input;
    bool input_ends;         /* of a stream: its end was read */
    uint64_t input_at;       /* of a file: where reading began */
    char notes[2048];        /* lines worth telling, whatever the outcome */
    char text[BOX_TEXT_MAX]; /* why it ended, or what is blocked on what; "" when it just ended */
};

/* Runs a program in a box and waits for it. 0 with *ret filled, also when the program failed.
 * Signals that the caller gets meanwhile are passed to the program. */
int box_run(const struct box_options *options, struct box_findings *ret, struct err *err);
char *box_last_bundle(const char *worktree); /* where a run without `record` keeps its changes */

/* The same in two halves, for callers that do something else meanwhile. Their signals are left
 * alone. The box ends with the thread that spawned it. */
struct box_child {
    pid_t supervisor;     /* 0 when it was waited for */
    int report_fd;        /* owned; readable when the guests have ended */
    uint64_t deadline_ns; /* of the real clock: when box_wait gives up */
};
int box_spawn(const struct box_options *options, struct box_child *ret, struct err *err);
int box_wait(struct box_child *child, struct box_findings *ret, struct err *err); /* once */
void box_kill(const struct box_child *child); /* box_wait then fails with -EIO */
int box_exit_code(const struct box_options *options, const struct box_findings *findings);
