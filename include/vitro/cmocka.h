/* SPDX-License-Identifier: MIT */
/* cmocka: a bench (vitro/fixture.h) around each test.
 *
 *     const struct CMUnitTest tests[] = {
 *         cmocka_unit_test_setup_teardown(waits_an_hour, vitro_cmocka_setup,
 *                                         vitro_cmocka_teardown),
 *         VITRO_CMOCKA_TEST(waits_an_hour),                           the same
 *         VITRO_CMOCKA_TEST_WITH(reads_a_file, &options),             struct vitro_bench_options
 *     };
 *
 * *state is the bench. A teardown that fails prints why to standard error and fails the test. */
#ifndef VITRO_CMOCKA_H
#define VITRO_CMOCKA_H

#include "vitro/fixture.h"
#include <stdio.h>

#define VITRO_CMOCKA_TEST(test)                                                                    \
    cmocka_unit_test_setup_teardown(test, vitro_cmocka_setup, vitro_cmocka_teardown)
#define VITRO_CMOCKA_TEST_WITH(test, options)                                                      \
    cmocka_unit_test_prestate_setup_teardown(test, vitro_cmocka_setup, vitro_cmocka_teardown,      \
                                             (void *)(options))

/* The initial state, if there is one, is the options. */
static inline __attribute__((unused)) int vitro_cmocka_setup(void **state)
{
    struct vitro_bench_error error = {0, ""};

    if (vitro_fixture_begin((const struct vitro_bench_options *)*state, &error) < 0) {
        (void)fprintf(stderr, "%s\n", error.text);
        return -1;
    }
    *state = vitro_bench_current();
    return 0;
}

static inline __attribute__((unused)) int vitro_cmocka_teardown(void **state)
{
    struct vitro_bench_error error = {0, ""};

    *state = 0;
    if (vitro_fixture_end(&error) < 0) {
        (void)fprintf(stderr, "%s\n", error.text);
        return -1;
    }
    return 0;
}

#endif
