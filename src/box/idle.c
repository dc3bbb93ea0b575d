/* SPDX-License-Identifier: MIT */
/* idle: the proof that nothing in the box can happen before the clock moves.
 *
 * Every task is either held by us or blocked in the kernel. A wake-up inside the box (pipe, socket,
 * futex, signal, child) makes the sleeper runnable inside the waker's own call, so it is enough to
 * see all tasks blocked at one instant. With box and supervisor on one CPU that instant is cheap to
 * have: if the supervisor was not switched out between the first look and the last, nobody else
 * ran. With more CPUs each task is looked at twice, and its count of context switches must not
 * move.
 *
 * Blocked means off the run queue. The state letter of /proc/TID/stat alone does not say that: a
 * task that was preempted on its way into schedule() shows S and runs on. /proc/TID/syscall makes
 * sure. */
#include "box/box_internal.h"
#include "base/fd.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STAT_FDS_MAX = 512 };

static ssize_t read_proc(pid_t tid, const char *name, int *kept_fd, char *text, size_t size)
{
    char path[48];
    int fd = kept_fd ? *kept_fd : -1;

    if (fd < 0) {
        (void)snprintf(path, sizeof path, "/proc/%d/%s", tid, name);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
            return -errno;
    }
    ssize_t count = pread(fd, text, size - 1, 0);
    int saved = errno;
    if (kept_fd && fd < STAT_FDS_MAX)
        *kept_fd = fd;
    else
        fd_close(fd);
    if (count < 0)
        return -saved;
    text[count] = '\0';
    return count;
}

int idle_state_letter(struct task *task)
{
    char text[512];

    if (read_proc(task->tid, "stat", &task->stat_fd, text, sizeof text) <= 0)
        return 0;
    char *end = strrchr(text, ')'); /* the name before it may hold anything */
    return end && end[1] == ' ' ? end[2] : 0;
}

/* Parses one line of /proc/TID/syscall: number, six arguments, stack and instruction pointer. "-1"
 * and "running" leave number -1. */
static void parse_blocked(const char *text, struct blocked_call *ret)
{
    char *at;

    *ret = (struct blocked_call){.number = -1};
    if (text[0] < '0' || text[0] > '9')
        return;
    ret->number = strtol(text, &at, 10);
    for (int i = 0; i < 6; i++)
        ret->args[i] = strtoull(at, &at, 16);
    ret->sp = strtoull(at, &at, 16);
    ret->ip = strtoull(at, &at, 16);
}

bool idle_blocked_call(struct task *task, struct blocked_call *ret)
{
    char text[256];

    if (read_proc(task->tid, "syscall", &task->syscall_fd, text, sizeof text) <= 0 ||
        text[0] == 'r')
        return false;
    parse_blocked(text, ret);
    return true;
}

bool idle_cpu_ns(struct task *task, uint64_t *ret)
{
    char text[128];

    if (read_proc(task->tid, "schedstat", &task->schedstat_fd, text, sizeof text) <= 0)
        return false;
    *ret = strtoull(text, NULL, 10);
    return true;
}

/* A vfork parent waits for its child uninterruptibly; in anything else that means the disk, or a
 * lock of the kernel's. */
static bool waits_for_vfork(struct task *task)
{
    const struct blocked_call *call = &task->blocked;
    uint64_t flags = 0;

    if (call->number == SYS_clone)
        flags = call->args[0];
    else if (call->number == SYS_clone3)
        (void)guest_read(task, call->args[0], &flags, sizeof flags);
    return call->number == SYS_vfork || flags & CLONE_VFORK;
}

/* Calls that block in no other way than for another task, a signal or time; but a task that is
 * being killed may be on the disk in any call, and then so is its leader, or gone. */
static bool never_waits_for_disk(long number)
{
    return number == SYS_futex || number == SYS_epoll_wait || number == SYS_epoll_pwait ||
           number == SYS_poll || number == SYS_ppoll || number == SYS_wait4;
}

/* A task that we keep stopped is out of our hands once it is killed: it runs then, to its end, and
 * this is where that shows first. Only its own process can do that unseen (exit_group, exec, a
 * fault), only while a thread of it may have run since the last time that all were blocked, and
 * only to all its threads at once: one that answers speaks for those that we keep. */
