/* SPDX-License-Identifier: MIT */
/* Mocks, what workers have of them, and clocks seen again from a log. */
#include "lib/check.h"
#include "vitro/clock.h"
#include "vitro/sched.h"
#include <errno.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#define SECOND INT64_C(1000000000)
#define START  INT64_C(1767225600000000000)

static struct vitro_clock_error error;

static struct vitro_clock *paused_at(int64_t now_ns)
{
    return vitro_clock_paused(&(struct vitro_paused_options){.now_ns = now_ns});
}

TEST(the_mock_pushed_last_is_in_force_until_its_block_ends)
{
    struct vitro_clock *one = paused_at(1), *two = paused_at(2);

    CHECK_TRUE(!vitro_is_mocked());
    CHECK_TRUE(vitro_clock_in_force() == vitro_clock_real());
    {
        VITRO_MOCK(one);
        CHECK_INT(vitro_clock_now(NULL), 1);
        {
            VITRO_MOCK(two);
            CHECK_INT(vitro_clock_now(NULL), 2);
            CHECK_TRUE(vitro_is_mocked());
        }
        CHECK_INT(vitro_clock_now(NULL), 1);
        CHECK_INT(vitro_clock_advance(NULL, 5, &error), 0);
        CHECK_INT(vitro_clock_now(NULL), 6);
    }
    CHECK_TRUE(!vitro_is_mocked());
    vitro_clock_free(one);
    vitro_clock_free(two);
}

TEST(a_pop_in_the_wrong_order_names_both_sites_and_changes_nothing)
{
    struct vitro_clock *clock = paused_at(1);
    struct vitro_frame outer = {0}, inner = {0}, never = {0};

    CHECK_INT(vitro_mock_push_at(&outer, clock, "a.c:1", &error), 0);
    CHECK_INT(vitro_mock_push_at(&inner, clock, "b.c:2", &error), 0);
    CHECK_INT(vitro_frame_pop_at(&outer, "c.c:3", &error), -EPERM);
    CHECK_TEXT(error.text,
               "pop at c.c:3: what was pushed at a.c:1 is not on top, what was pushed at "
               "b.c:2 is\nhint: guards are popped in the opposite order of pushing");
    CHECK_INT(vitro_mock_push_at(&outer, clock, "d.c:4", &error), -EBUSY);
    CHECK_TEXT(error.text, "push a guard at d.c:4: it was pushed at a.c:1 and is in use");
    CHECK_INT(vitro_frame_pop(&inner, &error), 0);
    CHECK_INT(vitro_frame_pop(&outer, &error), 0);
    CHECK_INT(vitro_frame_pop_at(&outer, "e.c:5", &error), -EINVAL);
    CHECK_TEXT(error.text, "pop a guard at e.c:5: it is not pushed");
    CHECK_INT(vitro_frame_pop(&never, NULL), -EINVAL);
    CHECK_INT(vitro_frame_pop(NULL, NULL), -EINVAL);
    CHECK_INT(vitro_mock_push(&never, NULL, &error), -EINVAL);
    CHECK_INT(vitro_mock_push(NULL, clock, NULL), -EINVAL);
    vitro_clock_free(clock);
}

TEST(a_guard_that_cannot_end_ends_the_program_with_both_sites)
{
    struct vitro_clock *clock = paused_at(1);
    CLEANUP(buf_done) struct buf said = {0};
    int out[2], status;

    CHECK_INT(pipe(out), 0);
    pid_t child = fork();
    if (child == 0) {
        struct vitro_frame outer = {0}, inner = {0};
        (void)dup2(out[1], STDERR_FILENO);
        (void)vitro_mock_push_at(&outer, clock, "a.c:1", NULL);
        (void)vitro_mock_push_at(&inner, clock, "b.c:2", NULL);
        vitro_frame_end(&outer);
        _exit(0);
    }
    (void)fd_close(out[1]);
    CHECK_INT(fd_read_all(out[0], &said, 1 << 20), 0);
    (void)fd_close(out[0]);
    CHECK_INT(waitpid(child, &status, 0), child);
    CHECK_TRUE(!WIFEXITED(status) || WEXITSTATUS(status) != 0);
    CHECK_HAS(buf_text(&said),
              "what was pushed at a.c:1 is not on top, what was pushed at b.c:2 is");
    vitro_clock_free(clock);
}

