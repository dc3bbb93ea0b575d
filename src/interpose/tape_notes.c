/* SPDX-License-Identifier: MIT */
#include "interpose/tape_notes.h"
#include "clock/clock.h"
#include "interpose/calls.h"
#include <string.h>

void tape_notes_add(struct tape_notes *notes, const char *kind, const char *data)
{
    if (notes->count == notes->capacity) {
        notes->capacity = notes->capacity ? notes->capacity * 2 : 64;
        notes->notes = mem_grow(notes->notes, notes->capacity * sizeof *notes->notes);
    }
    notes->notes[notes->count] = (struct tape_note){.kind = mem_dup(kind),
                                                    .data = mem_dup(data),
                                                    .worker = mem_dup(vitro_worker_name()),
                                                    .now_ns = vitro_clock_now(NULL),
                                                    .monotonic_ns = vitro_clock_monotonic(NULL),
                                                    .number = notes->count};
    notes->count++;
}

static int by_time(const void *a, const void *b)
{
    const struct tape_note *x = a, *y = b;

    if (x->monotonic_ns != y->monotonic_ns)
        return x->monotonic_ns < y->monotonic_ns ? -1 : 1;
    int order = lane_compare(x->worker, y->worker);
    return order ? order : x->number < y->number ? -1 : 1;
}

void tape_notes_sort(struct tape_notes *notes)
{
    if (notes->count)
        qsort(notes->notes, notes->count, sizeof *notes->notes, by_time);
}

void tape_notes_done(struct tape_notes *notes)
{
    for (size_t i = 0; i < notes->count; i++) {
        free(notes->notes[i].kind);
        free(notes->notes[i].data);
        free(notes->notes[i].worker);
    }
    free(notes->notes);
    *notes = (struct tape_notes){0};
}

void world_note(struct vitro_world *world, const char *kind, const char *format, ...)
{
    struct lane *lane = lane_self();
    CLEANUP(buf_done) struct buf data = {0};
    va_list args;

    while (world && !world->tape)
        world = world->outer;
    if (!world)
        return;
    inside_begin(lane);
    va_start(args, format);
    buf_addv(&data, format, args);
    va_end(args);
    (void)pthread_mutex_lock(&world->lock);
    tape_notes_add(world->tape, kind, buf_text(&data));
    (void)pthread_mutex_unlock(&world->lock);
    inside_end(lane);
}
