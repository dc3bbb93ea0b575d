/* SPDX-License-Identifier: MIT */
/* run: from options to findings. The supervisor is a child of the caller; what it found comes back
 * through a pipe. */
#include "box/box_internal.h"
#include "box/order.h"
#include "box/settle.h"
#include "base/fd.h"
#include "base/wall.h"
#include "base/when.h"
#include <dirent.h>
#include <errno.h>
#include <elf.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static const uint64_t DEFAULT_TIMEOUT_NS = 600 * NS_PER_SEC;
extern const char box_vdso_image[];

static void find_return_stubs(struct box *box)
{
    static const struct {
        int argument;
        const char *name;
    } stubs[] = {{2, "return_rdx"}, {3, "return_r10"}, {4, "return_r8"}};

    for (size_t i = 0; i < ARRAY_LENGTH(stubs); i++)
        box->return_stub[stubs[i].argument] = exec_vdso_symbol(box_vdso_image, stubs[i].name);
}

/* Pipes and sockets that guests may fill up; files and terminals never block for long. */
static void watch_output(struct box *box)
{
    struct stat st;

    for (int i = 0; i < 3; i++) {
        int fd = box->options->stdio[i] ? box->options->stdio[i] : i;
        box->stdout_poll[i] = -1;
        if (box->options->terminal)
            continue;
        if (i && fstat(fd, &st) == 0 && (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode)))
            box->stdout_poll[i] = fd;
        if (!i)
            (void)fstat(fd, &box->outside);
    }
}

