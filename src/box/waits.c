/* SPDX-License-Identifier: MIT */
/* waits: the life of a timed wait.
 *
 * At its entry the call is made endless and its deadline goes into the heap; or, when it waits for
 * nothing but time, the task is parked where it stands. Then one of three things happens.
 *   The kernel ends the call, because what was waited for came. We are not told (that would cost a
 *     stop); the wait is found ended at the task's next stop, or by wait_is_current before its
 *     deadline would be used.
 *   A signal cuts it short. The delivery stop shows a restart code in the result register. If a
 *     handler runs, the call returns EINTR and the wait is over; if not, the kernel starts the same
 *     endless call again and the deadline stands.
 *   The deadline passes. A parked task gets its result and goes on. A task in the kernel is
 *     interrupted, and the restart code it comes out with is replaced by the result. */
#include "box/box_internal.h"
#include "box/sub.h"
#include "base/fd.h"
#include "base/trace.h"
#include "base/when.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Results that a call cut short leaves in the register, as <linux/errno.h> of the kernel has them.
 */
enum { ERESTARTSYS = 512, ERESTARTNOINTR = 513, ERESTARTNOHAND = 514, ERESTART_RESTARTBLOCK = 516 };

struct task *wait_task(struct deadline *deadline)
{
    return (struct task *)((char *)deadline - offsetof(struct task, wait.deadline));
}

static void write_rest(struct box *box, struct task *task)
{
    struct wait *wait = &task->wait;
    int64_t left = wait->deadline.due_ns - vclock_now(&box->clock);

    if (wait->rest == REST_NONE || !wait->rest_address)
        return;
    left = left > 0 ? left : 0;
    int64_t rest[2] = {left / (int64_t)NS_PER_SEC, left % (int64_t)NS_PER_SEC};
    if (wait->rest == REST_TIMEVAL)
        rest[1] /= 1000;
    (void)guest_write(task, wait->rest_address, rest, sizeof rest);
}

void wait_fire(struct box *box, struct deadline *deadline)
{
    struct task *task = wait_task(deadline);

    deadline_disarm(&box->deadlines, deadline);
    subs_woke(box, task->process);
    task->wait.expired = true;
    if (task->state == TASK_PARKED) {
        if (box->hold.task == task)
            box->hold.task = NULL;
        trace(TRACE_CLOCK, "%d: parked wait is over", task->tid);
        task_skip(task, task->wait.timed_out);
        task->wait.active = false;
        task->on_exit = NULL;
        task_resume(box, task, 0);
        return;
    }
    task->wait.expiring = true;
    (void)ptrace(PTRACE_INTERRUPT, task->tid, NULL, 0);
}

void wait_begin(struct box *box, struct task *task, int64_t due_ns, long timed_out)
{
    struct wait *wait = &task->wait;
    struct user_regs_struct *regs = task_regs(task);

    wait->active = true;
    wait->expiring = wait->expired = false;
    wait->number = (long)regs->orig_rax;
    wait->ip = regs->rip;
    wait->sp = regs->rsp;
    wait->timed_out = timed_out;
    wait->argument = -1;
    wait->started_ns = vclock_now(&box->clock);
    clock_spin_over(task->process);
    wait->deadline.fire = wait_fire;
    wait->deadline.realtime = false;
    wait->deadline.exact = /* of a recording, it has been landed on before */
        deadline_is_exact(due_ns - wait->started_ns) ||
        (task->process->sub && task->process->sub->how == SUB_PLAYED);
    deadline_arm(&box->deadlines, &wait->deadline, due_ns);
}

static int slot_of(struct task *task)
{
    struct process *process = task->process;

    if (task->slot >= 0 || process->shares_memory || !process->vdso_ready)
        return task->slot;
    for (int i = 0; i < BOX_SLOTS; i++)
        if (!(process->slots[i / 64] >> i % 64 & 1)) {
            process->slots[i / 64] |= UINT64_C(1) << i % 64;
            return task->slot = i;
        }
    return -1;
}

