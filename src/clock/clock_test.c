/* SPDX-License-Identifier: MIT */
/* Paused clocks: what moves, who wakes, and in which order. */
#include "lib/check.h"
#include "vitro/clock.h"
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#define SECOND INT64_C(1000000000)
#define HOUR   (3600 * SECOND)
#define START  INT64_C(1767225600000000000)

static struct vitro_clock_error error;

/* ---- what happened, in order */
struct story {
    pthread_mutex_t lock;
    struct buf text;
};
static struct story story = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void tell(const char *who, struct vitro_clock *clock)
{
    (void)pthread_mutex_lock(&story.lock);
    buf_addf(&story.text, "%s@%lld ", who, (long long)(vitro_clock_now(clock) - START) / SECOND);
    (void)pthread_mutex_unlock(&story.lock);
}

static void check_story(const char *wanted)
{
    CHECK_TEXT(buf_text(&story.text), wanted);
    buf_done(&story.text);
}

struct sleepy {
    struct vitro_clock *clock;
    int64_t ns;
    int times;
};

static int sleep_and_tell(void *arg)
{
    struct sleepy *sleepy = arg;

    for (int i = 0; i < sleepy->times; i++) {
        int r = vitro_clock_sleep(sleepy->clock, sleepy->ns);
        if (r < 0)
            return r;
        tell(vitro_worker_name(), sleepy->clock);
    }
    return sleepy->times;
}

TEST(a_paused_clock_stands_and_moves_by_what_is_asked)
{
    struct vitro_clock *clock = vitro_clock_paused(NULL);

    CHECK_INT(vitro_clock_now(clock), START);
    CHECK_INT(vitro_clock_monotonic(clock), 0);
    CHECK_INT(vitro_clock_advance(clock, 5, &error), 0);
    CHECK_INT(vitro_clock_advance_ticks(clock, 3, SECOND, &error), 0);
    CHECK_INT(vitro_clock_now(clock), START + 3 * SECOND + 5);
    CHECK_INT(vitro_clock_monotonic(clock), 3 * SECOND + 5);
    vitro_clock_free(clock);
}

TEST(zeroed_options_are_the_default_and_the_epoch_can_be_asked_for)
{
    struct vitro_clock *zeroed = vitro_clock_paused(&(struct vitro_paused_options){0});
    struct vitro_clock *epoch = vitro_clock_paused(&(struct vitro_paused_options){.at_epoch = 1});

    CHECK_INT(vitro_clock_now(zeroed), START);
    CHECK_INT(vitro_clock_now(epoch), 0);
    vitro_clock_free(zeroed);
    vitro_clock_free(epoch);
    vitro_clock_free(NULL);
    vitro_clock_free(vitro_clock_real());
}

TEST(a_sleep_of_nothing_and_one_until_the_past_return_at_once)
{
    struct vitro_clock *clock = vitro_clock_paused(NULL);

    CHECK_INT(vitro_clock_sleep(clock, 0), 0);
    CHECK_INT(vitro_clock_sleep(clock, INT64_MIN), 0);
    CHECK_INT(vitro_clock_sleep_until(clock, START), 0);
    CHECK_INT(vitro_clock_sleep_until(clock, INT64_MIN), 0);
    CHECK_INT(vitro_clock_sleep(vitro_clock_real(), 0), 0);
    CHECK_INT(vitro_clock_sleep_until(vitro_clock_real(), 1), 0);
    vitro_clock_free(clock);
}

TEST(one_advance_wakes_workers_at_each_of_their_deadlines_in_order)
{
    struct vitro_clock *clock = vitro_clock_paused(NULL);
    struct sleepy two = {clock, 2 * SECOND, 5}, three = {clock, 3 * SECOND, 3};
    vitro_worker *a = vitro_worker_start(clock, sleep_and_tell, &two);
    vitro_worker *b = vitro_worker_start(clock, sleep_and_tell, &three);

    CHECK_INT(vitro_clock_advance(clock, 9 * SECOND, &error), 7);
    check_story("1@2 2@3 1@4 1@6 2@6 1@8 2@9 ");
    CHECK_INT(vitro_clock_advance(clock, SECOND, &error), 1);
    check_story("1@10 ");
    CHECK_INT(vitro_worker_join(a), 5);
    CHECK_INT(vitro_worker_join(b), 3);
    vitro_clock_free(clock);
}

