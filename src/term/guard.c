/* SPDX-License-Identifier: MIT */
#include "term/guard.h"
#include "base/buf.h"
#include "base/fd.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void report(int fd, int kind, int value)
{
    struct guard_report packet = {.kind = kind, .value = value};

    (void)send(fd, &packet, sizeof packet, MSG_NOSIGNAL);
}

/* Every child of ours, old or inherited. Killing one hands its children to us. */
static void kill_children(void)
{
    CLEANUP(buf_done) struct buf list = {0};
    char path[64];

    (void)snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    if (file_read(path, 1 << 20, &list, NULL) < 0)
        return;
    for (char *at = list.data, *end; at && *at; at = end) {
        long pid = strtol(at, &end, 10);
        if (end == at)
            break;
        if (pid > 1)
            (void)kill((pid_t)pid, SIGKILL);
    }
}

static void end_everything(void)
{
    do
        kill_children();
    while (waitpid(-1, NULL, __WALL) > 0 || errno == EINTR);
    _exit(0);
}

static void become_program(const char *const *argv, const char *const *envp, const char *directory,
                           int slave, const sigset_t *mask, int error_fd)
{
    for (int i = 1; i < NSIG; i++)
        (void)signal(i, SIG_DFL);
    bool ok = setsid() >= 0 && ioctl(slave, TIOCSCTTY, 0) == 0;
    for (int i = 0; i < 3; i++)
        ok = ok && dup2(slave, i) >= 0;
    ok = ok && (!directory || chdir(directory) == 0);
    if (ok) {
        (void)sigprocmask(SIG_SETMASK, mask, NULL);
        (void)syscall(SYS_close_range, 3, ~0u, CLOSE_RANGE_CLOEXEC);
        (void)execvpe(argv[0], (char **)argv, (char **)envp);
    }
    int error = errno;
    (void)!write(error_fd, &error, sizeof error);
    _exit(127);
}

static void guard_main(const char *const *argv, const char *const *envp, const char *directory,
                       int slave, int caller_fd, const sigset_t *mask, int fd)
{
    int errors[2], error = 0, status;
    sigset_t all;

    sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, NULL);
    (void)setsid(); /* no terminal of the caller's reaches it */
    (void)prctl(PR_SET_NAME, "vitro-guard");
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0 || pipe2(errors, O_CLOEXEC) < 0) {
        report(fd, GUARD_FAILED, errno);
        _exit(1);
    }
    pid_t program = fork();
    if (program == 0)
        become_program(argv, envp, directory, slave, mask, errors[1]);
    fd_close(errors[1]);
    if (program < 0 || read(errors[0], &error, sizeof error) == sizeof error) {
        report(fd, GUARD_FAILED, program < 0 ? errno : error);
        end_everything();
    }
    report(fd, GUARD_STARTED, 0);
    struct pollfd fds[3] = {
        {.fd = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK), .events = POLLIN},
        {.fd = fd, .events = POLLIN},
        {.fd = caller_fd, .events = POLLIN}};
    /* Nothing of the caller's stays open here. */
    for (int i = 0; i < 1024; i++)
        if (i != fds[0].fd && i != fd && i != caller_fd)
            (void)close(i);
    for (;;) {
        struct signalfd_siginfo info;
        (void)poll(fds, 3, -1);
        while (read(fds[0].fd, &info, sizeof info) > 0)
            ;
        for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG | __WALL)) > 0;)
            if (pid == program)
                report(fd, GUARD_EXITED, status);
        if (fds[1].revents || fds[2].revents)
            end_everything();
    }
}

int guard_start(const char *const *argv, const char *const *envp, const char *directory, int slave,
                struct guard *ret, struct err *err)
{
    int sockets[2];
    sigset_t mask;
    struct guard_report packet = {0};

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
        return err_set(err, -errno, "make a socket: %m");
    int caller = (int)syscall(SYS_pidfd_open, getpid(), 0);
    (void)sigprocmask(SIG_SETMASK, NULL, &mask);
    pid_t pid = fork();
    if (pid == 0) {
        fd_close(sockets[0]);
        guard_main(argv, envp, directory, slave, caller, &mask, sockets[1]);
    }
    fd_close(sockets[1]);
    fd_close(caller);
    *ret = (struct guard){pid, sockets[0]};
    if (pid < 0)
        return err_set(err, -errno, "fork: %m");
    ssize_t count = recv(ret->fd, &packet, sizeof packet, 0);
    if (count == sizeof packet && packet.kind == GUARD_STARTED)
        return 0;
    int error = count == sizeof packet ? packet.value : EIO;
    guard_stop(ret);
    return err_set(err, -error, "start '%s': %s", argv[0], strerror(error));
}

void guard_stop(struct guard *guard)
{
    guard->fd = fd_close(guard->fd);
    while (guard->pid > 0 && waitpid(guard->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    guard->pid = 0;
}
