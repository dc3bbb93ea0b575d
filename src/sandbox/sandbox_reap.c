/* SPDX-License-Identifier: MIT */
/* Finding and ending the processes of a sandbox. A process is ours when its environment holds the
 * mark of this very root (the path, and the directory it leads to: in a container or behind chroot
 * the same path is another place), or when it is a child of a caller who takes up all children; it
 * is held by a pidfd that was opened before it was looked at again, so what is killed is what was
 * looked at. A tmux server is known by its socket: the kernel says who listens there. No process is
 * ever looked for by its name. */
#include "sandbox/sandbox_internal.h"
#include "base/fd.h"
#include "base/text.h"
#include "base/wall.h"
#include "base/when.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PROC_FILE_MAX = 4 << 20, GRACE_SECONDS = 2, END_SECONDS = 10, EXEC_SECONDS = 1 };

static int pidfd_of(pid_t pid)
{
    return (int)syscall(SYS_pidfd_open, pid, 0);
}

/* A field of /proc/PID/stat, counted from 1 as in proc(5), from the third on; NULL: it is gone. */
static const char *stat_field(pid_t pid, int wanted, struct buf *text)
{
    CLEANUP(mem_free) char *path = mem_format("/proc/%d/stat", (int)pid);
    const char *at;

    if (file_read(path, PROC_FILE_MAX, text, NULL) < 0)
        return NULL;
    at = strrchr(buf_text(text), ')');
    for (int field = 2; at && field < wanted; field++)
        at = strchr(at + 1, ' ');
    return at ? at + 1 : NULL;
}

/* Zombies are nobody's any more. */
static bool is_child(pid_t pid)
{
    enum { STATE = 3 };
    CLEANUP(buf_done) struct buf text = {0};
    const char *at = stat_field(pid, STATE, &text);

    return at && *at != 'Z' && *at != 'X' && strtol(at + 1, NULL, 10) == getpid();
}

/* Whether an environment that reads as empty is: a process that executes meanwhile shows that of a
 * memory that is gone, or of one that is being filled, whose code has no place yet. Kernel threads
 * and zombies have no program, and after `env -i` the environment begins where it ends. */
static bool is_without_environment(pid_t pid)
{
    enum { START_CODE = 26, ENV_START = 50 };
    CLEANUP(mem_free) char *exe = mem_format("/proc/%d/exe", (int)pid);
    CLEANUP(buf_done) struct buf text = {0};
    char target[8], *end;

    if (readlink(exe, target, sizeof target) < 0)
        return true;
    const char *at = stat_field(pid, START_CODE, &text);
    if (!at)
        return true;
    bool filled = *at != '0';
    for (int i = START_CODE; at && i < ENV_START; i++)
        at = strchr(at + 1, ' ');
    if (!at)
        return true;
    unsigned long long env_start = strtoull(at, &end, 10), env_end = strtoull(end, NULL, 10);
    return filled && env_start && env_start == env_end;
}

static bool has_mark(pid_t pid, const char *mark, size_t length)
{
    CLEANUP(mem_free) char *path = mem_format("/proc/%d/environ", (int)pid);
    CLEANUP(buf_done) struct buf env = {0};
    uint64_t deadline_ns = 0;

    for (;;) {
        CLEANUP(fd_close) int fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0 || fd_read_all(fd, &env, PROC_FILE_MAX) < 0)
            return false;
        if (env.length || is_without_environment(pid))
            break;
        if (!deadline_ns)
            deadline_ns = wall_monotonic_ns() + EXEC_SECONDS * NS_PER_SEC;
        if (wall_monotonic_ns() > deadline_ns)
            return false;
        (void)sched_yield();
    }
    for (size_t at = 0; at < env.length; at += strlen(env.data + at) + 1)
        if (strncmp(env.data + at, mark, length) == 0 && env.data[at + length] == 0)
            return true;
    return false;
}

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Whether the path leads that process where it leads us, or the process has made a directory below
 * it its root. */
static bool has_same_place(pid_t pid, const char *root)
{
    CLEANUP(mem_free) char *its_root = mem_format("/proc/%d/root", (int)pid);
    CLEANUP(mem_free) char *its_place = mem_format("%s%s", its_root, root);
    char target[4096];
    struct stat own, its;

    if (stat(root, &own) < 0) /* half cleared away */
        return stat("/", &own) == 0 && stat(its_root, &its) == 0 && is_same(&own, &its);
    if (stat(its_place, &its) == 0 && is_same(&own, &its))
        return true;
    ssize_t length = readlink(its_root, target, sizeof target - 1);
    if (length <= 0)
        return false;
    target[length] = '\0';
    return text_starts(target, root);
}

