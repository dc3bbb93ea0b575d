/* SPDX-License-Identifier: MIT */
/* The stack of mocks and leak scopes of a thread. A frame is the caller's memory and carries what
 * is in force with it, so that a look at the top is enough. Workers borrow the frame that was on
 * top when they were started: it counts them, and is not popped while one is left. */
#include "clock/clock.h"
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Without a call to the loader, which may allocate: signal handlers come here, too. */
static _Thread_local struct lane self __attribute__((tls_model("initial-exec")));

struct lane *lane_self(void)
{
    return &self;
}

int lane_compare(const char *a, const char *b)
{
    return strverscmp(a, b); /* digits compare as numbers, and "1" stands before "1.1" */
}

void clock_misuse(const struct err *err)
{
    (void)fprintf(stderr, "vitro: %s\n", err->text);
    abort();
}

int frame_push(struct vitro_frame *frame, const char *where, struct err *err)
{
    struct lane *lane = lane_self();

    where = where ? where : "?";
    if (frame->is_pushed)
        return err_set(err, -EBUSY, "push a guard at %s: it was pushed at %s and is in use", where,
                       frame->where);
    frame->where = where;
    frame->below = lane->top;
    if (frame->below) {
        frame->clock = frame->clock ? frame->clock : frame->below->clock;
        frame->leaks = frame->leaks ? frame->leaks : frame->below->leaks;
        frame->world = frame->world ? frame->world : frame->below->world;
    }
    frame->workers = 0;
    frame->is_pushed = 1;
    lane->top = frame;
    interpose_count(+1);
    return 0;
}

int vitro_mock_push_at(struct vitro_frame *frame, struct vitro_clock *clock, const char *where,
                       struct vitro_clock_error *error)
{
    if (!frame || !clock || !clock->ops)
        return err_set(clock_err(error), -EINVAL, "push a mock at %s: no %s", where ? where : "?",
                       frame ? "clock" : "guard");
    if (!frame->is_pushed)
        *frame = (struct vitro_frame){.clock = clock, .is_mock = 1};
    return frame_push(frame, where, clock_err(error));
}

void vitro_mock_begin(struct vitro_frame *frame, struct vitro_clock *clock, const char *where)
{
    struct vitro_clock_error error;

    *frame = (struct vitro_frame){0};
    if (vitro_mock_push_at(frame, clock, where, &error) < 0)
        clock_misuse(clock_err(&error));
}

static bool in_stack(const struct vitro_frame *from, const struct vitro_frame *frame)
{
    for (; from; from = from->below)
        if (from == frame)
            return true;
    return false;
}

int vitro_frame_pop_at(struct vitro_frame *frame, const char *where,
                       struct vitro_clock_error *error)
{
    struct lane *lane = lane_self();
    struct err *err = clock_err(error);

    where = where ? where : "?";
    if (!frame || !frame->is_pushed)
        return err_set(err, -EINVAL, "pop a guard at %s: it is not pushed", where);
    if (!in_stack(lane->top, frame))
        return err_set(err, -EPERM, "pop at %s: what was pushed at %s was pushed by another thread",
                       where, frame->where);
    if (in_stack(lane->base, frame))
        return err_set(err, -EPERM,
                       "pop at %s: what was pushed at %s belongs to who started this worker, at %s",
                       where, frame->where, lane->where);
    if (lane->top != frame)
        return err_set(err, -EPERM,
                       "pop at %s: what was pushed at %s is not on top, what was pushed at %s is\n"
                       "hint: guards are popped in the opposite order of pushing",
                       where, frame->where, lane->top->where);
    unsigned workers = __atomic_load_n(&frame->workers, __ATOMIC_ACQUIRE);
    if (workers)
        return err_set(err, -EBUSY,
                       "pop at %s: %u workers use what was pushed at %s, the last of them started "
                       "at %s\nhint: vitro_worker_join them first",
                       where, workers, frame->where,
                       __atomic_load_n(&frame->worker_where, __ATOMIC_ACQUIRE));
    lane->top = frame->below;
    frame->is_pushed = 0;
    interpose_count(-1);
    return 0;
}

void vitro_frame_end(struct vitro_frame *frame)
{
    struct vitro_clock_error error;

    if (frame->is_pushed && vitro_frame_pop_at(frame, "the end of its block", &error) < 0)
        clock_misuse(clock_err(&error));
}

int vitro_is_mocked(void)
{
    return self.top && self.top->clock;
}

struct vitro_clock *vitro_clock_in_force(void)
{
    return vitro_is_mocked() ? self.top->clock : vitro_clock_real();
}
