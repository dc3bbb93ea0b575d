/* SPDX-License-Identifier: MIT */
/* What the first switch to a new stack finds there; and the portable, slower switch. */
#include "sched/switch.h"
#include <stdint.h>
#include <string.h>

#if defined(__x86_64__) && !defined(VITRO_UCONTEXT)

void vitro__switch_start(void);

void *switch_prepare(void *stack_low, size_t size, void (*entry)(void *), void *argument)
{
    uintptr_t top = ((uintptr_t)stack_low + size) & ~(uintptr_t)15;
    /* r15 r14 r13 r12 rbx rbp, where to jump; the stack is aligned to 16 before the call there. */
    uintptr_t *frame = (uintptr_t *)(top - 9 * sizeof(uintptr_t));

    memset(frame, 0, 9 * sizeof *frame);
    frame[3] = (uintptr_t)argument;
    frame[4] = (uintptr_t)entry;
    frame[6] = (uintptr_t)vitro__switch_start;
    return frame;
}

#elif defined(__aarch64__) && !defined(VITRO_UCONTEXT)

void vitro__switch_start(void);

void *switch_prepare(void *stack_low, size_t size, void (*entry)(void *), void *argument)
{
    uintptr_t top = ((uintptr_t)stack_low + size) & ~(uintptr_t)15;
    uintptr_t *frame = (uintptr_t *)(top - 160);

    memset(frame, 0, 160);
    frame[0] = (uintptr_t)entry;
    frame[1] = (uintptr_t)argument;
    frame[11] = (uintptr_t)vitro__switch_start;
    return frame;
}

#else

#include <ucontext.h>

struct start {
    ucontext_t context;
    void (*entry)(void *);
    void *argument;
};

static void start_here(unsigned high, unsigned low)
{
    struct start *start = (struct start *)((uintptr_t)high << 32 | low);

    start->entry(start->argument);
}

void *switch_prepare(void *stack_low, size_t size, void (*entry)(void *), void *argument)
{
    uintptr_t top = ((uintptr_t)stack_low + size - sizeof(struct start)) & ~(uintptr_t)63;
    struct start *start = (struct start *)top;

    (void)getcontext(&start->context);
    start->entry = entry;
    start->argument = argument;
    start->context.uc_link = NULL;
    start->context.uc_stack.ss_sp = stack_low;
    start->context.uc_stack.ss_size = top - (uintptr_t)stack_low;
    makecontext(&start->context, (void (*)(void))start_here, 2, (unsigned)(top >> 32),
                (unsigned)top);
    return &start->context;
}

void vitro__switch(void **save, void *load)
{
    ucontext_t here; /* lives on the stack that is left, as long as it is left */

    *save = &here;
    (void)swapcontext(&here, load);
}

#endif