static void read_command(pid_t pid, char *ret, size_t size)
{
    CLEANUP(mem_free) char *path = mem_format("/proc/%d/cmdline", (int)pid);
    CLEANUP(buf_done) struct buf line = {0};
    CLEANUP(fd_close) int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd >= 0)
        (void)fd_read_all(fd, &line, PROC_FILE_MAX);
    for (size_t i = 0; i + 1 < line.length; i++)
        if (line.data[i] == 0)
            line.data[i] = ' ';
    (void)snprintf(ret, size, "%s", line.length ? line.data : "?");
}

static bool is_ours(pid_t pid, const char *mark, bool children)
{
    if (has_mark(pid, mark, strlen(mark)))
        return has_same_place(pid, mark + strlen(SANDBOX_MARK));
    return children && is_child(pid);
}

size_t sandbox_find(const char *root, bool children, struct sandbox_process **ret)
{
    CLEANUP(mem_free) char *mark = mem_format(SANDBOX_MARK "%s", root);
    struct sandbox_process *found = NULL;
    struct dirent *entry;
    size_t count = 0;
    uint64_t pid;
    DIR *proc = opendir("/proc");

    while (proc && (entry = readdir(proc))) {
        if (!text_to_u64(entry->d_name, &pid) || (pid_t)pid == getpid() ||
            !is_ours((pid_t)pid, mark, children))
            continue;
        CLEANUP(fd_close) int fd = pidfd_of((pid_t)pid);
        if (fd < 0 || !is_ours((pid_t)pid, mark, children))
            continue;
        found = mem_grow(found, (count + 1) * sizeof *found);
        found[count] = (struct sandbox_process){.pid = (pid_t)pid, .fd = take_fd(&fd)};
        read_command((pid_t)pid, found[count].command, sizeof found[count].command);
        count++;
    }
    if (proc)
        (void)closedir(proc);
    *ret = found;
    return count;
}

void sandbox_found_free(struct sandbox_process *found, size_t count)
{
    for (size_t i = 0; i < count; i++)
        fd_close(found[i].fd);
    free(found);
}

/* Until the process is gone; a child of ours is reaped on the way. */
static bool await_end(int fd, uint64_t deadline_ns)
{
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    uint64_t now = wall_monotonic_ns();
    int left = now < deadline_ns ? (int)((deadline_ns - now) / NS_PER_MS) + 1 : 0;
    siginfo_t info;

    if (poll(&wait, 1, left) <= 0)
        return false;
    (void)waitid(P_PIDFD, (id_t)fd, &info, WEXITED | WNOHANG);
    return true;
}

size_t sandbox_find_lasting(const char *root, bool children, struct sandbox_process **ret)
{
    uint64_t deadline_ns = wall_monotonic_ns() + GRACE_SECONDS * NS_PER_SEC;
    struct sandbox_process *found;
    size_t count = sandbox_find(root, children, &found), kept = 0;

    for (size_t i = 0; i < count; i++)
        if (await_end(found[i].fd, deadline_ns)) {
            fd_close(found[i].fd);
        } else {
            found[kept] = found[i]; /* what it has become meanwhile */
            read_command(found[kept].pid, found[kept].command, sizeof found[kept].command);
            kept++;
        }
    *ret = found;
    return kept;
}

bool sandbox_kill_all(const char *root, bool children)
{
    uint64_t deadline_ns = wall_monotonic_ns() + END_SECONDS * NS_PER_SEC;
    struct sandbox_process *found;
    size_t count;
    bool ended = true;

    while (ended && (count = sandbox_find(root, children, &found)) > 0) {
        for (size_t i = 0; i < count; i++)
            (void)syscall(SYS_pidfd_send_signal, found[i].fd, SIGKILL, NULL, 0);
        for (size_t i = 0; i < count; i++)
            ended = await_end(found[i].fd, deadline_ns) && ended;
        sandbox_found_free(found, count);
    }
    free(count ? NULL : found);
    return ended;
}

/* Whoever listens at the socket, if it is one of ours and the inode did not change meanwhile. */
static int server_pidfd(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct stat before, after;
    struct ucred peer;
    socklen_t length = sizeof peer;
    CLEANUP(fd_close) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || strlen(path) >= sizeof address.sun_path || lstat(path, &before) < 0 ||
        !S_ISSOCK(before.st_mode) || before.st_uid != geteuid())
        return -1;
    memcpy(address.sun_path, path, strlen(path) + 1);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) < 0 ||
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) < 0 || peer.pid <= 1 ||
        peer.uid != geteuid() || lstat(path, &after) < 0 || after.st_ino != before.st_ino)
        return -1;
    return pidfd_of(peer.pid);
}

bool sandbox_kill_server(const char *path)
{
    CLEANUP(fd_close) int fd = server_pidfd(path);
    uint64_t now = wall_monotonic_ns();

    if (fd < 0)
        return true;                                            /* nobody listens */
    (void)syscall(SYS_pidfd_send_signal, fd, SIGTERM, NULL, 0); /* tmux ends its panes by it */
    if (await_end(fd, now + 2 * NS_PER_SEC))
        return true;
    (void)syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0);
    return await_end(fd, now + END_SECONDS * NS_PER_SEC);
}
