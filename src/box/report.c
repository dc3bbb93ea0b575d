/* SPDX-License-Identifier: MIT */
/* report: who is blocked, in which call, on what. */
#include "box/policy.h"
#include "base/when.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool first_is_fd(long number)
{
    switch (number) {
    case SYS_read:
    case SYS_write:
    case SYS_readv:
    case SYS_writev:
    case SYS_pread64:
    case SYS_recvfrom:
    case SYS_recvmsg:
    case SYS_sendto:
    case SYS_sendmsg:
    case SYS_accept:
    case SYS_accept4:
    case SYS_connect:
    case SYS_epoll_wait:
    case SYS_epoll_pwait:
    case SYS_flock:
    case SYS_fcntl:
    case SYS_ioctl:
    case SYS_splice:
        return true;
    default:
        return false;
    }
}

static void add_fd(struct buf *buf, pid_t tid, int fd)
{
    char path[48], target[256];

    (void)snprintf(path, sizeof path, "/proc/%d/fd/%d", tid, fd);
    ssize_t length = readlink(path, target, sizeof target - 1);
    if (length < 0)
        return;
    target[length] = '\0';
    /* Inode numbers differ from run to run. */
    char *bracket = strstr(target, ":[");
    if (bracket && target[0] != '/' && strncmp(target, "anon_inode", 10) != 0)
        *bracket = '\0';
    buf_addf(buf, " on fd %d (%s)", fd, target);
}

/* A mutex of glibc or musl keeps its holder's tid near the word that is waited on; said only if it
 * is a thread of this process. */
static void add_futex(struct box *box, struct buf *buf, struct task *task, uint64_t address)
{
    int words[3] = {0};

    buf_addf(buf, " for address %#llx", (unsigned long long)address);
    if (guest_read(task, address, words, sizeof words) < 0)
        return;
    FOR_EACH_TASK(box, other)
    if (other != task && other->process == task->process && words[2] > 0 &&
        task_tid_inside(other) == words[2]) {
        buf_adds(buf, ", held by ");
        task_name(other, buf);
        return;
    }
}

static void add_task(struct box *box, struct buf *buf, struct task *task)
{
    struct blocked_call call;

    buf_adds(buf, "  ");
    task_name(task, buf);
    buf_adds(buf, ": ");
    if (task->state == TASK_PARKED) {
        buf_adds(buf, "sleeps\n");
        return;
    }
    if (task->state == TASK_LISTENING) {
        buf_adds(buf, "is stopped by a signal\n");
        return;
    }
    if (!idle_blocked_call(task, &call)) {
        buf_adds(buf, "runs\n");
        return;
    }
    const char *name = policy_name(call.number);
    buf_addf(buf, "waits in %s", name ? name : "a call");
    if (call.number == SYS_futex)
        add_futex(box, buf, task, call.args[0]);
    else if (first_is_fd(call.number))
        add_fd(buf, task->tid, (int)call.args[0]);
    if (task->wait.active) {
        int64_t left = task->wait.deadline.due_ns - vclock_now(&box->clock);
        buf_adds(buf, ", at most ");
        when_add_duration(buf, left > 0 ? (uint64_t)left : 0);
        buf_adds(buf, " more");
    }
    buf_addc(buf, '\n');
}

static int by_path(const void *a, const void *b)
{
    const struct task *x = *(struct task *const *)a, *y = *(struct task *const *)b;
    int r = strcmp(x->process ? x->process->path : "", y->process ? y->process->path : "");

    return r ? r : (x->ordinal > y->ordinal) - (x->ordinal < y->ordinal);
}

void report_blocked(struct box *box, struct buf *buf)
{
    CLEANUP(mem_free) struct task **tasks = mem_alloc((box->task_count + 1) * sizeof *tasks);
    size_t count = 0;

    FOR_EACH_TASK(box, task)
    tasks[count++] = task;
    qsort(tasks, count, sizeof *tasks, by_path);
    for (size_t i = 0; i < count; i++)
        add_task(box, buf, tasks[i]);
}

/* True if somebody waits for what comes from outside the box: standard input that is a terminal, a
 * pipe or a socket. Judged by where tasks were when all were seen idle: what they waited for may
 * have come since. */
bool report_waits_outside(struct box *box)
{
    FOR_EACH_TASK(box, task)
    {
        const struct blocked_call call = task->blocked;
        char path[48];
        struct stat st;
        if (task->state != TASK_RUNNING)
            continue;
        if (!first_is_fd(call.number) && call.number != SYS_poll && call.number != SYS_ppoll &&
            call.number != SYS_select && call.number != SYS_pselect6)
            continue;
        for (int fd = 0; fd < 64; fd++) {
            if (first_is_fd(call.number) && call.number != SYS_epoll_wait &&
                call.number != SYS_epoll_pwait && fd != (int)call.args[0])
                continue;
            (void)snprintf(path, sizeof path, "/proc/%d/fd/%d", task->tid, fd);
            if (stat(path, &st) == 0 && st.st_dev == box->outside.st_dev &&
                st.st_ino == box->outside.st_ino && !S_ISREG(st.st_mode))
                return true;
        }
    }
    return false;
}
