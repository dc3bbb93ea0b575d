/* SPDX-License-Identifier: MIT */
/* cc check.c -lvitro $(pkg-config --libs check): a bench around each test of Check. */
#include <check.h>
#include <stdlib.h>
#include "vitro/check.h"

#define HOUR INT64_C(3600000000000)

START_TEST(an_hour_takes_no_time)
{
    int64_t started_ns = vitro_clock_now(NULL);

    ck_assert_int_eq(vitro_clock_sleep(NULL, HOUR), 0);
    ck_assert(vitro_clock_now(NULL) - started_ns == HOUR);
}
END_TEST

START_TEST(every_test_begins_at_the_same_time)
{
    ck_assert(vitro_clock_now(NULL) == INT64_C(1767225600000000000));
}
END_TEST

#ifdef LEAK
START_TEST(a_look_at_the_real_clock_fails_the_test)
{
    (void)vitro_leak_now("example/stamp");
}
END_TEST
#endif

int main(void)
{
    Suite *suite = suite_create("bench");
    TCase *tcase = tcase_create("time");

    tcase_add_checked_fixture(tcase, vitro_check_setup, vitro_check_teardown);
    tcase_add_test(tcase, an_hour_takes_no_time);
    tcase_add_test(tcase, every_test_begins_at_the_same_time);
#ifdef LEAK
    tcase_add_test(tcase, a_look_at_the_real_clock_fails_the_test);
#endif
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
