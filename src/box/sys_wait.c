/* SPDX-License-Identifier: MIT */
/* sys_wait: the calls that wait with a deadline. Each entry handler finds out until when, makes the
 * call endless (or parks the task, where nothing but time is waited for), and says what the call
 * returns when time is up. Timeouts that are not valid, or that are over at once, are left to the
 * kernel: it knows the errors, and does not wait. */
#include "box/policy.h"
#include "base/when.h"
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <string.h>
#include <sys/syscall.h>

static const int64_t FAR = INT64_MAX / 4;

static uint64_t never_address(void)
{
    return BOX_CLOCK_PAGE + offsetof(struct box_clock_page, never);
}

static uint64_t zero_address(void)
{
    return BOX_CLOCK_PAGE + offsetof(struct box_clock_page, zero);
}

static uint64_t past_address(void)
{
    return BOX_CLOCK_PAGE + offsetof(struct box_clock_page, past);
}

bool wait_ends_at_once(const struct blocked_call *call)
{
    for (int i = 0; i < 6; i++)
        if (call->number >= 0 &&
            (call->args[i] == zero_address() || call->args[i] == past_address()))
            return true;
    return false;
}

/* Milliseconds that stand for never where the timeout is an int. Not -1: the filter has to see the
 * call when the kernel starts it again. */
static const uint64_t NEVER_MS = INT32_MAX;

static int64_t add_far(int64_t base, int64_t more)
{
    return more > FAR - base ? FAR : base + more;
}

bool wait_read_timespec(struct task *task, uint64_t address, int64_t *ret_ns)
{
    int64_t value[2];

    if (guest_read(task, address, value, sizeof value) < 0 || value[0] < 0 || value[1] < 0 ||
        value[1] >= (int64_t)NS_PER_SEC)
        return false;
    *ret_ns =
        value[0] >= FAR / (int64_t)NS_PER_SEC ? FAR : value[0] * (int64_t)NS_PER_SEC + value[1];
    return true;
}

static bool read_timeval(struct task *task, uint64_t address, int64_t *ret_ns)
{
    int64_t value[2];

    if (guest_read(task, address, value, sizeof value) < 0 || value[0] < 0 || value[1] < 0 ||
        value[1] >= 1000000)
        return false;
    *ret_ns = value[0] >= FAR / (int64_t)NS_PER_SEC
                  ? FAR
                  : value[0] * (int64_t)NS_PER_SEC + value[1] * 1000;
    return true;
}

int64_t wait_due_after(struct box *box, int64_t duration_ns)
{
    return add_far(vclock_now(&box->clock), duration_ns);
}

/* The monotonic time at which `id` shows `at_ns`. */
static int64_t due_at(struct box *box, clockid_t id, int64_t at_ns)
{
    return vclock_is_realtime(id) && at_ns < FAR ? at_ns - box->clock.realtime_offset_ns : at_ns;
}

/* Nothing but time is waited for: hold the task here. */
static enum verdict park(struct box *box, struct task *task, int64_t due_ns, uint64_t rest_address)
{
    tape_event(box, task->process, task->ordinal, TAPE_CLOCK_SLEEP, "\"duration_ns\":%lld",
               (long long)(due_ns - vclock_now(&box->clock)));
    if (due_ns <= vclock_now(&box->clock)) {
        clock_wait_counted(box, task, false);
        return verdict_skip(task, 0);
    }
    wait_begin(box, task, due_ns, 0);
    task->wait.rest = rest_address ? REST_TIMESPEC : REST_NONE;
    task->wait.rest_address = rest_address;
    return VERDICT_PARK;
}

enum verdict sys_nanosleep(struct box *box, struct task *task)
{
    struct user_regs_struct *regs = task_regs(task);
    int64_t duration;

    if (!wait_read_timespec(task, regs->rdi, &duration))
        return VERDICT_GO;
    return park(box, task, wait_due_after(box, duration), regs->rsi);
}

enum verdict sys_clock_nanosleep(struct box *box, struct task *task)
{
    struct user_regs_struct *regs = task_regs(task);
    clockid_t id = (clockid_t)regs->rdi;
    int64_t time;

    /* CPU clocks are not waited for in virtual time; ids that do not exist are the kernel's to
     * name. */
    if (id < 0 || id > CLOCK_TAI || id == CLOCK_THREAD_CPUTIME_ID || id == CLOCK_MONOTONIC_RAW ||
        id == CLOCK_REALTIME_COARSE || id == CLOCK_MONOTONIC_COARSE ||
        id == CLOCK_PROCESS_CPUTIME_ID || !wait_read_timespec(task, regs->rdx, &time))
        return VERDICT_GO;
    if (regs->rsi & TIMER_ABSTIME) {
        enum verdict verdict = park(box, task, due_at(box, id, time), 0);
        task->wait.deadline.realtime = vclock_is_realtime(id);
        return verdict;
    }
    return park(box, task, wait_due_after(box, time), regs->r10);
}

static void at_once_exit(struct box *box, struct task *task)
{
    (void)box;
    task->on_exit = NULL;
    task_set_arg(task, (int)task->note[0], task->note[1]);
}

