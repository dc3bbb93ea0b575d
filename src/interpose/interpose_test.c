/* SPDX-License-Identifier: MIT */
/* libc under a bench: time, sleeps, timeouts, and who sees what. The shims are linked into this
 * program. */
#include "lib/check.h"
#include "vitro/bench.h"
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#define START 1767225600 /* 2026-01-01T00:00:00Z */

static struct vitro_bench_error error;
static time_t before_main;

/* Runs before the shims have looked anything up. */
__attribute__((constructor(101))) static void early(void)
{
    before_main = time(NULL);
}

static vitro_bench *bench_at(const char *clock)
{
    vitro_bench *bench =
        vitro_bench_activate((&(struct vitro_bench_options){.clock = clock, .seed = 7}), &error);

    if (!bench)
        check_fail(__FILE__, __LINE__, "%s", error.text);
    return bench;
}

static long now(void)
{
    return (long)(time(NULL) - START);
}

TEST(every_way_to_ask_for_the_time_gives_the_same_answer)
{
    VITRO_BENCH bench = bench_at("2026-01-01T00:00:00Z");
    struct timespec spec;
    struct timeval val;

    CHECK_INT(vitro_interposed(), 1);
    CHECK_INT(time(NULL), START);
    CHECK_INT(gettimeofday(&val, NULL), 0);
    CHECK_INT(val.tv_sec, START);
    CHECK_INT(clock_gettime(CLOCK_REALTIME_COARSE, &spec), 0);
    CHECK_INT(spec.tv_sec, START);
    CHECK_INT(timespec_get(&spec, TIME_UTC), TIME_UTC);
    CHECK_INT(spec.tv_sec, START);
    CHECK_INT(syscall(SYS_clock_gettime, CLOCK_REALTIME, &spec), 0);
    CHECK_INT(spec.tv_sec, START);
    CHECK_INT(clock_getres(CLOCK_REALTIME, &spec), 0);
    CHECK_INT(spec.tv_nsec, 1);
    CHECK_INT(vitro_clock_now(NULL) / 1000000000, START);
}

TEST(without_a_bench_time_is_real)
{
    CHECK_TRUE(before_main > START);
    CHECK_TRUE(time(NULL) >= before_main);
    time_t real = time(NULL);
    {
        VITRO_BENCH bench = bench_at("2026-01-01");
        CHECK_INT(now(), 0);
    }
    CHECK_TRUE(time(NULL) - real < 3600);
}

TEST(a_plain_mock_pins_libc_too)
{
    struct vitro_clock *clock = vitro_clock_paused(&(struct vitro_paused_options){.jumps = 1});
    {
        VITRO_MOCK(clock);
        CHECK_INT(now(), 0);
        CHECK_INT(sleep(60), 0);
        CHECK_INT(now(), 60);
    }
    vitro_clock_free(clock);
}

TEST(every_sleep_takes_no_time_and_time_has_passed)
{
    VITRO_BENCH bench = bench_at("2026-01-01");
    struct timespec hour = {.tv_sec = 3600}, at;

    CHECK_INT(sleep(3600), 0);
    CHECK_INT(usleep(500000) | usleep(500000), 0);
    CHECK_INT(nanosleep(&hour, NULL), 0);
    CHECK_INT(thrd_sleep(&hour, NULL), 0);
    CHECK_INT(now(), 3 * 3600 + 1);
    (void)clock_gettime(CLOCK_MONOTONIC, &at);
    at.tv_sec += 9;
    CHECK_INT(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL), 0);
    CHECK_INT(now(), 3 * 3600 + 10);
    at = (struct timespec){.tv_sec = START + 20000};
    CHECK_INT(clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &at, NULL), 0);
    CHECK_INT(now(), 20000);
    at.tv_sec = START; /* has passed */
    CHECK_INT(clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &at, NULL), 0);
    CHECK_INT(now(), 20000);
    at = (struct timespec){.tv_nsec = -1};
    CHECK_INT(nanosleep(&at, NULL), -1);
    CHECK_INT(errno, EINVAL);
}

TEST(a_sleep_of_as_long_as_can_be_ends_at_the_end_of_time)
{
    VITRO_BENCH bench = bench_at("2026-01-01");
    struct timespec forever = {.tv_sec = INT64_MAX, .tv_nsec = 999999999};

    CHECK_INT(nanosleep(&forever, NULL), 0);
    CHECK_TRUE(time(NULL) > INT64_C(9223372030));
}

