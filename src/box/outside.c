/* SPDX-License-Identifier: MIT */
/* outside: with the machine's own network, a guest that waits may wait for somebody outside, whose
 * time is real. While a guest has a connection, the clock does not jump ahead of real time: the
 * next deadline is due when as much real time has passed as it was away when all fell idle. */
#include "box/box_internal.h"
#include "base/fd.h"
#include "base/text.h"
#include "base/wall.h"
#include <dirent.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool is_connection(int fd)
{
    int domain = 0, type = 0;
    socklen_t length = sizeof domain;
    struct tcp_info info;

    if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &length) < 0 ||
        (domain != AF_INET && domain != AF_INET6))
        return false;
    length = sizeof type;
    (void)getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length);
    if (type != SOCK_STREAM)
        return true; /* an answer may come */
    length = sizeof info;
    return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) == 0 &&
           info.tcpi_state != TCP_CLOSE && info.tcpi_state != TCP_LISTEN;
}

static bool has_connection(const struct process *process)
{
    char path[64], target[32];
    bool found = false;

    (void)snprintf(path, sizeof path, "/proc/%d/fd", process->pid);
    DIR *listing = opendir(path);
    CLEANUP(fd_close) int pidfd = (int)syscall(SYS_pidfd_open, process->pid, 0);
    for (struct dirent *entry; listing && pidfd >= 0 && !found && (entry = readdir(listing));) {
        ssize_t length = readlinkat(dirfd(listing), entry->d_name, target, sizeof target - 1);
        if (length <= 0)
            continue;
        target[length] = '\0';
        if (!text_starts(target, "socket:"))
            continue;
        CLEANUP(fd_close)
        int fd = (int)syscall(SYS_pidfd_getfd, pidfd, (int)strtol(entry->d_name, NULL, 10), 0);
        found = fd >= 0 && is_connection(fd);
    }
    if (listing)
        (void)closedir(listing);
    return found;
}

bool outside_pending(struct box *box, const struct deadline *next)
{
    static const uint64_t NEVER = UINT64_MAX;
    bool any = false;

    if (!box->options->net_real)
        return false;
    uint64_t now = wall_monotonic_ns();
    if (box->outside_steps == box->steps) /* nobody moved since the last look */
        any = box->outside_since_ns != 0;
    else
        for (struct process *process = box->processes; process && !any; process = process->next)
            any = has_connection(process);
    if (!any || box->outside_steps != box->steps)
        box->outside_since_ns = any ? now : 0;
    box->outside_steps = box->steps;
    uint64_t away = next ? (uint64_t)(next->due_ns - vclock_now(&box->clock)) : NEVER;
    return any && now - box->outside_since_ns < away;
}
