/* SPDX-License-Identifier: MIT */
/* switch: from one stack to another. A context is a saved stack pointer; where there is no assembly
 * for the machine (or with VITRO_UCONTEXT defined), a ucontext_t stands on the stack instead. */
#pragma once
#include <stddef.h>

/* Prepares a stack so that the first switch to the returned context calls entry(argument). `entry`
 * does not return. */
void *switch_prepare(void *stack_low, size_t size, void (*entry)(void *), void *argument);

/* Stores this context in *save and goes on with `load`. Returns when somebody switches back. */
void vitro__switch(void **save, void *load);
