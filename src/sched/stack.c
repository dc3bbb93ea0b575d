/* SPDX-License-Identifier: MIT */
/* Stacks are cut from slabs: one mmap for many stacks. The list of slabs is only ever extended at
 * its front, so the fault handler may walk it. */
#include "sched/stack.h"
#include "sched/annotate.h"
#include "base/buf.h"
#include <stdint.h>
#include <sys/mman.h>

#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#endif

enum { STACKS_PER_SLAB = 64, MPROTECT_STACKS_MAX = 24000 };

struct slab {
    struct slab *next;
    char *memory;
    size_t stride; /* guard page and stack */
    unsigned count;
    struct stack stacks[];
};

static __thread struct slab *slabs;
static __thread struct stack *pool;     /* of the default size */
static __thread struct stack *pool_odd; /* of any other size */
static __thread unsigned mprotected;
static __thread bool no_light_guards;

size_t stack_default_size(void)
{
    return ANNOTATE_ASAN ? 256 << 10 : 64 << 10;
}

static bool guard(char *page)
{
    if (!no_light_guards) {
        if (madvise(page, STACK_GUARD_BYTES, MADV_GUARD_INSTALL) == 0)
            return true;
        no_light_guards = true;
    }
    if (mprotected >= MPROTECT_STACKS_MAX)
        return false;
    mprotected++;
    return mprotect(page, STACK_GUARD_BYTES, PROT_NONE) == 0;
}

static bool slab_add(size_t size, unsigned count, struct stack **list)
{
    size_t stride = size + STACK_GUARD_BYTES;
    struct slab *slab = malloc(sizeof *slab + count * sizeof slab->stacks[0]);
    char *memory = mmap(NULL, stride * count, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (!slab || memory == MAP_FAILED) {
        free(slab);
        if (memory != MAP_FAILED)
            (void)munmap(memory, stride * count);
        return false;
    }
    (void)madvise(memory, stride * count, MADV_NOHUGEPAGE);
    *slab = (struct slab){.memory = memory, .stride = stride, .count = count};
    for (unsigned i = count; i-- > 0;) {
        struct stack *stack = &slab->stacks[i];
        char *low = memory + i * stride + STACK_GUARD_BYTES;
        *stack = (struct stack){.next = *list, .low = low, .size = size};
        stack->guarded = guard(low - STACK_GUARD_BYTES);
        annotate_stack_new(stack);
        *list = stack;
    }
    slab->next = slabs;
    slabs = slab;
    return true;
}

struct stack *stack_take(size_t size)
{
    size_t standard = stack_default_size();

    if (!size || size == standard) {
        if (!pool && !slab_add(standard, STACKS_PER_SLAB, &pool))
            return NULL;
        struct stack *stack = pool;
        pool = stack->next;
        if (pool) /* the next one is likely cold */
            for (size_t line = 1; line <= 8; line++)
                __builtin_prefetch(stack_top(pool) - line * 64, 1);
        annotate_stack_reused(stack);
        return stack;
    }
    size = (size + 4095) & ~(size_t)4095;
    for (struct stack **link = &pool_odd; *link; link = &(*link)->next)
        if ((*link)->size == size) {
            struct stack *stack = *link;
            *link = stack->next;
            annotate_stack_reused(stack);
            return stack;
        }
    struct stack *made = NULL;
    return slab_add(size, 1, &made) ? made : NULL;
}

void stack_give(struct stack *stack)
{
    struct stack **list = stack->size == stack_default_size() ? &pool : &pool_odd;

    stack->next = *list;
    *list = stack;
}

static int by_address(const void *a, const void *b)
{
    const struct stack *x = *(struct stack *const *)a, *y = *(struct stack *const *)b;

    return x->low < y->low ? -1 : x->low > y->low;
}

void stack_pool_sort(bool descending)
{
    size_t count = 0;

    for (struct stack *stack = pool; stack; stack = stack->next)
        count++;
    CLEANUP(mem_free) struct stack **sorted = mem_alloc((count + 1) * sizeof(struct stack *));
    for (size_t i = 0; i < count; i++, pool = pool->next)
        sorted[i] = pool;
    qsort(sorted, count, sizeof(struct stack *), by_address);
    pool = NULL;
    for (size_t i = 0; i < count; i++) { /* the last one put is the first one taken */
        struct stack *stack = sorted[descending ? i : count - 1 - i];
        stack->next = pool;
        pool = stack;
    }
}

const struct stack *stack_guarding(const void *address)
{
    uintptr_t at = (uintptr_t)address;

    for (const struct slab *slab = slabs; slab; slab = slab->next) {
        uintptr_t low = (uintptr_t)slab->memory;
        if (at < low || at >= low + slab->stride * slab->count)
            continue;
        const struct stack *stack = &slab->stacks[(at - low) / slab->stride];
        return (at - low) % slab->stride < STACK_GUARD_BYTES ? stack : NULL;
    }
    return NULL;
}
