/* SPDX-License-Identifier: MIT */
/* The audit: what is counted, where, and in which order it is told. */
#include "vitro/leaks.h"
#include "lib/check.h"
#include <errno.h>

static struct vitro_clock_error error;

static void check_leaks(vitro_leaks *leaks, const char *wanted)
{
    CLEANUP(mem_free) char *text = vitro_leaks_text(leaks);

    CHECK_TEXT(text, wanted);
}

TEST(a_real_time_is_a_leak_only_under_a_mock)
{
    struct vitro_clock *clock = vitro_clock_paused(NULL);
    vitro_leaks *leaks = vitro_leaks_new(NULL);
    VITRO_LEAKS(leaks);

    CHECK_TRUE(vitro_leak_now("log/stamp") > vitro_clock_now(clock) / 2);
    check_leaks(leaks, "");
    {
        VITRO_MOCK(clock);
        CHECK_TRUE(vitro_leak_now("log/stamp") != vitro_clock_now(NULL));
        CHECK_TRUE(vitro_leak_monotonic("pool/age") > 0);
        (void)vitro_leak_now("log/stamp");
    }
    check_leaks(leaks, "log/stamp 2\npool/age 1\n");
    CHECK_INT(vitro_leaks_count(leaks, "log/stamp"), 2);
    CHECK_INT(vitro_leaks_count(leaks, NULL), 3);
    CHECK_INT(vitro_leaks_count(leaks, "none"), 0);
    vitro_clock_free(clock);
    vitro_leaks_free(leaks);
}

TEST(rows_are_copied_taken_or_forgotten)
{
    vitro_leaks *leaks = vitro_leaks_new(&(struct vitro_leaks_options){0});
    VITRO_LEAKS(leaks);

    CHECK_INT(vitro_leak_note("net/dns"), 1);
    CHECK_INT(vitro_leak_note("cpu/rdtsc"), 1);
    struct vitro_leak_list seen = vitro_leaks_snapshot(leaks);
    CHECK_INT(seen.count, 2);
    CHECK_TEXT(seen.rows[0].capability, "net/dns");
    CHECK_TEXT(seen.rows[0].worker, "");
    CHECK_TRUE(!seen.rows[0].callers);
    struct vitro_leak_list taken = vitro_leaks_drain(leaks);
    CHECK_INT(taken.count, 2);
    check_leaks(leaks, "");
    CHECK_INT(vitro_leak_note("cpu/rdtsc"), 1);
    vitro_leaks_reset(leaks);
    CHECK_INT(vitro_leaks_count(leaks, NULL), 0);
    vitro_leak_list_done(&seen);
    vitro_leak_list_done(&taken);
    vitro_leaks_free(leaks);
    vitro_leaks_free(NULL);
}

TEST(the_innermost_scope_counts_and_without_one_nothing_does)
{
    vitro_leaks *outer = vitro_leaks_new(NULL), *inner = vitro_leaks_new(NULL);

    CHECK_INT(vitro_leak_note("a/b"), 0);
    {
        VITRO_LEAKS(outer);
        {
            VITRO_LEAKS(inner);
            CHECK_INT(vitro_leak_note("a/b"), 1);
        }
        CHECK_TRUE(vitro_leaks_in_force() == outer);
    }
    check_leaks(outer, "");
    check_leaks(inner, "a/b 1\n");
    CHECK_INT(vitro_leak_note(NULL), -EINVAL);
    CHECK_INT(vitro_leak_note(""), -EINVAL);
    vitro_leaks_free(outer);
    vitro_leaks_free(inner);
}

TEST(scopes_and_mocks_are_popped_in_one_order)
{
    struct vitro_clock *clock = vitro_clock_paused(NULL);
    vitro_leaks *leaks = vitro_leaks_new(NULL);
    struct vitro_frame scope = {0}, mock = {0};

    CHECK_INT(vitro_leaks_push_at(&scope, leaks, "a.c:1", &error), 0);
    CHECK_INT(vitro_mock_push_at(&mock, clock, "b.c:2", &error), 0);
    CHECK_TRUE(vitro_leaks_in_force() == leaks);
    CHECK_INT(vitro_frame_pop_at(&scope, "c.c:3", &error), -EPERM);
    CHECK_HAS(error.text, "pushed at a.c:1 is not on top, what was pushed at b.c:2 is");
    CHECK_INT(vitro_frame_pop(&mock, &error), 0);
    CHECK_INT(vitro_frame_pop(&scope, &error), 0);
    CHECK_INT(vitro_leaks_push(&scope, NULL, &error), -EINVAL);
    CHECK_HAS(error.text, "no audit");
    CHECK_INT(vitro_leaks_push(NULL, leaks, NULL), -EINVAL);
    vitro_clock_free(clock);
    vitro_leaks_free(leaks);
}

struct noisy {
    const char *first, *then;
};

static int leak_much(void *arg)
{
    const struct noisy *noisy = arg;

    for (int i = 0; i < 1000; i++) {
        (void)vitro_leak_note(noisy->first);
        (void)vitro_leak_note(noisy->then);
    }
    return 0;
}

TEST(workers_report_to_their_starters_scope_and_rows_stand_by_worker)
{
    struct vitro_clock *clock = vitro_clock_paused(NULL);
    vitro_leaks *leaks = vitro_leaks_new(NULL);
    struct noisy noisy[] = {{"b/1", "c/1"}, {"c/1", "a/2"}, {"d/3", "a/3"}};
    vitro_worker *workers[3];

    {
        VITRO_LEAKS(leaks);
        for (int i = 0; i < 3; i++)
            workers[i] = vitro_worker_start(clock, leak_much, &noisy[i]);
        for (int i = 0; i < 3; i++)
            (void)vitro_worker_join(workers[i]);
    }
    check_leaks(leaks, "b/1 1000\nc/1 2000\na/2 1000\nd/3 1000\na/3 1000\n");
    vitro_clock_free(clock);
    vitro_leaks_free(leaks);
}

static int audit_alone(void *arg)
{
    vitro_leaks *leaks = vitro_leaks_new(NULL);

    (void)arg;
    {
        VITRO_LEAKS(leaks);
        for (int i = 0; i < 1000; i++)
            (void)vitro_leak_note("a/b");
    }
    int wrong = vitro_leaks_count(leaks, NULL) != 1000;
    vitro_leaks_free(leaks);
    return wrong;
}

TEST(audits_of_eight_threads_do_not_see_each_other)
{
    vitro_worker *workers[8];

    for (int i = 0; i < 8; i++)
        workers[i] = vitro_worker_start(NULL, audit_alone, NULL);
    for (int i = 0; i < 8; i++)
        CHECK_INT(vitro_worker_join(workers[i]), 0);
}

TEST(the_calls_that_led_to_a_leak_are_named_when_asked_for)
{
    vitro_leaks *leaks = vitro_leaks_new(&(struct vitro_leaks_options){.callers = 1});
    VITRO_LEAKS(leaks);

    CHECK_INT(vitro_leak_note("a/b"), 1);
    struct vitro_leak_list list = vitro_leaks_snapshot(leaks);
    CHECK_HAS(list.rows[0].callers, "leaks_test < "); /* this function: static, so by its file */
    CHECK_TRUE(strstr(list.rows[0].callers, "leaks_test") == list.rows[0].callers);
    vitro_leak_list_done(&list);
    vitro_leaks_free(leaks);
}