static uint64_t slot_address(const struct task *task)
{
    return BOX_BASE + offsetof(struct box_guest_page, slots) +
           (uint64_t)task->slot * sizeof(struct box_return_slot);
}

static void put_back(struct task *task)
{
    struct wait *wait = &task->wait;

    if (wait->argument < 0)
        return;
    task_set_arg(task, wait->argument, wait->original);
    if (wait->original_ip)
        task_regs(task)->rip = wait->original_ip;
    wait->argument = -1;
}

/* Without a slot: at the exit stop of the call. */
static void put_back_exit(struct box *box, struct task *task)
{
    task->on_exit = NULL;
    if (wait_was_interrupted(task) && !task->wait.expiring)
        return; /* a signal; its delivery stop decides */
    wait_settle(box, task);
    put_back(task);
    wait_end(box, task);
}

void wait_replace(struct box *box, struct task *task, int argument, uint64_t value)
{
    struct wait *wait = &task->wait;
    struct user_regs_struct *regs = task_regs(task);

    wait->argument = argument;
    wait->original = sys_arg(regs, argument);
    wait->original_ip = 0;
    task_set_arg(task, argument, value);
    if (task->on_exit)
        return; /* whoever asked for the exit stop puts it back */
    struct box_return_slot slot = {wait->original, regs->rip};
    if (box->return_stub[argument] && slot_of(task) >= 0 &&
        guest_write(task, slot_address(task), &slot, sizeof slot) == 0) {
        wait->original_ip = regs->rip;
        regs->rip = BOX_IMAGE + box->return_stub[argument];
        regs->rcx = slot_address(task);
        wait->ip = regs->rip;
        return;
    }
    task->on_exit = put_back_exit;
}

bool wait_again(struct box *box, struct task *task, uint64_t value)
{
    struct wait *wait = &task->wait;
    struct user_regs_struct *regs = task_regs(task);

    (void)box;
    if (!wait->active || wait->argument < 0 || sys_arg(regs, wait->argument) != value ||
        regs->rip != wait->ip || (long)regs->orig_rax != wait->number)
        return false;
    if (wait->original_ip) { /* the second `syscall` clobbered it */
        regs->rcx = slot_address(task);
        task_set_regs(task);
    } else if (!task->on_exit) {
        task->on_exit = put_back_exit;
    }
    return true;
}

bool wait_restart(struct task *task)
{
    struct wait *wait = &task->wait;
    struct user_regs_struct *regs = task_regs(task);

    if (!wait->active || wait->argument < 0 || regs->rip != wait->ip)
        return false;
    regs->orig_rax = (unsigned long long)wait->number; /* its arguments are where they were */
    if (wait->original_ip)
        regs->rcx = slot_address(task);
    else if (!task->on_exit)
        task->on_exit = put_back_exit;
    task_set_regs(task);
    return true;
}

/* As of the last look at the task, which the caller made sure is recent. */
bool wait_is_current(const struct task *task)
{
    const struct blocked_call *blocked = &task->blocked;

    return task->wait.active && blocked->number == task->wait.number &&
           blocked->sp == task->wait.sp && blocked->ip == task->wait.ip;
}

void wait_end(struct box *box, struct task *task)
{
    if (!task->wait.active)
        return;
    deadline_disarm(&box->deadlines, &task->wait.deadline);
    task->wait.active = task->wait.expiring = false;
    task->wait.rest = REST_NONE;
}

static bool is_restart_code(long result)
{
    return result == -ERESTARTSYS || result == -ERESTARTNOINTR || result == -ERESTARTNOHAND ||
           result == -ERESTART_RESTARTBLOCK || result == -EINTR;
}

bool wait_was_interrupted(struct task *task)
{
    struct user_regs_struct *regs = task_regs(task);

    return task->wait.active && (long)regs->orig_rax == task->wait.number &&
           regs->rip == task->wait.ip && is_restart_code((long)regs->rax);
}

void wait_settle(struct box *box, struct task *task)
{
    if (!task->wait.active || !task->wait.expiring)
        return;
    if (wait_was_interrupted(task)) {
        task_skip(task, task->wait.timed_out);
    }
    wait_end(box, task);
}

