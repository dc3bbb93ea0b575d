/* SPDX-License-Identifier: MIT */
/* sys_sched: how guests ask to be scheduled. The order in which they run is the box's: asking for
 * another one succeeds, is remembered, and changes nothing. */
#include "box/policy.h"
#include <errno.h>
#include <sched.h>

enum {
    RESET_ON_FORK = 0x40000000,
    RESET_FLAG = 1,
    PRIORITY_MAX = 99
}; /* as <linux/sched.h> has them */

struct attributes { /* the kernel's struct sched_attr, in its first form */
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime_ns, deadline_ns, period_ns;
};

struct task *sched_named(struct box *box, struct task *task)
{
    pid_t tid = (pid_t)task_regs(task)->rdi;

    if (tid == 0 || tid == 1) /* itself; init is not ours to look at */
        return task;
    return tid > 0 ? task_named(box, tid) : NULL;
}

/* -EINVAL for a pid below zero, -ESRCH if there is no such thread. */
static long missing(const struct task *task)
{
    return (pid_t)task->regs.rdi < 0 ? -EINVAL : -ESRCH;
}

static bool is_valid(uint32_t policy, uint32_t priority)
{
    switch (policy) {
    case SCHED_FIFO:
    case SCHED_RR:
        return priority >= 1 && priority <= PRIORITY_MAX;
    case SCHED_OTHER:
    case SCHED_BATCH:
    case SCHED_IDLE:
    case SCHED_DEADLINE:
        return priority == 0;
    default:
        return false;
    }
}

enum verdict sys_sched_setparam(struct box *box, struct task *task)
{
    struct task *named = sched_named(box, task);
    int priority;

    if (!named)
        return verdict_skip(task, missing(task));
    if (guest_read(task, task_regs(task)->rsi, &priority, sizeof priority) < 0)
        return verdict_skip(task, -EFAULT);
    if (!is_valid(named->schedule.policy, (uint32_t)priority))
        return verdict_skip(task, -EINVAL);
    named->schedule.priority = (uint32_t)priority;
    return verdict_skip(task, 0);
}

enum verdict sys_sched_setscheduler(struct box *box, struct task *task)
{
    struct user_regs_struct *regs = task_regs(task);
    struct task *named = sched_named(box, task);
    uint32_t policy = (uint32_t)regs->rsi & ~(uint32_t)RESET_ON_FORK;
    int priority;

    if ((int)regs->rsi < 0)
        return verdict_skip(task, -EINVAL);
    if (!named)
        return verdict_skip(task, missing(task));
    if (guest_read(task, regs->rdx, &priority, sizeof priority) < 0)
        return verdict_skip(task, -EFAULT);
    if (policy == SCHED_DEADLINE || !is_valid(policy, (uint32_t)priority))
        return verdict_skip(task, -EINVAL);
    named->schedule = (struct schedule){
        .policy = policy, .priority = (uint32_t)priority, .reset = regs->rsi & RESET_ON_FORK};
    return verdict_skip(task, 0);
}

enum verdict sys_sched_setattr(struct box *box, struct task *task)
{
    struct user_regs_struct *regs = task_regs(task);
    struct task *named = sched_named(box, task);
    struct attributes attributes = {0};

    if (!named || !regs->rsi || regs->rdx)
        return verdict_skip(task, !regs->rsi || regs->rdx ? -EINVAL : missing(task));
    if (guest_read(task, regs->rsi, &attributes, sizeof attributes) < 0)
        return verdict_skip(task, -EFAULT);
    if (!is_valid(attributes.policy, attributes.priority))
        return verdict_skip(task, -EINVAL);
    named->schedule = (struct schedule){.policy = attributes.policy,
                                        .priority = attributes.priority,
                                        .reset = attributes.flags & RESET_FLAG,
                                        .runtime_ns = attributes.runtime_ns,
                                        .deadline_ns = attributes.deadline_ns,
                                        .period_ns = attributes.period_ns};
    return verdict_skip(task, 0);
}

enum verdict sys_sched_getscheduler(struct box *box, struct task *task)
{
    const struct task *named = sched_named(box, task);

    if (!named)
        return verdict_skip(task, missing(task));
    return verdict_skip(task, named->schedule.policy | (named->schedule.reset ? RESET_ON_FORK : 0));
}

enum verdict sys_sched_getparam(struct box *box, struct task *task)
{
    const struct task *named = sched_named(box, task);

    if (!named)
        return verdict_skip(task, missing(task));
    return verdict_skip(task, guest_write(task, task_regs(task)->rsi, &named->schedule.priority,
                                          sizeof named->schedule.priority));
}

enum verdict sys_sched_getattr(struct box *box, struct task *task)
{
    struct user_regs_struct *regs = task_regs(task);
    const struct task *named = sched_named(box, task);

    if (!named)
        return verdict_skip(task, missing(task));
    if (!regs->rsi || regs->rdx < sizeof(struct attributes))
        return verdict_skip(task, -EINVAL);
    struct attributes attributes = {.size = sizeof attributes,
                                    .policy = named->schedule.policy,
                                    .flags = named->schedule.reset ? RESET_FLAG : 0,
                                    .priority = named->schedule.priority,
                                    .runtime_ns = named->schedule.runtime_ns,
                                    .deadline_ns = named->schedule.deadline_ns,
                                    .period_ns = named->schedule.period_ns};
    return verdict_skip(task, guest_write(task, regs->rsi, &attributes, sizeof attributes));
}