TEST(timeouts_of_poll_select_and_epoll_are_of_the_clock)
{
    VITRO_BENCH bench = bench_at("2026-01-01");
    struct epoll_event event = {.events = EPOLLIN};
    struct timeval second = {.tv_sec = 1};
    fd_set set;
    int pipes[2];

    CHECK_INT(pipe(pipes), 0);
    struct pollfd fd = {.fd = pipes[0], .events = POLLIN};
    CHECK_INT(poll(&fd, 1, 60000), 0);
    CHECK_INT(ppoll(&fd, 1, &(struct timespec){.tv_sec = 60}, NULL), 0);
    FD_ZERO(&set);
    FD_SET(pipes[0], &set);
    CHECK_INT(select(pipes[0] + 1, &set, NULL, NULL, &second), 0);
    CHECK_INT(second.tv_sec, 0);
    int epoll = epoll_create1(0);
    CHECK_INT(epoll_ctl(epoll, EPOLL_CTL_ADD, pipes[0], &event), 0);
    CHECK_INT(epoll_wait(epoll, &event, 1, 9000), 0);
    CHECK_INT(now(), 130);

    CHECK_INT(write(pipes[1], "x", 1), 1);
    CHECK_INT(poll(&fd, 1, 60000), 1);
    CHECK_INT(epoll_wait(epoll, &event, 1, 9000), 1);
    FD_SET(pipes[0], &set);
    second.tv_sec = 7;
    CHECK_INT(select(pipes[0] + 1, &set, NULL, NULL, &second), 1);
    CHECK_INT(second.tv_sec, 7);
    CHECK_INT(now(), 130); /* what is ready takes no time */
    (void)close(epoll);
    (void)close(pipes[0]);
    (void)close(pipes[1]);
}

TEST(a_receive_timeout_of_a_socket_is_of_the_clock)
{
    VITRO_BENCH bench = bench_at("2026-01-01");
    struct timeval minute = {.tv_sec = 60};
    int pair[2];
    char byte;

    CHECK_INT(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    CHECK_INT(setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &minute, sizeof minute), 0);
    CHECK_INT(recv(pair[0], &byte, 1, 0), -1);
    CHECK_INT(errno, EAGAIN);
    CHECK_INT(now(), 60);
    (void)close(pair[0]);
    (void)close(pair[1]);
}

/* ---- threads */

static struct {
    pthread_mutex_t lock;
    struct buf text;
} story = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void tell(const char *who)
{
    (void)pthread_mutex_lock(&story.lock);
    buf_addf(&story.text, "%s@%ld ", who, now());
    (void)pthread_mutex_unlock(&story.lock);
}

static void check_story(const char *wanted)
{
    CHECK_TEXT(buf_text(&story.text), wanted);
    buf_done(&story.text);
}

static void *tick(void *name)
{
    for (int i = 0; i < 3; i++) {
        (void)sleep(10);
        tell(name);
    }
    return NULL;
}

TEST(threads_that_any_code_starts_share_the_clock_and_wake_in_order)
{
    VITRO_BENCH bench = bench_at("2026-01-01");
    pthread_t a, b;

    CHECK_INT(pthread_create(&a, NULL, tick, "a"), 0);
    (void)sleep(5);
    CHECK_INT(pthread_create(&b, NULL, tick, "b"), 0);
    (void)sleep(12);
    tell("main");
    CHECK_INT(pthread_join(a, NULL), 0);
    tell("joined");
    CHECK_INT(pthread_join(b, NULL), 0);
    check_story("a@10 b@15 main@17 a@20 b@25 a@30 joined@30 b@35 ");
}

static atomic_int ticks;
static atomic_bool stop;
static int tick_forever(void *arg)
{
    (void)arg;
    while (!stop) {
        (void)sleep(60);
        ticks++;
    }
    return 5;
}

TEST(time_stands_while_a_thread_of_the_bench_runs)
{
    VITRO_BENCH bench = bench_at("2026-01-01");
    thrd_t thread;
    int result;

    ticks = 0;
    stop = false;
    CHECK_INT(thrd_create(&thread, tick_forever, NULL), thrd_success);
    for (int i = 0; i < 100000; i++)
        CHECK_INT(now(), 0);
    CHECK_INT(ticks, 0);
    (void)sleep(600);
    CHECK_TRUE(ticks == 9 || ticks == 10); /* the tenth is due now as well */
    stop = true;
    CHECK_INT(thrd_join(thread, &result), thrd_success);
    CHECK_INT(result, 5);
}

