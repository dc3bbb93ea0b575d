/* SPDX-License-Identifier: MIT */
/* Doubles of programs: a test says what they print, when they end and how, and sees what they were
 * sent; the code under test starts them as it starts real ones (vitro/child.h).
 *
 *     vitro_spawner *spawner = vitro_spawner_new(&(struct vitro_spawner_options){.clock = clock});
 *     vitro_mock_process *server = vitro_spawner_enqueue(
 *         spawner, &(struct vitro_mock_config){.runs = 1, .output = "listening\n"}, &error);
 *     worker = vitro_worker_start(clock, supervise, vitro_spawner_processes(spawner));
 *     vitro_mock_await_spawned(server, &error);
 *     vitro_clock_advance(clock, 30 * SECOND, NULL);         its patience ends ...
 *     vitro_mock_signals(server, signals, 4);                ... and SIGTERM was sent
 *     vitro_mock_complete(server, 0);
 *     vitro_worker_join(worker);
 *     assert(vitro_spawner_check(spawner, &error) == 0);
 *
 * Nothing is polled and nothing waits for time to pass: who waits for a double is woken by what the
 * test does, and timeouts follow the spawner's clock. On a paused clock a worker that waits does
 * not hold the clock, and runs again, for the clock, from the moment of what wakes it.
 *
 * RESULTS: 0 or more is success, -errno a failure; words are in `error`, which may be NULL.
 * THREADS: all of this may be used by any number of threads. */
#ifndef VITRO_MOCK_PROCESS_H
#define VITRO_MOCK_PROCESS_H

#include "vitro/child.h"
#include "vitro/clock.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vitro_spawner vitro_spawner;
typedef struct vitro_mock_process vitro_mock_process; /* the controller; the spawner's */

struct vitro_spawner_options { /* all may be zero */
    struct vitro_clock *clock; /* borrowed; NULL: the clock in force now */
    int64_t ceiling_ns;        /* how long anybody waits in real time; 0 for 45 s */
};
VITRO_API vitro_spawner *vitro_spawner_new(const struct vitro_spawner_options *options);
/* After the children it started are freed. Accepts NULL. */
VITRO_API void vitro_spawner_free(vitro_spawner *spawner);
/* The sub-handle for a host; the spawner's. */
VITRO_API struct vitro_processes *vitro_spawner_processes(vitro_spawner *spawner);

struct vitro_mock_config { /* zero is the default of each: a program that exits with 0 at once */
    /* Patterns of its arguments without the program, and of the program: as of vitro/sandbox.h.
     * NULL: any. A spawn gets the first double in the queue that fits. */
    const char *program;
    const char *const *args;
    int pid;           /* 0: 99999 */
    int process_group; /* 0: the pid */
    const char *output, *error_output;
    size_t output_length, error_length; /* 0: they are texts */
    int exit_code, signal;              /* how it ends */
    int runs;              /* it does not end by itself: vitro_mock_complete, or a kill, ends it */
    int64_t exit_after_ns; /* it ends by itself after so much time of the clock */
    int ignores_signals;   /* but SIGKILL: they are noted, and do not end it */
    int force_timeout;     /* every wait with a timeout ends in one, at once */
    int spawn_error;       /* -errno: it cannot be started */
    int wait_error;        /* -errno: waiting for it fails */
    const char *cleanup_report; /* what vitro_child_cleanup says */
    int holds_output;           /* standard output stays open after the end, until a kill */
    int holds_error_output;
};
/* Behind those already there. Copies. NULL with words for patterns that do not compile, or errors
 * that are no -errno. */
VITRO_API vitro_mock_process *vitro_spawner_enqueue(vitro_spawner *spawner,
                                                    const struct vitro_mock_config *config,
                                                    struct vitro_host_error *error);

/* What was asked for, whether there was a double or not, in order. */
struct vitro_mock_spawn {
    const char *program;
    const char *const *argv;
    const char *const *env;      /* NULL: the caller's */
    const char *cwd;             /* NULL: the caller's */
    vitro_mock_process *process; /* NULL: no double was left that fits */
};
VITRO_API size_t vitro_spawner_count(const vitro_spawner *spawner);
/* Borrowed, as long as the spawner lives. -ENOENT behind the last. */
VITRO_API int vitro_spawner_at(const vitro_spawner *spawner, size_t index,
                               struct vitro_mock_spawn *ret);
/* 0, or -ENODATA with the spawns that had no double, -ENOTEMPTY with the doubles that nobody
 * spawned. */
VITRO_API int vitro_spawner_check(const vitro_spawner *spawner, struct vitro_host_error *error);

/* ---- the controller -------------------------------------------------------------------------- */

/* -EPIPE: the stream is closed. */
VITRO_API int vitro_mock_append_output(vitro_mock_process *process, const void *bytes,
                                       size_t length);
VITRO_API int vitro_mock_append_error_output(vitro_mock_process *process, const void *bytes,
                                             size_t length);
/* It ends now. 1, or 0 when it had ended already: the first wins, also against a kill. */
VITRO_API int vitro_mock_complete(vitro_mock_process *process, int exit_code);
VITRO_API int vitro_mock_complete_signal(vitro_mock_process *process, int signal);
VITRO_API int vitro_mock_was_killed(vitro_mock_process *process); /* SIGKILL was sent */
/* All that was written to its standard input, owned: free. `ret_length` and `ret_closed` may be
 * NULL. */
VITRO_API char *vitro_mock_stdin_written(vitro_mock_process *process, size_t *ret_length,
                                         int *ret_closed);
/* The signals it got, in order, at most `max`; how many there were. */
VITRO_API size_t vitro_mock_signals(vitro_mock_process *process, int *ret, size_t max);
/* Wait until it happened. -ETIMEDOUT after the ceiling, in words. */
VITRO_API int vitro_mock_await_spawned(vitro_mock_process *process, struct vitro_host_error *error);
VITRO_API int vitro_mock_await_signal(vitro_mock_process *process, int signal,
                                      struct vitro_host_error *error);
VITRO_API int vitro_mock_await_input(vitro_mock_process *process, size_t bytes,
                                     struct vitro_host_error *error); /* at least so many */

#ifdef __cplusplus
}
#endif
#endif
