/* SPDX-License-Identifier: MIT */
/* report: who is blocked, in which call, on what. */
#include "box/policy.h"
#include "box/sub.h"
#include "base/fd.h"
#include "base/when.h"
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
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

enum { FDS_SHOWN = 4 };

/* ` on fd 3 (pipe)`, and for the next of several `, 4 (socket)`. */
static void add_fd(struct buf *buf, pid_t tid, int fd, int shown)
{
    char path[48], target[256];

    (void)snprintf(path, sizeof path, "/proc/%d/fd/%d", tid, fd);
    ssize_t length = readlink(path, target, sizeof target - 1);
    if (length < 0 || shown > FDS_SHOWN)
        return;
    if (shown == FDS_SHOWN) {
        buf_adds(buf, " and others");
        return;
    }
    target[length] = '\0';
    /* Inode numbers differ from run to run. */
    char *bracket = strstr(target, ":[");
    if (bracket && target[0] != '/' && strncmp(target, "anon_inode", 10) != 0)
        *bracket = '\0';
    buf_addf(buf, shown ? ", %d (%s)" : " on fd %d (%s)", fd, target);
}

static void add_polled(struct buf *buf, struct task *task, uint64_t address, uint64_t count)
{
    struct pollfd fd;
    int shown = 0;

    for (uint64_t i = 0; i < count && shown <= FDS_SHOWN; i++)
        if (guest_read(task, address + i * sizeof fd, &fd, sizeof fd) == 0 && fd.fd >= 0)
            add_fd(buf, task->tid, fd.fd, shown++);
}

/* All descriptors that a select looks at. */
static void read_sets(struct task *task, const struct blocked_call *call, fd_set *ret)
{
    fd_set set;
    int count = (int)call->args[0];

    FD_ZERO(ret);
    for (int i = 1; i <= 3 && count > 0 && count <= FD_SETSIZE; i++)
        if (call->args[i] &&
            guest_read(task, call->args[i], &set, (size_t)(count + 63) / 64 * 8) == 0)
            for (int fd = 0; fd < count; fd++)
                if (FD_ISSET(fd, &set))
                    FD_SET(fd, ret);
}

static void add_selected(struct buf *buf, struct task *task, const struct blocked_call *call)
{
    fd_set all;
    int shown = 0;

    read_sets(task, call, &all);
    for (int fd = 0; fd < FD_SETSIZE && shown <= FDS_SHOWN; fd++)
        if (FD_ISSET(fd, &all))
            add_fd(buf, task->tid, fd, shown++);
}

static bool read_fdinfo(pid_t tid, int fd, struct buf *ret)
{
    char path[48];
    struct err err;

    (void)snprintf(path, sizeof path, "/proc/%d/fdinfo/%d", tid, fd);
    return file_read(path, 1 << 20, ret, &err) == 0;
}

/* What an epoll watches, by the numbers under which it was told of them. */
static void add_epoll(struct buf *buf, pid_t tid, int epoll)
{
    CLEANUP(buf_done) struct buf text = {0};
    int shown = 0;

    if (!read_fdinfo(tid, epoll, &text))
        return;
    for (const char *line = buf_text(&text); (line = strstr(line, "tfd:")); line += 4)
        add_fd(buf, tid, (int)strtol(line + 4, NULL, 10), shown++);
    if (!shown)
        buf_adds(buf, " that watches nothing");
}

