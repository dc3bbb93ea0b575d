/* SPDX-License-Identifier: MIT */
/* A work-stealing deque: the owner takes from the bottom, a thief from the top. When one piece is
 * left both may take it, unless the last one is fought for with a compare-and-swap. */
#include "tap.h"
#include <vitro/explore.h>

struct deque {
    int top, bottom; /* pieces top .. bottom-1 */
    int taken[4];
    bool fixed;
};

static int load(int *place)
{
    vitro_read(place);
    return *place;
}
static void store(int *place, int value)
{
    vitro_write(place);
    *place = value;
}
static bool swap(int *place, int from, int to)
{
    vitro_write(place); /* one step: nobody comes between */
    if (*place != from)
        return false;
    *place = to;
    return true;
}

static int owner(void *arg)
{
    struct deque *d = arg;

    for (int i = 0; i < 2; i++) {
        int bottom = load(&d->bottom) - 1;
        store(&d->bottom, bottom);
        int top = load(&d->top);
        if (top > bottom) { /* empty */
            store(&d->bottom, top);
            continue;
        }
        if (top == bottom && d->fixed) { /* the last piece */
            bool mine = swap(&d->top, top, top + 1);
            store(&d->bottom, top + 1);
            if (!mine)
                continue;
        }
        d->taken[bottom]++;
    }
    return 0;
}

static int thief(void *arg)
{
    struct deque *d = arg;
    int top = load(&d->top), bottom = load(&d->bottom);

    if (top >= bottom)
        return 0;
    if (swap(&d->top, top, top + 1))
        d->taken[top]++;
    return 0;
}

static int steal(void *arg)
{
    struct deque d = {.bottom = 2, .fixed = arg != NULL};
    struct vitro_call calls[] = {{owner, &d, "owner", 0}, {thief, &d, "thief", 0}};

    vitro_join_all(calls, 2);
    return d.taken[0] > 1 || d.taken[1] > 1 ? 1 : 0;
}

int main(void)
{
    int fixed = 1;
    struct vitro_verdict v = vitro_check(steal, NULL, .exact = true, .strategy = VITRO_PCT,
                                         .depth = 3, .schedules = 5000);

    tap(v.kind == VITRO_PROPERTY, "PCT finds a piece that is taken twice");
    tap_note(v.report);
    vitro_verdict_done(&v);
    v = vitro_prove(steal, &fixed, .exact = true);
    tap(v.kind == VITRO_OK && v.complete, "fought for with a swap, no piece is: proved");
    tap_note(v.report);
    vitro_verdict_done(&v);
    return tap_end();
}
