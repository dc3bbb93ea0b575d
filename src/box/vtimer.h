/* SPDX-License-Identifier: MIT */
/* vtimer: a timer of a guest on the virtual clock; shared by sys_timer.c and sys_timerfd.c. */
#pragma once
#include "box/policy.h"
#include "base/when.h"

struct vtimer {
    struct deadline deadline;
    struct process *process; /* NULL for a timerfd */
    struct vtimer *next;
    int64_t interval_ns;
    clockid_t clock;
    /* POSIX and interval timers */
    int id; /* -1: ITIMER_REAL */
    int notify, signal;
    pid_t thread;   /* SIGEV_THREAD_ID, in the box's numbers */
    uint64_t value; /* sigev_value */
    int overrun;
    /* timerfd */
    int fd;       /* of the supervisor, same open file */
    pid_t holder; /* a process that had it, lately */
    int holder_fd;
    uint64_t unread;
};

/* As struct itimerspec has it: interval and value, in seconds and nanoseconds. */
int64_t vtimer_ns(int64_t seconds, int64_t nanoseconds);
bool vtimer_is_valid(const int64_t value[4]);
void vtimer_show(const struct box *box, const struct vtimer *timer, int64_t out[4]);
void vtimer_set(struct box *box, struct vtimer *timer, int64_t value_ns, int64_t interval_ns,
                bool absolute);
