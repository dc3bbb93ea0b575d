/* SPDX-License-Identifier: MIT */
/* stack: the stacks tasks run on, from a pool of the calling thread.
 *
 * A stack is taken when a task first runs and given back when it ends; it is never unmapped while
 * the thread lives, so a warm pool costs a few loads. Below each stack lies a guard page. Guards
 * are the light kind (MADV_GUARD_INSTALL, Linux 6.13) where there is one, else mprotect, which the
 * kernel limits to some 30,000 stacks: those behind that have no guard page.
 * Only pages that were touched cost memory. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct stack {
    struct stack *next; /* in the pool */
    char *low;          /* lowest usable byte; the guard page ends here */
    size_t size;
    unsigned valgrind_id;
    bool guarded;
    void *tsan_fiber;
};

enum { STACK_GUARD_BYTES = 4096 };

/* Where frames begin. Stacks are a whole number of pages apart: without an offset the hot ends of
 * all of them would compete for the same few cache lines. */
static inline char *stack_top(const struct stack *stack)
{
    return stack->low + stack->size - ((size_t)stack->low >> 12) % 8 * 192;
}

size_t stack_default_size(void);

/* A stack of at least `size` bytes (0: the default), or NULL when memory cannot be mapped. */
struct stack *stack_take(size_t size);
void stack_give(struct stack *stack);
/* The next tasks get stacks in the order of their addresses, or the other way round. */
void stack_pool_sort(bool descending);

/* The stack whose guard page holds `address`; NULL if none. For the fault handler. */
const struct stack *stack_guarding(const void *address);