struct box {
    pthread_mutex_t lock;
    pthread_cond_t filled;
    sem_t sem;
    int value, fds[2];
};

static void *fill_later(void *arg)
{
    struct box *box = arg;

    (void)sleep(30);
    (void)pthread_mutex_lock(&box->lock);
    box->value = 1;
    (void)pthread_cond_signal(&box->filled);
    (void)sleep(5); /* and who was woken waits for the lock */
    (void)pthread_mutex_unlock(&box->lock);
    (void)sleep(10);
    (void)sem_post(&box->sem);
    (void)sleep(10);
    return write(box->fds[1], "x", 1) == 1 ? box : NULL;
}

TEST(waits_for_another_thread_end_when_it_acts)
{
    VITRO_BENCH bench = bench_at("2026-01-01");
    struct box box = {.lock = PTHREAD_MUTEX_INITIALIZER, .filled = PTHREAD_COND_INITIALIZER};
    struct timespec until = {.tv_sec = START + 3600};
    pthread_t thread;
    void *result;
    char byte;
    int r = 0;

    CHECK_INT(pipe(box.fds), 0);
    CHECK_INT(sem_init(&box.sem, 0, 0), 0);
    CHECK_INT(pthread_create(&thread, NULL, fill_later, &box), 0);
    (void)pthread_mutex_lock(&box.lock);
    while (!box.value && r == 0)
        r = pthread_cond_timedwait(&box.filled, &box.lock, &until);
    CHECK_INT(r, 0);
    CHECK_INT(now(), 35);
    (void)pthread_mutex_unlock(&box.lock);
    CHECK_INT(sem_timedwait(&box.sem, &until), 0);
    CHECK_INT(now(), 45);
    CHECK_INT(read(box.fds[0], &byte, 1), 1);
    CHECK_INT(now(), 55);
    CHECK_INT(pthread_join(thread, &result), 0);
    CHECK_TRUE(result == &box);
    CHECK_INT(sem_timedwait(&box.sem, &until), -1);
    CHECK_INT(errno, ETIMEDOUT);
    CHECK_INT(now(), 3600);
    (void)close(box.fds[0]);
    (void)close(box.fds[1]);
}

static int lend(void *arg)
{
    (void)sleep(20);
    (void)mtx_lock(arg);
    (void)cnd_broadcast((cnd_t *)((char *)arg + sizeof(mtx_t)));
    return mtx_unlock(arg);
}

TEST(locks_of_c11_are_the_same)
{
    VITRO_BENCH bench = bench_at("2026-01-01");
    struct {
        mtx_t lock;
        cnd_t given;
    } both;
    struct timespec until = {.tv_sec = START + 10};
    thrd_t thread;

    CHECK_INT(mtx_init(&both.lock, mtx_timed), thrd_success);
    CHECK_INT(cnd_init(&both.given), thrd_success);
    CHECK_INT(thrd_create(&thread, lend, &both), thrd_success);
    CHECK_INT(mtx_lock(&both.lock), thrd_success);
    CHECK_INT(cnd_timedwait(&both.given, &both.lock, &until), thrd_timedout);
    CHECK_INT(now(), 10);
    CHECK_INT(cnd_wait(&both.given, &both.lock), thrd_success);
    CHECK_INT(now(), 20);
    CHECK_INT(mtx_unlock(&both.lock), thrd_success);
    CHECK_INT(thrd_join(thread, NULL), thrd_success);
}

static void *write_later(void *arg)
{
    (void)sleep(50);
    return (void *)(intptr_t)write(*(int *)arg, "xx", 2);
}

/* fscanf reads for itself: nobody can see that the thread waits. */
TEST(a_call_that_is_not_interposed_holds_the_clock_up_for_a_moment_and_is_a_leak)
{
    vitro_bench *bench = bench_at("2026-01-01");
    struct vitro_bench_findings found;
    pthread_t thread;
    int pipes[2];
    char word[8] = "";

    CHECK_INT(pipe(pipes), 0);
    FILE *file = fdopen(pipes[0], "r");
    CHECK_INT(pthread_create(&thread, NULL, write_later, &pipes[1]), 0);
    CHECK_INT(fscanf(file, "%2s", word), 1);
    CHECK_TEXT(word, "xx");
    CHECK_INT(now(), 50);
    CHECK_INT(pthread_join(thread, NULL), 0);
    CHECK_INT(vitro_bench_finalize(bench, &found, &error), -EUCLEAN);
    CHECK_TEXT(found.leaks[0].capability, "clock/stalled");
    vitro_bench_findings_done(&found);
    (void)fclose(file);
    (void)close(pipes[1]);
}

