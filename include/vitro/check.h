/* SPDX-License-Identifier: MIT */
/* Check: a bench (vitro/fixture.h) around each test. Include <check.h> before.
 *
 *     tcase_add_checked_fixture(tcase, vitro_check_setup, vitro_check_teardown);
 *
 * For a bench with options, write a setup of your own that calls vitro_check_begin(&options). */
#ifndef VITRO_CHECK_H
#define VITRO_CHECK_H

#include "vitro/fixture.h"

#ifdef CHECK_H
static inline __attribute__((unused)) void
vitro_check_begin(const struct vitro_bench_options *options)
{
    struct vitro_bench_error error = {0, ""};

    if (vitro_fixture_begin(options, &error) < 0)
        ck_abort_msg("%s", error.text);
}

static inline __attribute__((unused)) void vitro_check_setup(void)
{
    vitro_check_begin(0);
}

static inline __attribute__((unused)) void vitro_check_teardown(void)
{
    struct vitro_bench_error error = {0, ""};

    if (vitro_fixture_end(&error) < 0)
        ck_abort_msg("%s", error.text);
}
#endif

#endif
