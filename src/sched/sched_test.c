/* SPDX-License-Identifier: MIT */
/* Tasks, time, driving by hand, work on lanes; and everything that is called wrongly. */
#include "sched/sched.h"
#include "sched/annotate.h"
#include "base/wall.h"
#include "lib/check.h"
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static void free_sched(vitro_sched **sched)
{
    *sched = vitro_sched_free(*sched);
}
#define SCHED(name, ...)                                                                           \
    __attribute__((cleanup(free_sched))) vitro_sched *name = vitro_sched_new(__VA_ARGS__)

struct log {
    char text[256];
    struct vitro_mutex mutex;
};
static void note(struct log *log, const char *word)
{
    if (strlen(log->text) + strlen(word) + 1 < sizeof log->text)
        strcat(log->text, word);
}

static int nothing(void *arg)
{
    (void)arg;
    return 0;
}
static int seven(void *arg)
{
    (void)arg;
    return 7;
}
static int sleep_ms(void *arg)
{
    return vitro_sleep(VITRO_MS((intptr_t)arg));
}

/* ---- tasks */

static int names(void *arg)
{
    struct log *log = arg;
    vitro_task *a = vitro_spawn(seven, NULL, .name = "left");
    vitro_task *b = vitro_spawn(seven, NULL);
    vitro_task *c = vitro_spawn(seven, NULL, .name = "left");

    note(log, vitro_name(NULL));
    note(log, " ");
    note(log, vitro_name(a));
    note(log, " ");
    note(log, vitro_name(b));
    note(log, " ");
    note(log, vitro_name(c));
    CHECK_INT(vitro_result(a), -EINPROGRESS);
    int sum = vitro_join(a) + vitro_join(b) + vitro_join(c);
    return sum;
}

TEST(names_are_paths_of_spawns_and_results_come_from_join)
{
    SCHED(sched);
    struct log log = {0};

    CHECK_INT(vitro_run(sched, names, &log), 21);
    CHECK_TEXT(log.text, "main main/left main/2 main/left#2");
}

static int catch_and_go_on(void *arg)
{
    int *caught = arg;

    while (*caught < 2)
        if (vitro_sleep(VITRO_SEC(100)) == -ECANCELED)
            ++*caught;
    return vitro_sleep(VITRO_MS(5)) == 0 ? 42 : -1;
}

static int cancel_twice(void *arg)
{
    vitro_task *t = vitro_spawn(catch_and_go_on, arg);

    vitro_sleep(VITRO_MS(1));
    vitro_cancel(t);
    vitro_sleep(VITRO_MS(1));
    vitro_cancel(t);
    return vitro_join(t);
}

TEST(a_task_may_catch_its_cancellation_and_go_on)
{
    SCHED(sched);
    int caught = 0;

    CHECK_INT(vitro_run(sched, cancel_twice, &caught), 42);
    CHECK_INT(vitro_now(sched), VITRO_MS(7));
}

static void leave(void *arg)
{
    note(arg, "cleanup ");
}
static int inner(void *arg)
{
    vitro_defer(leave, arg);

    return vitro_sleep(VITRO_SEC(1));
}
static int outer(void *arg)
{
    vitro_defer(leave, arg);
    struct vitro_call call = {inner, arg, "inner", 0};

    return vitro_join_all(&call, 1);
}
static int cancel_nested(void *arg)
{
    vitro_task *t = vitro_spawn(outer, arg);

    vitro_sleep(VITRO_MS(10));
    vitro_cancel(t);
    return vitro_join(t);
}

TEST(cancellation_goes_down_to_what_a_task_waits_for)
{
    SCHED(sched);
    struct log log = {0};

    CHECK_INT(vitro_run(sched, cancel_nested, &log), -ECANCELED);
    CHECK_TEXT(log.text, "cleanup cleanup ");
    CHECK_INT(vitro_now(sched), VITRO_MS(10));
}

static int leak_one(void *arg)
{
    (void)arg;
    (void)vitro_spawn(sleep_ms, (void *)(intptr_t)100, .name = "forgotten");
    return 0;
}
static int detach_one(void *arg)
{
    vitro_detach(vitro_spawn(inner, arg));
    (void)vitro_spawn(inner, arg, .detached = true);
    vitro_yield();
    return 0;
}

