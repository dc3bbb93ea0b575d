/* SPDX-License-Identifier: MIT */
/* Fast paths for calls that are traced but seldom need it: stat, readlink and open.
 *
 * fast.c replaces `mov $CONSTANT, %register; syscall` in a guest's libraries by a jump to a few bytes of its
 * own, which put the address behind the call into rcx and come here. The call is made from here, where
 * the filter lets it pass. If the result (a file as old as the box, a device it has not met) or the path
 * (/proc, /dev, /sys) wants the supervisor, it is made again from a place where the filter stops it.
 *
 * Only rax, rcx, r11 and the flags may change, as in a system call; the stack below the red zone is
 * used, with rsp moved so that a signal does not overwrite it. */
#include "../box_abi.h"
    .text
    .macro export name
    .globl \name
    .type \name, @function
\name:
    .endm

    .macro begin
    lea -160(%rsp), %rsp
    mov %rcx, (%rsp)
    .endm
    .macro finish
    mov (%rsp), %rcx
    lea 160(%rsp), %rsp
    jmp *%rcx
    .endm

/* slow if the time at \offset of \buffer is not older than rcx */
    .macro check_time offset buffer
    cmp %rcx, \offset(\buffer)
    jge 9f
    .endm

/* A time that is not old (r11: older ones are right as they are), while writes need not be noted: one since
 * the clock moved is now, and anything between wants the supervisor. Uses rcx. */
    .macro fix_time offset buffer ns
    mov \offset(\buffer), %rcx
    cmp clock_page+88(%rip), %rcx  /* fresh */
    jl 5f
    jg 6f
    mov \offset+8(\buffer), \ns
    cmp clock_page+96(%rip), %rcx
    jg 6f
    mov \offset(\buffer), %rcx
5:  cmp %r11, %rcx
    jge 9f
    jmp 4f
6:  mov clock_page+104(%rip), %rcx /* now */
    mov %rcx, \offset(\buffer)
    mov clock_page+112(%rip), %rcx
    mov \ns, \offset+8(\buffer)
4:
    .endm

/* The device in rcx (its minor; of major 0) as the box numbers it, in rcx; slow (3) for one that the box
 * has not met, or never tells. Uses r11. */
    .macro number_device
    cmp $BOX_DEVICES, %rcx
    jae 3f
    lea clock_page+160(%rip), %r11 /* devices */
    movzbl (%r11,%rcx), %ecx
    test %ecx, %ecx
    jz 3f
    .endm

/* fstat(rdi, rsi buffer) and newfstatat(rdi, rsi path, rdx buffer, r10 flags) */
    .macro fast_stat name number buffer
    .balign 16
    export fast_\name
    begin
    mov $\number, %eax
    syscall
    export fast_\name\()_passed
    test %eax, %eax
    jnz 8f
    mov clock_page+64(%rip), %rcx /* file_start_s */
    .if \number == 262
    test $0x1100, %r10d           /* AT_SYMLINK_NOFOLLOW, AT_EMPTY_PATH: not asking for the age */
    jnz 1f
    mov clock_page+72(%rip), %rcx /* age_limit_s */
    .endif
1:  check_time 72 \buffer
    check_time 88 \buffer
    check_time 104 \buffer
2:  cmpb $0, clock_page+152(%rip) /* shows_devices */
    je 8f
    mov (\buffer), %rcx           /* st_dev: minor 19-8, major, minor 7-0 */
    test $0xfff00, %ecx
    jnz 8f                        /* a disk */
    mov %ecx, %r11d
    movzbl %cl, %ecx
    shr $12, %r11d
    and $~0xff, %r11d
    or %r11d, %ecx
    number_device
    mov %rcx, (\buffer)
8:  finish
9:  cmpb $0, clock_page+80(%rip)  /* writes_free */
    je 9f
    mov %rcx, %r11
    mov 24(\buffer), %ecx         /* st_mode */
    and $0170000, %ecx
    cmp $0010000, %ecx            /* a pipe may stand for /dev/random */
    je 9f
    fix_time 72 \buffer %rcx
    fix_time 88 \buffer %rcx
    fix_time 104 \buffer %rcx
    jmp 2b
