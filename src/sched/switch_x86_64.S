/* SPDX-License-Identifier: MIT */
/* vitro__switch(save, load): leaves one stack and goes on with another.
 *
 * Pushes the six registers a called function must keep, stores the stack pointer in *save, takes
 * `load` for the stack pointer and pops the same six there. Floating-point control words are not
 * saved: they belong to the thread, and a task that changes them puts them back before it waits.
 * A jump instead of a return: the return predictor remembers the other stack. */
#if defined(__x86_64__) && !defined(VITRO_UCONTEXT)
    .text
    .globl vitro__switch
    .hidden vitro__switch
    .type vitro__switch, @function
    .p2align 4
vitro__switch:
    .cfi_startproc
    endbr64
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    popq %rcx
    jmpq *%rcx
    .cfi_endproc
    .size vitro__switch, .-vitro__switch

/* The first thing a new stack runs: rbx holds the function, r12 its argument. */
    .globl vitro__switch_start
    .hidden vitro__switch_start
    .type vitro__switch_start, @function
    .p2align 4
vitro__switch_start:
    .cfi_startproc
    .cfi_undefined rip
    endbr64
    movq %r12, %rdi
    xorl %ebp, %ebp
    callq *%rbx
    ud2
    .cfi_endproc
    .size vitro__switch_start, .-vitro__switch_start
#endif
    .section .note.GNU-stack,"",@progbits