TEST(a_task_nobody_joins_is_a_leak_unless_it_is_detached)
{
    SCHED(sched);
    struct log log = {0};

    CHECK_INT(vitro_run(sched, leak_one, NULL), -EBUSY);
    CHECK_INT(vitro_kind(sched), VITRO_LEAK);
    CHECK_HAS(vitro_error(sched), "1 task was left running: 'main/forgotten'");
    CHECK_INT(vitro_run(sched, detach_one, &log), 0);
    CHECK_TEXT(log.text, "cleanup cleanup ");
}

static int refuses(void *arg)
{
    while (!arg)
        (void)vitro_sleep(VITRO_MS(1));
    return 0;
}
static int leave_stubborn(void *arg)
{
    (void)arg;
    (void)vitro_spawn(refuses, NULL, .detached = true, .name = "stubborn");
    return vitro_sleep(VITRO_MS(10));
}

TEST(a_cancelled_task_that_will_not_end_is_named)
{
    SCHED(sched);
    CHECK_INT(vitro_run(sched, leave_stubborn, NULL), -EBUSY);
    CHECK_INT(vitro_kind(sched), VITRO_UNFINISHED);
    CHECK_HAS(vitro_error(sched), "cancelled but would not end: 'main/stubborn'");
}

/* ---- time */

struct tick {
    struct log *log;
    const char *word;
    uint64_t ms;
};
static int tick_note(void *arg)
{
    struct tick *t = arg;

    vitro_sleep(VITRO_MS(t->ms));
    note(t->log, t->word);
    return 0;
}

TEST(advancing_stops_at_every_deadline_on_the_way)
{
    SCHED(sched);
    struct log log = {0};
    struct tick ticks[] = {
        {&log, "c30 ", 30}, {&log, "a10 ", 10}, {&log, "b20 ", 20}, {&log, "d20 ", 20}};
    struct vitro_pending p[8];

    for (int i = 0; i < 4; i++)
        (void)vitro_start(sched, tick_note, &ticks[i]);
    CHECK_INT(vitro_tick(sched), 4);
    CHECK_INT(vitro_pending(sched, p, 8), 4);
    CHECK_TRUE(p[0].timer && p[0].at_ns == VITRO_MS(10) && p[3].at_ns == VITRO_MS(30));
    CHECK_INT(vitro_next_event(sched, p), 1);
    CHECK_INT(p[0].at_ns, VITRO_MS(10));
    CHECK_INT(vitro_advance_to_next(sched), 1);
    CHECK_INT(vitro_now(sched), VITRO_MS(10));
    CHECK_TEXT(log.text, "a10 ");
    CHECK_INT(vitro_advance(sched, (int64_t)VITRO_MS(15)), 0);
    CHECK_TEXT(log.text, "a10 b20 d20 ");
    CHECK_INT(vitro_now(sched), VITRO_MS(25));
    CHECK_INT(vitro_advance_to(sched, VITRO_MS(30)), 0);
    CHECK_TEXT(log.text, "a10 b20 d20 c30 ");
    CHECK_INT(vitro_advance_to_next(sched), 0);
}

static int ties(void *arg)
{
    struct log *log = arg;
    struct tick t[] = {{log, "1", 5}, {log, "2", 5}, {log, "3", 5}};
    struct vitro_call calls[3];

    log->text[0] = 0;
    for (int i = 0; i < 3; i++)
        calls[i] = (struct vitro_call){tick_note, &t[i], NULL, 0};
    return vitro_join_all(calls, 3);
}

TEST(equal_deadlines_fire_in_arming_order_and_shuffled_with_a_seed)
{
    SCHED(fifo);
    struct log log = {0};
    bool seen[4] = {0};

    CHECK_INT(vitro_run(fifo, ties, &log), 0);
    CHECK_TEXT(log.text, "123");
    for (uint64_t seed = 1; seed <= 30; seed++) {
        SCHED(seeded, .seed = seed);
        CHECK_INT(vitro_run(seeded, ties, &log), 0);
        seen[log.text[0] - '0'] = true;
        char first[8];
        strcpy(first, log.text);
        SCHED(again, .seed = seed);
        CHECK_INT(vitro_run(again, ties, &log), 0);
        CHECK_TEXT(log.text, first);
    }
    CHECK_TRUE(seen[1] && seen[2] && seen[3]);
}

