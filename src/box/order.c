/* SPDX-License-Identifier: MIT */
/* Guests run until they block rather than in turns, so that threads which race do so the same way
 * each time, whatever else the machine does.
 *
 * Where it is permitted (root, CAP_SYS_NICE, RLIMIT_RTPRIO) they and the supervisor get a real-time
 * priority on one CPU: each runs until it blocks, in the order in which they became able to run.
 * The supervisor one step below its guests would run exactly when all of them wait, which is
 * tempting; but then a guest that spins for another, which is stopped and waits for the supervisor,
 * spins for ever. Such a box takes a CPU for itself, claimed by a lock so that no two share one,
 * and only from the upper half of the CPUs, so that the rest of the machine keeps the lower. Not
 * before Linux 6.12, where real-time tasks lose a twentieth of the CPU even if nobody else wants
 * it.
 *
 * Elsewhere, and when all such CPUs are taken, the box runs on a CPU of the lower half under
 * ordinary scheduling, where wake-ups are kept from preempting and slices are as long as the kernel
 * permits: everything is still right, but threads that race may race differently. */
#include "box/order.h"
#include "base/fd.h"
#include "base/wall.h"
#include "base/when.h"
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

enum { PRIORITY = 1, PRIORITY_INIT = 2, CPUS_MAX = 1024, WAIT_FOR_CPU_S = 20 };

static bool kernel_is_at_least(unsigned major, unsigned minor)
{
    struct utsname name;
    unsigned have_major = 0, have_minor = 0;

    if (uname(&name) < 0 || sscanf(name.release, "%u.%u", &have_major, &have_minor) != 2)
        return false;
    return have_major > major || (have_major == major && have_minor >= minor);
}

static bool set_realtime(int priority)
{
    struct sched_param param = {.sched_priority = priority};

    return sched_setscheduler(0, SCHED_RR, &param) == 0;
}

static void set_batch(void)
{
    struct {
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t runtime_ns, deadline_ns, period_ns;
    } attributes = {
        .size = sizeof attributes, .policy = SCHED_BATCH, .runtime_ns = 100 * NS_PER_MS};

    (void)syscall(SYS_sched_setattr, 0, &attributes, 0);
}

static void pin(pid_t pid, int cpu)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET((unsigned)cpu, &set);
    (void)sched_setaffinity(pid, sizeof set, &set);
}

/* The lock of a CPU, held as long as its fd is open; -1 if somebody else has it. */
static int claim(int cpu)
{
    char path[48];

    (void)snprintf(path, sizeof path, "/dev/shm/vitro-cpu-%d.lock", cpu);
    CLEANUP(fd_close) int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) {
        fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
        if (fd >= 0)
            (void)fchmod(fd, 0666); /* for boxes of other users as well */
    }
    if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0)
        return -1;
    return take_fd(&fd);
}

/* The CPUs this process may use, in order. */
static int allowed_cpus(int cpus[CPUS_MAX])
{
    cpu_set_t set;
    int count = 0;

    if (sched_getaffinity(0, sizeof set, &set) < 0)
        return 0;
    for (int cpu = 0; cpu < CPUS_MAX && cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET((unsigned)cpu, &set))
            cpus[count++] = cpu;
    return count;
}

/* A CPU of the upper half. */
static bool claim_any(struct box *box, const int *cpus, int count)
{
    for (int i = count - 1; i >= count / 2 && box->cpu_lock < 0; i--) {
        box->cpu = cpus[i];
        box->cpu_lock = claim(box->cpu);
    }
    return box->cpu_lock >= 0;
}

/* Whoever compares runs waits for a CPU, but not for ever: a server in another box may have it for
 * days. */
static bool wait_for_cpu(struct box *box, const int *cpus, int count)
{
    const struct timespec pause = {.tv_nsec = 5 * (long)NS_PER_MS};
    uint64_t deadline = wall_monotonic_ns() + WAIT_FOR_CPU_S * NS_PER_SEC;

    while (!claim_any(box, cpus, count)) {
        if (wall_monotonic_ns() > deadline) {
            box->findings->lacked_cpu = true;
            leak_note(box,
                      "other boxes had the CPUs that are for boxes alone, for %d s: this one went "
                      "on beside them, and threads that race may race differently",
                      WAIT_FOR_CPU_S);
            return false;
        }
        (void)nanosleep(&pause, NULL);
    }
    return true;
}

