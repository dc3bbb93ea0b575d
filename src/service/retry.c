/* SPDX-License-Identifier: MIT */
/* Waits between tries, and tries. Waits grow by doubles and are cut to the greatest one, so nothing
 * overflows; chance comes from the seed alone. */
#include "vitro/retry.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/rng.h"
#include "base/when.h"
#include <assert.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#define FIRST_NS INT64_C(100000000)
#define MAX_NS   INT64_C(60000000000)

static_assert(sizeof(((struct vitro_backoff *)0)->state) == sizeof(struct rng), "fits");

void vitro_backoff_reset(struct vitro_backoff *backoff)
{
    struct rng rng;

    rng_stream(&rng, backoff->options.seed, "retry", NULL);
    memcpy(backoff->state, rng.state, sizeof backoff->state);
    backoff->wait_ns = backoff->options.first_ns;
    backoff->count = 0;
}

int vitro_backoff_init(struct vitro_backoff *backoff, const struct vitro_retry_options *options,
                       struct vitro_clock_error *error)
{
    static const struct vitro_retry_options none;
    struct err *err = (struct err *)error;

    options = options ? options : &none;
    if (options->first_ns < 0 || options->max_ns < 0 || options->elapsed_max_ns < 0)
        return err_set(err, -EINVAL, "retry: a time is negative");
    if (options->factor != 0 && !(options->factor >= 1 && isfinite(options->factor)))
        return err_set(err, -EINVAL, "retry: a factor of %g\nhint: 1 is a fixed wait, 2 doubles it",
                       options->factor);
    if (options->jitter < VITRO_JITTER_NONE || options->jitter > VITRO_JITTER_DECORRELATED)
        return err_set(err, -EINVAL, "retry: there is no jitter %d", (int)options->jitter);
    *backoff = (struct vitro_backoff){.options = *options};
    struct vitro_retry_options *own = &backoff->options;
    own->first_ns = own->first_ns ? own->first_ns : FIRST_NS;
    own->factor = own->factor != 0 ? own->factor : 2;
    if (own->max_ns == 0)
        own->max_ns = own->first_ns > MAX_NS ? own->first_ns : MAX_NS;
    if (own->first_ns > own->max_ns)
        own->first_ns = own->max_ns;
    vitro_backoff_reset(backoff);
    return 0;
}

static int64_t between(struct vitro_backoff *backoff, int64_t least, int64_t most)
{
    struct rng rng;

    memcpy(rng.state, backoff->state, sizeof rng.state);
    int64_t value = least + (int64_t)rng_below(&rng, (uint64_t)(most - least) + 1);
    memcpy(backoff->state, rng.state, sizeof rng.state);
    return value;
}

static int64_t times(int64_t ns, double factor, int64_t max_ns)
{
    double product = (double)ns * factor;

    return product >= (double)max_ns ? max_ns : (int64_t)product;
}

int64_t vitro_backoff_next(struct vitro_backoff *backoff)
{
    const struct vitro_retry_options *options = &backoff->options;
    int64_t wait_ns = backoff->wait_ns;

    if (options->jitter == VITRO_JITTER_DECORRELATED) {
        if (backoff->count)
            wait_ns = between(backoff, options->first_ns, times(wait_ns, 3, options->max_ns));
        backoff->wait_ns = wait_ns;
    } else {
        backoff->wait_ns = times(wait_ns, options->factor, options->max_ns);
        if (options->jitter == VITRO_JITTER_FULL)
            wait_ns = between(backoff, 0, wait_ns);
        else if (options->jitter == VITRO_JITTER_EQUAL)
            wait_ns = between(backoff, wait_ns / 2, wait_ns);
    }
    backoff->count++;
    return wait_ns;
}

/* ---- trying */

struct story {
    const char *label;
    struct vitro_clock *clock;
    uint64_t started_ns;
    uint32_t number; /* of the last try */
    int result;
};

static int enough(const struct story *story, const char *why, struct err *err)
{
    CLEANUP(buf_done) struct buf elapsed = {0};

    when_add_duration(&elapsed, vitro_clock_monotonic(story->clock) - story->started_ns);
    return err_set(err, story->result, "%s: try %u gave %d (%s), %s after the first; %s",
                   story->label, story->number, story->result, strerror(-story->result),
                   buf_text(&elapsed), why);
}

static void tell(const struct story *story, const struct vitro_retry_options *options)
{
    CLEANUP(buf_done) struct buf text = {0};

    if (!options->log)
        return;
    buf_addf(&text, "%s: try %u gave %d (%s)", story->label, story->number, story->result,
             strerror(-story->result));
    (void)vitro_eventlog_append(options->log, "retry", "failed", text.data, text.length, NULL);
}

int vitro_retry(const char *label, struct vitro_clock *clock,
                const struct vitro_retry_options *given, int (*attempt)(void *arg, uint32_t number),
                void *arg, struct vitro_clock_error *error)
{
    struct err *err = (struct err *)error;
    struct vitro_backoff backoff;
    struct story story = {.label = label ? label : "retry", .clock = clock};
    int r = vitro_backoff_init(&backoff, given, error);

    if (r < 0)
        return r;
    const struct vitro_retry_options *options = &backoff.options;
    story.started_ns = vitro_clock_monotonic(clock);
    for (;;) {
        story.number++;
        if ((story.result = attempt(arg, story.number)) >= 0)
            return story.result;
        tell(&story, options);
        if (options->is_final ? options->is_final(arg, story.result) : story.result == -ECANCELED)
            return enough(&story, "this one is final", err);
        if (options->tries_max && story.number >= options->tries_max)
            return enough(&story, "no more are allowed", err);
        int64_t wait_ns = vitro_backoff_next(&backoff);
        uint64_t elapsed_ns = vitro_clock_monotonic(clock) - story.started_ns;
        if (options->elapsed_max_ns &&
            elapsed_ns + (uint64_t)wait_ns > (uint64_t)options->elapsed_max_ns)
            return enough(&story, "the next would come too late", err);
        if ((r = vitro_clock_sleep(clock, wait_ns)) < 0) {
            story.result = r;
            return enough(&story, "the clock was stopped before the next", err);
        }
    }
}