TEST(one_mock_pins_the_schedulers_calls_outside_of_tasks_as_well)
{
    struct vitro_clock *clock =
        vitro_clock_paused(&(struct vitro_paused_options){.now_ns = SECOND, .jumps = 1});
    VITRO_MOCK(clock);
    struct vitro_ticker ticker = {.period_ns = 60 * SECOND};

    CHECK_INT(vitro_clock(), SECOND);
    CHECK_INT(vitro_sleep(3600 * SECOND), 0);
    CHECK_INT(vitro_clock(), 3601 * SECOND);
    CHECK_INT(vitro_sleep_until(7200 * SECOND), 0);
    CHECK_INT(vitro_busy(SECOND), 0);
    CHECK_INT(vitro_clock_now(NULL), 7201 * SECOND);
    CHECK_INT(vitro_ticker_wait_at(&ticker, NULL), 1);
    CHECK_INT(vitro_clock(), 7261 * SECOND);
    CHECK_INT(vitro_sleep(UINT64_MAX), 0);
    CHECK_INT(vitro_clock(), INT64_MAX);
    vitro_clock_free(clock);
}

/* ---- workers */

struct seen {
    int64_t now_ns;
    int mocked, popped;
    struct vitro_frame *inherited;
    struct vitro_clock *own;
    char text[1024];
};

static int look(void *arg)
{
    struct seen *seen = arg;
    struct vitro_clock_error words = {0};

    seen->mocked = vitro_is_mocked();
    seen->now_ns = vitro_clock_now(NULL);
    seen->popped = seen->inherited ? vitro_frame_pop_at(seen->inherited, "w.c:9", &words) : 0;
    memcpy(seen->text, words.text, sizeof seen->text);
    if (seen->own) {
        VITRO_MOCK(seen->own);
        seen->now_ns = vitro_clock_now(NULL);
    }
    return 0;
}

static void *look_thread(void *arg)
{
    (void)look(arg);
    return NULL;
}

TEST(a_worker_has_the_mocks_of_its_starter_and_a_plain_thread_has_none)
{
    struct vitro_clock *clock = paused_at(7), *other = paused_at(9);
    struct vitro_frame frame = {0};
    struct seen worker = {.inherited = &frame}, plain = {.inherited = &frame}, given = {0},
                pushes = {.own = other};
    pthread_t thread;

    CHECK_INT(vitro_mock_push_at(&frame, clock, "a.c:1", &error), 0);
    (void)vitro_worker_join(vitro_worker_start_at(NULL, look, &worker, "s.c:2", &error));
    CHECK_INT(worker.mocked, 1);
    CHECK_INT(worker.now_ns, 7);
    CHECK_INT(worker.popped, -EPERM);
    CHECK_TEXT(worker.text, "pop at w.c:9: what was pushed at a.c:1 belongs to who started this "
                            "worker, at s.c:2");
    CHECK_INT(pthread_create(&thread, NULL, look_thread, &plain), 0);
    (void)pthread_join(thread, NULL);
    CHECK_INT(plain.mocked, 0);
    CHECK_TEXT(plain.text, "pop at w.c:9: what was pushed at a.c:1 was pushed by another thread");
    (void)vitro_worker_join(vitro_worker_start(other, look, &given));
    CHECK_INT(given.now_ns, 9);
    (void)vitro_worker_join(vitro_worker_start(NULL, look, &pushes));
    CHECK_INT(pushes.now_ns, 9);
    CHECK_INT(vitro_clock_now(NULL), 7);
    CHECK_INT(vitro_frame_pop(&frame, &error), 0);
    CHECK_TRUE(!vitro_worker_start(clock, NULL, NULL));
    CHECK_INT(vitro_worker_join(NULL), -EINVAL);
    vitro_clock_free(clock);
    vitro_clock_free(other);
}

