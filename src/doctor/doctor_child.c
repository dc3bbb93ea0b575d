/* SPDX-License-Identifier: MIT */
#include "base/fd.h"
#include "doctor/doctor.h"
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int write_proc(pid_t pid, const char *name, const char *text)
{
    CLEANUP(mem_free) char *path = mem_format("/proc/%d/%s", (int)pid, name);
    CLEANUP(fd_close) int fd = open(path, O_WRONLY | O_CLOEXEC);

    return fd < 0 || write(fd, text, strlen(text)) < 0 ? -errno : 0;
}

static int map_ids(pid_t pid, struct err *err)
{
    CLEANUP(mem_free) char *uid = mem_format("%u %u 1", (unsigned)geteuid(), (unsigned)geteuid());
    CLEANUP(mem_free) char *gid = mem_format("%u %u 1", (unsigned)getegid(), (unsigned)getegid());
    int r = write_proc(pid, "setgroups", "deny");

    if (r == 0)
        r = write_proc(pid, "uid_map", uid);
    if (r == 0)
        r = write_proc(pid, "gid_map", gid);
    return r < 0 ? err_set(err, r, "map ids: %s", strerror(-r)) : 0;
}

static void run_child(int socket, int (*try)(struct err *err))
{
    struct err err = {0};
    char go;

    if (read(socket, &go, 1) != 1)
        _exit(1);
    err.code = try(&err);
    _exit(fd_write_full(socket, &err, sizeof err) < 0);
}

int doctor_in_child(unsigned long flags, int (*try)(struct err *err), struct err *err)
{
    int pair[2], status;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return err_set(err, -errno, "socketpair: %m");
    CLEANUP(fd_close) int ours = pair[0];
    CLEANUP(fd_close) int theirs = pair[1];
    pid_t pid = (pid_t)syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0);
    if (pid < 0)
        return err_set(err, -errno, "clone: %m");
    if (pid == 0) {
        fd_close(take_fd(&ours));
        run_child(theirs, try);
    }
    theirs = fd_close(theirs);
    int r = flags & CLONE_NEWUSER ? map_ids(pid, err) : 0;
    struct err answer;
    if (r == 0 && write(ours, "g", 1) == 1) {
        r = fd_read_full(ours, &answer, sizeof answer);
        if (r == 0 && err)
            *err = answer;
        r = r < 0 ? err_set(err, -EIO, "the child died") : answer.code;
    }
    ours = fd_close(ours);
    if (waitpid(pid, &status, 0) == pid && WIFSIGNALED(status))
        return err_set(err, -EIO, "the child died of signal %d", WTERMSIG(status));
    return r;
}
