/* SPDX-License-Identifier: MIT */
/* cc cmocka.c -lvitro -lcmocka: a bench around each test of cmocka. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "vitro/cmocka.h"

#define HOUR INT64_C(3600000000000)

static void an_hour_takes_no_time(void **state)
{
    struct vitro_clock *clock = vitro_bench_clock(*state);
    int64_t started_ns = vitro_clock_now(clock);

    assert_int_equal(vitro_clock_sleep(NULL, HOUR), 0);
    assert_true(vitro_clock_now(NULL) - started_ns == HOUR);
}

static void every_test_begins_at_the_same_time(void **state)
{
    (void)state;
    assert_true(vitro_clock_now(NULL) == INT64_C(1767225600000000000));
}

static void a_bench_may_have_options(void **state)
{
    (void)state;
    assert_true(vitro_clock_now(NULL) == INT64_C(86400000000000));
}

#ifdef LEAK
static void a_look_at_the_real_clock_fails_the_test(void **state)
{
    (void)state;
    (void)vitro_leak_now("example/stamp");
}
#endif

int main(void)
{
    static const struct vitro_bench_options early = {.clock = "1970-01-02"};
    const struct CMUnitTest tests[] = {
        VITRO_CMOCKA_TEST(an_hour_takes_no_time),
        VITRO_CMOCKA_TEST(every_test_begins_at_the_same_time),
        VITRO_CMOCKA_TEST_WITH(a_bench_may_have_options, &early),
#ifdef LEAK
        VITRO_CMOCKA_TEST(a_look_at_the_real_clock_fails_the_test),
#endif
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
