/* SPDX-License-Identifier: MIT */
/* sys_random: getrandom, from the stream of the process. */
#include "box/policy.h"
#include <errno.h>

enum { CHUNK = 65536 };

static int fill(struct task *task, uint64_t address, size_t length)
{
    static unsigned char bytes[CHUNK];

    while (length) {
        size_t count = length < CHUNK ? length : CHUNK;
        rng_fill(&task->process->random, bytes, count);
        if (guest_write(task, address, bytes, count) < 0)
            return -EFAULT;
        address += count;
        length -= count;
    }
    return 0;
}

enum verdict sys_getrandom(struct box *box, struct task *task)
{
    struct user_regs_struct *regs = task_regs(task);
    size_t length = regs->rsi < INT32_MAX ? regs->rsi : INT32_MAX;

    (void)box;
    if (regs->rdx & ~7u)
        return VERDICT_GO; /* EINVAL */
    task->process->random_draws++;
    task->process->random_bytes += length;
    int r = fill(task, regs->rdi, length);
    return verdict_skip(task, r < 0 ? r : (long)length);
}