static int sleep_in_force(void *arg)
{
    (void)arg;
    return vitro_clock_sleep(NULL, SECOND);
}

TEST(a_mock_is_not_popped_under_its_workers)
{
    struct vitro_clock *clock = paused_at(7);
    struct vitro_frame frame = {0};

    CHECK_INT(vitro_mock_push_at(&frame, clock, "a.c:1", &error), 0);
    vitro_worker *worker = vitro_worker_start_at(NULL, sleep_in_force, NULL, "s.c:2", &error);
    CHECK_INT(vitro_frame_pop_at(&frame, "c.c:3", &error), -EBUSY);
    CHECK_TEXT(error.text, "pop at c.c:3: 1 workers use what was pushed at a.c:1, the last of them "
                           "started at s.c:2\nhint: vitro_worker_join them first");
    CHECK_INT(vitro_clock_advance(clock, SECOND, &error), 1);
    CHECK_INT(vitro_worker_join(worker), 0);
    CHECK_INT(vitro_frame_pop(&frame, &error), 0);
    vitro_clock_free(clock);
}

static int mock_alone(void *arg)
{
    int64_t mine = *(int64_t *)arg;
    struct vitro_clock *clock = paused_at(mine);
    int wrong = 0;

    for (int i = 0; i < 1000; i++) {
        VITRO_MOCK(clock);
        wrong += vitro_clock_now(NULL) != mine + i;
        (void)vitro_clock_advance(NULL, 1, NULL);
    }
    vitro_clock_free(clock);
    return wrong;
}

TEST(mocks_of_eight_threads_do_not_see_each_other)
{
    int64_t starts[8];
    vitro_worker *workers[8];

    for (int i = 0; i < 8; i++) {
        starts[i] = (i + 1) * SECOND;
        workers[i] = vitro_worker_start(NULL, mock_alone, &starts[i]);
    }
    for (int i = 0; i < 8; i++)
        CHECK_INT(vitro_worker_join(workers[i]), 0);
}

/* ---- recorded and replayed */

struct watch {
    struct vitro_clock *clock;
    int64_t step;
    struct buf text;
};

static int watch(void *arg)
{
    struct watch *watch_ = arg;
    int r = 0;

    for (int i = 0; i < 5 && r == 0; i++) {
        buf_addf(&watch_->text, "%lld ", (long long)vitro_clock_now(watch_->clock));
        r = vitro_clock_sleep(watch_->clock, watch_->step);
        buf_addf(&watch_->text, "%llu ", (unsigned long long)vitro_clock_monotonic(watch_->clock));
    }
    return r;
}

static void run_watches(struct vitro_clock *clock, struct vitro_clock *paused, struct buf *ret)
{
    struct watch watches[2] = {{.clock = clock, .step = 2}, {.clock = clock, .step = 3}};
    vitro_worker *workers[2];

    for (int i = 0; i < 2; i++)
        workers[i] = vitro_worker_start(clock, watch, &watches[i]);
    if (paused) {
        CHECK_INT(vitro_clock_advance(paused, 11, &error), 8);
        vitro_clock_stop(clock);
    }
    for (int i = 0; i < 2; i++) {
        int r = vitro_worker_join(workers[i]);
        buf_addf(ret, "%s= %d\n", buf_text(&watches[i].text), r);
        buf_done(&watches[i].text);
    }
}