static void allow_many_fds(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < 4096 &&
        limit.rlim_max > limit.rlim_cur) {
        limit.rlim_cur = limit.rlim_max < 4096 ? limit.rlim_max : 4096;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static void sum_up(struct box *box, struct box_findings *findings)
{
    findings->virtual_ns = (uint64_t)(vclock_now(&box->clock) - box->clock.start_monotonic_ns);
    findings->real_ns = wall_monotonic_ns() - box->real_started_ns;
    findings->jumps = box->clock.jumps;
    findings->ticks = box->clock.ticks;
    findings->stops = box->steps;
    findings->processes = box->processes_ever;
    findings->wait_status = box->main_status;
    findings->seed = box->options->seed;
}

static void failure_to_outcome(int r, const struct err *err, struct box_findings *findings)
{
    findings->outcome = r == -ENOENT || r == -ENOTDIR                   ? BOX_NOT_FOUND
                        : r == -EACCES || r == -ENOEXEC || r == -EISDIR ? BOX_NOT_EXECUTABLE
                                                                        : BOX_TROUBLE;
    (void)snprintf(findings->text, sizeof findings->text, "%s", err->text);
}

/* Reports before init has gone, which takes its time: the caller waits for our end. */
static int supervise(const struct box_options *options, const sigset_t *mask, int64_t asked_ns,
                     int report_fd)
{
    struct box_findings *findings = mem_alloc(sizeof *findings);
    struct box box = {.options = options,
                      .findings = findings,
                      .init_socket = -1,
                      .store_fd = -1,
                      .bare_fd = -1,
                      .cpu_lock = -1,
                      .wall_started_ns = asked_ns,
                      .caller_mask = *mask};
    struct err err = {0};

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    box.caller_fd = (int)syscall(SYS_pidfd_open, getppid(), 0);
    allow_many_fds();
    box.real_started_ns = wall_monotonic_ns();
    box.real_deadline_ns = box.real_started_ns + options->timeout_ns;
    find_return_stubs(&box);
    fast_init();
    watch_output(&box);
    int r = box_supervise(&box, &err);
    if (r < 0) {
        findings->outcome = BOX_TROUBLE;
        (void)snprintf(findings->text, sizeof findings->text, "%s", err.text);
    } else if (findings->outcome == BOX_EXITED && !box.program_started) {
        failure_to_outcome(spawn_failure(&box, &err), &err, findings);
    }
    sum_up(&box, findings);
    r = fd_write_full(report_fd, findings, sizeof *findings);
    box_leave(&box);
    return r;
}

/* /tmp is private and empty in a box. But a command line that names a file there means that file:
 * then the machine's /tmp is shown, and written to in memory like everything else. */
static bool names_tmp(const char *const *argv)
{
    for (; *argv; argv++)
        if (strncmp(*argv, "/tmp/", 5) == 0 && access(*argv, F_OK) == 0)
            return true;
    return false;
}

static struct box_options resolve(const struct box_options *given)
{
    struct box_options options = *given;

    options.seed = given->seed ? given->seed : 1;
    options.timeout_ns = given->timeout_ns ? given->timeout_ns : DEFAULT_TIMEOUT_NS;
    options.max_procs = given->max_procs ? given->max_procs : 4096;
    options.cpus = given->cpus ? given->cpus : 1;
    options.fs.share_tmp |= names_tmp(given->argv) ||
                            (given->path_first && strncmp(given->path_first, "/tmp/", 5) == 0);
    return options;
}

/* A supervisor takes turns with its guests, and theirs are long: to be heard at once it is lifted.
 */
static void lift(pid_t supervisor)
{
    struct sched_param param = {.sched_priority = 3};

    if (sched_getscheduler(supervisor) == SCHED_RR)
        (void)sched_setscheduler(supervisor, SCHED_RR, &param);
}

struct watch {
    pid_t supervisor;
    int report_fd, signal_fd;
    uint64_t deadline_ns; /* of the real clock */
    bool warned;
};

/* Waits for the report, passes signals on, and sees to the real-time ceiling. 0 when the report can
 * be read. */
static int watch_supervisor(struct watch *watch)
{
    for (;;) {
        struct pollfd fds[2] = {{.fd = watch->report_fd, .events = POLLIN},
                                {.fd = watch->signal_fd, .events = POLLIN}};
        struct signalfd_siginfo info;
        uint64_t now = wall_monotonic_ns();
        int64_t left_ms =
            now < watch->deadline_ns ? (int64_t)((watch->deadline_ns - now) / NS_PER_MS) + 1 : 0;
        int r = poll(fds, 2, left_ms > INT32_MAX ? INT32_MAX : (int)left_ms);
        if (r < 0 && errno != EINTR)
            return -errno;
        if (r > 0 && fds[0].revents)
            return 0;
        if (r > 0 && read(watch->signal_fd, &info, sizeof info) == sizeof info) {
            (void)kill(watch->supervisor, (int)info.ssi_signo);
            lift(watch->supervisor);
        }
        if (wall_monotonic_ns() < watch->deadline_ns)
            continue;
        if (watch->warned) {
            (void)kill(watch->supervisor, SIGKILL);
            return -ETIMEDOUT;
        }
        lift(watch->supervisor); /* it knows its deadline */
        watch->warned = true;
        watch->deadline_ns += 10 * NS_PER_SEC;
    }
}

static sigset_t forwarded_signals(void)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH};
    sigset_t set;

    sigemptyset(&set);
    for (size_t i = 0; i < ARRAY_LENGTH(signals); i++)
        sigaddset(&set, signals[i]);
    return set;
}

/* A supervisor does not exec: what the caller marked for closing then is closed here, so that its
 * pipes end when it says so. */
static void close_marked_fds(const struct box_options *options, int kept_fd)
{
    DIR *listing = opendir("/proc/self/fd");

    if (!listing)
        return;
    for (struct dirent *entry; (entry = readdir(listing));) {
        int fd = (int)strtol(entry->d_name, NULL, 10);
        bool kept = fd <= STDERR_FILENO || fd == kept_fd || fd == dirfd(listing);
        for (size_t i = 0; i < ARRAY_LENGTH(options->stdio); i++)
            kept |= fd == options->stdio[i];
        kept |= options->terminal && fd == options->terminal->socket;
        if (!kept && fcntl(fd, F_GETFD) & FD_CLOEXEC)
            (void)close(fd);
    }
    (void)closedir(listing);
}

/* `mask` is what guests start with. */
static int start(const struct box_options *options, const sigset_t *mask, bool library,
                 struct box_child *ret, struct err *err)
{
    const int64_t asked_ns = wall_now_ns();
    int pipes[2];

