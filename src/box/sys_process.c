/* SPDX-License-Identifier: MIT */
/* sys_process: calls that make, signal and inspect processes. */
#include "box/policy.h"
#include "box/sub.h"
#include <errno.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

enum verdict sys_execve(struct box *box, struct task *task)
{
    wait_end(box, task);
    return subs_exec(box, task);
}

enum verdict sys_execveat(struct box *box, struct task *task)
{
    return sys_execve(box, task);
}

/* A child that asks not to be traced would leave the box's time; it is traced like any other. */
enum verdict sys_clone(struct box *box, struct task *task)
{
    (void)box;
    task_regs(task)->rdi &= ~(uint64_t)CLONE_UNTRACED;
    task_set_regs(task);
    return VERDICT_GO;
}

enum verdict sys_clone3(struct box *box, struct task *task)
{
    uint64_t flags = 0;

    (void)box;
    if (guest_read(task, task_regs(task)->rdi, &flags, sizeof flags) == 0 &&
        flags & CLONE_UNTRACED) {
        return verdict_skip(task, -EPERM);
    }
    return VERDICT_GO;
}

/* Signals between guests may be for a task that is parked. */
static void kill_exit(struct box *box, struct task *task)
{
    task->on_exit = NULL;
    wait_check_signals(box, NULL);
}

enum verdict sys_kill(struct box *box, struct task *task)
{
    bool parked = false;

    subs_kill(box, task);
    box->stirred = true;
    FOR_EACH_TASK(box, other)
    parked |= other->state == TASK_PARKED;
    if (!parked)
        return VERDICT_GO;
    task->on_exit = kill_exit;
    return VERDICT_EXIT;
}

/* A guest's own filter comes on top of ours, and the stricter answer wins. */
enum verdict sys_seccomp(struct box *box, struct task *task)
{
    (void)box;
    (void)task;
    return VERDICT_GO;
}

enum verdict sys_mq_notify(struct box *box, struct task *task)
{
    (void)task;
    wait_never_park(box);
    return VERDICT_GO;
}

/* The time stamp counter is ours to trap; a guest that asks is told that it may read it. */
enum verdict sys_prctl(struct box *box, struct task *task)
{
    struct user_regs_struct *regs = task_regs(task);
    static const int enabled = PR_TSC_ENABLE;
    long result = 0;

    if (regs->rdi == PR_SET_PDEATHSIG)
        wait_never_park(box);
    if (regs->rdi == PR_SET_PDEATHSIG || !vclock_held(&box->clock))
        return VERDICT_GO;
    if (regs->rdi == PR_GET_TSC)
        result = guest_write(task, regs->rsi, &enabled, sizeof enabled);
    else if (regs->rdi == PR_SET_TSC && regs->rsi != PR_TSC_ENABLE && regs->rsi != PR_TSC_SIGSEGV)
        result = -EINVAL;
    return verdict_skip(task, result);
}

/* The kernel's vDSO would tell real time. */
enum verdict sys_arch_prctl(struct box *box, struct task *task)
{
    (void)box;
    return verdict_skip(task, -EINVAL);
}
