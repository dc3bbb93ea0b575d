/* SPDX-License-Identifier: MIT */
/* Threads that have what their starter had: its frames, a clock, a name by their place in the tree
 * of starts. The starter counts a worker as running before there is a thread, so a clock that is
 * moved next cannot overtake it. */
#include "clock/clock.h"
#include "base/buf.h"
#include "base/call_out.h"
#include <errno.h>
#include <pthread.h>
#include <string.h>

struct vitro_worker {
    pthread_t thread;
    int (*run)(void *arg);
    void *arg;
    int result;
    struct lane lane;
    struct vitro_frame frame;    /* of its own clock, where one is given */
    struct vitro_frame *counted; /* the starter's, which counts it */
    char *name;                  /* owned */
};

static void running(struct vitro_clock *clock, int change)
{
    if (clock->ops->running)
        clock->ops->running(clock, change);
}

void lane_running(const struct lane *lane, int change)
{
    if (lane->clock)
        running(lane->clock, change);
}

char *lane_inherit(struct lane *lane, struct vitro_frame *frame, struct vitro_clock *clock,
                   const char *where, struct lane *ret)
{
    struct vitro_clock *used = clock ? clock : vitro_clock_in_force();
    char *name = lane->name
                     ? mem_format("%s.%u", lane->name, ++lane->children)
                     : mem_format("%u", __atomic_add_fetch(&used->workers, 1, __ATOMIC_RELAXED));

    *ret = (struct lane){
        .top = lane->top, .name = name, .where = where, .clock = clock_innermost(clock)};
    if (frame) {
        *frame = (struct vitro_frame){.below = lane->top,
                                      .clock = clock       ? clock
                                               : lane->top ? lane->top->clock
                                                           : NULL,
                                      .leaks = lane->top ? lane->top->leaks : NULL,
                                      .world = lane->top ? lane->top->world : NULL,
                                      .where = where,
                                      .is_mock = 1,
                                      .is_pushed = 1};
        ret->top = frame;
    }
    ret->base = ret->top;
    return name;
}

static void *worker_main(void *arg)
{
    vitro_worker *worker = arg;
    struct lane *lane = lane_self();

    *lane = worker->lane;
    worker->result = call_out_int(worker->run, worker->arg);
    if (!lane->idle)
        running(lane->clock, -1);
    struct err err = {0};
    if (lane->top != lane->base) /* its memory may be gone by now */
        (void)err_set(&err, -EPERM, "the worker started at %s ended with a guard still pushed",
                      lane->where);
    else if (__atomic_load_n(&worker->frame.workers, __ATOMIC_ACQUIRE))
        (void)err_set(&err, -EBUSY,
                      "the worker started at %s ended before the one it started at %s was joined",
                      lane->where, __atomic_load_n(&worker->frame.worker_where, __ATOMIC_ACQUIRE));
    if (err.code)
        clock_misuse(&err);
    return NULL;
}

static void worker_free(vitro_worker *worker)
{
    if (worker->counted)
        (void)__atomic_sub_fetch(&worker->counted->workers, 1, __ATOMIC_ACQ_REL);
    if (worker->frame.is_pushed)
        interpose_count(-1);
    free(worker->name);
    free(worker);
}

vitro_worker *vitro_worker_start_at(struct vitro_clock *clock, int (*run)(void *arg), void *arg,
                                    const char *where, struct vitro_clock_error *error)
{
    struct lane *lane = lane_self();

    if (!run) {
        (void)err_set(clock_err(error), -EINVAL, "start a worker at %s: nothing to run", where);
        return NULL;
    }
    vitro_worker *worker = mem_alloc(sizeof *worker);
    worker->run = run;
    worker->arg = arg;
    worker->counted = lane->top;
    worker->name = lane_inherit(lane, clock ? &worker->frame : NULL, clock, where, &worker->lane);
    if (worker->counted) {
        __atomic_store_n(&worker->counted->worker_where, where, __ATOMIC_RELEASE);
        (void)__atomic_add_fetch(&worker->counted->workers, 1, __ATOMIC_ACQ_REL);
    }
    if (clock)
        interpose_count(+1);
    running(worker->lane.clock, +1);
    int r = pthread_create(&worker->thread, NULL, worker_main, worker);
    if (r == 0)
        return worker;
    (void)err_set(clock_err(error), -r, "start a worker at %s: %s", where, strerror(r));
    running(worker->lane.clock, -1);
    worker_free(worker);
    return NULL;
}

int vitro_worker_join(vitro_worker *worker)
{
    if (!worker)
        return -EINVAL;
    vitro_worker_idle_begin();
    (void)pthread_join(worker->thread, NULL);
    vitro_worker_idle_end();
    int result = worker->result;
    worker_free(worker);
    return result;
}

void vitro_worker_idle_begin(void)
{
    struct lane *lane = lane_self();

    if (lane->clock && lane->idle++ == 0)
        running(lane->clock, -1);
}

void vitro_worker_idle_end(void)
{
    struct lane *lane = lane_self();

    if (lane->clock && lane->idle && --lane->idle == 0)
        running(lane->clock, +1);
}

const char *vitro_worker_name(void)
{
    return lane_name(lane_self());
}
