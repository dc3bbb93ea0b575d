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

    task->on_exit = NULL;
    if ((long)task_regs(task)->rax < 0 || guest_read(task, task->note[0], &name, sizeof name) < 0)
        return;
    if (box->bare) { /* elsewhere init has set it */
        memset(name.nodename, 0, sizeof name.nodename);
        memcpy(name.nodename, "vitro", 6);
    }
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

enum verdict sys_sched_getaffinity(struct box *box, struct task *task)
{
    struct user_regs_struct *regs = task_regs(task);
    uint64_t mask = visible_cpus(box);
    long result = sizeof mask;

    if (regs->rsi < sizeof mask || regs->rsi % sizeof mask)
        return VERDICT_GO; /* EINVAL */
    if (!sched_named(box, task))
        result = -ESRCH;
    else if (guest_write(task, regs->rdx, &mask, sizeof mask) < 0)
        result = -EFAULT;
    return verdict_skip(task, result);
}

enum verdict sys_sched_setaffinity(struct box *box, struct task *task)
{
    struct user_regs_struct *regs = task_regs(task);
    uint64_t mask = 0;
    long result = sched_named(box, task) ? 0 : -ESRCH;

    if (result == 0 &&
        guest_read(task, regs->rdx, &mask, regs->rsi < sizeof mask ? regs->rsi : sizeof mask) < 0)
        result = -EFAULT;
    else if (result == 0 && !(mask & visible_cpus(box)))
        result = -EINVAL;
    return verdict_skip(task, result);
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
    return verdict_skip(task, r);
}