TEST(workers_of_one_deadline_wake_one_after_the_other_by_name)
{
    struct vitro_clock *clock = vitro_clock_paused(NULL);
    struct sleepy sleepy = {clock, SECOND, 2};
    vitro_worker *workers[12];

    for (int i = 0; i < 12; i++)
        workers[i] = vitro_worker_start(clock, sleep_and_tell, &sleepy);
    CHECK_INT(vitro_clock_advance(clock, SECOND, &error), 12);
    check_story("1@1 2@1 3@1 4@1 5@1 6@1 7@1 8@1 9@1 10@1 11@1 12@1 ");
    CHECK_INT(vitro_clock_advance_to_next(clock, &error), 12);
    CHECK_INT(vitro_clock_advance_to_next(clock, &error), 0);
    for (int i = 0; i < 12; i++)
        CHECK_INT(vitro_worker_join(workers[i]), 2);
    buf_done(&story.text);
    vitro_clock_free(clock);
}

struct plain {
    struct vitro_clock *clock;
    int64_t until;
    int result;
};

static void *sleep_until(void *arg)
{
    struct plain *plain = arg;

    plain->result = vitro_clock_sleep_until(plain->clock, plain->until);
    return NULL;
}

TEST(threads_that_are_no_workers_are_awaited_by_number_and_woken)
{
    struct vitro_clock *clock = vitro_clock_paused(NULL);
    struct plain plain[4];
    pthread_t threads[4];

    for (int i = 0; i < 4; i++) {
        plain[i] = (struct plain){clock, START + (i + 1) * SECOND, 1};
        CHECK_INT(pthread_create(&threads[i], NULL, sleep_until, &plain[i]), 0);
    }
    CHECK_INT(vitro_clock_await_sleepers(clock, 4, &error), 0);
    CHECK_INT(vitro_clock_advance(clock, 3 * SECOND, &error), 3);
    CHECK_INT(vitro_clock_sleepers(clock), 1);
    vitro_clock_stop(clock);
    for (int i = 0; i < 4; i++) {
        (void)pthread_join(threads[i], NULL);
        CHECK_INT(plain[i].result, i < 3 ? 0 : -ECANCELED);
    }
    CHECK_INT(vitro_clock_sleep(clock, 1), -ECANCELED);
    CHECK_INT(vitro_clock_await_sleepers(clock, 1, &error), -ECANCELED);
    vitro_clock_free(clock);
}

TEST(a_clock_set_back_lengthens_sleeps_until_a_time_and_not_sleeps_for_a_while)
{
    struct vitro_clock *clock = vitro_clock_paused(NULL);
    struct plain plain = {clock, START + SECOND, 1};
    struct sleepy sleepy = {clock, SECOND, 1};
    vitro_worker *worker = vitro_worker_start(clock, sleep_and_tell, &sleepy);
    pthread_t thread;

    CHECK_INT(pthread_create(&thread, NULL, sleep_until, &plain), 0);
    CHECK_INT(vitro_clock_await_sleepers(clock, 2, &error), 0);
    CHECK_INT(vitro_clock_set(clock, START - HOUR, &error), 0);
    CHECK_INT(vitro_clock_monotonic(clock), 0);
    CHECK_INT(vitro_clock_advance(clock, SECOND, &error), 1);
    CHECK_INT(vitro_clock_sleepers(clock), 1);
    CHECK_INT(vitro_clock_set(clock, START + SECOND, &error), 1);
    CHECK_INT(vitro_clock_monotonic(clock), HOUR + SECOND);
    CHECK_INT(vitro_worker_join(worker), 1);
    (void)pthread_join(thread, NULL);
    CHECK_INT(plain.result, 0);
    buf_done(&story.text);
    vitro_clock_free(clock);
}

TEST(a_clock_does_not_move_by_less_than_nothing_or_past_its_end)
{
    struct vitro_clock *clock = vitro_clock_paused(NULL);

    CHECK_INT(vitro_clock_advance(clock, -1, &error), -EINVAL);
    CHECK_HAS(error.text, "an advance goes forward\nhint: vitro_clock_set");
    CHECK_INT(vitro_clock_advance(clock, INT64_MAX, &error), -ERANGE);
    CHECK_HAS(error.text, "past the year 2262");
    CHECK_INT(vitro_clock_now(clock), START);
    CHECK_INT(vitro_clock_advance(vitro_clock_real(), 1, &error), -EINVAL);
    CHECK_HAS(error.text, "not a paused clock");
    CHECK_INT(vitro_clock_sleepers(NULL), -EINVAL);
    CHECK_INT(vitro_clock_set(clock, INT64_MAX, NULL), 0);
    CHECK_INT(vitro_clock_set(clock, INT64_MIN, NULL), 0);
    CHECK_INT(vitro_clock_now(clock), INT64_MIN);
    vitro_clock_free(clock);
}

