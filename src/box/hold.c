/* SPDX-License-Identifier: MIT */
/* hold: timed waits that nobody but time can end.
 *
 * A wait in the kernel costs two stops: one at its entry, where it is made endless, and one to end
 * it. Often the first would do. A loop that polls with a timeout is alone with the clock: all
 * others are blocked, and what it waits for is not there. So a task whose last wait ended by its
 * deadline, and whose next deadline would be the first of all, is held at the entry of that wait
 * for one look. If all others are blocked and the kernel would block this task as well, the clock
 * moves at once and the call is over without having been made. Otherwise it is let go into the
 * kernel, as any other.
 *
 * To be held for a moment is no more than to be slow. What has to be right is the answer to "would
 * it block": it is asked between the first look at the others and the last (idle.c), so nobody
 * made anything ready meanwhile. Signals count too, since they end the wait and since a signalfd
 * shows the signals of who asks: while any is pending, blocked or not, the kernel has the wait. */
#include "box/box_internal.h"
#include "base/fd.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { POLL_FDS_MAX = 8 };

#ifndef PIDFD_THREAD
#define PIDFD_THREAD O_EXCL
#endif

static bool may_last(const struct user_regs_struct *regs)
{
    int operation = (int)regs->rsi & FUTEX_CMD_MASK;

    switch ((long)regs->orig_rax) {
    case SYS_epoll_wait:
        return true;
    case SYS_epoll_pwait:
    case SYS_epoll_pwait2:
        return !regs->r8; /* a mask is the kernel's to read */
    case SYS_poll:
        return regs->rsi <= POLL_FDS_MAX;
    case SYS_futex:
        return operation == FUTEX_WAIT || (operation == FUTEX_WAIT_BITSET && (uint32_t)regs->r9);
    default:
        return false;
    }
}

bool hold_wait(struct box *box, struct task *task, bool expired, int argument, uint64_t value)
{
    const struct process *process = task->process;

    if (!expired || box->hold.task || box->options->cpus > 1 ||
        box->clock.mode != BOX_CLOCK_PAUSED || box->settle || box->has_ptys || process->watched ||
        process->tapped || task->on_exit ||
        deadline_first(&box->deadlines) != &task->wait.deadline || !may_last(task_regs(task)))
        return false;
    box->hold.task = task;
    box->hold.argument = argument;
    box->hold.value = value;
    return true;
}

void hold_release(struct box *box)
{
    struct task *task = box->hold.task;

    box->hold.task = NULL;
    wait_replace(box, task, box->hold.argument, box->hold.value);
    task_resume(box, task, 0);
}

void hold_forget(struct box *box, const struct task *task)
{
    if (box->hold.task == task)
        box->hold.task = NULL;
    if (box->hold.known != task)
        return;
    box->hold.known = NULL;
    box->hold.pidfd = fd_close(box->hold.pidfd);
}

/* Those of the thread, or of its process. What cannot be told counts as one. */
static bool any_signal(const struct task *task, uint32_t flags)
{
    struct __ptrace_peeksiginfo_args first = {.flags = flags, .nr = 1};
    siginfo_t info;

    return ptrace(PTRACE_PEEKSIGINFO, task->tid, &first, &info) != 0;
}

/* The task's descriptor, as one of ours. Threads need not have those of their process. */
static int borrow(struct box *box, const struct task *task, int fd)
{
    struct hold *hold = &box->hold;

    if (hold->known != task) {
        if (hold->known)
            hold_forget(box, hold->known);
        bool first = task->tid == task->process->pid;
        hold->pidfd = (int)syscall(SYS_pidfd_open, task->tid, first ? 0 : PIDFD_THREAD);
        hold->known = hold->pidfd < 0 ? NULL : task;
    }
    return hold->known ? (int)syscall(SYS_pidfd_getfd, hold->pidfd, fd, 0) : -1;
}

static bool nothing_there(int fd, short events)
{
    struct pollfd look = {.fd = fd, .events = events};

    return poll(&look, 1, 0) == 0;
}

static bool is_epoll_without(int fd, int other)
{
    struct epoll_event none = {0};

    return epoll_ctl(fd, EPOLL_CTL_MOD, other, &none) < 0 && errno == ENOENT;
}

static bool epoll_lasts(struct box *box, const struct task *task)
{
    const struct user_regs_struct *regs = &task->regs;
    int most = (int)regs->rdx;
    CLEANUP(fd_close) int fd = borrow(box, task, (int)regs->rdi);

    return fd >= 0 && most > 0 && (size_t)most <= INT32_MAX / sizeof(struct epoll_event) &&
           is_epoll_without(fd, box->signal_fd) && nothing_there(fd, POLLIN);
}

/* Regular files are always ready; those that are not (/proc/mounts) tell their news once. */
static bool fd_lasts(struct box *box, const struct task *task, const struct pollfd *wanted)
{
    CLEANUP(fd_close) int fd = wanted->fd < 0 ? -1 : borrow(box, task, wanted->fd);
    struct stat status;

    if (wanted->fd < 0)
        return true;
    return fd >= 0 && fstat(fd, &status) == 0 && !S_ISREG(status.st_mode) &&
           nothing_there(fd, wanted->events);
}

/* A poll that is over in time says that nothing came. */
static bool poll_lasts(struct box *box, struct task *task)
{
    struct pollfd fds[POLL_FDS_MAX];
    uint64_t address = task->regs.rdi;
    size_t count = task->regs.rsi, size = count * sizeof fds[0];
    bool said = false;

    if (guest_read(task, address, fds, size) < 0)
        return false;
    for (size_t i = 0; i < count; i++) {
        if (!fd_lasts(box, task, &fds[i]))
            return false;
        said |= fds[i].revents;
        fds[i].revents = 0;
    }
    return !said || guest_write(task, address, fds, size) == 0;
}

static bool futex_lasts(struct task *task)
{
    const struct user_regs_struct *regs = &task->regs;
    uint32_t word;

    return regs->rdi % sizeof word == 0 && guest_read(task, regs->rdi, &word, sizeof word) == 0 &&
           word == (uint32_t)regs->rdx;
}

bool hold_lasts(struct box *box, struct task *task)
{
    if (any_signal(task, 0) || any_signal(task, PTRACE_PEEKSIGINFO_SHARED))
        return false;
    switch (task->wait.number) {
    case SYS_poll:
        return poll_lasts(box, task);
    case SYS_futex:
        return futex_lasts(task);
    default:
        return epoll_lasts(box, task);
    }
}