static int microtasks_between(void *arg)
{
    struct log *log = arg;

    vitro_sleep(VITRO_MS(5));
    note(log, "a");
    vitro_yield();
    note(log, "A");
    return 0;
}
static int two_at_once(void *arg)
{
    struct vitro_call calls[] = {{microtasks_between, arg, NULL, 0},
                                 {microtasks_between, arg, NULL, 0}};

    return vitro_join_all(calls, 2);
}

TEST(what_a_timer_woke_runs_to_its_next_wait_before_the_next_timer_fires)
{
    SCHED(sched);
    struct log log = {0};

    CHECK_INT(vitro_run(sched, two_at_once, &log), 0);
    CHECK_TEXT(log.text, "aAaA");
}

static int manual_scope(void *arg)
{
    bool before = vitro_auto_advance(NULL, false);
    vitro_task *t = vitro_spawn(sleep_ms, (void *)(intptr_t)1);

    vitro_yield();
    *(uint64_t *)arg = vitro_clock();
    (void)vitro_auto_advance(NULL, before);
    return vitro_join(t);
}

TEST(auto_advance_can_be_off_for_a_scope)
{
    SCHED(sched);
    uint64_t at = 1;

    CHECK_INT(vitro_run(sched, manual_scope, &at), 0);
    CHECK_INT(at, 0);
    CHECK_INT(vitro_now(sched), VITRO_MS(1));
}

static int beats(void *arg)
{
    struct vitro_ticker ticker = VITRO_TICKER(VITRO_MS(10));
    int64_t *got = arg;

    got[0] = vitro_ticker_wait(&ticker);
    vitro_busy(VITRO_MS(35));
    got[1] = vitro_ticker_wait(&ticker);
    got[2] = vitro_ticker_wait(&ticker);
    return 0;
}

TEST(a_ticker_counts_the_beats_it_missed)
{
    SCHED(sched);
    int64_t got[3];

    CHECK_INT(vitro_run(sched, beats, got), 0);
    CHECK_TRUE(got[0] == 1 && got[1] == 3 && got[2] == 1);
    CHECK_INT(vitro_now(sched), VITRO_MS(50));
}

static int busy_100(void *arg)
{
    (void)arg;
    return vitro_busy(VITRO_MS(100)) == 0 ? 1 : -1;
}
static int busy_beats_timeout(void *arg)
{
    (void)arg;
    return vitro_timeout(busy_100, NULL, VITRO_MS(50), 2);
}

TEST(a_computation_of_100_is_not_interrupted_by_a_timeout_of_50)
{
    SCHED(sched);
    CHECK_INT(vitro_run(sched, busy_beats_timeout, NULL), 1);
}

static int early(void *arg)
{
    vitro_task *t = vitro_spawn(sleep_ms, (void *)(intptr_t)1);

    for (int i = 0; i < 20 && !vitro_done(t); i++)
        vitro_yield();
    *(bool *)arg |= vitro_done(t);
    return vitro_join(t);
}

TEST(a_deadline_may_fire_while_tasks_could_go_on_when_asked_for)
{
    bool fired = false;

    for (uint64_t seed = 1; seed < 20; seed++) {
        SCHED(sched, .seed = seed, .early_timers = true);
        CHECK_INT(vitro_run(sched, early, &fired), 0);
    }
    CHECK_TRUE(fired);
}

/* ---- lanes */

struct piece {
    uint64_t ms, ended;
    enum vitro_lane lane;
};
static int do_piece(void *arg)
{
    struct piece *p = arg;
    int r = vitro_work(seven, NULL, .lane = p->lane, .duration_ns = VITRO_MS(p->ms));

    p->ended = vitro_clock();
    return r;
}
static int four_pieces(void *arg)
{
    struct piece *p = arg;
    struct vitro_call calls[4];

    for (int i = 0; i < 4; i++)
        calls[i] = (struct vitro_call){do_piece, &p[i], NULL, 0};
    return vitro_join_all(calls, 4);
}

