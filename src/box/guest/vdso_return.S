/* SPDX-License-Identifier: MIT */
/* Where a wait with a replaced timeout comes back to: puts the guest's register back and goes on
 * behind its call. rcx holds the address of a struct box_return_slot; a system call may clobber rcx
 * and r11, so nothing of the guest's is lost. One entry for each argument register. The instruction
 * before an entry is a syscall, because the kernel starts an interrupted call again two bytes before
 * the place it returns to. */
#include "../box_abi.h"
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

/* The end of box_exec_calls (vdso_image.S): the page it ran on is unmapped from here. The supervisor
 * has the call that follows traced, and everything begins anew at the program's own start. A filter
 * of the guest's may answer it before ours does: then there is the breakpoint. */
    .balign 16
    .globl exec_unmap, exec_done
    .type exec_unmap, @function
    .type exec_done, @function
exec_unmap:
    syscall
exec_done:
    mov $BOX_CALL_READY, %eax
    syscall
    int3
    .section .note.GNU-stack, "", @progbits
