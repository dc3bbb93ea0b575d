/* SPDX-License-Identifier: MIT */
/* sys_ptrace: a program that stops its own threads to look at them.
 *
 * LeakSanitizer does that at the end of every program built with it: a child that shares the
 * program's memory attaches to each thread, reads its registers and lets go. Guests are traced by
 * the supervisor, and nobody has two tracers, so the supervisor does it for them: attach, wait,
 * read registers and words, detach. Debuggers want more, and are told that they cannot have it. */
#include "box/policy.h"
#include <elf.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

static enum verdict refuse(struct box *box, struct task *task)
{
    leak_note(box, "%s (%s) asked to trace a program, which cannot be done inside a box",
              task->process->path, task->process->program);
    return verdict_skip(task, -EPERM);
}

/* Stops a running task; false if it ended, or does not stop for now: a wait for the child of a
 * vfork cannot be interrupted. */
static bool hold(struct box *box, pid_t tid)
{
    enum { LOOKS = 1000 };
    int status;

    if (ptrace(PTRACE_INTERRUPT, tid, NULL, 0) < 0)
        return false;
    for (int i = 0; i < LOOKS; i++) {
        struct task *task = task_find(box, tid);
        if (!task || task->state == TASK_PARKED)
            return task;
        if (waitpid(tid, &status, __WALL | WNOHANG) != tid) {
            (void)sched_yield();
            continue;
        }
        if (WIFSTOPPED(status) && status >> 16 == PTRACE_EVENT_STOP &&
            WSTOPSIG(status) == SIGTRAP) {
            task->state = TASK_STOPPED;
            task->regs_valid = task->regs_dirty = false;
            return true;
        }
        events_handle(box, tid, status); /* what it was about to do; the interrupt comes next */
    }
    return false;
}

static void release(struct box *box, struct task *task)
{
    task->tracer = NULL;
    if (task->state != TASK_STOPPED)
        return; /* in a wait that we keep */
    wait_settle(box, task);
    task_resume(box, task, 0);
}

static enum verdict attach(struct box *box, struct task *task, struct task *target)
{
    struct process *tracer = task->process;

    if (!target)
        return verdict_skip(task, -ESRCH);
    if (!tracer->shares_memory || tracer->parent != target->process || target->tracer)
        return refuse(box, task);
    pid_t tid = target->tid;
    if (target->state == TASK_RUNNING && !hold(box, tid))
        return verdict_skip(task, -ESRCH);
    target = task_find(box, tid);
    target->tracer = tracer;
    target->tracer_told = false;
    tracer->traces = true;
    return verdict_skip(task, 0);
}

static long get_register_set(struct task *task, struct task *target, uint64_t type,
                             uint64_t address)
{
    unsigned char bytes[16384];
    struct iovec wanted, have = {bytes, sizeof bytes};

    if (guest_read(task, address, &wanted, sizeof wanted) < 0)
        return -EFAULT;
    if (wanted.iov_len < sizeof bytes)
        have.iov_len = wanted.iov_len;
    if (ptrace(PTRACE_GETREGSET, target->tid, type, &have) < 0)
        return -errno;
    wanted.iov_len = have.iov_len;
    if (guest_write(task, (uint64_t)wanted.iov_base, bytes, have.iov_len) < 0)
        return -EFAULT;
    return guest_write(task, address, &wanted, sizeof wanted);
}

static long get_word(struct task *task, struct task *target, long request, uint64_t where,
                     uint64_t address)
{
    errno = 0;
    long word = ptrace((enum __ptrace_request)request, target->tid, where, NULL);

    return errno ? -errno : guest_write(task, address, &word, sizeof word);
}

enum verdict sys_ptrace(struct box *box, struct task *task)
{
    struct user_regs_struct *regs = task_regs(task);
    uint64_t address = regs->rdx, data = regs->r10;
    struct user_fpregs_struct floats;
    struct task *target = task_named(box, (pid_t)regs->rsi);

    if (regs->rdi == PTRACE_ATTACH)
        return attach(box, task, target);
    if (!task->process->traces)
        return refuse(box, task);
    if (!target || target->tracer != task->process)
        return verdict_skip(task, -ESRCH);
    switch (regs->rdi) {
    case PTRACE_GETREGS:
        return verdict_skip(task, guest_write(task, data, task_regs(target), sizeof target->regs));
    case PTRACE_GETFPREGS:
        if (ptrace(PTRACE_GETFPREGS, target->tid, NULL, &floats) < 0)
            return verdict_skip(task, -errno);
        return verdict_skip(task, guest_write(task, data, &floats, sizeof floats));
    case PTRACE_GETREGSET:
        return verdict_skip(task, get_register_set(task, target, address, data));
    case PTRACE_PEEKUSER:
    case PTRACE_PEEKTEXT:
    case PTRACE_PEEKDATA:
        return verdict_skip(task, get_word(task, target, (long)regs->rdi, address, data));
    case PTRACE_DETACH:
        release(box, target);
        return verdict_skip(task, 0);
    default:
        return refuse(box, task);
    }
}

static void wait_told(struct box *box, struct task *task)
{
    (void)box;
    task->on_exit = NULL;
    task_regs(task)->rax = task->note[0];
    task_set_regs(task);
}

/* A tracer is stopped at every call: its wait for one that it holds is over. */
void trace_call(struct box *box, struct task *task)
{
    struct user_regs_struct *regs = task_regs(task);
    static const int stopped = SIGSTOP << 8 | 0x7f;

    if ((long)regs->orig_rax != SYS_wait4)
        return;
    struct task *target = task_named(box, (pid_t)regs->rdi);
    if (!target || target->tracer != task->process || target->tracer_told)
        return;
    target->tracer_told = true;
    long result = regs->rsi && guest_write(task, regs->rsi, &stopped, sizeof stopped) < 0
                      ? -EFAULT
                      : (long)(pid_t)regs->rdi;
    task->note[0] = (uint64_t)result;
    task->on_exit = wait_told;
    regs->orig_rax = SYS_getpid; /* any that does nothing: the filter is still to see it */
    task_set_regs(task);
}

void trace_ended(struct box *box, struct process *process)
{
    if (!process->traces)
        return;
    FOR_EACH_TASK(box, task)
    if (task->tracer == process)
        release(box, task);
}
