/* SPDX-License-Identifier: MIT */
/* The parking lot, and signal handlers that come while a thread has its locks. */
#include "interpose/calls.h"
#include "lib/check.h"
#include "vitro/bench.h"
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#define START 1767225600 /* 2026-01-01T00:00:00Z */

static sem_t wanted;

static void on_signal(int number)
{
    (void)number;
    (void)sem_post(&wanted);
}

static void *wait_an_hour(void *arg)
{
    struct timespec until = {.tv_sec = START + 3600};

    *(int *)arg = sem_timedwait(&wanted, &until) < 0 ? errno : 0;
    return NULL;
}

/* The handler may not take the lot's locks, and what it wakes may not be lost. */
TEST(a_wake_from_a_handler_over_our_own_locks_comes_when_they_are_left)
{
    VITRO_BENCH bench =
        vitro_bench_activate((&(struct vitro_bench_options){.clock = "2026-01-01"}), NULL);
    void (*old)(int) = signal(SIGUSR2, on_signal);
    pthread_t thread;
    int code = -1;

    CHECK_INT(sem_init(&wanted, 0, 0), 0);
    CHECK_INT(pthread_create(&thread, NULL, wait_an_hour, &code), 0);
    (void)sleep(1); /* it waits: nothing else lets a second pass */
    inside_begin(lane_self());
    CHECK_INT(raise(SIGUSR2), 0);
    CHECK_TRUE(lane_self()->deferred);
    inside_end(lane_self());
    CHECK_TRUE(!lane_self()->deferred);
    CHECK_INT(pthread_join(thread, NULL), 0);
    CHECK_INT(code, 0);
    CHECK_INT(time(NULL), START + 1);
    (void)signal(SIGUSR2, old);
}

/* Called with the lot's lock for that very key. */
static int interrupted(void *arg)
{
    if ((*(int *)arg)++ == 0)
        (void)raise(SIGUSR2);
    return *(int *)arg == 1 || sem_trywait(&wanted) < 0 ? EBUSY : 0;
}

TEST(a_handler_may_wake_the_thread_that_it_interrupts_while_that_has_the_lock)
{
    VITRO_BENCH bench =
        vitro_bench_activate((&(struct vitro_bench_options){.clock = "2026-01-01"}), NULL);
    void (*old)(int) = signal(SIGUSR2, on_signal);
    struct deadline until = deadline_after(INT64_C(3600000000000));
    int tries = 0;

    CHECK_INT(sem_init(&wanted, 0, 0), 0);
    CHECK_INT(park(lane_self(), vitro_bench_clock(bench),
                   &(struct parking){&wanted, interrupted, NULL, &tries}, &until),
              0);
    CHECK_INT(tries, 2);
    CHECK_INT(time(NULL), START);
    (void)signal(SIGUSR2, old);
}

/* ---- barriers */

enum { THREADS = 4, ROUNDS = 300 };
static pthread_barrier_t together;
static time_t seen[THREADS][ROUNDS];

static void *meet(void *arg)
{
    int me = (int)(intptr_t)arg;

    for (int i = 0; i < ROUNDS; i++) {
        (void)sleep((unsigned)(1 + (me + i) % THREADS));
        (void)pthread_barrier_wait(&together);
        seen[me][i] = time(NULL);
    }
    return NULL;
}

TEST(who_was_freed_at_a_barrier_is_not_overtaken_by_the_clock)
{
    VITRO_BENCH bench =
        vitro_bench_activate((&(struct vitro_bench_options){.clock = "2026-01-01"}), NULL);
    pthread_t threads[THREADS];

    CHECK_INT(pthread_barrier_init(&together, NULL, THREADS), 0);
    for (intptr_t i = 0; i < THREADS; i++)
        CHECK_INT(pthread_create(&threads[i], NULL, meet, (void *)i), 0);
    for (int i = 0; i < THREADS; i++)
        CHECK_INT(pthread_join(threads[i], NULL), 0);
    for (int i = 0; i < ROUNDS; i++)
        for (int j = 0; j < THREADS; j++)
            CHECK_INT(seen[j][i], START + THREADS * (i + 1));
    CHECK_INT(pthread_barrier_destroy(&together), 0);
}

static void *meet_once(void *arg)
{
    (void)arg;
    (void)pthread_barrier_wait(&together);
    return NULL;
}

TEST(threads_of_no_bench_meet_at_the_same_barrier)
{
    pthread_t outside, inside;

    CHECK_INT(pthread_barrier_init(&together, NULL, 3), 0);
    CHECK_INT(pthread_create(&outside, NULL, meet_once, NULL), 0);
    VITRO_BENCH bench =
        vitro_bench_activate((&(struct vitro_bench_options){.clock = "2026-01-01"}), NULL);
    CHECK_INT(pthread_create(&inside, NULL, meet_once, NULL), 0);
    (void)meet_once(NULL);
    CHECK_INT(pthread_join(inside, NULL), 0);
    CHECK_INT(pthread_join(outside, NULL), 0);
    CHECK_INT(time(NULL), START);
}