TEST(a_sleep_of_all_time_lasts_until_the_end_of_time_or_the_stop)
{
    struct vitro_clock *clock = vitro_clock_paused(NULL);
    struct sleepy sleepy = {clock, INT64_MAX, 1};
    vitro_worker *worker = vitro_worker_start(clock, sleep_and_tell, &sleepy);

    CHECK_INT(vitro_clock_advance(clock, 100 * 365 * 24 * HOUR, &error), 0);
    vitro_clock_stop(clock);
    CHECK_INT(vitro_worker_join(worker), -ECANCELED);
    vitro_clock_free(clock);

    clock = vitro_clock_paused(&(struct vitro_paused_options){.jumps = 1});
    CHECK_INT(vitro_clock_sleep(clock, INT64_MAX), 0);
    CHECK_INT(vitro_clock_now(clock), INT64_MAX);
    CHECK_INT(vitro_clock_sleep(clock, INT64_MAX), 0);
    CHECK_INT(vitro_clock_now(clock), INT64_MAX);
    vitro_clock_free(clock);
}

TEST(a_clock_that_jumps_makes_sleeps_return_at_once_with_time_passed)
{
    struct vitro_clock *clock = vitro_clock_paused(&(struct vitro_paused_options){.jumps = 1});
    struct sleepy two = {clock, 2 * SECOND, 3}, three = {clock, 3 * SECOND, 2};

    CHECK_INT(vitro_clock_sleep(clock, 50 * SECOND), 0);
    CHECK_INT(vitro_clock_advance(clock, 1000 * SECOND, &error), 0);
    CHECK_INT(vitro_clock_monotonic(clock), 1050 * SECOND);
    CHECK_INT(vitro_clock_set(clock, START, &error), 0);
    vitro_worker *a = vitro_worker_start(clock, sleep_and_tell, &two);
    CHECK_INT(vitro_worker_join(a), 3);
    vitro_worker *b = vitro_worker_start(clock, sleep_and_tell, &three);
    CHECK_INT(vitro_worker_join(b), 2);
    check_story("1@2 1@4 1@6 2@9 2@12 ");
    vitro_clock_free(clock);
}

static int two_workers(void *arg)
{
    struct vitro_clock *clock = arg;
    struct sleepy two = {clock, 2 * SECOND, 3}, three = {clock, 3 * SECOND, 2};
    vitro_worker *a = vitro_worker_start(NULL, sleep_and_tell, &two);
    vitro_worker *b = vitro_worker_start(NULL, sleep_and_tell, &three);

    return vitro_worker_join(a) + vitro_worker_join(b);
}

TEST(a_clock_that_jumps_waits_until_all_workers_sleep)
{
    struct vitro_clock *clock = vitro_clock_paused(&(struct vitro_paused_options){.jumps = 1});
    vitro_worker *worker = vitro_worker_start(clock, two_workers, clock);

    CHECK_INT(vitro_worker_join(worker), 5);
    check_story("1.1@2 1.2@3 1.1@4 1.1@6 1.2@6 ");
    vitro_clock_free(clock);
}

static atomic_int gate;

static int wait_elsewhere(void *arg)
{
    struct vitro_clock *clock = arg;

    vitro_worker_idle_begin();
    while (!atomic_load(&gate))
        sched_yield();
    vitro_worker_idle_end();
    return vitro_clock_sleep(clock, SECOND);
}

TEST(a_worker_that_waits_for_something_else_does_not_hold_the_clock)
{
    struct vitro_clock *clock = vitro_clock_paused(NULL);
    vitro_worker *worker = vitro_worker_start(clock, wait_elsewhere, clock);

    CHECK_INT(vitro_clock_advance(clock, HOUR, &error), 0);
    atomic_store(&gate, 1);
    CHECK_INT(vitro_clock_await_sleepers(clock, 1, &error), 0);
    CHECK_INT(vitro_clock_advance(clock, SECOND, &error), 1);
    CHECK_INT(vitro_worker_join(worker), 0);
    vitro_clock_free(clock);
}

static int spin(void *arg)
{
    (void)arg;
    while (!atomic_load(&gate))
        sched_yield();
    return 0;
}