static void *hold(void *arg)
{
    (void)pthread_mutex_lock(arg);
    (void)sleep(100);
    (void)pthread_mutex_unlock(arg);
    return NULL;
}

TEST(a_lock_that_is_held_through_a_sleep_is_awaited_in_virtual_time)
{
    VITRO_BENCH bench = bench_at("2026-01-01");
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    struct timespec until = {.tv_sec = START + 50};
    pthread_t thread;

    CHECK_INT(pthread_create(&thread, NULL, hold, &lock), 0);
    (void)sleep(1);
    CHECK_INT(pthread_mutex_timedlock(&lock, &until), ETIMEDOUT);
    CHECK_INT(now(), 50);
    CHECK_INT(pthread_mutex_lock(&lock), 0);
    CHECK_INT(now(), 100);
    CHECK_INT(pthread_mutex_unlock(&lock), 0);
    CHECK_INT(pthread_join(thread, NULL), 0);
}

TEST(a_manual_clock_moves_when_it_is_moved)
{
    VITRO_BENCH bench = bench_at("2026-01-01,manual");
    struct vitro_clock_error why;
    pthread_t thread;

    CHECK_INT(pthread_create(&thread, NULL, tick, "t"), 0);
    CHECK_INT(vitro_clock_advance(NULL, INT64_C(9999999999), &why), 0);
    check_story("");
    CHECK_INT(vitro_clock_advance(NULL, INT64_C(20000000001), &why), 3);
    CHECK_INT(pthread_join(thread, NULL), 0);
    check_story("t@10 t@20 t@30 ");
}

static void *see_real(void *arg)
{
    *(time_t *)arg = time(NULL);
    return NULL;
}

static void *wait_for_go(void *arg)
{
    sem_t *sems = arg;
    time_t seen;

    (void)sem_wait(&sems[0]);
    (void)see_real(&seen);
    (void)sem_post(&sems[1]);
    return (void *)(intptr_t)seen;
}

TEST(a_thread_from_before_sees_the_real_world)
{
    sem_t sems[2];
    pthread_t thread;
    void *seen;

    (void)sem_init(&sems[0], 0, 0);
    (void)sem_init(&sems[1], 0, 0);
    CHECK_INT(pthread_create(&thread, NULL, wait_for_go, sems), 0);
    {
        VITRO_BENCH bench = bench_at("2026-01-01");
        (void)sem_post(&sems[0]);
        CHECK_INT(sem_wait(&sems[1]), 0);
        CHECK_INT(now(), 0);
    }
    CHECK_INT(pthread_join(thread, &seen), 0);
    CHECK_TRUE((intptr_t)seen >= before_main);
}

static void *outlive(void *arg)
{
    (void)sleep(1000000);
    *(time_t *)arg = time(NULL);
    return NULL;
}

TEST(a_thread_that_outlives_its_bench_goes_on_in_the_real_world)
{
    vitro_bench *bench = bench_at("2026-01-01,manual");
    struct vitro_bench_findings found;
    pthread_t thread;
    time_t seen = 0;

    CHECK_INT(pthread_create(&thread, NULL, outlive, &seen), 0);
    CHECK_INT(vitro_clock_await_sleepers(NULL, 1, NULL), 0);
    CHECK_OK(vitro_bench_finalize(bench, &found, &error), error);
    CHECK_INT(found.threads, 1);
    vitro_bench_findings_done(&found);
    CHECK_INT(pthread_join(thread, NULL), 0);
    CHECK_TRUE(seen >= before_main);
}

/* ---- signals and timers */

static volatile sig_atomic_t rung;
static volatile long rung_at;

static void on_signal(int number)
{
    struct timespec at;

    (void)number;
    (void)clock_gettime(CLOCK_REALTIME, &at);
    rung_at = at.tv_sec - START;
    rung++;
}

