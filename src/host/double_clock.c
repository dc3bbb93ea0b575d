/* SPDX-License-Identifier: MIT */
/* The clock of null and mock hosts: it notes what is asked of it and asks the one inside. A null
 * host has none inside: its time is 1970 and nobody sleeps on it. */
#include "base/when.h"
#include "host/double.h"
#include <errno.h>

static struct host_double *of(struct vitro_clock *clock)
{
    return DOUBLE_OF(clock, clock);
}

static struct vitro_clock *clock_inner(struct vitro_clock *clock)
{
    return of(clock)->inner;
}

static int64_t clock_now(struct vitro_clock *clock)
{
    struct ask ask;
    int r = double_begin(of(clock), CLOCK_NOW, json_object(), &ask, NULL);

    if (r < 0)
        return 0;
    int64_t now_ns = r == 1 ? json_integer_value(ask.answer) : vitro_clock_now(of(clock)->inner);
    (void)double_end(&ask, 0, json_integer(now_ns));
    return now_ns;
}

static uint64_t clock_monotonic(struct vitro_clock *clock)
{
    struct ask ask;
    int r = double_begin(of(clock), CLOCK_MONO, json_object(), &ask, NULL);

    if (r < 0)
        return 0;
    uint64_t ns =
        r == 1 ? (uint64_t)json_integer_value(ask.answer) : vitro_clock_monotonic(of(clock)->inner);
    (void)double_end(&ask, 0, json_integer((json_int_t)ns));
    return ns;
}

static int clock_sleep(struct vitro_clock *clock, int64_t ns)
{
    struct ask ask;
    int r =
        double_begin(of(clock), CLOCK_SLEEP, json_pack("{s:I}", "ns", (json_int_t)ns), &ask, NULL);

    if (r < 0)
        return r;
    return double_end(&ask, r == 1 ? 0 : vitro_clock_sleep(of(clock)->inner, ns), NULL);
}

static int clock_sleep_until(struct vitro_clock *clock, int64_t now_ns)
{
    struct ask ask;
    int r = double_begin(of(clock), CLOCK_SLEEP_UNTIL, json_pack("{s:I}", "ns", (json_int_t)now_ns),
                         &ask, NULL);

    if (r < 0)
        return r;
    return double_end(&ask, r == 1 ? 0 : vitro_clock_sleep_until(of(clock)->inner, now_ns), NULL);
}

static void clock_stop(struct vitro_clock *clock)
{
    vitro_clock_stop(of(clock)->inner);
}

int double_clock_init(struct host_double *d, const struct vitro_host_mock_options *options,
                      struct err *err)
{
    static const struct vitro_clock_ops mock = {.now = clock_now,
                                                .monotonic = clock_monotonic,
                                                .sleep = clock_sleep,
                                                .sleep_until = clock_sleep_until,
                                                .stop = clock_stop,
                                                .inner = clock_inner};
    static const struct vitro_clock_ops null = {.now = clock_now,
                                                .monotonic = clock_monotonic,
                                                .sleep = clock_sleep,
                                                .sleep_until = clock_sleep_until};
    int64_t at_ns = 0;

    d->clock.ops = d->is_null ? &null : &mock;
    if (d->is_null)
        return 0;
    if (__builtin_mul_overflow(options->clock_at_unix_ms, (int64_t)NS_PER_MS, &at_ns))
        return err_set(err, -ERANGE, "a clock at %lld ms since 1970: past the year 2262",
                       (long long)options->clock_at_unix_ms);
    if (!options->clock)
        d->own_clock = vitro_clock_paused(&(struct vitro_paused_options){
            .now_ns = at_ns, .at_epoch = options->clock_at_epoch, .jumps = 1});
    d->inner = options->clock ? options->clock : d->own_clock;
    return 0;
}
