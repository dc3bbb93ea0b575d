/* SPDX-License-Identifier: MIT */
/* cc criterion.c -lvitro -lcriterion: a bench around each test of Criterion. */
#include <criterion/criterion.h>
#include "vitro/criterion.h"

#define HOUR INT64_C(3600000000000)

TestSuite(bench, .init = vitro_criterion_init, .fini = vitro_criterion_fini);

Test(bench, an_hour_takes_no_time)
{
    int64_t started_ns = vitro_clock_now(NULL);

    cr_assert(vitro_clock_sleep(NULL, HOUR) == 0);
    cr_assert(vitro_clock_now(NULL) - started_ns == HOUR);
}

Test(bench, every_test_begins_at_the_same_time)
{
    cr_assert(vitro_clock_now(NULL) == INT64_C(1767225600000000000));
}

#ifdef LEAK
Test(bench, a_look_at_the_real_clock_fails_the_test)
{
    (void)vitro_leak_now("example/stamp");
}
#endif