TEST(four_pieces_of_100_on_two_cpu_slots_end_at_100_100_200_200)
{
    SCHED(sched, .cpu_slots = 2);
    struct piece p[4] = {
        {100, 0, VITRO_CPU}, {100, 0, VITRO_CPU}, {100, 0, VITRO_CPU}, {100, 0, VITRO_CPU}};

    CHECK_INT(vitro_run(sched, four_pieces, p), 0);
    CHECK_TRUE(p[0].ended == VITRO_MS(100) && p[1].ended == VITRO_MS(100));
    CHECK_TRUE(p[2].ended == VITRO_MS(200) && p[3].ended == VITRO_MS(200));
    for (int i = 0; i < 4; i++)
        p[i].lane = VITRO_BLK;
    SCHED(wide);
    CHECK_INT(vitro_run(wide, four_pieces, p), 0);
    CHECK_INT(p[3].ended, VITRO_MS(100));
}

static int timed_piece(void *arg)
{
    struct piece *p = arg;

    return vitro_timeout(do_piece, p, VITRO_MS(100), 1);
}

TEST(work_that_ends_at_the_instant_of_a_timeout_wins)
{
    SCHED(sched);
    struct piece p = {100, 0, VITRO_BLK};

    CHECK_INT(vitro_run(sched, timed_piece, &p), 7);
    p.ms = 101;
    CHECK_INT(vitro_run(sched, timed_piece, &p), 1);
    CHECK_INT(p.ended, vitro_now(sched));
}

static int interrupted_body(void *arg)
{
    int *seen = arg;

    seen[0] = vitro_interrupted();
    seen[1] = vitro_sleep(VITRO_MS(1));
    return 0;
}
static int work_it(void *arg)
{
    return vitro_work(interrupted_body, arg, .lane = VITRO_CPU, .duration_ns = 1);
}
static int hold_slot(void *arg)
{
    (void)arg;
    return vitro_work(seven, NULL, .lane = VITRO_CPU, .duration_ns = VITRO_MS(10));
}
static int cancel_before_it_ran(void *arg)
{
    vitro_task *holder = vitro_spawn(hold_slot, NULL);
    vitro_task *t = vitro_spawn(work_it, arg);

    vitro_sleep(VITRO_MS(5));
    vitro_cancel(t);
    int r = vitro_join(t);
    (void)vitro_join(holder);
    CHECK_TRUE(!vitro_interrupted());
    return r;
}

TEST(work_cancelled_before_it_began_runs_with_the_interrupt_mark_set)
{
    SCHED(sched, .cpu_slots = 1);
    int seen[2] = {0};

    CHECK_INT(vitro_run(sched, cancel_before_it_ran, seen), -ECANCELED);
    CHECK_INT(seen[0], 1);
    CHECK_INT(seen[1], -ECANCELED);
}

/* ---- real time: one that reads a pipe another writes, and work on a thread */

struct pipe_pair {
    int fds[2];
    pthread_t other;
};
static int write_byte(void *arg)
{
    struct pipe_pair *p = arg;

    p->other = pthread_self();
    return write(p->fds[1], "x", 1) == 1 ? 5 : -errno;
}
static int write_from_thread(void *arg)
{
    return vitro_work(write_byte, arg, .lane = VITRO_BLK);
}
static int read_from_thread(void *arg)
{
    struct pipe_pair *p = arg;
    vitro_task *writer = vitro_spawn(write_from_thread, p);
    int ready = vitro_fd_wait(p->fds[0], POLLIN);
    char c = 0;

    CHECK_TRUE(ready & POLLIN);
    CHECK_INT(read(p->fds[0], &c, 1), 1);
    CHECK_INT(vitro_join(writer), 5);
    CHECK_TRUE(!pthread_equal(p->other, pthread_self()));
    CHECK_TRUE(!vitro_deterministic());
    CHECK_INT(vitro_fd_wait_at(p->fds[0], POLLIN, vitro_clock() + 1000, NULL), -ETIMEDOUT);
    return vitro_sleep(1) == 0 ? 1 : -1;
}
static int fd_on_virtual_time(void *arg)
{
    (void)arg;
    return vitro_fd_wait(0, POLLIN);
}

