/* SPDX-License-Identifier: MIT */
/* Code of guests, as bytes in the supervisor: their vDSO, built from guest/vdso.c, ... */
    .section .rodata
    .balign 16
    .globl box_vdso_image, box_vdso_image_end
    .hidden box_vdso_image, box_vdso_image_end
box_vdso_image:
    .incbin "guest/vdso.so"
box_vdso_image_end:

/* What a new program image runs before its own first instruction (exec.c), from the kernel's vDSO,
 * which the last call may unmap. The supervisor has set every register but rax, rcx and r11:
 *
 *     rdi, rsi, rdx, r10, r8, r9    of mmap         rbx, rbp, r12    of shmat
 *     r13, r14                      of munmap       r15              where to go on
 *
 * Their results are left in r8, r9 and rax. */
    .globl box_exec_calls, box_exec_calls_end
    .hidden box_exec_calls, box_exec_calls_end
box_exec_calls:
    mov $9, %eax
    syscall
    mov %rax, %r8
    mov %ebx, %edi
    mov %rbp, %rsi
    mov %r12d, %edx
    mov $30, %eax
    syscall
    mov %rax, %r9
    mov %r13, %rdi
    mov %r14, %rsi
    mov $11, %eax
    jmp *%r15
box_exec_calls_end:
    .section .note.GNU-stack, "", @progbits
