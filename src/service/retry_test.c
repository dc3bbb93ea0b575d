/* SPDX-License-Identifier: MIT */
/* Retries on a clock that jumps, and ceilings in real time. */
#include "vitro/retry.h"
#include "lib/check.h"
#include "vitro/within.h"
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static struct vitro_clock_error error;
#define MS     INT64_C(1000000)
#define SECOND (1000 * MS)

static void check_waits(struct vitro_retry_options options, const char *wanted)
{
    CLEANUP(buf_done) struct buf found = {0};
    struct vitro_backoff backoff;

    CHECK_OK(vitro_backoff_init(&backoff, &options, &error), error);
    for (int round = 0; round < 2; round++) {
        buf_clear(&found);
        for (int i = 0; i < 6; i++)
            buf_addf(&found, "%lld ", (long long)(vitro_backoff_next(&backoff) / MS));
        CHECK_TEXT(buf_text(&found), wanted);
        vitro_backoff_reset(&backoff); /* the same again */
    }
}

TEST(waits_are_fixed_or_grow_up_to_the_greatest)
{
    check_waits((struct vitro_retry_options){0}, "100 200 400 800 1600 3200 ");
    check_waits((struct vitro_retry_options){.factor = 1, .first_ns = SECOND},
                "1000 1000 1000 1000 1000 1000 ");
    check_waits((struct vitro_retry_options){.factor = 10, .max_ns = 5 * SECOND},
                "100 1000 5000 5000 5000 5000 ");
    check_waits((struct vitro_retry_options){.first_ns = 90 * SECOND},
                "90000 90000 90000 90000 90000 90000 ");
    check_waits((struct vitro_retry_options){.first_ns = 9 * SECOND, .max_ns = SECOND},
                "1000 1000 1000 1000 1000 1000 ");
}

TEST(the_longest_times_there_are_do_not_overflow)
{
    struct vitro_retry_options options = {.first_ns = INT64_MAX, .factor = 1e300};
    struct vitro_backoff backoff;

    CHECK_OK(vitro_backoff_init(&backoff, &options, &error), error);
    CHECK_INT(vitro_backoff_next(&backoff), INT64_MAX);
    CHECK_INT(vitro_backoff_next(&backoff), INT64_MAX);
    options.jitter = VITRO_JITTER_FULL;
    CHECK_OK(vitro_backoff_init(&backoff, &options, &error), error);
    for (int i = 0; i < 100; i++)
        CHECK_TRUE(vitro_backoff_next(&backoff) >= 0);
}

TEST(jitter_comes_from_the_seed_and_keeps_its_bounds)
{
    static const struct {
        enum vitro_jitter jitter;
        double least, most; /* of the wait without jitter */
    } rows[] = {{VITRO_JITTER_FULL, 0, 1}, {VITRO_JITTER_EQUAL, 0.5, 1}};

    for (size_t row = 0; row < ARRAY_LENGTH(rows); row++) {
        struct vitro_retry_options options = {.first_ns = SECOND, .jitter = rows[row].jitter};
        struct vitro_backoff one, two, other, plain;
        int differ = 0, low = 0;
        options.seed = 1;
        CHECK_OK(vitro_backoff_init(&one, &options, &error), error);
        CHECK_OK(vitro_backoff_init(&two, &options, &error), error);
        options.seed = 2;
        CHECK_OK(vitro_backoff_init(&other, &options, &error), error);
        options.jitter = VITRO_JITTER_NONE;
        CHECK_OK(vitro_backoff_init(&plain, &options, &error), error);
        for (int i = 0; i < 200; i++) {
            int64_t wait = vitro_backoff_next(&one);
            double whole = (double)vitro_backoff_next(&plain);
            CHECK_INT(vitro_backoff_next(&two), wait);
            differ += vitro_backoff_next(&other) != wait;
            low += (double)wait < whole * (rows[row].least + 0.25);
            CHECK_TRUE((double)wait >= whole * rows[row].least - 1);
            CHECK_TRUE((double)wait <= whole * rows[row].most);
        }
        CHECK_TRUE(differ > 190);
        CHECK_TRUE(low > 20);
    }
}