    if (pipe2(pipes, O_CLOEXEC) < 0)
        return err_set(err, -errno, "make a pipe: %m");
    CLEANUP(fd_close) int report_fd = pipes[0];
    CLEANUP(fd_close) int write_fd = pipes[1];
    pid_t pid = fork();
    if (pid == 0) {
        if (library) {
            sigset_t set = forwarded_signals();
            (void)sigprocmask(SIG_BLOCK, &set, NULL);
            close_marked_fds(options, write_fd);
        }
        _exit(supervise(options, mask, asked_ns, write_fd) < 0);
    }
    if (pid < 0)
        return err_set(err, -errno, "fork the supervisor: %m");
    *ret =
        (struct box_child){pid, take_fd(&report_fd),
                           wall_monotonic_ns() + options->timeout_ns + order_wait_max_ns(options)};
    return 0;
}

static int collect(struct box_child *child, int signal_fd, struct box_findings *ret,
                   struct err *err)
{
    struct watch watch = {child->supervisor, child->report_fd, signal_fd, child->deadline_ns,
                          false};
    int status = 0;

    int r = watch_supervisor(&watch);
    if (r == 0)
        r = fd_read_full(child->report_fd, ret, sizeof *ret);
    while (waitpid(child->supervisor, &status, 0) < 0 && errno == EINTR)
        ;
    child->supervisor = 0;
    child->report_fd = fd_close(child->report_fd);
    return r < 0 ? err_set(err, -EIO, "the supervisor ended without a word (status %#x)",
                           (unsigned)status)
                 : 0;
}

static int refuse_nested(struct err *err)
{
    if (!getenv("VITRO_BOX"))
        return 0;
    err_set(err, -EPERM, "this is the inside of a box, and a box cannot hold another");
    return err_hint(err, "run the inner program itself; everything in here is under glass already");
}

int box_spawn(const struct box_options *given, struct box_child *ret, struct err *err)
{
    struct box_options options = resolve(given);
    sigset_t mask;

    int r = refuse_nested(err);
    if (r < 0)
        return r;
    (void)pthread_sigmask(SIG_SETMASK, NULL, &mask);
    return start(&options, &mask, true, ret, err);
}

int box_wait(struct box_child *child, struct box_findings *ret, struct err *err)
{
    return collect(child, -1, ret, err);
}

void box_kill(const struct box_child *child)
{
    (void)kill(child->supervisor, SIGKILL);
    lift(child->supervisor);
}

int box_run(const struct box_options *given, struct box_findings *ret, struct err *err)
{
    struct box_options options = resolve(given);
    struct box_child child;
    sigset_t set = forwarded_signals(), old;

    int r = refuse_nested(err);
    if (r < 0)
        return r;
    (void)pthread_sigmask(SIG_BLOCK, &set, &old);
    CLEANUP(fd_close) int signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    r = start(&options, &old, false, &child, err);
    if (r == 0)
        r = collect(&child, signal_fd, ret, err);
    (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
    return r;
}

/* Whatever the program made of it: it did not run as recorded. */
static int proc_exit_code(const struct box_options *options, const struct proc_findings *findings)
{
    if (findings->troubles)
        return 125;
    if ((findings->misses && !options->proc.allow_miss) ||
        (findings->unused && !options->proc.allow_unused && !options->proc.keep_unused))
        return 122;
    return findings->differences ? 120 : 0;
}

int box_exit_code(const struct box_options *options, const struct box_findings *findings)
{
    int status = findings->wait_status;

    switch (findings->outcome) {
    case BOX_DEADLOCK:
        return 123;
    case BOX_CEILING:
        return 124;
    case BOX_TROUBLE:
        return 125;
    case BOX_REFUSED:
    case BOX_NOT_EXECUTABLE:
        return 126;
    case BOX_NOT_FOUND:
        return 127;
    case BOX_KILLED:
        return 128 + SIGINT;
    case BOX_EXITED:
        break;
    }
    int proc = proc_exit_code(options, &findings->proc);
    if (proc)
        return proc;
    if (WIFSIGNALED(status))
        return 128 + WTERMSIG(status);
    if (WEXITSTATUS(status))
        return WEXITSTATUS(status);
    uint64_t leaks = findings->leak_count - (options->allow_orphan && findings->orphans ? 1 : 0);
    return leaks && !options->allow_leak ? 121 : 0;
}
