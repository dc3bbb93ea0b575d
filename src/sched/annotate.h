/* SPDX-License-Identifier: MIT */
/* annotate: tells AddressSanitizer, ThreadSanitizer and valgrind about our stacks. Everything here
 * is nothing in a plain build, but for one registration a stack with valgrind, made once. */
#pragma once
#include "sched/stack.h"

#if defined(__SANITIZE_ADDRESS__)
#define ANNOTATE_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ANNOTATE_ASAN 1
#endif
#endif
#ifndef ANNOTATE_ASAN
#define ANNOTATE_ASAN 0
#endif

#if defined(__SANITIZE_THREAD__)
#define ANNOTATE_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define ANNOTATE_TSAN 1
#endif
#endif
#ifndef ANNOTATE_TSAN
#define ANNOTATE_TSAN 0
#endif

#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#define ANNOTATE_VALGRIND 1
#else
#define ANNOTATE_VALGRIND 0
#endif

#if ANNOTATE_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if ANNOTATE_TSAN
#include <sanitizer/tsan_interface.h>
#endif

static inline void annotate_stack_new(struct stack *stack)
{
#if ANNOTATE_VALGRIND
    stack->valgrind_id = VALGRIND_STACK_REGISTER(stack->low, stack->low + stack->size);
#endif
#if ANNOTATE_TSAN
    stack->tsan_fiber = __tsan_create_fiber(0);
#endif
    (void)stack;
}

/* Frames that were left for good are still marked as theirs. */
static inline void annotate_stack_reused(struct stack *stack)
{
#if ANNOTATE_ASAN
    __asan_unpoison_memory_region(stack->low, stack->size);
#endif
    (void)stack;
}

/* Before the switch, on the stack that is left. `keep` holds what AddressSanitizer wants back when
 * this stack goes on; NULL when it never will. `to` is NULL for the thread's own stack, whose
 * place is given by low and size. */
static inline void annotate_leave(void **keep, const struct stack *to, const void *low, size_t size)
{
#if ANNOTATE_ASAN
    __sanitizer_start_switch_fiber(keep, to ? to->low : low, to ? to->size : size);
#endif
    (void)keep, (void)to, (void)low, (void)size;
}

/* After the switch, on the stack that goes on. Returns through low and size where we came from. */
static inline void annotate_arrive(void *keep, const void **low, size_t *size)
{
#if ANNOTATE_ASAN
    __sanitizer_finish_switch_fiber(keep, low, size);
#endif
    (void)keep, (void)low, (void)size;
}

static inline void annotate_fiber(const struct stack *to, void *driver)
{
#if ANNOTATE_TSAN
    __tsan_switch_to_fiber(to ? to->tsan_fiber : driver, 0);
#endif
    (void)to, (void)driver;
}

static inline void *annotate_this_fiber(void)
{
#if ANNOTATE_TSAN
    return __tsan_get_current_fiber();
#else
    return NULL;
#endif
}