TEST(the_same_tasks_run_on_real_time_with_fds_and_threads)
{
    struct pipe_pair p;

    CHECK_INT(pipe(p.fds), 0);
    CHECK_INT(vitro_runtime(read_from_thread, &p), 1);
    fd_close(p.fds[0]);
    fd_close(p.fds[1]);
    SCHED(sched);
    CHECK_INT(vitro_run(sched, fd_on_virtual_time, NULL), -EOPNOTSUPP);
}

/* ---- called wrongly */

TEST(stepping_an_unknown_task_names_those_that_can_go)
{
    SCHED(sched);
    (void)vitro_start(sched, nothing, NULL);
    CHECK_INT(vitro_step_task(sched, 99), -ENOENT);
    CHECK_TEXT(vitro_error(sched), "no task 99 can go on; these can: 1");
    CHECK_INT(vitro_step(sched), 1);
    CHECK_INT(vitro_step_task(sched, 1), -ENOENT);
    CHECK_HAS(vitro_error(sched), "these can: none");
    CHECK_INT(vitro_step(sched), 0);
}

static int beyond(void *arg)
{
    (void)arg;
    return vitro_sleep(UINT64_MAX);
}

TEST(time_does_not_go_back_nor_beyond_its_end)
{
    SCHED(sched, .start_ns = 1000);
    CHECK_INT(vitro_advance(sched, -1), -EINVAL);
    CHECK_HAS(vitro_error(sched), "time cannot go back by 1 ns");
    CHECK_INT(vitro_advance_to(sched, 999), -EINVAL);
    CHECK_INT(vitro_advance(sched, INT64_MAX), -ERANGE);
    CHECK_INT(vitro_advance_to(sched, UINT64_MAX), -ERANGE);
    CHECK_INT(vitro_run(sched, beyond, NULL), -ERANGE);
    CHECK_INT(vitro_now(sched), 1000);
}

TEST(waiting_outside_a_task_is_refused_with_the_place)
{
    struct vitro_mutex mutex = VITRO_MUTEX("m");

    CHECK_INT(vitro_lock_at(&mutex, VITRO_FOREVER, "here.c:3"), -EPERM);
    CHECK_TEXT(vitro_error(NULL), "lock at here.c:3: outside a task");
    CHECK_TRUE(vitro_spawn(nothing, NULL) == NULL);
}

TEST(freeing_a_scheduler_with_live_tasks_ends_them)
{
    struct log log = {0};
    vitro_sched *sched = vitro_sched_new();

    (void)vitro_start(sched, inner, &log);
    (void)vitro_step(sched);
    CHECK_TEXT(log.text, "");
    vitro_sched_free(sched);
    CHECK_TEXT(log.text, "cleanup ");
}

static int run_again(void *arg)
{
    return vitro_run((vitro_sched *)arg, nothing, NULL);
}
static int run_other(void *arg)
{
    SCHED(other);
    int r = vitro_run(other, sleep_ms, (void *)(intptr_t)50);

    (void)arg;
    vitro_sleep(VITRO_MS(1));
    return r == 0 && vitro_now(other) == VITRO_MS(50) ? 3 : -1;
}

TEST(a_run_inside_a_run_is_refused_but_another_scheduler_nests)
{
    SCHED(sched);
    CHECK_INT(vitro_run(sched, run_again, sched), -EPERM);
    CHECK_HAS(vitro_error(NULL), "run from inside a task of the same scheduler");
    CHECK_INT(vitro_run(sched, run_other, NULL), 3);
    CHECK_INT(vitro_now(sched), VITRO_MS(1));
}

struct other_thread {
    vitro_sched *sched;
    struct vitro_chan *mailbox;
    int result;
    char words[128];
};
static void *drive_it(void *arg)
{
    struct other_thread *o = arg;

    o->result = vitro_run(o->sched, nothing, NULL);
    (void)snprintf(o->words, sizeof o->words, "%s", vitro_error(NULL));
    return NULL;
}

