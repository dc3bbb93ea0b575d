/* SPDX-License-Identifier: MIT */
/* vitro__switch for 64-bit Arm: x19 to x30 and d8 to d15 are what a called function must keep. The
 * frame is 160 bytes; switch.c fills one for a new stack. */
#if defined(__aarch64__) && !defined(VITRO_UCONTEXT)
    .text
    .globl vitro__switch
    .hidden vitro__switch
    .type vitro__switch, %function
    .p2align 4
vitro__switch:
    .cfi_startproc
    sub sp, sp, #160
    stp x19, x20, [sp, #0]
    stp x21, x22, [sp, #16]
    stp x23, x24, [sp, #32]
    stp x25, x26, [sp, #48]
    stp x27, x28, [sp, #64]
    stp x29, x30, [sp, #80]
    stp d8, d9, [sp, #96]
    stp d10, d11, [sp, #112]
    stp d12, d13, [sp, #128]
    stp d14, d15, [sp, #144]
    mov x9, sp
    str x9, [x0]
    mov sp, x1
    ldp x19, x20, [sp, #0]
    ldp x21, x22, [sp, #16]
    ldp x23, x24, [sp, #32]
    ldp x25, x26, [sp, #48]
    ldp x27, x28, [sp, #64]
    ldp x29, x30, [sp, #80]
    ldp d8, d9, [sp, #96]
    ldp d10, d11, [sp, #112]
    ldp d12, d13, [sp, #128]
    ldp d14, d15, [sp, #144]
    add sp, sp, #160
    br x30
    .cfi_endproc
    .size vitro__switch, .-vitro__switch

/* The first thing a new stack runs: x19 holds the function, x20 its argument. */
    .globl vitro__switch_start
    .hidden vitro__switch_start
    .type vitro__switch_start, %function
    .p2align 4
vitro__switch_start:
    .cfi_startproc
    .cfi_undefined x30
    mov x0, x20
    mov x29, #0
    blr x19
    brk #1
    .cfi_endproc
    .size vitro__switch_start, .-vitro__switch_start
#endif
    .section .note.GNU-stack,"",%progbits
