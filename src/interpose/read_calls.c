/* SPDX-License-Identifier: MIT */
/* Calls that may block until somebody else does something: the thread stands aside meanwhile, so
 * that the clock need not wait for it. A socket's SO_RCVTIMEO is a time of the clock. */
#include "interpose/calls.h"
#include <fcntl.h>

/* 0: the real call will not block, or is to fail. Else an errno. */
static int await_input(const void *caller, int fd, int flags)
{
    struct lane *lane = lane_here(caller);
    struct vitro_clock *clock = lane ? lane_clock(lane) : NULL;
    struct pollfd one = {.fd = fd, .events = POLLIN};
    struct deadline until = no_deadline;
    struct timeval timeout = {0};
    socklen_t size = sizeof timeout;

    if (!clock || flags & MSG_DONTWAIT || REAL.poll(&one, 1, 0) != 0)
        return 0;
    int mode = fcntl(fd, F_GETFL);
    if (mode < 0 || mode & O_NONBLOCK)
        return 0;
    if (getsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, &size) == 0 &&
        (timeout.tv_sec || timeout.tv_usec)) {
        struct timespec time = {.tv_sec = timeout.tv_sec, .tv_nsec = timeout.tv_usec * 1000};
        until = deadline_after(ns_of(&time));
    }
    switch (wait_fds(lane, clock, &one, 1, &until, NULL)) {
    case WAITED_SIGNAL:
        return EINTR;
    case WAITED_TIME:
        return EAGAIN;
    case WAITED_READY:
        break;
    }
    return 0;
}

#define AFTER_INPUT(fd, flags, call)                                                               \
    do {                                                                                           \
        int code_ = await_input(caller, fd, flags);                                                \
        if (code_ == 0)                                                                            \
            return call;                                                                           \
        errno = code_;                                                                             \
        return -1;                                                                                 \
    } while (0)

ssize_t call_read(const void *caller, int fd, void *bytes, size_t size)
{
    AFTER_INPUT(fd, 0, REAL.read(fd, bytes, size));
}

ssize_t call_readv(const void *caller, int fd, const struct iovec *parts, int count)
{
    AFTER_INPUT(fd, 0, REAL.readv(fd, parts, count));
}

ssize_t call_recv(const void *caller, int fd, void *bytes, size_t size, int flags)
{
    AFTER_INPUT(fd, flags, REAL.recv(fd, bytes, size, flags));
}

ssize_t call_recvfrom(const void *caller, int fd, void *restrict bytes, size_t size, int flags,
                      __SOCKADDR_ARG from, socklen_t *restrict length)
{
    AFTER_INPUT(fd, flags, REAL.recvfrom(fd, bytes, size, flags, from, length));
}

ssize_t call_recvmsg(const void *caller, int fd, struct msghdr *message, int flags)
{
    AFTER_INPUT(fd, flags, REAL.recvmsg(fd, message, flags));
}

int call_accept(const void *caller, int fd, __SOCKADDR_ARG from, socklen_t *restrict length)
{
    AFTER_INPUT(fd, 0, REAL.accept(fd, from, length));
}

int call_accept4(const void *caller, int fd, __SOCKADDR_ARG from, socklen_t *restrict length,
                 int flags)
{
    AFTER_INPUT(fd, 0, REAL.accept4(fd, from, length, flags));
}

/* ---- streams: libc reads for itself, so the thread waits before it does. What is in the stream's
 * buffer is there already. More than one read in one call may still hold up the clock. */

static void await_stream(const void *caller, FILE *file)
{
    if (file && lane_here(caller) && file->_IO_read_ptr >= file->_IO_read_end && fileno(file) >= 0)
        (void)await_input(caller, fileno(file), 0);
}

char *call_fgets(const void *caller, char *restrict ret, int size, FILE *restrict file)
{
    await_stream(caller, file);
    return REAL.fgets(ret, size, file);
}

size_t call_fread(const void *caller, void *restrict ret, size_t size, size_t count,
                  FILE *restrict file)
{
    await_stream(caller, file);
    return REAL.fread(ret, size, count, file);
}

int call_fgetc(const void *caller, FILE *file)
{
    await_stream(caller, file);
    return REAL.fgetc(file);
}

int call_getc(const void *caller, FILE *file)
{
    return call_fgetc(caller, file);
}

ssize_t call_getdelim(const void *caller, char **restrict line, size_t *restrict size, int end,
                      FILE *restrict file)
{
    await_stream(caller, file);
    return REAL.getdelim(line, size, end, file);
}

ssize_t call_getline(const void *caller, char **restrict line, size_t *restrict size,
                     FILE *restrict file)
{
    return call_getdelim(caller, line, size, '\n', file);
}

/* ---- children: real processes in real time; the clock does not wait for them */

static struct lane *aside(const void *caller, int options)
{
    struct lane *lane = lane_here(caller);

    if (lane && !(options & WNOHANG))
        vitro_worker_idle_begin();
    else
        lane = NULL;
    return lane;
}

static void back(const struct lane *lane)
{
    if (lane)
        vitro_worker_idle_end();
}

pid_t call_wait4(const void *caller, pid_t pid, int *ret, int options, struct rusage *usage)
{
    struct lane *lane = aside(caller, options);
    pid_t r = REAL.wait4(pid, ret, options, usage);

    back(lane);
    return r;
}

pid_t call_waitpid(const void *caller, pid_t pid, int *ret, int options)
{
    return call_wait4(caller, pid, ret, options, NULL);
}

pid_t call_wait(const void *caller, int *ret)
{
    return call_wait4(caller, -1, ret, 0, NULL);
}

int call_waitid(const void *caller, idtype_t type, id_t id, siginfo_t *ret, int options)
{
    struct lane *lane = aside(caller, options);
    int r = REAL.waitid(type, id, ret, options);

    back(lane);
    return r;
}
