/* SPDX-License-Identifier: MIT */
/* A bench around each test, for any framework: what vitro/cmocka.h, vitro/check.h and
 * vitro/criterion.h are made of. Header only: the library depends on none of them.
 *
 * The bench of a fixture without options has a clock that stands at 2026-01-01T00:00:00Z and jumps,
 * the seed 1, and no network. The end of the test finalizes it: leaks, calls that no recording
 * answered and recordings that nobody asked for fail the test, in words. Within the test
 * vitro_bench_current() is the bench, and NULL for a clock means its clock. */
#ifndef VITRO_FIXTURE_H
#define VITRO_FIXTURE_H

#include "vitro/bench.h"
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* 0, or -errno with words. Options NULL: as above. */
static inline __attribute__((unused)) int
vitro_fixture_begin(const struct vitro_bench_options *options, struct vitro_bench_error *error)
{
    struct vitro_bench_options usual;
    vitro_bench *bench;

    memset(&usual, 0, sizeof usual);
    usual.clock = "2026-01-01T00:00:00Z";
    usual.net = "deny";
    usual.seed = 1;
    error->code = 0;
    bench = vitro_bench_activate_at(options ? options : &usual, "a fixture", error);
    return bench ? 0 : error->code;
}

/* Ends the bench of this thread. 0 where there is none, and where it found nothing wrong. */
static inline __attribute__((unused)) int vitro_fixture_end(struct vitro_bench_error *error)
{
    vitro_bench *bench = vitro_bench_current();
    int r = bench ? vitro_bench_finalize_at(bench, 0, "the end of a fixture", error) : 0;

    return r < 0 ? r : 0;
}

#ifdef __cplusplus
}
#endif
#endif
