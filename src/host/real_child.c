/* SPDX-License-Identifier: MIT */
/* A real program: pipes, a process group of its own, a pidfd. Timeouts are of real time, as the
 * program is. What is read may be read by one thread while another waits. */
#include "base/fd.h"
#include "base/wall.h"
#include "base/when.h"
#include "host/host_internal.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

struct real_child {
    vitro_child child; /* first */
    pthread_mutex_t lock;
    pid_t pid;
    int pid_fd, interrupt_fd; /* owned */
    int streams[3];           /* owned; -1: closed */
    char *name;               /* owned */
    bool ended;
    int exit_code, signal; /* when it has */
};

static struct real_child *of(vitro_child *child)
{
    return (struct real_child *)child;
}

/* ---- waiting */

/* Until fd is ready: 0. -ETIMEDOUT, -EINTR when interrupted. */
static int await(struct real_child *child, int fd, short events, int64_t timeout_ns)
{
    struct pollfd fds[2] = {{fd, events, 0}, {child->interrupt_fd, POLLIN, 0}};
    uint64_t start_ns = wall_monotonic_ns(), count;

    for (;;) {
        int64_t left_ns = timeout_ns - (int64_t)(wall_monotonic_ns() - start_ns);
        struct timespec left = {.tv_sec = (time_t)(left_ns / (int64_t)NS_PER_SEC),
                                .tv_nsec = (long)(left_ns % (int64_t)NS_PER_SEC)};
        if (left_ns < 0)
            left = (struct timespec){0};
        int ready = ppoll(fds, 2, timeout_ns < 0 ? NULL : &left, NULL);
        if (ready < 0 && errno != EINTR)
            return -errno;
        if (ready > 0 && fds[0].revents)
            return 0;
        if (ready > 0 && read(child->interrupt_fd, &count, sizeof count) > 0)
            return -EINTR;
        if (ready <= 0 && timeout_ns >= 0 &&
            (int64_t)(wall_monotonic_ns() - start_ns) >= timeout_ns)
            return -ETIMEDOUT;
    }
}

/* It stays a zombie until the handle is freed, so that its number is nobody else's. */
static void take_status(struct real_child *child)
{
    siginfo_t info = {0};

    (void)pthread_mutex_lock(&child->lock);
    while (!child->ended && waitid(P_PID, (id_t)child->pid, &info, WEXITED | WNOWAIT) < 0 &&
           errno == EINTR)
        ;
    if (!child->ended) {
        child->exit_code = info.si_code == CLD_EXITED ? info.si_status : -1;
        child->signal = info.si_code == CLD_EXITED ? 0 : info.si_status;
        child->ended = true;
    }
    (void)pthread_mutex_unlock(&child->lock);
}

static int child_wait(vitro_child *base, int64_t timeout_ns, struct vitro_child_end *ret,
                      struct vitro_host_error *error)
{
    struct real_child *child = of(base);
    int r = await(child, child->pid_fd, POLLIN, timeout_ns);

    *ret = (struct vitro_child_end){.exit_code = -1};
    if (r == -ETIMEDOUT || r == -EINTR) {
        ret->how = r == -EINTR ? VITRO_CHILD_INTERRUPTED : VITRO_CHILD_TIMED_OUT;
        return 0;
    }
    if (r < 0)
        return err_set(host_err(error), r, "wait for '%s': %s", child->name, strerror(-r));
    take_status(child);
    *ret = (struct vitro_child_end){
        .how = VITRO_CHILD_EXITED, .exit_code = child->exit_code, .signal = child->signal};
    return 0;
}

/* ---- streams */

