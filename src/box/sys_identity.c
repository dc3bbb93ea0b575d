/* SPDX-License-Identifier: MIT */
/* sys_identity: one machine for everybody: its name, its kernel, its CPUs, the order of its
 * directories. */
#include "box/policy.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

static void uname_exit(struct box *box, struct task *task)
{
    struct utsname name;

    (void)box;
    task->on_exit = NULL;
    if ((long)task_regs(task)->rax < 0 || guest_read(task, task->note[0], &name, sizeof name) < 0)
        return;
    memset(name.release, 0, sizeof name.release);
    memset(name.version, 0, sizeof name.version);
    memcpy(name.release, "6.1.0-vitro", 12);
    memcpy(name.version, "#1 SMP vitro", 13);
    (void)guest_write(task, task->note[0], &name, sizeof name);
}

enum verdict sys_uname(struct box *box, struct task *task)
{
    (void)box;
    task->note[0] = task_regs(task)->rdi;
    task->on_exit = uname_exit;
    return VERDICT_EXIT;
}

static uint64_t visible_cpus(const struct box *box)
{
    unsigned cpus = box->options->cpus;

    return cpus <= 1 ? 1 : cpus >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << cpus) - 1;
}

/* Whether there is such a thread to speak of: 0, or the error. */
static long find_thread(struct box *box, struct task *task, long negative)
{
    pid_t tid = (pid_t)task_regs(task)->rdi;

    if (tid <= 1)
        return tid < 0 ? negative : 0; /* itself, or init */
    FOR_EACH_TASK(box, other)
    if (other->process && task_tid_inside(other) == tid)
        return 0;
    return -ESRCH;
}

enum verdict sys_sched_getaffinity(struct box *box, struct task *task)
{
    struct user_regs_struct *regs = task_regs(task);
    uint64_t mask = visible_cpus(box);
    long result = sizeof mask;

    if (regs->rsi < sizeof mask || regs->rsi % sizeof mask)
        return VERDICT_GO; /* EINVAL */
    long problem = find_thread(box, task, -ESRCH);
    if (problem)
        result = problem;
    else if (guest_write(task, regs->rdx, &mask, sizeof mask) < 0)
        result = -EFAULT;
    task_skip(task, result);
    return VERDICT_DONE;
}

enum verdict sys_sched_setaffinity(struct box *box, struct task *task)
{
    struct user_regs_struct *regs = task_regs(task);
    uint64_t mask = 0;
    long result = find_thread(box, task, -ESRCH);

    if (result == 0 &&
        guest_read(task, regs->rdx, &mask, regs->rsi < sizeof mask ? regs->rsi : sizeof mask) < 0)
        result = -EFAULT;
    else if (result == 0 && !(mask & visible_cpus(box)))
        result = -EINVAL;
    task_skip(task, result);
    return VERDICT_DONE;
}

enum verdict sys_getcpu(struct box *box, struct task *task)
{
    struct user_regs_struct *regs = task_regs(task);
    static const unsigned zero;
    int r = 0;

    (void)box;
    if (regs->rdi)
        r = guest_write(task, regs->rdi, &zero, sizeof zero);
    if (r == 0 && regs->rsi)
        r = guest_write(task, regs->rsi, &zero, sizeof zero);
    task_skip(task, r);
    return VERDICT_DONE;
}

/* The order in which guests run is the box's: asking for another succeeds and changes nothing. */
static enum verdict done(struct task *task, long result)
{
    task_skip(task, result);
    return VERDICT_DONE;
}

enum verdict sys_sched_setparam(struct box *box, struct task *task)
{
    return done(task, find_thread(box, task, -EINVAL));
}

enum verdict sys_sched_setscheduler(struct box *box, struct task *task)
{
    return done(task, find_thread(box, task, -EINVAL));
}

enum verdict sys_sched_setattr(struct box *box, struct task *task)
{
    return done(task, find_thread(box, task, -EINVAL));
}

enum verdict sys_sched_getscheduler(struct box *box, struct task *task)
{
    return done(task, find_thread(box, task, -EINVAL)); /* SCHED_OTHER is 0 */
}

enum verdict sys_sched_getparam(struct box *box, struct task *task)
{
    static const int priority;
    long problem = find_thread(box, task, -EINVAL);

    return done(task, problem
                          ? problem
                          : guest_write(task, task_regs(task)->rsi, &priority, sizeof priority));
}

enum verdict sys_sched_getattr(struct box *box, struct task *task)
{
    struct user_regs_struct *regs = task_regs(task);
    uint32_t attributes[12] = {48}; /* size, then policy 0 and all else 0 */
    size_t size = regs->rdx < sizeof attributes ? regs->rdx : sizeof attributes;

    long problem = find_thread(box, task, -EINVAL);

    return done(task, problem ? problem : guest_write(task, regs->rsi, attributes, size));
}