/* Its time has come: the kernel has a look, and does not wait. */
static enum verdict look_at_once(struct task *task, int argument, uint64_t value)
{
    task->note[0] = (uint64_t)argument;
    task->note[1] = sys_arg(task_regs(task), argument);
    task->on_exit = at_once_exit;
    task_set_arg(task, argument, value);
    return VERDICT_EXIT;
}

/* A wait in the kernel, made endless by `argument` = `value`. */
static enum verdict wait_in_kernel(struct box *box, struct task *task, int64_t due_ns,
                                   long timed_out, int argument, uint64_t value)
{
    if (!task->process->vdso_ready && value == 0) /* no page to point at: the kernel's own timing */
        return VERDICT_GO;
    if (due_ns <= vclock_now(&box->clock)) {
        clock_wait_counted(box, task, timed_out != -ETIMEDOUT);
        return look_at_once(task, argument, value ? 0 /* ms */ : zero_address());
    }
    bool expired = task->wait.expired;
    value = value ? value : never_address();
    wait_begin(box, task, due_ns, timed_out);
    if (hold_wait(box, task, expired, argument, value))
        return VERDICT_PARK;
    wait_replace(box, task, argument, value);
    return task->on_exit ? VERDICT_EXIT : VERDICT_GO;
}

enum verdict sys_poll(struct box *box, struct task *task)
{
    struct user_regs_struct *regs = task_regs(task);
    int64_t due = wait_due_after(box, (int64_t)(int)regs->rdx * (int64_t)NS_PER_MS);

    if (wait_again(box, task, NEVER_MS))
        return VERDICT_GO;
    wait_end(box, task);
    if ((int)regs->rdx == 0) {
        clock_look(box, task);
        return VERDICT_GO;
    }
    if (regs->rsi == 0)
        return park(box, task, due, 0);
    return wait_in_kernel(box, task, due, 0, 2, NEVER_MS);
}

enum verdict sys_epoll_wait(struct box *box, struct task *task)
{
    struct user_regs_struct *regs = task_regs(task);
    int64_t due = wait_due_after(box, (int64_t)(int)regs->r10 * (int64_t)NS_PER_MS);

    if (wait_again(box, task, NEVER_MS))
        return VERDICT_GO;
    wait_end(box, task);
    return wait_in_kernel(box, task, due, 0, 3, NEVER_MS);
}

/* The timeout is a timespec at `argument`, relative. */
static enum verdict wait_relative(struct box *box, struct task *task, int argument, long timed_out)
{
    uint64_t address = sys_arg(task_regs(task), argument);
    int64_t duration;

    if (wait_again(box, task, never_address()))
        return VERDICT_GO;
    wait_end(box, task);
    if (!wait_read_timespec(task, address, &duration))
        return VERDICT_GO;
    return wait_in_kernel(box, task, wait_due_after(box, duration), timed_out, argument, 0);
}

/* The timeout is a timespec at `argument`, a point on clock `id`. */
static enum verdict wait_absolute(struct box *box, struct task *task, int argument, clockid_t id,
                                  long timed_out)
{
    uint64_t address = sys_arg(task_regs(task), argument);
    int64_t at;

    if (wait_again(box, task, never_address()))
        return VERDICT_GO;
    wait_end(box, task);
    if (!wait_read_timespec(task, address, &at))
        return VERDICT_GO;
    int64_t due = due_at(box, id, at);
    if (due <= vclock_now(&box->clock)) { /* in the past for the kernel as well */
        clock_wait_counted(box, task, false);
        return task->process->vdso_ready ? look_at_once(task, argument, past_address())
                                         : VERDICT_GO;
    }
    enum verdict verdict = wait_in_kernel(box, task, due, timed_out, argument, 0);
    task->wait.deadline.realtime = vclock_is_realtime(id);
    return verdict;
}

enum verdict sys_epoll_pwait2(struct box *box, struct task *task)
{
    return wait_relative(box, task, 3, 0);
}

enum verdict sys_futex(struct box *box, struct task *task)
{
    int operation = (int)task_regs(task)->rsi;
    clockid_t id = operation & FUTEX_CLOCK_REALTIME ? CLOCK_REALTIME : CLOCK_MONOTONIC;

    switch (operation & FUTEX_CMD_MASK) {
    case FUTEX_WAIT:
        return wait_relative(box, task, 3, -ETIMEDOUT);
    case FUTEX_LOCK_PI:
        id = CLOCK_REALTIME;
        break;
    default:
        break;
    }
    return wait_absolute(box, task, 3, id, -ETIMEDOUT);
}

enum verdict sys_futex_waitv(struct box *box, struct task *task)
{
    return wait_absolute(box, task, 3, (clockid_t)task_regs(task)->r8, -ETIMEDOUT);
}

enum verdict sys_futex_wait(struct box *box, struct task *task)
{
    return wait_absolute(box, task, 4, (clockid_t)task_regs(task)->r9, -ETIMEDOUT);
}