static void add_child(struct box *box, struct buf *buf, pid_t inside)
{
    for (struct process *process = box->processes; process && inside > 0; process = process->next)
        if (process_pid_inside(process) == inside)
            buf_addf(buf, " for %s (%s)", process->path, process->program);
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

static void add_signals(struct buf *buf, struct task *task, uint64_t address)
{
    const char *joint = " for signal ";
    uint64_t set;

    if (guest_read(task, address, &set, sizeof set) < 0)
        return;
    for (int signal = 1; signal <= 64; signal++)
        if (set >> (signal - 1) & 1) {
            buf_addf(buf, "%s%d", joint, signal);
            joint = ", ";
        }
}

/* A stub waits only for what came from others when it was recorded. */
static void add_played(struct buf *buf, const struct task *task, const struct blocked_call *call)
{
    const struct sub *sub = task->process ? task->process->sub : NULL;

    if (sub && sub->how == SUB_PLAYED &&
        (call->number == SYS_pause || call->number == SYS_rt_sigtimedwait))
        buf_adds(buf, ", which somebody sent it when it was recorded");
}

static void add_target(struct box *box, struct buf *buf, struct task *task,
                       const struct blocked_call *call)
{
    switch (call->number) {
    case SYS_futex:
        add_futex(box, buf, task, call->args[0]);
        break;
    case SYS_poll:
    case SYS_ppoll:
        add_polled(buf, task, call->args[0], call->args[1]);
        break;
    case SYS_select:
    case SYS_pselect6:
        add_selected(buf, task, call);
        break;
    case SYS_epoll_wait:
    case SYS_epoll_pwait:
    case SYS_epoll_pwait2:
        add_epoll(buf, task->tid, (int)call->args[0]);
        break;
    case SYS_wait4:
        add_child(box, buf, (pid_t)call->args[0]);
        break;
    case SYS_waitid:
        add_child(box, buf, call->args[0] == P_PID ? (pid_t)call->args[1] : 0);
        break;
    case SYS_rt_sigtimedwait:
        add_signals(buf, task, call->args[0]);
        break;
    case SYS_pause:
        buf_adds(buf, " for a signal");
        break;
    default:
        if (first_is_fd(call->number))
            add_fd(buf, task->tid, (int)call->args[0], 0);
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
    add_target(box, buf, task, &call);
    add_played(buf, task, &call);
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

/* ---- who waits for the outside ------------------------------------------------------------- */

static bool epoll_watches_outside(const struct box *box, pid_t tid, int epoll, int depth);

static bool is_epoll(pid_t tid, int fd)
{
    static const char name[] = "anon_inode:[eventpoll]";
    char path[48], target[sizeof name] = "";

    (void)snprintf(path, sizeof path, "/proc/%d/fd/%d", tid, fd);
    return readlink(path, target, sizeof target) == sizeof name - 1 &&
           memcmp(target, name, sizeof name - 1) == 0;
}

/* Standard input as the caller gave it: a terminal, a pipe, a socket; or an epoll that watches it.
 * Nothing new will ever come from a file, nor from /dev/null. */
static bool is_outside(const struct box *box, pid_t tid, int fd)
{
    char path[48];
    struct stat st;

    if (is_epoll(tid, fd))
        return epoll_watches_outside(box, tid, fd, 0);
    (void)snprintf(path, sizeof path, "/proc/%d/fd/%d", tid, fd);
    return stat(path, &st) == 0 && st.st_dev == box->outside.st_dev &&
           st.st_ino == box->outside.st_ino && !S_ISREG(st.st_mode) &&
           !(S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3));
}

static bool polls_outside(struct box *box, struct task *task, uint64_t address, uint64_t count)
{
    struct pollfd fd;

    for (uint64_t i = 0; i < count; i++)
        if (guest_read(task, address + i * sizeof fd, &fd, sizeof fd) < 0 ||
            is_outside(box, task->tid, fd.fd))
            return true;
    return false;
}

static bool selects_outside(struct box *box, struct task *task, const struct blocked_call *call)
{
    fd_set all;

    read_sets(task, call, &all);
    for (int fd = 0; fd < FD_SETSIZE; fd++)
        if (FD_ISSET(fd, &all) && is_outside(box, task->tid, fd))
            return true;
    return false;
}

/* By inode: the number under which a file was added may stand for another one by now. */
static bool epoll_watches_outside(const struct box *box, pid_t tid, int epoll, int depth)
{
    enum { DEPTH_MAX = 5 }; /* the kernel's own */
    CLEANUP(buf_done) struct buf text = {0};

    if (depth > DEPTH_MAX || !read_fdinfo(tid, epoll, &text))
        return true;
    for (const char *line = buf_text(&text); (line = strstr(line, " ino:")); line += 5)
        if (strtoull(line + 5, NULL, 16) == box->outside.st_ino)
            return true;
    for (const char *line = buf_text(&text); (line = strstr(line, "tfd:")); line += 4) {
        int fd = (int)strtol(line + 4, NULL, 10);
        if (is_epoll(tid, fd) && epoll_watches_outside(box, tid, fd, depth + 1))
            return true;
    }
    return false;
}

/* By where it was when all were seen idle: what it waited for may have come since. */
static bool waits_outside(struct box *box, struct task *task)
{
    const struct blocked_call *call = &task->blocked;

    switch (call->number) {
    case SYS_poll:
    case SYS_ppoll:
        return polls_outside(box, task, call->args[0], call->args[1]);
    case SYS_select:
    case SYS_pselect6:
        return selects_outside(box, task, call);
    case SYS_epoll_wait:
    case SYS_epoll_pwait:
    case SYS_epoll_pwait2:
        return epoll_watches_outside(box, task->tid, (int)call->args[0], 0);
    default:
        return first_is_fd(call->number) && is_outside(box, task->tid, (int)call->args[0]);
    }
}

bool report_waits_outside(struct box *box)
{
    FOR_EACH_TASK(box, task)
    if (task->state == TASK_RUNNING && waits_outside(box, task))
        return true;
    return false;
}