TEST(alarms_ring_in_virtual_time_and_interrupt)
{
    VITRO_BENCH bench = bench_at("2026-01-01");
    struct sigaction action = {.sa_handler = on_signal}, old;
    struct itimerval every = {.it_value.tv_sec = 10, .it_interval.tv_sec = 10}, none = {0};
    char byte;
    int pipes[2];

    rung = 0;
    CHECK_INT(pipe(pipes), 0);
    CHECK_INT(sigaction(SIGALRM, &action, &old), 0);
    CHECK_INT(alarm(7), 0);
    CHECK_INT(sleep(20), 13);
    CHECK_INT(rung, 1);
    CHECK_INT(rung_at, 7);
    CHECK_INT(alarm(5), 0);
    CHECK_INT(alarm(3), 5);
    CHECK_INT(read(pipes[0], &byte, 1), -1);
    CHECK_INT(errno, EINTR);
    CHECK_INT(now(), 10);
    (void)alarm(1);
    CHECK_INT(pause(), -1);
    CHECK_INT(now(), 11);
    CHECK_INT(setitimer(ITIMER_REAL, &every, NULL), 0);
    for (int i = 1; i <= 5; i++)
        CHECK_INT(pause(), -1);
    CHECK_INT(rung_at, 61);
    CHECK_INT(setitimer(ITIMER_REAL, &none, &every), 0);
    CHECK_INT(every.it_interval.tv_sec, 10);
    CHECK_INT(sigaction(SIGALRM, &old, NULL), 0);
    (void)close(pipes[0]);
    (void)close(pipes[1]);
}

TEST(a_signal_that_is_waited_for_comes_in_virtual_time)
{
    VITRO_BENCH bench = bench_at("2026-01-01");
    sigset_t set, old;
    timer_t timer;
    siginfo_t info;

    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGUSR1);
    CHECK_INT(pthread_sigmask(SIG_BLOCK, &set, &old), 0);
    struct sigevent event = {
        .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1, .sigev_value.sival_int = 42};
    CHECK_INT(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
    struct itimerspec in = {.it_value.tv_sec = 90}, left;
    CHECK_INT(timer_settime(timer, 0, &in, NULL), 0);
    CHECK_INT(sigtimedwait(&set, &info, &(struct timespec){.tv_sec = 60}), -1);
    CHECK_INT(errno, EAGAIN);
    CHECK_INT(now(), 60);
    CHECK_INT(timer_gettime(timer, &left), 0);
    CHECK_INT(left.it_value.tv_sec, 30);
    CHECK_INT(sigwaitinfo(&set, &info), SIGUSR1);
    CHECK_INT(info.si_value.sival_int, 42);
    CHECK_INT(info.si_code, SI_TIMER);
    CHECK_INT(now(), 90);
    CHECK_INT(timer_delete(timer), 0);
    CHECK_INT(pthread_sigmask(SIG_SETMASK, &old, NULL), 0);
}

static atomic_long noticed_at;
static void notice(union sigval value)
{
    noticed_at = now() + value.sival_int;
}

TEST(a_timer_may_start_a_thread_which_is_one_of_the_bench)
{
    VITRO_BENCH bench = bench_at("2026-01-01");
    struct sigevent event = {.sigev_notify = SIGEV_THREAD,
                             .sigev_notify_function = notice,
                             .sigev_value.sival_int = 1000};
    struct itimerspec in = {.it_value.tv_sec = 90};
    timer_t timer;

    CHECK_INT(timer_create(CLOCK_REALTIME, &event, &timer), 0);
    CHECK_INT(timer_settime(timer, 0, &in, NULL), 0);
    (void)sleep(100);
    CHECK_INT(noticed_at, 1090);
    CHECK_INT(timer_delete(timer), 0);
}

TEST(a_timerfd_counts_virtual_expirations)
{
    VITRO_BENCH bench = bench_at("2026-01-01");
    int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    struct itimerspec every = {.it_value.tv_sec = 10, .it_interval.tv_sec = 10}, left;
    uint64_t count = 0;

    CHECK_TRUE(fd >= 0);
    CHECK_INT(timerfd_settime(fd, 0, &every, NULL), 0);
    CHECK_INT(read(fd, &count, sizeof count), 8);
    CHECK_INT(count, 1);
    CHECK_INT(now(), 10);
    (void)sleep(35);
    CHECK_INT(read(fd, &count, sizeof count), 8);
    CHECK_INT(count, 3);
    CHECK_INT(timerfd_gettime(fd, &left), 0);
    CHECK_INT(left.it_value.tv_sec, 5);
    CHECK_INT(close(fd), 0);
    (void)sleep(100);
}

TEST(a_signal_handler_may_ask_for_the_time)
{
    VITRO_BENCH bench = bench_at("2026-01-01T00:01:00Z");
    void (*old)(int) = signal(SIGUSR2, on_signal);

    rung = 0;
    CHECK_INT(raise(SIGUSR2), 0);
    CHECK_INT(rung, 1);
    CHECK_INT(rung_at, 60);
    (void)signal(SIGUSR2, old);
}

