/* SPDX-License-Identifier: MIT */
/* terminal: the pty of a box's program, and who reads it. */
#include "box/settle.h"
#include "box/box_internal.h"
#include "base/fd.h"
#include "base/fd_pass.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <termios.h>
#include <unistd.h>

static int send_ends(int socket, int master, int slave)
{
    int ends[3] = {master, slave, (int)syscall(SYS_pidfd_open, getpid(), 0)};
    int r = fd_send(socket, 't', ends, ARRAY_LENGTH(ends));

    fd_close(ends[2]);
    return r;
}

int terminal_make(struct box *box, struct err *err)
{
    const struct box_terminal *asked = box->options->terminal;
    struct winsize size = {.ws_row = asked->rows, .ws_col = asked->cols};
    struct termios modes;
    int unlocked = 0;

    CLEANUP(fd_close) int master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (master < 0) {
        err_set(err, -errno, "open a terminal ('/dev/ptmx' in the box): %m");
        return errno == ENOSPC ? err_hint(err, "all of the machine's terminals are in use; "
                                               "sysctl kernel.pty.max tells how many there are")
                               : err->code;
    }
    if (ioctl(master, TIOCSPTLCK, &unlocked) < 0)
        return err_set(err, -errno, "unlock the terminal: %m");
    int slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (slave < 0)
        return err_set(err, -errno, "open the terminal's other end: %m");
    box->terminal_fd = slave;
    if (tcgetattr(slave, &modes) == 0) {
        modes.c_iflag |= IUTF8;
        (void)tcsetattr(slave, TCSANOW, &modes);
    }
    if (ioctl(slave, TIOCSWINSZ, &size) < 0)
        return err_set(err, -errno, "set the terminal's size: %m");
    int r = send_ends(asked->socket, master, slave);
    return r < 0 ? err_set(err, r, "hand the terminal over: %s", strerror(-r)) : 0;
}

int terminal_take(struct box *box)
{
    for (int i = 0; i < 3; i++)
        if (dup2(box->terminal_fd, i) < 0)
            return -errno;
    if (setsid() < 0 || ioctl(0, TIOCSCTTY, 0) < 0)
        return -errno;
    (void)syscall(SYS_close_range, 3, ~0u, CLOSE_RANGE_CLOEXEC);
    return 0;
}

void terminal_seen(struct box *box)
{
    char path[48];

    (void)snprintf(path, sizeof path, "/proc/%d/fd/0", box->guest_pid);
    (void)stat(path, &box->outside);
}

/* ---- who reads it ------------------------------------------------------------------------- */

/* Is asked about each fd that a blocked task waits to read from; true ends the walk. */
typedef bool (*fd_question)(const struct box *box, const struct task *task, int fd);

static bool in_poll(const struct box *box, struct task *task, fd_question asks)
{
    const struct blocked_call *call = &task->blocked;
    struct pollfd fds[64];
    size_t count = call->args[1] < 64 ? (size_t)call->args[1] : 64;

    if (guest_read(task, call->args[0], fds, count * sizeof *fds) < 0)
        return false;
    for (size_t i = 0; i < count; i++)
        if (fds[i].fd >= 0 && fds[i].events & (POLLIN | POLLRDNORM) && asks(box, task, fds[i].fd))
            return true;
    return false;
}

static bool in_select(const struct box *box, struct task *task, fd_question asks)
{
    const struct blocked_call *call = &task->blocked;
    fd_set set;
    size_t count = call->args[0] < FD_SETSIZE ? (size_t)call->args[0] : FD_SETSIZE;

    FD_ZERO(&set);
    if (!call->args[1] || guest_read(task, call->args[1], &set, (count + 63) / 64 * 8) < 0)
        return false;
    for (int fd = 0; fd < (int)count; fd++)
        if (FD_ISSET(fd, &set) && asks(box, task, fd))
            return true;
    return false;
}

/* Lines "tfd:        0 events:       19 data: ..." */
static bool in_epoll(const struct box *box, struct task *task, fd_question asks)
{
    char path[64];
    CLEANUP(buf_done) struct buf info = {0};
    struct err err;

    (void)snprintf(path, sizeof path, "/proc/%d/fdinfo/%d", task->tid, (int)task->blocked.args[0]);
    if (file_read(path, 1 << 20, &info, &err) < 0)
        return false;
    for (const char *at = buf_text(&info); (at = strstr(at, "tfd:")); at++) {
        int fd = 0;
        unsigned events = 0;
        if (sscanf(at, "tfd: %d events: %x", &fd, &events) == 2 && events & EPOLLIN &&
            asks(box, task, fd))
            return true;
    }
    return false;
}

static bool task_waits(const struct box *box, struct task *task, fd_question asks)
{
    if (!task->process || task->state != TASK_RUNNING || !idle_blocked_call(task, &task->blocked))
        return false;
    switch (task->blocked.number) {
    case SYS_read:
    case SYS_readv:
    case SYS_pread64:
    case SYS_splice:
        return asks(box, task, (int)task->blocked.args[0]);
    case SYS_poll:
    case SYS_ppoll:
        return in_poll(box, task, asks);
    case SYS_select:
    case SYS_pselect6:
        return in_select(box, task, asks);
    case SYS_epoll_wait:
    case SYS_epoll_pwait:
    case SYS_epoll_pwait2:
        return in_epoll(box, task, asks);
    default:
        return false;
    }
}

static bool stat_fd(const struct task *task, int fd, struct stat *ret)
{
    char path[48];

    (void)snprintf(path, sizeof path, "/proc/%d/fd/%d", task->tid, fd);
    return stat(path, ret) == 0 && S_ISCHR(ret->st_mode);
}

static bool is_terminal(const struct box *box, const struct task *task, int fd)
{
    struct stat st;

    if (!stat_fd(task, fd, &st))
        return false;
    if (st.st_rdev == makedev(5, 0)) /* /dev/tty */
        return true;
    return st.st_dev == box->outside.st_dev && st.st_ino == box->outside.st_ino;
}

bool terminal_is_read(struct box *box)
{
    FOR_EACH_TASK(box, task)
    if (task_waits(box, task, is_terminal))
        return true;
    return false;
}

/* ---- what is under way -------------------------------------------------------------------- */

/* Polling an end of a pty that is empty waits for the kernel's worker that fills it. */
static bool flush_fd(const struct box *box, const struct task *task, int fd)
{
    struct stat st;
    unsigned major_number;

    (void)box;
    if (!stat_fd(task, fd, &st))
        return false;
    major_number = major(st.st_rdev);
    if (major_number != 5 && (major_number < 136 || major_number > 143))
        return false;
    CLEANUP(fd_close) int pidfd = (int)syscall(SYS_pidfd_open, task->process->pid, 0);
    CLEANUP(fd_close) int copy = pidfd < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, pidfd, fd, 0);
    if (copy >= 0)
        (void)poll(&(struct pollfd){.fd = copy, .events = POLLIN}, 1, 0);
    return false;
}

/* What was typed may be a signal for somebody who does not read: standard streams count as well. */
bool terminal_flush(struct box *box)
{
    if (!box->has_ptys && !settle_asked(box))
        return false;
    FOR_EACH_TASK(box, task)
    {
        (void)task_waits(box, task, flush_fd);
        for (int fd = 0; fd < 3 && task->process && task->tid == task->process->pid; fd++)
            (void)flush_fd(box, task, fd);
    }
    return true;
}