TEST(a_scheduler_driven_from_two_threads_says_so)
{
    SCHED(sched);
    struct other_thread o = {.sched = sched};
    pthread_t thread;

    CHECK_INT(vitro_run(sched, nothing, NULL), 0);
    CHECK_INT(pthread_create(&thread, NULL, drive_it, &o), 0);
    CHECK_INT(pthread_join(thread, NULL), 0);
    CHECK_INT(o.result, -EPERM);
    CHECK_TEXT(o.words, "scheduler driven from two threads (run)");
}

static void *post_it(void *arg)
{
    struct other_thread *o = arg;

    o->result = vitro_post(o->mailbox, 1);
    (void)snprintf(o->words, sizeof o->words, "%s", vitro_error(NULL));
    return NULL;
}
static int foreign_callback(void *arg)
{
    struct other_thread *o = arg;
    struct vitro_chan mailbox = VITRO_MAILBOX("inbox");
    pthread_t thread;
    vitro_value value;

    vitro_post(&mailbox, 0);
    vitro_fetch(&mailbox, &value);
    o->mailbox = &mailbox;
    CHECK_INT(pthread_create(&thread, NULL, post_it, o), 0);
    CHECK_INT(pthread_join(thread, NULL), 0);
    int r = vitro_fetch(&mailbox, &value);
    vitro_chan_done(&mailbox);
    return r;
}

TEST(a_callback_from_a_foreign_thread_fails_the_run_by_name)
{
    SCHED(sched);
    struct other_thread o = {0};

    CHECK_INT(vitro_run(sched, foreign_callback, &o), -EPERM);
    CHECK_INT(vitro_kind(sched), VITRO_MISUSE);
    CHECK_TEXT(vitro_error(sched), "send was called from another thread than the scheduler's");
    CHECK_INT(o.result, -EPERM);
    CHECK_HAS(o.words, "'inbox' belongs to a scheduler of another thread");
}

static jmp_buf out;
static int jump_out(void *arg)
{
    (void)arg;
    longjmp(out, 1);
}

TEST(a_longjmp_out_of_a_task_spoils_that_scheduler_and_no_other)
{
    if (ANNOTATE_TSAN)
        SKIP("ThreadSanitizer itself refuses to jump from one stack to another");
    SCHED(next);
    vitro_sched *volatile spoilt = vitro_sched_new();

    if (setjmp(out) == 0)
        (void)vitro_run(spoilt, jump_out, NULL);
    CHECK_INT(vitro_run(next, seven, NULL), 7);
    CHECK_INT(vitro_run(spoilt, seven, NULL), -ENOTRECOVERABLE);
    CHECK_HAS(vitro_error(spoilt), "task 'main' was left by longjmp");
    vitro_sched_free(spoilt);
}

static int spawn_a_million(void *arg)
{
    enum { MILLION = 1000000 };
    CLEANUP(mem_free) vitro_task **tasks = mem_alloc(MILLION * sizeof(vitro_task *));
    int sum = 0;

    (void)arg;
    for (int i = 0; i < MILLION; i++)
        tasks[i] = vitro_spawn(seven, NULL);
    for (int i = 0; i < MILLION; i++)
        sum += vitro_join(tasks[i]);
    return sum / MILLION;
}
static int spawn_too_many(void *arg)
{
    (void)arg;
    for (int i = 0; i < 20; i++)
        (void)vitro_spawn(sleep_ms, (void *)(intptr_t)1, .detached = true);
    return vitro_sleep(VITRO_MS(2));
}

TEST(a_million_tasks_are_fine_and_more_than_allowed_are_refused)
{
    SCHED(sched);
    CHECK_INT(vitro_run(sched, spawn_a_million, NULL), 7);
    SCHED(small, .max_tasks = 10);
    CHECK_INT(vitro_run(small, spawn_too_many, NULL), -EIO);
    CHECK_TEXT(vitro_error(small), "more than 10 tasks are alive");
}

