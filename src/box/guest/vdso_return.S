/* SPDX-License-Identifier: MIT */
/* Where a wait with a replaced timeout comes back to: puts the guest's register back and goes on
 * behind its call. rcx holds the address of a struct box_return_slot; a system call may clobber rcx
 * and r11, so nothing of the guest's is lost. One entry for each argument register. The instruction
 * before an entry is a syscall, because the kernel starts an interrupted call again two bytes before
 * the place it returns to. */
    .text
    .macro entry name register
    .globl \name
    .type \name, @function
    syscall
\name:
    mov 0(%rcx), \register
    jmp *8(%rcx)
    .endm

    .balign 16
    entry return_rdx %rdx
    .balign 16
    entry return_r10 %r10
    .balign 16
    entry return_r8 %r8
    .section .note.GNU-stack, "", @progbits
