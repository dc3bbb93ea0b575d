/* SPDX-License-Identifier: MIT */
#include "box/order.h"
#include "base/fd.h"
#include "lib/check.h"
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { CPUS_MAX = 1024 };
static int locks[CPUS_MAX];
static _Atomic pid_t waiting_tid;
static _Atomic int done;

/* All of them, but for those that other boxes have just now. */
static void lock_cpus(void)
{
    for (int cpu = 0; cpu < CPUS_MAX; cpu++) {
        char path[48];
        (void)snprintf(path, sizeof path, "/dev/shm/vitro-cpu-%d.lock", cpu);
        locks[cpu] = cpu < sysconf(_SC_NPROCESSORS_CONF)
                         ? open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666)
                         : -1;
        if (locks[cpu] >= 0)
            (void)flock(locks[cpu], LOCK_EX | LOCK_NB);
    }
}

static void unlock_cpus(void)
{
    for (int cpu = 0; cpu < CPUS_MAX; cpu++)
        fd_close(locks[cpu]);
}

static void *choose(void *argument)
{
    waiting_tid = (pid_t)syscall(SYS_gettid);
    order_choose(argument);
    done = 1;
    return NULL;
}

static bool sleeps(pid_t tid)
{
    char path[48], text[16] = "", number[16];

    (void)snprintf(path, sizeof path, "/proc/self/task/%d/syscall", tid);
    (void)snprintf(number, sizeof number, "%d ", SYS_clock_nanosleep);
    CLEANUP(fd_close) int fd = open(path, O_RDONLY | O_CLOEXEC);
    return fd >= 0 && read(fd, text, sizeof text - 1) > 0 &&
           strncmp(text, number, strlen(number)) == 0;
}

TEST(waiting_for_a_cpu_does_not_count_for_the_ceiling)
{
    const struct box_options options = {.wait_for_cpu = true};
    struct box_findings findings = {0};
    struct box box = {
        .options = &options, .findings = &findings, .cpu_lock = -1, .real_deadline_ns = 1000};
    pthread_t thread;

    lock_cpus();
    CHECK_INT(pthread_create(&thread, NULL, choose, &box), 0);
    while (!done && !(waiting_tid && sleeps(waiting_tid)))
        (void)sched_yield();
    bool waited = !done; /* where a box may have no real-time priority it does not wait */
    unlock_cpus();
    CHECK_INT(pthread_join(thread, NULL), 0);
    CHECK_TRUE(!waited || box.real_deadline_ns > 1000);
    fd_close(box.cpu_lock);
}