TEST(decorrelated_jitter_goes_from_the_first_wait_to_three_times_the_last)
{
    struct vitro_retry_options options = {.first_ns = SECOND, .jitter = VITRO_JITTER_DECORRELATED};
    struct vitro_backoff backoff;
    int64_t last = SECOND;

    CHECK_OK(vitro_backoff_init(&backoff, &options, &error), error);
    CHECK_INT(vitro_backoff_next(&backoff), SECOND);
    for (int i = 0; i < 1000; i++) {
        int64_t wait = vitro_backoff_next(&backoff);
        CHECK_TRUE(wait >= SECOND && wait <= 3 * last && wait <= 60 * SECOND);
        last = wait;
    }
}

TEST(options_that_make_no_sense_are_refused)
{
    struct vitro_backoff backoff;

    CHECK_INT(vitro_backoff_init(&backoff, &(struct vitro_retry_options){.first_ns = -1}, &error),
              -EINVAL);
    CHECK_HAS(error.text, "a time is negative");
    CHECK_INT(vitro_backoff_init(&backoff, &(struct vitro_retry_options){.factor = 0.5}, &error),
              -EINVAL);
    CHECK_HAS(error.text, "a factor of 0.5\nhint: 1 is a fixed wait");
    CHECK_INT(vitro_backoff_init(&backoff, &(struct vitro_retry_options){.factor = NAN}, &error),
              -EINVAL);
    CHECK_INT(vitro_backoff_init(&backoff, &(struct vitro_retry_options){.jitter = 9}, &error),
              -EINVAL);
}

/* ---- trying */

struct request {
    int fails, result; /* so often, so */
    int tried;
};

static int attempt(void *arg, uint32_t number)
{
    struct request *request = arg;

    CHECK_INT(number, ++request->tried);
    return request->tried <= request->fails ? request->result : 42;
}

static int is_refusal(void *arg, int result)
{
    (void)arg;
    return result == -EACCES;
}

static struct vitro_clock *jumping(void)
{
    return vitro_clock_paused(&(struct vitro_paused_options){.jumps = 1});
}

TEST(a_try_that_succeeds_after_a_day_takes_no_time)
{
    struct vitro_clock *clock = jumping();
    struct request request = {.fails = 20, .result = -EAGAIN};
    struct vitro_retry_options options = {.first_ns = 3600 * SECOND, .factor = 1};

    CHECK_INT(vitro_retry("fetch", clock, &options, attempt, &request, &error), 42);
    CHECK_INT(request.tried, 21);
    CHECK_INT(vitro_clock_monotonic(clock), 20 * 3600 * SECOND);
    vitro_clock_free(clock);
}

TEST(enough_is_said_with_number_time_and_reason)
{
    struct vitro_clock *clock = jumping();
    struct request request = {.fails = 99, .result = -ECONNREFUSED};
    struct vitro_retry_options options = {.first_ns = SECOND, .tries_max = 3};

    CHECK_INT(vitro_retry("fetch", clock, &options, attempt, &request, &error), -ECONNREFUSED);
    CHECK_TEXT(error.text, "fetch: try 3 gave -111 (Connection refused), 00:00:03 after the first; "
                           "no more are allowed");
    request.tried = 0;
    options = (struct vitro_retry_options){.first_ns = SECOND, .elapsed_max_ns = 10 * SECOND};
    CHECK_INT(vitro_retry("fetch", clock, &options, attempt, &request, &error), -ECONNREFUSED);
    CHECK_HAS(error.text, "try 4 gave -111 (Connection refused), 00:00:07 after the first; the "
                          "next would come too late");
    request = (struct request){.fails = 99, .result = -EACCES};
    options = (struct vitro_retry_options){.is_final = is_refusal};
    CHECK_INT(vitro_retry("fetch", clock, &options, attempt, &request, &error), -EACCES);
    CHECK_HAS(error.text, "try 1 gave -13 (Permission denied), 00:00:00 after the first; this one "
                          "is final");
    vitro_clock_stop(clock);
    request = (struct request){.fails = 99, .result = -EAGAIN};
    CHECK_INT(vitro_retry(NULL, clock, NULL, attempt, &request, &error), -ECANCELED);
    CHECK_HAS(error.text, "the clock was stopped before the next");
    CHECK_INT(vitro_retry(NULL, clock, &(struct vitro_retry_options){.max_ns = -1}, attempt,
                          &request, &error),
              -EINVAL);
    vitro_clock_free(clock);
}