/* The masks of /proc/TID/status: which signals are caught, ignored, pending, blocked. */
struct signal_masks {
    uint64_t pending, pending_shared, blocked, ignored, caught;
};

static bool read_masks(pid_t tid, struct signal_masks *ret)
{
    struct task_status status;

    if (!task_status_read(tid, &status))
        return false;
    *ret = (struct signal_masks){
        task_status_mask(&status, "SigPnd"), task_status_mask(&status, "ShdPnd"),
        task_status_mask(&status, "SigBlk"), task_status_mask(&status, "SigIgn"),
        task_status_mask(&status, "SigCgt")};
    return true;
}

static bool has(uint64_t mask, int signal)
{
    return mask >> (signal - 1) & 1;
}

static bool ignored_by_default(int signal)
{
    return signal == SIGCHLD || signal == SIGCONT || signal == SIGURG || signal == SIGWINCH;
}

/* The call is over, and what puts the guest's register back has not run: done here, since the
 * handler may wait too, and would use the same slot. */
static void finish_return(struct box *box, struct task *task)
{
    const struct wait *wait = &task->wait;
    const struct user_regs_struct *regs = task_regs(task);

    if (wait->argument < 0 || !wait->original_ip || regs->rip != wait->ip ||
        regs->rcx != slot_address(task))
        return;
    put_back(task);
    wait_end(box, task);
}

/* At the delivery stop of a signal. A traced task is woken even by signals it ignores, which an
 * untraced one never notices: such a call goes on as if nothing had been. */
void wait_signal(struct box *box, struct task *task, int signal)
{
    struct user_regs_struct *regs = task_regs(task);
    struct signal_masks masks;
    long result = (long)regs->rax;

    if ((long)regs->orig_rax < 0 || !is_restart_code(result)) {
        finish_return(box, task);
        return;
    }
    bool ours = wait_was_interrupted(task);
    if (!ours && result != -EINTR)
        return; /* the kernel knows what to do */
    if (!read_masks(task->tid, &masks))
        return;
    if (has(masks.caught, signal)) {
        if (ours) {
            put_back(task); /* the handler may wait too, and would use the same slot */
            write_rest(box, task);
            wait_end(box, task);
        }
        return;
    }
    bool ignored = has(masks.ignored, signal) || ignored_by_default(signal);
    if (result == -EINTR && !ignored) {
        if (ours) {
            put_back(task);
            wait_end(box, task);
        }
        return;
    }
    if (result == -EINTR && (long)regs->orig_rax != SYS_epoll_wait &&
        (long)regs->orig_rax != SYS_epoll_pwait && !ours)
        return;
    regs->rax = (unsigned long long)-ERESTARTNOHAND;
    task_set_regs(task);
}

/* A parked task that a signal is waiting for goes on waiting in the kernel instead, in pause(),
 * where the signal finds it. */
void wait_unpark(struct box *box, struct task *task)
{
    struct user_regs_struct *regs = task_regs(task);

    if (task == box->hold.task) {
        hold_release(box);
        return;
    }
    regs->orig_rax = SYS_pause;
    task_set_regs(task);
    task->wait.number = SYS_pause;
    task->on_exit = NULL;
    task_resume(box, task, 0);
}

/* Signals come without a call that we see: from a terminal, at a parent's end, with a message. From
 * now on sleepers wait in the kernel. */
void wait_never_park(struct box *box)
{
    box->never_park = true;
    FOR_EACH_TASK(box, task)
    if (task->state == TASK_PARKED)
        wait_unpark(box, task);
}

void wait_check_signals(struct box *box, struct process *process)
{
    FOR_EACH_TASK(box, task)
    {
        struct signal_masks masks;
        if (task->state != TASK_PARKED || (process && task->process != process))
            continue;
        if (read_masks(task->tid, &masks) &&
            (masks.pending | masks.pending_shared) & ~masks.blocked)
            wait_unpark(box, task);
    }
}