/* Claims one for a box of real-time tasks. The ceiling is for what runs in the box: waiting for a
 * CPU does not count. */
static bool claim_realtime_cpu(struct box *box, const int *cpus, int count)
{
    struct sched_param param = {0};

    if (count < 2 || !kernel_is_at_least(6, 12) || !set_realtime(PRIORITY))
        return false;
    (void)sched_setscheduler(0, SCHED_OTHER, &param); /* it was to see whether we may */
    if (claim_any(box, cpus, count))
        return true;
    if (!box->options->wait_for_cpu)
        return false;
    uint64_t began = wall_monotonic_ns();
    bool claimed = wait_for_cpu(box, cpus, count);
    box->real_deadline_ns += wall_monotonic_ns() - began;
    return claimed;
}

/* Where whoever is not a guest may run beside the box: never on a CPU that real-time boxes may have
 * claimed, which would keep it waiting for up to a second. */
static void note_elsewhere(struct box *box, const int *ordinary, int count)
{
    CPU_ZERO(&box->elsewhere);
    for (int i = 0; i < count; i++)
        if (ordinary[i] != box->cpu || count == 1)
            CPU_SET((unsigned)ordinary[i], &box->elsewhere);
}

void order_choose(struct box *box)
{
    static int cpus[CPUS_MAX];
    int count = allowed_cpus(cpus), here = sched_getcpu();
    int ordinary = count > 1 && kernel_is_at_least(6, 12) ? count / 2 : count;

    box->cpu = -1;
    if (box->options->cpus > 1 || !count)
        return;
    box->realtime = claim_realtime_cpu(box, cpus, count);
    if (!box->realtime)
        box->cpu = cpus[(here < 0 ? 0 : here) % ordinary];
    note_elsewhere(box, cpus, ordinary);
}

void order_beside(const struct box *box)
{
    if (box->cpu < 0)
        return;
    pin(box->init_pid, box->cpu);
    if (box->realtime)
        (void)set_realtime(PRIORITY); /* a box that starts is not to wait for those who compute */
    (void)sched_setaffinity(0, sizeof box->elsewhere, &box->elsewhere);
}

void order_supervisor(const struct box *box)
{
    if (box->cpu >= 0)
        pin(0, box->cpu);
    if (box->realtime)
        (void)set_realtime(PRIORITY);
}

void order_guests(const struct box *box)
{
    if (box->cpu >= 0)
        pin(0, box->cpu); /* the supervisor does so too, but perhaps later */
    if (box->realtime)
        (void)set_realtime(PRIORITY);
    else if (box->options->cpus <= 1)
        set_batch();
}

void order_init(const struct box *box)
{
    if (box->realtime)
        (void)set_realtime(PRIORITY_INIT);
}

void order_apart(const struct box *box)
{
    if (box->cpu >= 0)
        (void)sched_setaffinity(box->init_pid, sizeof box->elsewhere, &box->elsewhere);
}

void order_behind(const struct box *box, pid_t tid)
{
    struct sched_param param = {.sched_priority = PRIORITY};

    if (!box->realtime)
        return;
    (void)sched_setscheduler(tid, SCHED_OTHER, &(struct sched_param){0});
    (void)sched_setscheduler(tid, SCHED_RR, &param); /* a task whose priority rises is put last */
}

void order_watch(const struct box *box, bool above)
{
    if (box->realtime)
        (void)set_realtime(above ? PRIORITY_INIT : PRIORITY);
}

uint64_t order_wait_max_ns(const struct box_options *options)
{
    return options->wait_for_cpu ? WAIT_FOR_CPU_S * NS_PER_SEC : 0;
}

bool order_takes_turns(const struct box *box)
{
    struct sched_param param = {0};

    return box->realtime && sched_getparam(0, &param) == 0 && param.sched_priority == PRIORITY;
}
