/* SPDX-License-Identifier: MIT */
/* Fast paths for calls that are traced but seldom need it: stat and open.
 *
 * fast.c replaces `mov $CONSTANT, %register; syscall` in a guest's libraries by a jump to a few bytes of its
 * own, which put the address behind the call into rcx and come here. The call is made from here, where
 * the filter lets it pass. If the result (a file as old as the box) or the path (/proc, /dev, /sys)
 * wants the supervisor, it is made again from a place where the filter stops it.
 *
 * Only rax, rcx, r11 and the flags may change, as in a system call; the stack below the red zone is
 * used, with rsp moved so that a signal does not overwrite it. */
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

/* newfstatat(rdi, rsi path, rdx buffer, r10 flags) */
    .balign 16
    export fast_newfstatat
    begin
    mov $262, %eax
    syscall
    export fast_newfstatat_passed
    test %eax, %eax
    jnz 8f
    mov clock_page+64(%rip), %rcx /* file_start_s */
    test $0x1100, %r10d           /* AT_SYMLINK_NOFOLLOW, AT_EMPTY_PATH: not asking for the age */
    jnz 1f
    mov clock_page+72(%rip), %rcx /* age_limit_s */
1:  check_time 72 %rdx
    check_time 88 %rdx
    check_time 104 %rdx
8:  finish
9:  cmpb $0, clock_page+80(%rip)  /* writes_free */
    je 9f
    mov %rcx, %r11
    mov 24(%rdx), %ecx            /* st_mode */
    and $0170000, %ecx
    cmp $0010000, %ecx            /* a pipe may stand for /dev/random */
    je 9f
    fix_time 72 %rdx %rcx
    fix_time 88 %rdx %rcx
    fix_time 104 %rdx %rcx
    jmp 8b
9:  mov $262, %eax
    syscall
    jmp 8b

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
    jmp 8b
9:  mov $332, %eax
    syscall
    jmp 8b

/* openat(rdi directory, rsi path, rdx flags, r10 mode) */
    .balign 16
    export fast_openat
    begin
    test $01103, %edx      /* O_ACCMODE, O_CREAT, O_TRUNC: a write, its time is noted */
    jnz 2f
    cmp $-100, %edi        /* AT_FDCWD */
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
    jne 1b
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
