/* SPDX-License-Identifier: MIT */
/* calls: what the files of src/interpose share. */
#pragma once
#include "interpose/interpose.h"
#include "interpose/world.h"

#pragma weak vitro_interposer
#define REAL (vitro_interposer.real)

#define CALL(result, name, parameters, arguments)                                                  \
    result call_##name(const void *caller, UNWRAP parameters);
#define CALL0(result, name) result call_##name(const void *caller);
#define LEAK(result, name, parameters, arguments, capability)                                      \
    CALL(result, name, parameters, arguments)
#define LEAK0(result, name, capability) CALL0(result, name)
#include "interpose/calls.def"
#undef CALL
#undef CALL0
#undef LEAK
#undef LEAK0
int call_openat(const void *caller, int dirfd, const char *path, int flags, mode_t mode);
long call_syscall(const void *caller, long number, const long arguments[6]);
long call_futex(const void *caller, const long arguments[6]); /* of SYS_futex */

bool is_library(const void *caller); /* an address in the library's own code */
/* The lane of the calling thread, if what is in force in it answers this call. NULL: nothing is, or
 * the library itself calls, or a signal handler interrupted the interposer. */
struct lane *lane_here(const void *caller);
/* Its clock, if that is a mock; NULL: time is real. */
struct vitro_clock *lane_clock(const struct lane *lane);
struct vitro_world *lane_world(const struct lane *lane); /* NULL: no bench */
/* Both at once, for time: also in a signal handler, whatever it interrupted. */
struct vitro_clock *clock_here(const void *caller);

/* Around the interposer's own locks, and around calls into the rest of the library. */
void inside_begin(struct lane *lane);
void inside_end(struct lane *lane);

/* Something real was seen. `capability` is a literal. Takes no lock and allocates nothing. */
void leak_here(const char *capability, const void *caller);

void file_closed(struct lane *lane, int fd); /* a directory may have been opened as that */

/* ---- time */
#define MONOTONIC_OFFSET_NS INT64_C(1000000000000) /* as if the machine had run a while */
int64_t ns_of(const struct timespec *time);        /* saturates; negative: not a time */
struct timespec timespec_of(int64_t ns);
bool is_monotonic(clockid_t id);
bool is_day(clockid_t id);

/* ---- waiting, until a time at most */
struct deadline {
    enum base base;
    int64_t ns;   /* BY_MONOTONIC: from now; BY_DAY: when */
    bool is_none; /* wait as long as it takes */
};
extern const struct deadline no_deadline;
struct deadline deadline_after(int64_t ns);
/* Of an absolute time of that clock. */
struct deadline deadline_at(struct vitro_clock *clock, clockid_t id, const struct timespec *at);

enum waited { WAITED_READY, WAITED_TIME, WAITED_SIGNAL };
/* Until one of these is ready. No fds: a sleep. With `mask`, under that signal mask. */
enum waited wait_fds(struct lane *lane, struct vitro_clock *clock, const struct pollfd *fds,
                     nfds_t count, const struct deadline *until, const sigset_t *mask);
/* Signals that the clock sends (alarm, timer_create) are armed: waits take care not to miss one. */
void signals_armed(int change);
/* A signal for the thread of this lane was sent by the clock. */
void wait_signalled(struct lane *lane, int signal);

/* ---- waiting for another thread (park.c): `key` names what for */
struct parking {
    const void *key;
    int (*attempt)(void *arg);  /* 0 or an errno ends it; EBUSY: wait, or wait again */
    void (*release)(void *arg); /* called once, when nobody can be missed any more; may be NULL */
    void *arg;
};
/* What `attempt` gave; ETIMEDOUT; EINTR; ECANCELED: the clock was stopped; 0 when woken and there
 * is no attempt. */
int park(struct lane *lane, struct vitro_clock *clock, const struct parking *parking,
         const struct deadline *until);
void unpark(const void *key, bool all); /* from any thread, lane or none */
bool unpark_one(const void *key);       /* false: nobody waits for it */
void park_after_fork(void);
void barriers_after_fork(void);
pid_t fork_with_clock(void); /* a real one */