static int child_write(vitro_child *base, const void *bytes, size_t length,
                       struct vitro_host_error *error)
{
    struct real_child *child = of(base);
    sigset_t set, old;
    int r = 0;

    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    (void)pthread_sigmask(SIG_BLOCK, &set, &old);
    if (child->streams[0] < 0)
        r = -EPIPE;
    else
        r = fd_write_full(child->streams[0], bytes, length);
    if (r == -EPIPE)
        (void)sigtimedwait(&set, NULL, &(struct timespec){0});
    (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
    return r < 0 ? err_set(host_err(error), r, "write to '%s': %s", child->name, strerror(-r)) : 0;
}

static int child_close_input(vitro_child *base)
{
    of(base)->streams[0] = fd_close(of(base)->streams[0]);
    return 0;
}

static int64_t child_read(vitro_child *base, int stream, void *bytes, size_t size,
                          int64_t timeout_ns, struct vitro_host_error *error)
{
    struct real_child *child = of(base);
    int r = await(child, child->streams[stream], POLLIN, timeout_ns);

    if (r < 0)
        return err_set(host_err(error), r, "read stream %d of '%s': %s", stream, child->name,
                       r == -ETIMEDOUT ? "nothing came in time"
                       : r == -EINTR   ? "interrupted"
                                       : strerror(-r));
    ssize_t count = read(child->streams[stream], bytes, size);
    return count >= 0 ? count
                      : err_set(host_err(error), -errno, "read stream %d of '%s': %m", stream,
                                child->name);
}

/* ---- ending it */

static int child_signal(vitro_child *base, int signal, struct vitro_host_error *error)
{
    struct real_child *child = of(base);

    bool ended = await(child, child->pid_fd, POLLIN, 0) == 0; /* a zombie takes signals, too */
    int r = ended ? -ESRCH : kill(child->pid, signal) < 0 ? -errno : 0;

    return r < 0 ? err_set(host_err(error), r, "signal %d to '%s': %s", signal, child->name,
                           strerror(-r))
                 : 0;
}

/* Its zombie keeps the number of the group ours. */
static void kill_group(struct real_child *child)
{
    (void)kill(-child->pid, SIGKILL);
}

static int child_kill(vitro_child *base, struct vitro_host_error *error)
{
    struct real_child *child = of(base);
    struct vitro_child_end end;
    char piece[4096];

    kill_group(child);
    int r = child_wait(base, VITRO_CHILD_FOREVER, &end, error);
    while (r == 0 && end.how == VITRO_CHILD_INTERRUPTED)
        r = child_wait(base, VITRO_CHILD_FOREVER, &end, error);
    for (int i = 1; r == 0 && i < 3; i++) /* who left the group may hold them: not for ever */
        while (await(child, child->streams[i], POLLIN, (int64_t)NS_PER_SEC) == 0 &&
               read(child->streams[i], piece, sizeof piece) > 0)
            ;
    return r;
}

static void child_interrupt(vitro_child *base)
{
    uint64_t one = 1;

    (void)!write(of(base)->interrupt_fd, &one, sizeof one);
}

/* Whether its outputs are still open: somebody of its group, or who left it, holds them. */
static bool is_held(struct real_child *child)
{
    struct pollfd fds[2] = {{child->streams[1], POLLIN, 0}, {child->streams[2], POLLIN, 0}};

    (void)poll(fds, 2, 0);
    return !(fds[0].revents & POLLHUP) || !(fds[1].revents & POLLHUP);
}

static int child_cleanup(vitro_child *base, char **ret_report, struct vitro_host_error *error)
{
    struct real_child *child = of(base);
    struct vitro_child_end end;
    bool ended = child_wait(base, 0, &end, error) == 0 && end.how == VITRO_CHILD_EXITED;
    bool held = ended && is_held(child);

    *ret_report = mem_dup("");
    int r = child_kill(base, error);
    if (!ended || held) {
        free(*ret_report);
        *ret_report = ended
                          ? mem_format("'%s' had ended, and its outputs were held open: its group "
                                       "was killed\n",
                                       child->name)
                          : mem_format("'%s' still ran: killed\n", child->name);
    }
    return r;
}

static void child_free(vitro_child *base)
{
    struct real_child *child = of(base);

    kill_group(child);
    while (waitpid(child->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    for (int i = 0; i < 3; i++)
        fd_close(child->streams[i]);
    fd_close(child->pid_fd);
    fd_close(child->interrupt_fd);
    (void)pthread_mutex_destroy(&child->lock);
    free(child->name);
    free(child);
}

static int child_pid(vitro_child *base)
{
    return of(base)->pid;
}

/* ---- starting it */

static int start(const struct vitro_process_call *call, const int theirs[3], pid_t *ret)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t set, none;

    if (posix_spawn_file_actions_init(&actions) != 0 || posix_spawnattr_init(&attributes) != 0)
        return -ENOMEM;
    for (int i = 0; i < 3; i++)
        (void)posix_spawn_file_actions_adddup2(&actions, theirs[i], i);
    if (call->directory)
        (void)posix_spawn_file_actions_addchdir_np(&actions, call->directory);
    sigemptyset(&none);
    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    (void)posix_spawnattr_setsigdefault(&attributes, &set);
    (void)posix_spawnattr_setsigmask(&attributes, &none);
    (void)posix_spawnattr_setpgroup(&attributes, 0);
    (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK |
                                                    POSIX_SPAWN_SETPGROUP);
    int r = posix_spawnp(ret, call->argv[0], &actions, &attributes, (char *const *)call->argv,
                         call->envp ? (char *const *)call->envp : environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)posix_spawnattr_destroy(&attributes);
    return -r;
}

/* Numbers above those of the streams, so that adddup2 cannot meet them. */
static int high(int fd)
{
    return fd_raise(fd, STDERR_FILENO + 1);
}

static int open_pipes(int ours[3], int theirs[3])
{
    for (int i = 0; i < 3; i++) {
        int ends[2];
        if (pipe2(ends, O_CLOEXEC) < 0)
            return -errno;
        ours[i] = high(ends[i == 0]);
        theirs[i] = high(ends[i != 0]);
    }
    return 0;
}

/* Input that is known beforehand is a file: nobody has to write while somebody has to read. */
static int input_file(const struct vitro_process_call *call, int ours[3], int theirs[3])
{
    int fd = high(memfd_create("input", MFD_CLOEXEC));
    int r = fd < 0 ? -errno : fd_write_full(fd, call->input, call->input_length);

    if (r == 0 && lseek(fd, 0, SEEK_SET) < 0)
        r = -errno;
    ours[0] = fd_close(ours[0]);
    fd_close(theirs[0]);
    theirs[0] = fd;
    return r;
}

int real_spawn(const struct vitro_process_call *call, vitro_child **ret, struct err *err)
{
    static const struct vitro_child_ops ops = {.pid = child_pid,
                                               .group = child_pid,
                                               .write = child_write,
                                               .close_input = child_close_input,
                                               .read = child_read,
                                               .wait = child_wait,
                                               .signal = child_signal,
                                               .kill = child_kill,
                                               .interrupt = child_interrupt,
                                               .cleanup = child_cleanup,
                                               .free = child_free};
    int ours[3] = {-1, -1, -1}, theirs[3] = {-1, -1, -1};
    pid_t pid = 0;
    int r = open_pipes(ours, theirs);

    if (r == 0 && call->input)
        r = input_file(call, ours, theirs);
    if (r == 0)
        r = start(call, theirs, &pid);
    for (int i = 0; i < 3; i++)
        fd_close(theirs[i]);
    if (r < 0) {
        for (int i = 0; i < 3; i++)
            fd_close(ours[i]);
        return err_set(err, r, "start '%s': %s", call->argv[0], strerror(-r));
    }
    struct real_child *child = mem_alloc(sizeof *child);
    *child = (struct real_child){.child = {&ops},
                                 .pid = pid,
                                 .pid_fd = (int)syscall(SYS_pidfd_open, pid, 0),
                                 .interrupt_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
                                 .streams = {ours[0], ours[1], ours[2]},
                                 .name = mem_dup(call->argv[0])};
    (void)pthread_mutex_init(&child->lock, NULL);
    if (child->pid_fd < 0 || child->interrupt_fd < 0) {
        child_free(&child->child);
        return err_set(err, -EMFILE, "start '%s': no descriptor for it", call->argv[0]);
    }
    *ret = &child->child;
    return 0;
}
