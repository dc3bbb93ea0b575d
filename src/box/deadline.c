/* SPDX-License-Identifier: MIT */
#include "box/box_internal.h"
#include "base/when.h"
#include <assert.h>

bool deadline_is_before(const struct deadline *a, const struct deadline *b)
{
    return a->due_ns != b->due_ns ? a->due_ns < b->due_ns : a->order < b->order;
}

static void place(struct deadline_heap *heap, size_t at, struct deadline *deadline)
{
    heap->items[at] = deadline;
    deadline->index = at + 1;
}

static void sift_up(struct deadline_heap *heap, size_t at, struct deadline *deadline)
{
    while (at && deadline_is_before(deadline, heap->items[(at - 1) / 2])) {
        place(heap, at, heap->items[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    place(heap, at, deadline);
}

static void sift_down(struct deadline_heap *heap, size_t at, struct deadline *deadline)
{
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= heap->count)
            break;
        if (child + 1 < heap->count &&
            deadline_is_before(heap->items[child + 1], heap->items[child]))
            child++;
        if (!deadline_is_before(heap->items[child], deadline))
            break;
        place(heap, at, heap->items[child]);
        at = child;
    }
    place(heap, at, deadline);
}

void deadline_arm(struct deadline_heap *heap, struct deadline *deadline, int64_t due_ns)
{
    deadline->order = heap->orders++;
    deadline_repeat(heap, deadline, due_ns);
}

void deadline_repeat(struct deadline_heap *heap, struct deadline *deadline, int64_t due_ns)
{
    assert(deadline->fire);
    deadline_disarm(heap, deadline);
    if (heap->count == heap->capacity) {
        heap->capacity = heap->capacity ? heap->capacity * 2 : 64;
        heap->items = mem_grow(heap->items, heap->capacity * sizeof *heap->items);
    }
    deadline->due_ns = due_ns;
    deadline->armed_at = heap->busy_ns;
    sift_up(heap, heap->count++, deadline);
}

uint64_t deadline_busy(const struct deadline_heap *heap, const struct deadline *deadline)
{
    return heap->busy_ns - deadline->armed_at;
}

void deadline_disarm(struct deadline_heap *heap, struct deadline *deadline)
{
    if (!deadline->index)
        return;
    size_t at = deadline->index - 1;
    struct deadline *last = heap->items[--heap->count];
    deadline->index = 0;
    if (last == deadline)
        return;
    if (at && deadline_is_before(last, heap->items[(at - 1) / 2]))
        sift_up(heap, at, last);
    else
        sift_down(heap, at, last);
}

struct deadline *deadline_first(const struct deadline_heap *heap)
{
    return heap->count ? heap->items[0] : NULL;
}

void deadline_shift_realtime(struct deadline_heap *heap, int64_t by_ns)
{
    for (size_t i = 0; i < heap->count; i++)
        if (heap->items[i]->realtime)
            heap->items[i]->due_ns += by_ns;
    for (size_t i = heap->count / 2; i-- > 0;)
        sift_down(heap, i, heap->items[i]);
}

/* On a machine a wait always lasts a little longer than it has to, and programs count on it: they
 * subtract seconds in floating point, which are off by up to 0.24 us in our time, or of
 * microseconds that were cut off, and ask for no less than they waited. Lengths with nine binary
 * digits behind the point are added to a double without an error of their own; other whole
 * nanoseconds are not. */
bool deadline_is_exact(int64_t length_ns)
{
    return length_ns % ((int64_t)NS_PER_SEC / 512) == 0;
}

int64_t deadline_landing(const struct deadline *deadline)
{
    return deadline->due_ns + (deadline->exact ? 0 : (int64_t)NS_PER_US);
}
