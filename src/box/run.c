/* SPDX-License-Identifier: MIT */
/* run: from options to findings. The supervisor is a child of the caller; what it found comes back
 * through a pipe. */
#include "box/box_internal.h"
#include "base/fd.h"
#include "base/wall.h"
#include "base/when.h"
#include <errno.h>
#include <elf.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
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

    for (int fd = 0; fd < 3; fd++) {
        box->stdout_poll[fd] = -1;
        if (fd && fstat(fd, &st) == 0 && (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode)))
            box->stdout_poll[fd] = fd;
    }
    (void)fstat(STDIN_FILENO, &box->outside);
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
    findings->outcome = r == -ENOENT || r == -ENOTDIR ? BOX_NOT_FOUND
                        : r == -EACCES || r == -ENOEXEC || r == -EISDIR ? BOX_NOT_EXECUTABLE
                                                                          : BOX_TROUBLE;
    (void)snprintf(findings->text, sizeof findings->text, "%s", err->text);
}

static void supervise(const struct box_options *options, struct box_findings *findings)
{
    struct box box = {.options = options, .findings = findings, .init_socket = -1};
    struct err err = {0};

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    allow_many_fds();
    box.real_started_ns = wall_monotonic_ns();
    box.coarse_started_ns = wall_coarse_ns();
    box.real_deadline_ns = box.real_started_ns + options->timeout_ns;
    find_return_stubs(&box);
    watch_output(&box);
    int r = box_supervise(&box, &err);
    if (r < 0)
        failure_to_outcome(r, &err, findings);
    else if (findings->outcome == BOX_EXITED && !box.program_started)
        failure_to_outcome(spawn_failure(&box, &err), &err, findings);
    sum_up(&box, findings);
    free(box.deadlines.items);
}

static struct box_options resolve(const struct box_options *given)
{
    struct box_options options = *given;

    options.seed = given->seed ? given->seed : 1;
    options.timeout_ns = given->timeout_ns ? given->timeout_ns : DEFAULT_TIMEOUT_NS;
    options.max_procs = given->max_procs ? given->max_procs : 4096;
    options.cpus = given->cpus ? given->cpus : 1;
    return options;
}

int box_run(const struct box_options *given, struct box_findings *ret, struct err *err)
{
    struct box_options options = resolve(given);
    int pipes[2], status;

    if (pipe2(pipes, O_CLOEXEC) < 0)
        return err_set(err, -errno, "make a pipe: %m");
    pid_t pid = fork();
    if (pid < 0) {
        fd_close(pipes[0]);
        fd_close(pipes[1]);
        return err_set(err, -errno, "fork the supervisor: %m");
    }
    if (pid == 0) {
        struct box_findings *findings = mem_alloc(sizeof *findings);
        fd_close(pipes[0]);
        supervise(&options, findings);
        _exit(fd_write_full(pipes[1], findings, sizeof *findings) < 0);
    }
    fd_close(pipes[1]);
    int r = fd_read_full(pipes[0], ret, sizeof *ret);
    fd_close(pipes[0]);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (r < 0)
        return err_set(err, -EIO, "the supervisor ended without a word (status %#x)", (unsigned)status);
    return 0;
}

int box_exit_code(const struct box_options *options, const struct box_findings *findings)
{
    int status = findings->wait_status;

    switch (findings->outcome) {
    case BOX_DEADLOCK:
    case BOX_LIVELOCK: return 123;
    case BOX_CEILING: return 124;
    case BOX_TROUBLE: return 125;
    case BOX_REFUSED:
    case BOX_NOT_EXECUTABLE: return 126;
    case BOX_NOT_FOUND: return 127;
    case BOX_KILLED: return 128 + SIGINT;
    case BOX_EXITED: break;
    }
    if (WIFSIGNALED(status))
        return 128 + WTERMSIG(status);
    if (WEXITSTATUS(status))
        return WEXITSTATUS(status);
    return findings->leak_count && !options->allow_leak ? 121 : 0;
}