TEST(a_clock_seen_by_two_workers_is_seen_again_from_its_log)
{
    struct vitro_clock *paused = paused_at(1000);
    vitro_clock_log *log = vitro_clock_log_new();
    struct vitro_clock *recorded = vitro_clock_recorded(paused, log);
    CLEANUP(buf_done) struct buf first = {0}, again = {0};

    run_watches(recorded, paused, &first);
    CHECK_TEXT(buf_text(&first), "1000 2 1002 4 1004 6 1006 8 1008 10 = 0\n"
                                 "1000 3 1003 6 1006 9 1009 11 = -125\n");
    CLEANUP(mem_free) char *text = vitro_clock_log_text(log);
    CHECK_HAS(text, "{\"kind\":\"sleep\",\"lane\":\"2\",\"result\":-125,\"value_ns\":3}\n");
    vitro_clock_log *read = vitro_clock_log_parse(text, strlen(text), &error);
    CHECK_INT(vitro_clock_log_count(read), 27);
    struct vitro_clock *replayed = vitro_clock_replayed(read);
    run_watches(replayed, NULL, &again);
    CHECK_TEXT(buf_text(&again), buf_text(&first));
    CHECK_OK(vitro_clock_replay_check(replayed, &error), error);
    vitro_clock_free(replayed);
    vitro_clock_free(recorded);
    vitro_clock_free(paused);
    vitro_clock_log_free(read);
    vitro_clock_log_free(log);
}

TEST(a_replay_that_goes_another_way_names_the_first_divergence)
{
    vitro_clock_log *log = vitro_clock_log_new();
    struct vitro_clock_event events[] = {{.kind = VITRO_CLOCK_NOW, .value_ns = 5},
                                         {.kind = VITRO_CLOCK_SLEEP, .value_ns = 7}};

    for (size_t i = 0; i < 2; i++)
        CHECK_INT(vitro_clock_log_push(log, &events[i]), 0);
    struct vitro_clock *clock = vitro_clock_replayed(log);
    CHECK_INT(vitro_clock_replay_check(clock, &error), -ESTALE);
    CHECK_TEXT(error.text,
               "replay of a clock: worker '' did not ask for 2 of 2 events, the first now "
               "5 ns");
    CHECK_INT(vitro_clock_now(clock), 5);
    CHECK_INT(vitro_clock_sleep(clock, 8), -ESTALE);
    CHECK_INT(vitro_clock_now(clock), 5);
    CHECK_INT(vitro_clock_sleep(clock, 7), 0);
    CHECK_INT(vitro_clock_monotonic(clock), 0);
    CHECK_INT(vitro_clock_replay_check(clock, &error), -ESTALE);
    CHECK_TEXT(error.text,
               "replay of a clock: worker '' asks for sleep 8 ns, the recording has sleep "
               "7 ns (event 2 of this worker)");
    CHECK_INT(vitro_clock_replay_check(vitro_clock_real(), &error), -EINVAL);
    vitro_clock_free(clock);
    vitro_clock_log_free(log);
}

TEST(a_log_that_cannot_be_read_is_refused_by_line)
{
    static const char *const bad[][2] = {
        {"{\"kind\":\"now\",\"lane\":\"\",\"value_ns\":1}\n{", "line 2 is cut short"},
        {"{\"kind\":\"now\",\"lane\":\"\",\"value_ns\":1}\n{\n", "line 2"},
        {"[]\n", "line 1 is not an object"},
        {"{\"kind\":\"noon\",\"lane\":\"\",\"value_ns\":1}\n", "line 1 has no kind of clock event"},
        {"{\"kind\":\"now\",\"value_ns\":1}\n", "line 1 has no lane"},
        {"{\"kind\":\"now\",\"lane\":\"\",\"value_ns\":1.5}\n", "line 1 has no value_ns"},
        {"{\"kind\":\"now\",\"lane\":\"\",\"value_ns\":1,\"x\":1}\n", "a member that is not known"},
        {"{\"kind\":\"now\",\"lane\":\"\",\"value_ns\":1,\"result\":\"\"}\n", "that is no number"},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(bad); i++) {
        CHECK_TRUE(!vitro_clock_log_parse(bad[i][0], strlen(bad[i][0]), &error));
        CHECK_HAS(error.text, bad[i][1]);
    }
    vitro_clock_log *empty = vitro_clock_log_parse("", 0, &error);
    CHECK_INT(vitro_clock_log_count(empty), 0);
    CHECK_INT(vitro_clock_log_push(empty, &(struct vitro_clock_event){0}), -EINVAL);
    CHECK_INT(vitro_clock_log_push(empty, NULL), -EINVAL);
    vitro_clock_log_free(empty);
    vitro_clock_log_free(NULL);
}