static bool is_kept(const struct box *box, const struct task *task)
{
    struct process *process = task->process;
    unsigned long message;

    if ((!box->stirred && !process->stirred && process->awake_in != box->idle_looks) ||
        process->kept_in == box->idle_looks)
        return true;
    if (ptrace(PTRACE_GETEVENTMSG, task->tid, NULL, &message) < 0)
        return false;
    process->kept_in = box->idle_looks;
    return true;
}

static bool is_blocked(struct box *box, struct task *task)
{
    int letter;

    switch (task->state) {
    case TASK_PARKED:
        return is_kept(box, task) && (task != box->hold.task || hold_lasts(box, task));
    case TASK_LISTENING: /* until SIGCONT, which makes it run without our doing */
        task->process->awake_in = box->idle_looks;
        letter = idle_state_letter(task);
        return letter == 't' || letter == 'T';
    case TASK_NEW:
    case TASK_STOPPED:
        return false;
    case TASK_RUNNING:
        break;
    }
    if (still_is(box, task))
        return true;
    task->process->awake_in = box->idle_looks;
    bool off = idle_blocked_call(task, &task->blocked);
    if (off && wait_ends_at_once(&task->blocked))
        return false; /* the kernel sleeps until its timer is heard, and no longer */
    if (off && task->tid != task->process->pid && never_waits_for_disk(task->blocked.number) &&
        !box->dying)
        return true;
    letter = idle_state_letter(task);
    if (letter == 'Z') { /* a first thread that has ended before the others */
        box->dying = true;
        return true;
    }
    return off && (letter == 'S' || (letter == 'D' && waits_for_vfork(task)));
}

static uint64_t own_switches(void)
{
    struct rusage usage;

    (void)getrusage(RUSAGE_SELF, &usage);
    return (uint64_t)usage.ru_nvcsw + (uint64_t)usage.ru_nivcsw;
}

static bool all_blocked(struct box *box)
{
    bool dying = box->dying;

    box->idle_looks++;
    FOR_EACH_TASK(box, task)
    if (task->state != TASK_PARKED && !is_blocked(box, task))
        return false;
    FOR_EACH_TASK(box, task)
    if (task->state == TASK_PARKED && !is_blocked(box, task))
        return false;
    return dying == box->dying || all_blocked(box); /* look again, and harder */
}

static uint64_t switches_of(struct task *task)
{
    char text[4096];
    uint64_t total = 0;

    if (read_proc(task->tid, "status", NULL, text, sizeof text) <= 0)
        return 0;
    const char *line = strstr(text, "voluntary_ctxt_switches:");
    if (line)
        total = strtoull(line + 24, NULL, 10);
    line = strstr(text, "nonvoluntary_ctxt_switches:");
    return line ? total + strtoull(line + 27, NULL, 10) : total;
}

static uint64_t all_switches(struct box *box)
{
    uint64_t total = 0;

    FOR_EACH_TASK(box, task)
    total += switches_of(task);
    return total;
}

static void forget_stirs(struct box *box)
{
    box->stirred = false;
    for (struct process *process = box->processes; process; process = process->next)
        process->stirred = false;
}

/* Something stopped or ended between the last event taken and the first look. */
static bool event_waits(void)
{
    siginfo_t info = {0};

    return waitid(P_ALL, 0, &info, WEXITED | WSTOPPED | WNOHANG | WNOWAIT | __WALL) == 0 &&
           info.si_pid;
}

enum idle idle_check(struct box *box)
{
    bool one_cpu = box->options->cpus <= 1;
    uint64_t before = one_cpu ? own_switches() : all_switches(box);

    if (!all_blocked(box))
        return IDLE_NO;
    if (!one_cpu && !all_blocked(box))
        return IDLE_NO;
    if (event_waits() || (one_cpu ? own_switches() : all_switches(box)) != before)
        return IDLE_NO;
    still_remember(box);
    forget_stirs(box);
    return idle_blocked_on_output(box) ? IDLE_OUTSIDE : IDLE_YES;
}

/* A guest that writes to a full pipe of ours waits for whoever reads it outside, not for time. */
bool idle_blocked_on_output(struct box *box)
{
    if (box->stdout_poll[1] < 0 && box->stdout_poll[2] < 0)
        return false;
    struct pollfd fds[2] = {{.fd = box->stdout_poll[1], .events = POLLOUT},
                            {.fd = box->stdout_poll[2], .events = POLLOUT}};

    if (poll(fds, 2, 0) < 0)
        return false;
    for (int i = 0; i < 2; i++)
        if (fds[i].fd >= 0 && !fds[i].revents)
            return true;
    return false;
}