enum verdict sys_rt_sigtimedwait(struct box *box, struct task *task)
{
    return wait_relative(box, task, 2, -EAGAIN);
}

enum verdict sys_semtimedop(struct box *box, struct task *task)
{
    return wait_relative(box, task, 3, -EAGAIN);
}

enum verdict sys_mq_timed(struct box *box, struct task *task)
{
    return wait_absolute(box, task, 4, CLOCK_REALTIME, -ETIMEDOUT);
}

enum verdict sys_io_getevents(struct box *box, struct task *task)
{
    return wait_relative(box, task, 4, 0);
}

/* select that times out leaves its sets empty; an interrupted one leaves them as they were. The
 * kernel looks at no more descriptors than the process has room for. */
static void clear_sets(struct task *task)
{
    const struct user_regs_struct *regs = task_regs(task);
    const uint64_t sets[] = {regs->rsi, regs->rdx, regs->r10};
    struct task_status status;
    static const char zeros[4096];

    if (task->wait.number != SYS_select && task->wait.number != SYS_pselect6)
        return;
    const char *room =
        task_status_read(task->tid, &status) ? task_status_of(&status, "FDSize") : NULL;
    uint64_t count = (uint32_t)regs->rdi, most = room ? strtoull(room, NULL, 10) : 0;
    size_t bytes = ((count < most ? count : most) + 63) / 64 * 8;
    for (size_t i = 0; i < ARRAY_LENGTH(sets); i++)
        for (size_t at = 0; sets[i] && at < bytes; at += sizeof zeros)
            (void)guest_write(task, sets[i] + at, zeros,
                              bytes - at < sizeof zeros ? bytes - at : sizeof zeros);
}

/* select, pselect6 and ppoll write the time that is left on every return. */
static void rest_exit(struct box *box, struct task *task)
{
    struct wait *wait = &task->wait;
    int64_t left = wait->deadline.due_ns - vclock_now(&box->clock);

    task->on_exit = NULL;
    if (wait_was_interrupted(task)) {
        if (!wait->expiring)
            return; /* a signal; its delivery stop decides */
        left = 0;
        task_skip(task, 0);
        clear_sets(task);
    }
    left = left > 0 ? left : 0;
    int64_t rest[2] = {left / (int64_t)NS_PER_SEC, left % (int64_t)NS_PER_SEC};
    if (wait->rest == REST_TIMEVAL)
        rest[1] /= 1000;
    (void)guest_write(task, wait->original, rest, sizeof rest);
    task_set_arg(task, wait->argument, wait->original);
    wait_end(box, task);
}

static enum verdict wait_with_rest(struct box *box, struct task *task, int argument, bool timeval,
                                   bool nothing_else)
{
    uint64_t address = sys_arg(task_regs(task), argument);
    enum wait_rest rest = timeval ? REST_TIMEVAL : REST_TIMESPEC;
    int64_t duration;

    if (wait_again(box, task, never_address())) {
        task->on_exit = rest_exit;
        return VERDICT_EXIT;
    }
    wait_end(box, task);
    if (!(timeval ? read_timeval(task, address, &duration)
                  : wait_read_timespec(task, address, &duration)))
        return VERDICT_GO;
    if (duration == 0) {
        clock_wait_counted(box, task, true);
        return VERDICT_GO;
    }
    if (nothing_else) {
        enum verdict verdict = park(box, task, wait_due_after(box, duration), address);
        task->wait.rest = rest;
        return verdict;
    }
    task->on_exit = rest_exit;
    enum verdict verdict = wait_in_kernel(box, task, wait_due_after(box, duration), 0, argument, 0);
    if (!task->wait.active) {
        task->on_exit = NULL;
        return verdict;
    }
    task->wait.rest = rest;
    task->wait.rest_address = address;
    return VERDICT_EXIT;
}

static bool no_sets(const struct user_regs_struct *regs)
{
    return regs->rdi == 0 || (!regs->rsi && !regs->rdx && !regs->r10);
}

enum verdict sys_select(struct box *box, struct task *task)
{
    return wait_with_rest(box, task, 4, true, no_sets(task_regs(task)));
}

/* The sixth argument is a pair of a signal mask and its size; with a mask the kernel has to wait.
 */
static bool has_mask(struct task *task, uint64_t address)
{
    uint64_t mask = 0;

    return address && (guest_read(task, address, &mask, sizeof mask) < 0 || mask);
}

enum verdict sys_pselect6(struct box *box, struct task *task)
{
    struct user_regs_struct *regs = task_regs(task);

    return wait_with_rest(box, task, 4, false, no_sets(regs) && !has_mask(task, regs->r9));
}

enum verdict sys_ppoll(struct box *box, struct task *task)
{
    struct user_regs_struct *regs = task_regs(task);

    return wait_with_rest(box, task, 2, false, regs->rsi == 0 && !regs->r10);
}

enum verdict sys_restart_syscall(struct box *box, struct task *task)
{
    (void)box;
    return wait_restart(task) && task->on_exit ? VERDICT_EXIT : VERDICT_GO;
}
