/* SPDX-License-Identifier: MIT */
/* Programs that are started, talked to and ended: the process sub-handle of a host.
 *
 *     vitro_child *child;
 *     struct vitro_child_end end;
 *     vitro_process_spawn(host->process, &(struct vitro_process_call){.argv = argv}, &child,
 * &error); vitro_child_write(child, "status\n", 7, &error); vitro_child_wait(child, 5 * SECOND,
 * &end, &error); if (end.how == VITRO_CHILD_TIMED_OUT) vitro_child_kill(child, &error);
 *     vitro_child_free(child);
 *
 * The same code runs real programs (vitro_host_real), recorded ones (a cassette) and doubles
 * (vitro/mock_process.h), whose timeouts follow the clock they were given.
 *
 * RESULTS: 0 or more is success, -errno a failure; words are in `error`, which may be NULL.
 * THREADS: a child may be used by any number of threads, until it is freed. */
#ifndef VITRO_CHILD_H
#define VITRO_CHILD_H

#include "vitro/process.h"

#ifdef __cplusplus
extern "C" {
#endif

struct vitro_host_error {
    int code; /* -errno */
    char text[1024];
};

typedef struct vitro_child vitro_child;

/* What starts programs. One of your own is a struct that begins with this one. */
struct vitro_processes {
    const struct vitro_processes_ops *ops;
};
struct vitro_processes_ops {
    int (*run)(struct vitro_processes *processes, const struct vitro_process_call *call,
               struct vitro_process_result *ret, struct vitro_host_error *error);
    int (*spawn)(struct vitro_processes *processes, const struct vitro_process_call *call,
                 vitro_child **ret, struct vitro_host_error *error);
};

/* To its end. Give *ret back with vitro_process_result_done. -ENOENT: there is no such program. */
VITRO_API int vitro_process_finish(struct vitro_processes *processes,
                                   const struct vitro_process_call *call,
                                   struct vitro_process_result *ret,
                                   struct vitro_host_error *error);
/* Starts it, in a process group of its own. `input` is written and closed if there is one,
 * otherwise vitro_child_write writes. *ret is owned: vitro_child_free. */
VITRO_API int vitro_process_spawn(struct vitro_processes *processes,
                                  const struct vitro_process_call *call, vitro_child **ret,
                                  struct vitro_host_error *error);

enum vitro_child_how {
    VITRO_CHILD_EXITED,
    VITRO_CHILD_TIMED_OUT,   /* it still runs */
    VITRO_CHILD_INTERRUPTED, /* by vitro_child_interrupt; it still runs */
};
struct vitro_child_end {
    enum vitro_child_how how;
    int exit_code; /* 0 to 255; -1 if a signal ended it, or it still runs */
    int signal;    /* 0 if none did */
};

/* A timeout in nanoseconds; less than 0 waits as long as it takes, 0 only looks. */
#define VITRO_CHILD_FOREVER INT64_C(-1)

struct vitro_child_ops {
    int (*pid)(vitro_child *child);
    int (*group)(vitro_child *child);
    int (*write)(vitro_child *child, const void *bytes, size_t length,
                 struct vitro_host_error *error);
    int (*close_input)(vitro_child *child);
    int64_t (*read)(vitro_child *child, int stream, void *bytes, size_t size, int64_t timeout_ns,
                    struct vitro_host_error *error);
    int (*wait)(vitro_child *child, int64_t timeout_ns, struct vitro_child_end *ret,
                struct vitro_host_error *error);
    int (*signal)(vitro_child *child, int signal, struct vitro_host_error *error);
    int (*kill)(vitro_child *child, struct vitro_host_error *error);
    void (*interrupt)(vitro_child *child);
    int (*cleanup)(vitro_child *child, char **ret_report, struct vitro_host_error *error);
    void (*free)(vitro_child *child);
};
struct vitro_child {
    const struct vitro_child_ops *ops;
};

VITRO_API int vitro_child_pid(vitro_child *child);
VITRO_API int vitro_child_group(vitro_child *child);
/* To its standard input, all of it. -EPIPE: it has closed it, or ended. */
VITRO_API int vitro_child_write(vitro_child *child, const void *bytes, size_t length,
                                struct vitro_host_error *error);
VITRO_API int vitro_child_close_input(vitro_child *child);
/* From stream 1 or 2: how many bytes, 0 at the end, -ETIMEDOUT, -EINTR when interrupted. */
VITRO_API int64_t vitro_child_read(vitro_child *child, int stream, void *bytes, size_t size,
                                   int64_t timeout_ns, struct vitro_host_error *error);
/* Waits for its end; its output can be read before and after. May be asked again. */
VITRO_API int vitro_child_wait(vitro_child *child, int64_t timeout_ns, struct vitro_child_end *ret,
                               struct vitro_host_error *error);
/* To the program alone. -ESRCH: it has ended. */
VITRO_API int vitro_child_signal(vitro_child *child, int signal, struct vitro_host_error *error);
/* SIGKILL to its whole group, then waits until its outputs are closed. 0 also when it had ended. */
VITRO_API int vitro_child_kill(vitro_child *child, struct vitro_host_error *error);
/* Who waits or reads now, or else the next who does, is told so. */
VITRO_API void vitro_child_interrupt(vitro_child *child);
/* Kills what is left of its group. *ret_report (owned: free) says what that was; "" for nothing. */
VITRO_API int vitro_child_cleanup(vitro_child *child, char **ret_report,
                                  struct vitro_host_error *error);
VITRO_API void vitro_child_free(vitro_child *child); /* ends it if it still runs; accepts NULL */

#ifdef __cplusplus
}
#endif
#endif