TEST(a_worker_that_never_sleeps_ends_the_move_with_words)
{
    struct vitro_clock *clock = vitro_clock_paused(&(struct vitro_paused_options){.ceiling_ns = 1});

    atomic_store(&gate, 0);
    vitro_worker *worker = vitro_worker_start(clock, spin, NULL);
    CHECK_INT(vitro_clock_advance(clock, HOUR, &error), -ETIMEDOUT);
    CHECK_HAS(error.text, "1 of its workers neither slept nor ended");
    CHECK_HAS(error.text, "hint: a worker that waits for something else");
    CHECK_INT(vitro_clock_await_sleepers(clock, 1, &error), -ETIMEDOUT);
    CHECK_HAS(error.text, "await 1 sleepers: 0 wait");
    atomic_store(&gate, 1);
    CHECK_INT(vitro_worker_join(worker), 0);
    vitro_clock_free(clock);
}

/* ---- timers */

struct chime {
    struct vitro_clock_timer timer;
    struct vitro_clock *clock;
    const char *name;
    int64_t again;
    int64_t moved;
    int slept;
};

static void chime(struct vitro_clock_timer *timer)
{
    struct chime *self = (struct chime *)timer;

    tell(self->name, self->clock);
    self->moved = vitro_clock_advance(self->clock, 1, &error);
    self->slept = vitro_clock_sleep(self->clock, 1);
    if (self->again)
        (void)vitro_clock_arm(self->clock, timer, self->again);
}

TEST(timers_fire_at_their_deadline_may_be_armed_again_and_be_disarmed)
{
    struct vitro_clock *clock = vitro_clock_paused(NULL);
    struct chime a = {.timer.fire = chime, .clock = clock, .name = "a", .again = 3 * SECOND},
                 b = {.timer.fire = chime, .clock = clock, .name = "b"},
                 c = {.timer.fire = chime, .clock = clock, .name = "c"},
                 d = {.timer.fire = chime, .clock = clock, .name = "d"};

    CHECK_INT(vitro_clock_arm(clock, &a.timer, SECOND), 0);
    CHECK_INT(vitro_clock_arm(clock, &a.timer, SECOND), -EBUSY);
    CHECK_INT(vitro_clock_arm_at(clock, &b.timer, START + 4 * SECOND), 0);
    CHECK_INT(vitro_clock_arm(clock, &c.timer, 2 * SECOND), 0);
    CHECK_INT(vitro_clock_arm(clock, &d.timer, -1), 0);
    CHECK_INT(vitro_clock_disarm(clock, &c.timer), 1);
    CHECK_INT(vitro_clock_disarm(clock, &c.timer), 0);
    CHECK_INT(vitro_clock_advance(clock, 8 * SECOND, &error), 5);
    check_story("d@0 a@1 a@4 b@4 a@7 ");
    CHECK_INT(a.moved, -EDEADLK);
    CHECK_INT(a.slept, -EDEADLK);
    CHECK_INT(vitro_clock_arm(vitro_clock_real(), &c.timer, 1), -EINVAL);
    CHECK_INT(vitro_clock_arm(clock, NULL, 1), -EINVAL);
    CHECK_INT(vitro_clock_arm(clock, &(struct vitro_clock_timer){0}, 1), -EINVAL);
    vitro_clock_free(clock);
}

static int advance_much(void *arg)
{
    for (int i = 0; i < 100; i++)
        if (vitro_clock_advance(arg, SECOND, NULL) < 0)
            return -1;
    return 0;
}

TEST(many_threads_may_move_and_read_one_clock)
{
    struct vitro_clock *clock = vitro_clock_paused(NULL);
    struct sleepy sleepy = {clock, 7 * SECOND, 100};
    vitro_worker *workers[8];

    for (int i = 0; i < 8; i++)
        workers[i] = i % 2 ? vitro_worker_start(clock, advance_much, clock)
                           : vitro_worker_start(clock, sleep_and_tell, &sleepy);
    for (int i = 1; i < 8; i += 2)
        CHECK_INT(vitro_worker_join(workers[i]), 0);
    CHECK_INT(vitro_clock_monotonic(clock), 400 * SECOND);
    vitro_clock_stop(clock);
    for (int i = 0; i < 8; i += 2)
        CHECK_INT(vitro_worker_join(workers[i]), -ECANCELED);
    buf_done(&story.text);
    vitro_clock_free(clock);
}
