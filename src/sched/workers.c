/* SPDX-License-Identifier: MIT */
/* Schedules spread over processes. Worker w of W runs the schedules whose number is w modulo W, and
 * stops when a lower number has failed: the failure with the lowest number is found whatever W is.
 * A worker that dies of a signal has written its decisions from the signal handler. */
#include "sched/explore.h"
#include "base/fd.h"
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PRINTS_MAX = 1 << 16 };

struct shared {              /* one for each worker, in memory all processes see */
    _Atomic uint64_t failed; /* number of its failing schedule; UINT64_MAX: none */
    uint64_t schedules, steps, distinct;
    uint64_t index; /* schedule in progress */
    int kind, result;
    uint64_t prints[PRINTS_MAX];
};

static int crash_fd = -1;
static struct shared *crash_shared;
static const struct core *crash_core;

static void write_decisions(int fd, const struct core *core)
{
    size_t left = core->decision_count * sizeof *core->decisions;
    const char *at = (const char *)core->decisions;

    (void)lseek(fd, 0, SEEK_SET);
    while (left) {
        ssize_t n = write(fd, at, left);
        if (n <= 0)
            return;
        at += n;
        left -= (size_t)n;
    }
}

static void on_crash(int signal)
{
    write_decisions(crash_fd, crash_core);
    crash_shared->kind = VITRO_CRASH;
    crash_shared->result = signal;
    atomic_store(&crash_shared->failed, crash_shared->index);
    _exit(0);
}

static struct decisions read_decisions(int fd)
{
    off_t size = lseek(fd, 0, SEEK_END);
    struct decisions decisions = {.count = (size_t)size / sizeof(struct core_decision)};

    decisions.list = mem_alloc((decisions.count + 1) * sizeof *decisions.list);
    if (decisions.count &&
        pread(fd, decisions.list, decisions.count * sizeof *decisions.list, 0) < 0)
        decisions.count = 0;
    return decisions;
}

static void work(struct session *s, struct decider *decider, unsigned me, struct shared *all,
                 int fd)
{
    struct shared *mine = &all[me];
    bool more;

    crash_fd = fd;
    crash_shared = mine;
    crash_core = &s->sched->core;
    fault_on_crash(on_crash);
    for (uint64_t i = me; i < s->options.schedules; i += s->options.workers) {
        bool late = false;
        for (unsigned w = 0; w < s->options.workers; w++)
            late |= atomic_load(&all[w].failed) < i;
        if (late)
            break;
        if (decider->seek)
            decider->seek(decider, i);
        mine->index = i;
        session_run(s, decider, &more);
        seen_add(&s->seen, s->last.fingerprint);
        mine->schedules++;
        if (mine->schedules <= PRINTS_MAX)
            mine->prints[mine->schedules - 1] = s->last.fingerprint;
        if (s->last.kind != VITRO_OK) {
            write_decisions(fd, &s->sched->core);
            mine->kind = (int)s->last.kind;
            mine->result = s->last.result;
            atomic_store(&mine->failed, i);
            break;
        }
    }
    mine->steps = s->steps;
    mine->distinct = s->seen.count;
    _exit(0);
}

static struct shared *share(unsigned workers)
{
    struct shared *all = mmap(NULL, workers * sizeof *all, PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (all == MAP_FAILED)
        return NULL;
    for (unsigned w = 0; w < workers; w++)
        atomic_store(&all[w].failed, UINT64_MAX);
    return all;
}

static void collect(struct session *s, const struct shared *all, const int *fds,
                    struct vitro_verdict *v, struct worker_failure *failure)
{
    uint64_t first = UINT64_MAX;

    for (unsigned w = 0; w < s->options.workers; w++) {
        uint64_t failed = atomic_load(&all[w].failed);
        v->schedules += all[w].schedules;
        s->steps += all[w].steps;
        for (uint64_t i = 0; i < all[w].schedules && i < PRINTS_MAX; i++)
            seen_add(&s->seen, all[w].prints[i]);
        if (failed >= first)
            continue;
        first = failed;
        decisions_done(&failure->decisions);
        *failure = (struct worker_failure){.index = failed,
                                           .decisions = read_decisions(fds[w]),
                                           .kind = (enum vitro_kind)all[w].kind,
                                           .result = all[w].result,
                                           .found = true};
    }
    if (failure->found)
        v->schedules = failure->index + 1; /* as if they had run one after the other */
}

int workers_run(struct session *s, struct decider *decider, struct vitro_verdict *v,
                struct worker_failure *failure)
{
    unsigned workers = s->options.workers;
    struct shared *all = share(workers);
    CLEANUP(mem_free) int *fds = mem_alloc(workers * sizeof *fds);
    CLEANUP(mem_free) pid_t *pids = mem_alloc(workers * sizeof *pids);

    if (!all)
        return -errno;
    (void)fflush(NULL);
    for (unsigned w = 0; w < workers; w++) {
        fds[w] = memfd_create("vitro-worker", MFD_CLOEXEC);
        pids[w] = fork();
        if (pids[w] == 0)
            work(s, decider, w, all, fds[w]);
    }
    for (unsigned w = 0; w < workers; w++) {
        int status = 0;
        if (pids[w] > 0 && waitpid(pids[w], &status, 0) > 0 && WIFSIGNALED(status)) {
            all[w].kind = VITRO_CRASH; /* killed from outside: no decisions */
            all[w].result = WTERMSIG(status);
            atomic_store(&all[w].failed, all[w].index);
        }
    }
    collect(s, all, fds, v, failure);
    s->last = (struct run){.kind = failure->kind, .result = failure->result};
    if (failure->found && failure->kind == VITRO_CRASH)
        s->last.error = mem_format("signal %d (%s)", failure->result, strsignal(failure->result));
    for (unsigned w = 0; w < workers; w++)
        fd_close(fds[w]);
    (void)munmap(all, workers * sizeof *all);
    return 0;
}

/* One list of decisions in a process of its own. */
int worker_child_run(struct session *s, const struct core_decision *decisions, size_t count,
                     struct run *ret)
{
    struct shared *all = share(1);
    int fd = memfd_create("vitro-worker", MFD_CLOEXEC);

    if (!all || fd < 0)
        return -errno;
    (void)fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
        (void)dup2(null, STDERR_FILENO);
        crash_fd = fd;
        crash_shared = all;
        crash_core = &s->sched->core;
        fault_on_crash(on_crash);
        session_play(s, decisions, count);
        all->kind = (int)s->last.kind;
        all->result = s->last.result;
        _exit(0);
    }
    int status = 0;
    (void)waitpid(pid, &status, 0);
    *ret = (struct run){.kind = (enum vitro_kind)all->kind, .result = all->result};
    fd_close(fd);
    (void)munmap(all, sizeof *all);
    return pid < 0 ? -EAGAIN : 0;
}
