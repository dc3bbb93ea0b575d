/* SPDX-License-Identifier: MIT */
/* Criterion: a bench (vitro/fixture.h) around each test. Include <criterion/criterion.h> before.
 *
 *     Test(mailer, waits_an_hour, .init = vitro_criterion_init, .fini = vitro_criterion_fini)
 *     TestSuite(mailer, .init = vitro_criterion_init, .fini = vitro_criterion_fini);
 *
 * For a bench with options, write an init of your own that calls vitro_criterion_begin(&options).
 */
#ifndef VITRO_CRITERION_H
#define VITRO_CRITERION_H

#include "vitro/fixture.h"

#ifdef CRITERION_H_
static inline __attribute__((unused)) void
vitro_criterion_begin(const struct vitro_bench_options *options)
{
    struct vitro_bench_error error = {0, ""};

    if (vitro_fixture_begin(options, &error) < 0)
        cr_assert_fail("%s", error.text);
}

static inline __attribute__((unused)) void vitro_criterion_init(void)
{
    vitro_criterion_begin(0);
}

static inline __attribute__((unused)) void vitro_criterion_fini(void)
{
    struct vitro_bench_error error = {0, ""};

    if (vitro_fixture_end(&error) < 0) {
        cr_log_error("%s", error.text);
        criterion_test_die("%s", "the bench found it");
    }
}
#endif

#endif