TEST(failed_tries_are_events)
{
    struct vitro_clock *clock = jumping();
    vitro_eventlog *log = vitro_eventlog_memory();
    struct request request = {.fails = 2, .result = -EAGAIN};
    struct vitro_event_list list;

    CHECK_INT(vitro_retry("fetch", clock, &(struct vitro_retry_options){.log = log}, attempt,
                          &request, &error),
              42);
    CHECK_INT(vitro_eventlog_read(log, "retry", 0, 0, &list, NULL), 2);
    CHECK_TEXT(list.events[1].kind, "failed");
    CHECK_TEXT(list.events[1].data, "fetch: try 2 gave -11 (Resource temporarily unavailable)");
    vitro_event_list_done(&list);
    vitro_eventlog_free(log);
    vitro_clock_free(clock);
}

/* ---- ceilings */

static int at_once(void *arg)
{
    return *(int *)arg;
}

static int sleeps_for_ever(void *arg)
{
    return vitro_clock_sleep(arg, INT64_MAX);
}

static void stop_clock(void *arg)
{
    vitro_clock_stop(arg);
}

static int name_is_kept(void *arg)
{
    (void)arg;
    return vitro_is_mocked() ? 0 : -1;
}

TEST(what_returns_in_time_returns_what_it_returns)
{
    int result = -7;

    CHECK_INT(vitro_within("quick", at_once, &result, NULL, &error), -7);
    result = 5;
    CHECK_INT(vitro_within(NULL, at_once, &result, NULL, NULL), 5);
    struct vitro_clock *clock = vitro_clock_paused(NULL);
    {
        VITRO_MOCK(clock);
        CHECK_INT(vitro_within("mocked", name_is_kept, NULL, NULL, NULL), 0);
    }
    vitro_clock_free(clock);
}

TEST(what_hangs_on_a_paused_clock_is_ended_by_real_time_and_named)
{
    struct vitro_clock *clock = vitro_clock_paused(NULL);
    struct vitro_within_options options = {.ceiling_ns = 1, .late = stop_clock};

    CHECK_INT(vitro_within("the nightly report", sleeps_for_ever, clock, &options, &error),
              -ETIMEDOUT);
    CHECK_HAS(error.text, "the nightly report: not done within 0.000 s of real time; it returned");
    vitro_clock_free(clock);
}

static int hangs(void *arg)
{
    (void)arg;
    while (pause())
        ;
    return 0;
}

TEST(what_cannot_be_ended_ends_the_program_in_words)
{
    CLEANUP(buf_done) struct buf words = {0};
    int pipe_fds[2], status;

    CHECK_INT(pipe(pipe_fds), 0);
    pid_t pid = fork();
    if (pid == 0) {
        (void)dup2(pipe_fds[1], STDERR_FILENO);
        (void)vitro_within("the hang", hangs, NULL, &(struct vitro_within_options){.ceiling_ns = 1},
                           NULL);
        _exit(0);
    }
    (void)fd_close(pipe_fds[1]);
    CHECK_INT(fd_read_all(pipe_fds[0], &words, 1 << 16), 0);
    (void)fd_close(pipe_fds[0]);
    CHECK_INT(waitpid(pid, &status, 0), pid);
    CHECK_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    CHECK_HAS(buf_text(&words), "the hang: not done within 0.000 s of real time; it has not "
                                "returned after");
}
