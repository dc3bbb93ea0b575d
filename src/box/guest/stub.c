/* SPDX-License-Identifier: MIT */
/* The stub: a program in the place of a recorded one. It does what the supervisor wrote into its
 * block (stub_abi.h), as the recorded program did: writes to its own descriptors, changes files
 * with its own rights, waits on the box's clock, and ends. So pipes, SIGCHLD, wait and exit status
 * are the kernel's own. Freestanding; its only memory is the block, at an address both sides know.
 */
#include "../stub_abi.h"

__attribute__((section(".block,\"aw\",@nobits#"))) struct stub_block block;

enum {
    NR_READ = 0,
    NR_WRITE = 1,
    NR_CLOSE = 3,
    NR_POLL = 7,
    NR_SIGACTION = 13,
    NR_SIGPROCMASK = 14,
    NR_PAUSE = 34,
    NR_GETPID = 39,
    NR_CLONE = 56,
    NR_KILL = 62,
    NR_OPEN = 2,
    NR_SIGTIMEDWAIT = 128,
    NR_SETRLIMIT = 160,
    NR_CLOCK_NANOSLEEP = 230,
    NR_EXIT_GROUP = 231,
    ERROR_INTR = -4,
    ERROR_AGAIN = -11,
};

static long call6(long number, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e,
                  uint64_t f)
{
    register uint64_t r10 __asm__("r10") = d;
    register uint64_t r8 __asm__("r8") = e;
    register uint64_t r9 __asm__("r9") = f;
    long result;

    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

static long call3(long number, uint64_t a, uint64_t b, uint64_t c)
{
    return call6(number, a, b, c, 0, 0, 0);
}

static void fail(const struct stub_op *op, long result)
{
    if (result < 0 && !block.error) {
        block.error = result;
        block.failed = (uint64_t)(op - block.ops);
    }
}

/* A descriptor that does not block is the parent's choice: wait until it takes or gives more. */
static void wait_for(int fd, short events)
{
    struct {
        int fd;
        short events, revents;
    } poll = {fd, events, 0};

    (void)call3(NR_POLL, (uint64_t)&poll, 1, (uint64_t)-1);
}

static void write_all(const struct stub_op *op)
{
    int fd = op->fd == STUB_FILE_FD ? (int)block.file_fd : op->fd;

    if (fd < 0)
        return;
    for (uint64_t done = 0; done < op->length;) {
        long count = call3(NR_WRITE, (uint64_t)fd, op->address + done, op->length - done);
        if (count == ERROR_AGAIN)
            wait_for(fd, 4);
        else if (count == ERROR_INTR)
            continue;
        else if (count < 0) {
            if (op->fd == STUB_FILE_FD)
                fail(op, count);
            return; /* nobody reads it any more, or it was closed: the program's own business */
        } else
            done += (uint64_t)count;
    }
}

static void read_all(const struct stub_op *op)
{
    block.got = 0;
    while (block.got < op->length) {
        long count =
            call3(NR_READ, (uint64_t)op->fd, op->address + block.got, op->length - block.got);
        if (count == ERROR_AGAIN)
            wait_for(op->fd, 1);
        else if (count == ERROR_INTR)
            continue;
        else if (count <= 0)
            return;
        else
            block.got += (uint64_t)count;
    }
}

static void die(int signal)
{
    struct {
        uint64_t handler, flags, restorer, mask;
    } action = {0, 0x04000000, 0, 0};
    uint64_t mask = UINT64_C(1) << (signal - 1), no_core[2] = {0, 0};

    (void)call3(NR_SETRLIMIT, 4, (uint64_t)no_core, 0);
    (void)call6(NR_SIGACTION, (uint64_t)signal, (uint64_t)&action, 0, 8, 0, 0);
    (void)call6(NR_SIGPROCMASK, 1, (uint64_t)&mask, 0, 8, 0, 0);
    (void)call3(NR_KILL, (uint64_t)call3(NR_GETPID, 0, 0, 0), (uint64_t)signal, 0);
    (void)call3(NR_EXIT_GROUP, 128 + (uint64_t)signal, 0, 0);
}

static uint64_t run(const struct stub_op *op)
{
    long result;

    switch ((enum stub_what)op->what) {
    case STUB_MORE:
        (void)call3(STUB_CALL, 0, 0, 0);
        block.error = 0;
        return UINT64_MAX; /* from the beginning */
    case STUB_WRITE:
        write_all(op);
        return 1;
    case STUB_READ:
        read_all(op);
        return 1;
    case STUB_OPEN:
        block.file_fd = call3(NR_OPEN, op->address, op->length, (uint64_t)op->fd);
        fail(op, block.file_fd);
        return 1;
    case STUB_CHECK:
    case STUB_CALLS:
        result = call6((long)op->length,
                       op->arguments[0] == (uint64_t)STUB_FILE_FD ? (uint64_t)block.file_fd
                                                                  : op->arguments[0],
                       op->arguments[1], op->arguments[2], op->arguments[3], op->arguments[4],
                       op->arguments[5]);
        if (op->what == STUB_CHECK)
            fail(op, result);
        return 1;
    case STUB_SLEEP:
        while (call6(NR_CLOCK_NANOSLEEP, 1, 1, op->address, 0, 0, 0) == ERROR_INTR)
            ;
        return 1;
    case STUB_FORK:
        return call6(NR_CLONE, 17, 0, 0, 0, 0, 0) == 0 ? 1 + op->length : 1;
    case STUB_EXIT:
        (void)call3(NR_EXIT_GROUP, (uint64_t)op->fd, 0, 0);
        return 1;
    case STUB_DIE:
        die(op->fd);
        return 1;
    case STUB_WAIT:
        (void)call3(NR_PAUSE, 0, 0, 0);
        return 0;
    case STUB_TAKE:
        while (call6(NR_SIGTIMEDWAIT, op->address, 0, 0, 8, 0, 0) == ERROR_INTR)
            ;
        return 1;
    }
    return 1;
}

__attribute__((noreturn, used)) void stub_main(void)
{
    for (uint64_t at = 0;;) {
        uint64_t step = run(&block.ops[at % STUB_OPS]);
        at = step == UINT64_MAX ? 0 : at + step;
    }
}

__asm__(".globl _start\n_start:\n\txor %ebp, %ebp\n\tand $-16, %rsp\n\tcall stub_main\n");