3:
9:  mov $\number, %eax
    syscall
    jmp 8b
    .endm

    fast_stat fstat 5 %rsi
    fast_stat newfstatat 262 %rdx

/* statx(rdi, rsi path, rdx flags, r10 mask, r8 buffer) */
    .balign 16
    export fast_statx
    begin
    mov $332, %eax
    syscall
    export fast_statx_passed
    test %eax, %eax
    jnz 8f
    mov clock_page+64(%rip), %rcx
    test $0x1100, %edx
    jnz 1f
    mov clock_page+72(%rip), %rcx
1:  check_time 0x40 %r8
    check_time 0x50 %r8
    check_time 0x60 %r8
    check_time 0x70 %r8
2:  cmpb $0, clock_page+152(%rip)
    je 8f
    test $0x5000, %r10d           /* STATX_MNT_ID, STATX_MNT_ID_UNIQUE */
    jnz 3f
    andl $~0x5000, (%r8)          /* stx_mask: it comes unasked as well */
    movq $0, 0x90(%r8)
    cmpl $0, 0x88(%r8)            /* stx_dev_major */
    jne 8f
    mov 0x8c(%r8), %ecx           /* stx_dev_minor */
    number_device
    mov %ecx, 0x8c(%r8)
8:  finish
9:  cmpb $0, clock_page+80(%rip)
    je 9f
    mov %rcx, %r11
    movzwl 28(%r8), %ecx          /* stx_mode */
    and $0170000, %ecx
    cmp $0010000, %ecx
    je 9f
    fix_time 0x40 %r8 %ecx
    fix_time 0x50 %r8 %ecx
    fix_time 0x60 %r8 %ecx
    fix_time 0x70 %r8 %ecx
    jmp 2b
3:
9:  mov $332, %eax
    syscall
    jmp 8b

/* readlink(rdi path, rsi buffer, rdx size) and readlinkat(rdi, rsi path, rdx buffer, r10 size): "pipe:[1234]" has
 * a number of the kernel's. */
    .macro fast_readlink name number buffer
    .balign 16
    export fast_\name
    begin
    mov $\number, %eax
    syscall
    export fast_\name\()_passed
    test %rax, %rax
    jle 8f
    cmpb $']', -1(\buffer,%rax)
    je 9f
8:  finish
9:  mov $\number, %eax
    syscall
    jmp 8b
    .endm

    fast_readlink readlink 89 %rsi
    fast_readlink readlinkat 267 %rdx

/* openat(rdi directory, rsi path, rdx flags, r10 mode) */
    .balign 16
    export fast_openat
    begin
    test $01103, %edx      /* O_ACCMODE, O_CREAT, O_TRUNC: a write, its time is noted */
    jnz 2f
3:  cmp $-100, %edi        /* AT_FDCWD */
    jne 9f
    cmpb $0, guest_page+24(%rip) /* the working directory is special */
    jne 9f
    export fast_openat_first
    movzbl (%rsi), %ecx    /* a bad address faults here: the supervisor goes on at 9 */
    cmp $'/', %ecx
    jne 1f
    export fast_openat_second
    movzbl 1(%rsi), %ecx
    cmp $'p', %ecx
    je 9f
    cmp $'d', %ecx
    je 9f
    cmp $'s', %ecx
    je 9f
    cmp $'.', %ecx
    je 9f
    cmp $'/', %ecx
    je 9f
1:  mov $257, %eax
    syscall
    export fast_openat_passed
8:  finish
2:  cmpb $0, clock_page+80(%rip) /* writes_free */
    je 9f
    test $01100, %edx      /* O_CREAT, O_TRUNC */
    jnz 1b
    jmp 3b                 /* may be a device */
    export fast_openat_slow
9:  mov $257, %eax
    syscall
    jmp 8b

/* Calls that make a name, and are to be noted for its time alone. */
    .macro fast_write name number
    .balign 16
    export fast_\name
    begin
    mov $\number, %eax
    cmpb $0, clock_page+80(%rip)
    je 9f
    syscall
    export fast_\name\()_passed
8:  finish
9:  syscall
    jmp 8b
    .endm

    fast_write mkdir 83
    fast_write link 86
    fast_write symlink 88
    fast_write mkdirat 258
    fast_write linkat 265
    fast_write symlinkat 266
    .section .note.GNU-stack, "", @progbits
