/* SPDX-License-Identifier: MIT */
/* The handle: activating, ending, and what it has. Everything is pushed with one frame, so that a
 * bench is in force for its thread from one instruction to the next. */
#include "bench/bench.h"
#include "clock/clock.h"
#include "interpose/files.h"
#include "interpose/programs.h"
#include "interpose/timers.h"
#include <assert.h>
#include <errno.h>
#include <string.h>

static_assert(sizeof(struct vitro_bench_error) == sizeof(struct err), "one layout");

static struct vitro_bench *of_world(struct vitro_world *world)
{
    return (struct vitro_bench *)world;
}

vitro_bench *vitro_bench_current(void)
{
    const struct vitro_frame *top = lane_self()->top;

    return top ? of_world(top->world) : NULL;
}

/* The thread counts as a worker of the clock: time stands while it runs. */
static void join_clock(struct vitro_bench *bench)
{
    struct lane *lane = lane_self();

    bench->lane_clock = lane->clock;
    if (!bench->clock || lane->clock == clock_innermost(bench->clock))
        return;
    lane->clock = clock_innermost(bench->clock);
    lane_running(lane, +1);
}

static void leave_clock(struct vitro_bench *bench)
{
    struct lane *lane = lane_self();

    if (lane->clock != bench->lane_clock)
        lane_running(lane, -1);
    lane->clock = bench->lane_clock;
}

vitro_bench *vitro_bench_activate_at(const struct vitro_bench_options *options, const char *where,
                                     struct vitro_bench_error *error)
{
    static const struct vitro_bench_options none;
    struct vitro_bench *bench = mem_alloc(sizeof *bench);
    struct vitro_clock_error why;

    bench->world.refs = 1;
    bench->world.frame = &bench->frame;
    bench->world.free = bench_free;
    (void)pthread_mutex_init(&bench->world.lock, NULL);
    int r = bench_install(bench, options ? options : &none, bench_err(error));
    if (r < 0) {
        world_unref(&bench->world);
        return NULL;
    }
    struct vitro_bench *outer = vitro_bench_current();
    bench->world.outer = outer ? world_ref(&outer->world) : NULL;
    bench->frame = (struct vitro_frame){.clock = bench->clock,
                                        .leaks = bench->leaks,
                                        .world = &bench->world,
                                        .is_mock = bench->clock != NULL};
    join_clock(bench);
    if (frame_push(&bench->frame, where, clock_err(&why)) == 0)
        return bench;
    leave_clock(bench);
    (void)err_set(bench_err(error), why.code, "bench: %.900s", why.text);
    world_unref(&bench->world);
    return NULL;
}

/* ---- ending */

/* Takes the frame off; -EPERM with both places. */
static int leave(struct vitro_bench *bench, const char *where, struct err *err)
{
    struct vitro_clock_error why;
    int r = vitro_frame_pop_at(&bench->frame, where, &why);

    if (r < 0)
        return err_set(err, r, "bench: %.900s", why.text);
    leave_clock(bench);
    return 0;
}

/* Its threads go on without it. */
static size_t abandon(struct vitro_bench *bench)
{
    size_t threads = world_abandon(&bench->world);

    if (bench->world.programs)
        programs_close(bench->world.programs);
    if (bench->owns_clock) {
        timers_forget(bench->clock);
        vitro_clock_stop(bench->clock);
    }
    return threads;
}

void vitro_bench_drop(vitro_bench *bench)
{
    struct err err;

    if (!bench)
        return;
    if (leave(bench, "the end of its block", &err) < 0)
        clock_misuse(&err);
    (void)abandon(bench);
    world_unref(&bench->world);
}

int vitro_bench_finalize_at(vitro_bench *bench, struct vitro_bench_findings *ret, const char *where,
                            struct vitro_bench_error *error)
{
    struct vitro_bench_findings mine;
    struct err *err = bench_err(error), ignored;

    if (!bench)
        return err_set(err, -EINVAL, "bench: finalize without a bench, at %s", where);
    bench->ended_ns = vitro_clock_now(bench->clock); /* once left, it moves for others */
    bench->ended_monotonic_ns = vitro_clock_monotonic(bench->clock);
    int r = leave(bench, where, err);
    if (r < 0)
        return r;
    struct vitro_bench_findings *found = ret ? ret : &mine;
    *found = (struct vitro_bench_findings){.threads = abandon(bench)};
    r = bench_find(bench, found, err ? err : &ignored);
    world_unref(&bench->world);
    if (!ret)
        vitro_bench_findings_done(found);
    return r;
}

/* ---- what it has */

struct vitro_clock *vitro_bench_clock(vitro_bench *bench)
{
    return bench ? bench->frame.clock : NULL;
}

struct vitro_overlay *vitro_bench_overlay(vitro_bench *bench)
{
    if (!bench || !bench->overlay)
        return NULL;
    (void)pthread_mutex_lock(&bench->world.lock);
    (void)files_sync(bench->world.files);
    (void)pthread_mutex_unlock(&bench->world.lock);
    return bench->overlay;
}

vitro_cassette *vitro_bench_cassette(vitro_bench *bench)
{
    return bench ? bench->cassette : NULL;
}

const char *vitro_bench_cassette_path(vitro_bench *bench)
{
    return bench ? bench->cassette_path : NULL;
}

const char *vitro_bench_proc_mode(vitro_bench *bench)
{
    return bench ? bench->proc_mode : "real";
}

vitro_leaks *vitro_bench_leaks(vitro_bench *bench)
{
    return bench ? bench->leaks : NULL;
}

int vitro_bench_note(vitro_bench *bench, const char *kind, const char *data_json,
                     struct vitro_bench_error *error)
{
    if (!bench || !kind || !*kind)
        return err_set(bench_err(error), -EINVAL, "bench tape: a note needs a bench and a kind");
    world_note(&bench->world, kind, "%s", data_json ? data_json : "{}");
    return 0;
}