static sem_t posted, taken;

static void on_signal_post(int number)
{
    (void)number;
    (void)sem_post(&posted);
}

static void *poke(void *arg)
{
    for (int i = 0; i < 2000; i++) {
        (void)pthread_kill(*(pthread_t *)arg, SIGUSR2);
        (void)sem_wait(&taken);
    }
    return NULL;
}

/* It comes at any moment: while the thread waits, and while it is about to. */
TEST(a_signal_handler_may_post_the_semaphore_its_own_thread_waits_for)
{
    struct sigaction action = {.sa_handler = on_signal_post, .sa_flags = SA_RESTART}, old;
    pthread_t self = pthread_self(), thread;
    int count = 0;

    (void)sem_init(&posted, 0, 0);
    (void)sem_init(&taken, 0, 0);
    CHECK_INT(sigaction(SIGUSR2, &action, &old), 0);
    CHECK_INT(pthread_create(&thread, NULL, poke, &self), 0); /* of no bench */
    VITRO_BENCH bench = bench_at("2026-01-01");
    while (count < 2000) {
        while (sem_wait(&posted) < 0)
            CHECK_INT(errno, EINTR);
        count++;
        (void)sem_post(&taken);
    }
    CHECK_INT(now(), 0);
    CHECK_INT(pthread_join(thread, NULL), 0);
    CHECK_INT(sigaction(SIGUSR2, &old, NULL), 0);
}

/* ---- children */

TEST(a_child_has_the_clock_as_it_was)
{
    VITRO_BENCH bench = bench_at("2026-01-01");
    pthread_t thread;
    int status;

    stop = false;
    CHECK_INT(pthread_create(&thread, NULL, tick, "t"), 0); /* is not in the child */
    (void)sleep(1);
    pid_t pid = fork();
    if (pid == 0) {
        bool right = now() == 1 && sleep(600) == 0 && now() == 601;
        _exit(right ? 7 : 8);
    }
    CHECK_INT(waitpid(pid, &status, 0), pid);
    CHECK_INT(WEXITSTATUS(status), 7);
    CHECK_INT(pthread_join(thread, NULL), 0);
    CHECK_INT(now(), 30); /* the child's time is its own */
    buf_done(&story.text);
}

/* ---- chance and environment */

static void *draw(void *arg)
{
    (void)!getrandom(arg, 8, 0);
    return NULL;
}

TEST(equal_seeds_give_equal_chance_whatever_other_threads_draw)
{
    uint64_t seen[2][4];

    for (int i = 0; i < 2; i++) {
        VITRO_BENCH bench = bench_at("2026-01-01");
        pthread_t thread;
        CHECK_INT(getrandom(&seen[i][0], 8, 0), 8);
        CHECK_INT(pthread_create(&thread, NULL, draw, &seen[i][1]), 0);
        if (i)
            CHECK_INT(pthread_join(thread, NULL), 0);
        CHECK_INT(getentropy(&seen[i][2], 8), 0);
        if (!i)
            CHECK_INT(pthread_join(thread, NULL), 0);
        srand(3);
        seen[i][3] = (uint64_t)rand() << 32 | (uint64_t)random();
    }
    CHECK_TRUE(memcmp(seen[0], seen[1], sizeof seen[0]) == 0);
    CHECK_TRUE(seen[0][0] != seen[0][1] && seen[0][0] != seen[0][2]);
}

TEST(the_environment_is_the_benchs)
{
    static const char *const env[] = {"HOME=/nowhere", "LANG=C", NULL};
    const char *real = getenv("PATH");
    vitro_bench *bench = vitro_bench_activate((&(struct vitro_bench_options){.env = env}), &error);

    CHECK_TEXT(getenv("HOME"), "/nowhere");
    CHECK_TRUE(getenv("PATH") == NULL);
    CHECK_INT(setenv("PATH", "/bin", 1), 0);
    CHECK_INT(setenv("PATH", "/no", 0), 0);
    CHECK_TEXT(getenv("PATH"), "/bin");
    CHECK_INT(unsetenv("LANG"), 0);
    CHECK_TRUE(getenv("LANG") == NULL);
    CHECK_INT(clearenv(), 0);
    CHECK_TRUE(getenv("HOME") == NULL);
    vitro_bench_drop(bench);
    CHECK_TRUE(getenv("PATH") == real);
}