/* What a child process that runs fn writes to standard error before a signal ends it. */
static int dies_with(void (*fn)(void), char *text, size_t size)
{
    int fds[2], status;
    size_t got = 0;
    ssize_t n;

    CHECK_INT(pipe(fds), 0);
    (void)fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        static const int signals[] = {SIGSEGV, SIGBUS, SIGABRT, SIGILL};
        for (size_t i = 0; i < ARRAY_LENGTH(signals); i++)
            (void)signal(signals[i], SIG_DFL); /* the test runner would catch them */
        (void)dup2(fds[1], STDERR_FILENO);
        fn();
        _exit(0);
    }
    fd_close(fds[1]);
    while (got + 1 < size && (n = read(fds[0], text + got, size - 1 - got)) > 0)
        got += (size_t)n;
    text[got] = 0;
    fd_close(fds[0]);
    CHECK_INT(waitpid(pid, &status, 0), pid);
    return WIFSIGNALED(status) ? WTERMSIG(status) : -WEXITSTATUS(status);
}

__attribute__((noinline, optimize("no-optimize-sibling-calls"))) static int dig(volatile char *from,
                                                                                int depth)
{
    volatile char here[512];

    here[0] = from[0];
    return depth == 0 ? here[0] : dig(here, depth - 1) + here[0];
}
static int overflow(void *arg)
{
    volatile char top[2] = {0};

    (void)arg;
    return dig(top, 100000);
}
static int spawn_overflow(void *arg)
{
    (void)arg;
    return vitro_join(vitro_spawn(overflow, NULL, .name = "digger"));
}
static void run_overflow(void)
{
    vitro_sched *sched = vitro_sched_new();

    (void)vitro_run(sched, spawn_overflow, NULL);
}

TEST(a_task_that_runs_over_its_stack_is_named)
{
    char text[4096];

    CHECK_TRUE(dies_with(run_overflow, text, sizeof text) != 0);
    CHECK_HAS(text, "task 'main/digger' ran over its stack of");
}

static int unlock_unheld(void *arg)
{
    struct vitro_mutex mutex = VITRO_MUTEX("m");

    (void)arg;
    vitro_unlock_at(&mutex, "here.c:9");
    return 0;
}
static void run_unlock(void)
{
    (void)vitro_run(vitro_sched_new(), unlock_unheld, NULL);
}

TEST(unlocking_what_one_does_not_hold_ends_the_program_with_a_sentence)
{
    char text[4096];

    CHECK_INT(dies_with(run_unlock, text, sizeof text), SIGABRT);
    CHECK_HAS(text, "unlock at here.c:9: mutex 'm' is not held by task 'main'");
}

static int spin(void *arg)
{
    while (!arg)
        (void)vitro_yield();
    return 0;
}

TEST(a_run_that_takes_too_much_real_time_is_ended)
{
    SCHED(sched, .max_wall_ns = 1);
    CHECK_INT(vitro_run(sched, spin, NULL), -ETIMEDOUT);
    CHECK_INT(vitro_kind(sched), VITRO_WALL);
}

TEST(no_scheduler_and_no_function_are_told)
{
    struct vitro_pending pending;

    CHECK_TRUE(!vitro_sched_new(.schedule = "none"));
    CHECK_INT(vitro_run((vitro_sched *)NULL, NULL, NULL), -EINVAL);
    CHECK_HAS(vitro_error(NULL), "run: there is no scheduler");
    CHECK_INT(vitro_kind(NULL), VITRO_MISUSE);
    CHECK_TRUE(!vitro_start((vitro_sched *)NULL, NULL, NULL));
    CHECK_INT(vitro_step(NULL), -EINVAL);
    CHECK_INT(vitro_tick(NULL), -EINVAL);
    CHECK_INT(vitro_advance(NULL, 1), -EINVAL);
    CHECK_INT(vitro_advance_to(NULL, 1), -EINVAL);
    CHECK_INT(vitro_advance_to_next(NULL), -EINVAL);
    CHECK_INT(vitro_pending(NULL, &pending, 1), 0);
    CHECK_INT(vitro_next_tasks(NULL, &pending, 1), 0);
    vitro_sched *sched = vitro_sched_new();
    CHECK_INT(vitro_run(sched, NULL, NULL), -EINVAL);
    CHECK_TEXT(vitro_error(sched), "run: no function was given");
    CHECK_TRUE(!vitro_start(sched, NULL, NULL));
    vitro_sched_free(sched);
}
