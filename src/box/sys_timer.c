/* SPDX-License-Identifier: MIT */
/* sys_timer: alarm, interval timers and POSIX timers on the virtual clock.
 *
 * The kernel's own timers are not armed with what the guest asks for: signal timers live here, and
 * at their expiry the supervisor queues the signal, marked SI_TIMER; the one of alarm() is given
 * the kernel's mark at its delivery stop.
 *
 * Timers on CPU time are the kernel's. No virtual CPU time passes while a guest computes, so they
 * could never fire, and programs wait for them: profilers, limits. One that fires is a leak. Our
 * own timers have high numbers, so that the two kinds are told apart. */
#include "box/vtimer.h"
#include "box/sub.h"
#include "base/fd.h"
#include "base/trace.h"
#include "base/wall.h"
#include "base/when.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum { TIMERS_MAX = 4096, FIRST_ID = 1 << 20, ITIMER_MARK = INT32_MAX };

struct process_timers {
    struct vtimer alarm;
    struct vtimer *posix;
    int created, live;
    bool has_cpu; /* timers on CPU time: the kernel's */
};

/* ---- setting and showing ------------------------------------------------------------------- */

static struct process_timers *timers_of(struct process *process);

int64_t vtimer_ns(int64_t seconds, int64_t nanoseconds)
{
    if (seconds > INT64_MAX / 4 / (int64_t)NS_PER_SEC)
        return INT64_MAX / 4;
    return seconds * (int64_t)NS_PER_SEC + nanoseconds;
}

void vtimer_show(const struct box *box, const struct vtimer *timer, int64_t out[4])
{
    int64_t left = timer->deadline.index ? timer->deadline.due_ns - vclock_now(&box->clock) : 0;

    left = left > 0 ? left : timer->deadline.index ? 1 : 0;
    out[0] = timer->interval_ns / (int64_t)NS_PER_SEC;
    out[1] = timer->interval_ns % (int64_t)NS_PER_SEC;
    out[2] = left / (int64_t)NS_PER_SEC;
    out[3] = left % (int64_t)NS_PER_SEC;
}

static void to_timeval(int64_t value[4])
{
    value[1] /= 1000;
    value[3] = (value[3] + 999) / 1000;
    if (value[3] == 1000000) {
        value[2]++;
        value[3] = 0;
    }
}

void vtimer_set(struct box *box, struct vtimer *timer, int64_t value_ns, int64_t interval_ns,
                bool absolute)
{
    int64_t due = value_ns;

    timer->interval_ns = interval_ns;
    timer->overrun = 0;
    timer->deadline.realtime = absolute && vclock_is_realtime(timer->clock);
    if (value_ns == 0) {
        deadline_disarm(&box->deadlines, &timer->deadline);
        return;
    }
    if (absolute && vclock_is_realtime(timer->clock))
        due = value_ns - box->clock.realtime_offset_ns;
    else if (!absolute)
        due = vclock_now(&box->clock) + value_ns;
    timer->deadline.exact = deadline_is_exact(due - vclock_now(&box->clock));
    deadline_arm(&box->deadlines, &timer->deadline, due);
}

/* ---- signals ------------------------------------------------------------------------------- */

static bool is_pending(pid_t pid, int signal)
{
    static const char *const names[] = {"SigPnd", "ShdPnd"};
    struct task_status status;
    bool pending = false;

    for (int i = 0; i < 2 && task_status_read(pid, &status); i++)
        pending |= task_status_mask(&status, names[i]) >> (signal - 1) & 1;
    return pending;
}

/* The task whose tid is `inside` in the box's pid namespace. */
static pid_t tid_from_inside(struct box *box, struct process *process, pid_t inside)
{
    FOR_EACH_TASK(box, task)
    if (task->process == process && task_tid_inside(task) == inside)
        return task->tid;
    return 0;
}

static void queue_signal(struct box *box, struct vtimer *timer)
{
    siginfo_t info = {0};

    info.si_signo = timer->signal;
    info.si_code = SI_TIMER;
    info.si_timerid = timer->id >= 0 ? timer->id : ITIMER_MARK;
    info.si_overrun = timer->overrun;
    info.si_value.sival_ptr = (void *)timer->value;
    pid_t pid = timer->process->pid;
    if (timer->notify == SIGEV_THREAD_ID) {
        pid_t tid = tid_from_inside(box, timer->process, timer->thread);
        if (tid)
            (void)syscall(SYS_rt_tgsigqueueinfo, pid, tid, timer->signal, &info);
    } else {
        (void)syscall(SYS_rt_sigqueueinfo, pid, timer->signal, &info);
    }
    wait_check_signals(box, timer->process);
}

static void fire_signal(struct box *box, struct deadline *deadline)
{
    struct vtimer *timer = (struct vtimer *)deadline;
    int64_t due = deadline->due_ns;

    deadline_disarm(&box->deadlines, deadline);
    subs_woke(box, timer->process);
    tape_event(box, timer->process, 1, TAPE_NOTE, "\"text\":\"timer %d fires\"",
               timer->id >= 0 ? timer->id - FIRST_ID : timer->id);
    if (timer->interval_ns)
        deadline_repeat(&box->deadlines, deadline, due + timer->interval_ns);
    if (timer->notify == SIGEV_NONE)
        return;
    if (timer->id >= 0 && timer->interval_ns && is_pending(timer->process->pid, timer->signal)) {
        timer->overrun++;
        return;
    }
    queue_signal(box, timer);
    timer->overrun = 0;
}

/* A timer or a limit of the kernel's on CPU time. */
static bool is_cpu_time(const struct process *process, const siginfo_t *info)
{
    bool named =
        info->si_signo == SIGVTALRM || info->si_signo == SIGPROF || info->si_signo == SIGXCPU;

    return (named && info->si_code == SI_KERNEL) ||
           (process->timers && process->timers->has_cpu && info->si_code == SI_TIMER &&
            info->si_timerid < FIRST_ID);
}

void timers_signal(struct box *box, struct task *task, int signal)
{
    siginfo_t info;

    if (ptrace(PTRACE_GETSIGINFO, task->tid, NULL, &info) < 0)
        return;
    if (is_cpu_time(task->process, &info))
        leak_add(box, task->process, "timer/cpu");
    if (signal != SIGALRM || info.si_code != SI_TIMER || info.si_timerid != ITIMER_MARK)
        return;
    memset(&info, 0, sizeof info);
    info.si_signo = signal;
    info.si_code = SI_KERNEL;
    (void)ptrace(PTRACE_SETSIGINFO, task->tid, NULL, &info);
}

static void init_signal_timer(struct vtimer *timer, struct process *process, int id, int signal)
{
    *timer = (struct vtimer){.deadline.fire = fire_signal,
                             .process = process,
                             .id = id,
                             .signal = signal,
                             .fd = -1,
                             .clock = CLOCK_MONOTONIC};
}

static struct process_timers *timers_of(struct process *process)
{
    if (!process->timers) {
        process->timers = mem_alloc(sizeof *process->timers);
        init_signal_timer(&process->timers->alarm, process, -1, SIGALRM);
    }
    return process->timers;
}

static void drop_posix(struct box *box, struct process_timers *timers)
{
    while (timers->posix) {
        struct vtimer *timer = timers->posix;
        timers->posix = timer->next;
        timers->live--;
        deadline_disarm(&box->deadlines, &timer->deadline);
        free(timer);
    }
}

void timers_exec(struct box *box, struct process *process)
{
    if (process->timers)
        drop_posix(box, process->timers); /* alarm() survives an exec, POSIX timers do not */
}

void timers_release(struct box *box, struct process *process)
{
    if (!process->timers)
        return;
    drop_posix(box, process->timers);
    deadline_disarm(&box->deadlines, &process->timers->alarm.deadline);
    free(process->timers);
    process->timers = NULL;
}

/* ---- setitimer, getitimer, alarm ----------------------------------------------------------- */

static enum verdict done(struct task *task, long result)
{
    return verdict_skip(task, result);
}

enum verdict sys_setitimer(struct box *box, struct task *task)
{
    struct user_regs_struct *regs = task_regs(task);
    struct vtimer *timer = &timers_of(task->process)->alarm;
    int64_t old[4], new[4] = {0};

    if (regs->rsi && guest_read(task, regs->rsi, new, sizeof new) < 0)
        return VERDICT_GO; /* the kernel names the error */
    if (regs->rdi != ITIMER_REAL) {
        task->process->timers->has_cpu |= new[2] || new[3];
        return VERDICT_GO;
    }
    if (new[0] < 0 || new[2] < 0 || new[1] < 0 || new[1] > 999999 || new[3] < 0 || new[3] > 999999)
        return VERDICT_GO;
    vtimer_show(box, timer, old);
    to_timeval(old);
    vtimer_set(box, timer, vtimer_ns(new[2], new[3] * 1000), vtimer_ns(new[0], new[1] * 1000),
               false);
    return done(task, regs->rdx ? guest_write(task, regs->rdx, old, sizeof old) : 0);
}

/* What is left of a timer on CPU time tells how fast the machine is. */
static enum verdict look_at_cpu(struct box *box, struct task *task)
{
    if (task->process->timers && task->process->timers->has_cpu)
        leak_add(box, task->process, "timer/cpu");
    return VERDICT_GO;
}

enum verdict sys_getitimer(struct box *box, struct task *task)
{
    struct user_regs_struct *regs = task_regs(task);
    int64_t value[4];

    if (regs->rdi != ITIMER_REAL)
        return look_at_cpu(box, task);
    vtimer_show(box, &timers_of(task->process)->alarm, value);
    to_timeval(value);
    return done(task, guest_write(task, regs->rsi, value, sizeof value));
}

enum verdict sys_alarm(struct box *box, struct task *task)
{
    struct vtimer *timer = &timers_of(task->process)->alarm;
    int64_t old[4];
    unsigned seconds = (unsigned)task_regs(task)->rdi;

    vtimer_show(box, timer, old);
    vtimer_set(box, timer, vtimer_ns(seconds, 0), 0, false);
    if (old[3] >= (int64_t)NS_PER_SEC / 2 || (old[2] == 0 && old[3]))
        old[2]++;
    return done(task, old[2]);
}

/* ---- POSIX timers -------------------------------------------------------------------------- */

struct guest_sigevent { /* the kernel's struct sigevent */
    uint64_t value;
    int signal, notify;
    pid_t thread;
};

/* NULL: none of ours; the kernel knows it, or says that there is none. */
static struct vtimer *find_posix(struct task *task, uint64_t id)
{
    struct vtimer *timer = task->process->timers ? task->process->timers->posix : NULL;

    while (timer && timer->id != (int)id)
        timer = timer->next;
    return timer;
}

enum verdict sys_timer_create(struct box *box, struct task *task)
{
    struct user_regs_struct *regs = task_regs(task);
    struct process_timers *timers = timers_of(task->process);
    struct guest_sigevent event = {.signal = SIGALRM, .notify = SIGEV_SIGNAL};
    clockid_t clock = (clockid_t)regs->rdi;

    (void)box;
    if (clock < 0 || clock == CLOCK_PROCESS_CPUTIME_ID || clock == CLOCK_THREAD_CPUTIME_ID) {
        timers->has_cpu = true;
        return VERDICT_GO;
    }
    if (clock > CLOCK_TAI || clock == CLOCK_MONOTONIC_RAW || clock == CLOCK_REALTIME_COARSE ||
        clock == CLOCK_MONOTONIC_COARSE)
        return done(task, -EINVAL);
    if (regs->rsi && guest_read(task, regs->rsi, &event, sizeof event) < 0)
        return done(task, -EFAULT);
    if (event.notify != SIGEV_SIGNAL && event.notify != SIGEV_NONE &&
        event.notify != SIGEV_THREAD_ID && event.notify != SIGEV_THREAD)
        return done(task, -EINVAL);
    if (timers->live == TIMERS_MAX)
        return done(task, -EAGAIN);
    struct vtimer *timer = mem_alloc(sizeof *timer);
    init_signal_timer(timer, task->process, FIRST_ID + timers->created++, event.signal);
    timer->clock = clock;
    timer->notify = event.notify;
    timer->thread = event.thread;
    timer->value = regs->rsi ? event.value : (uint64_t)timer->id;
    timer->next = timers->posix;
    timers->posix = timer;
    timers->live++;
    return done(task, guest_write(task, regs->rdx, &timer->id, sizeof timer->id));
}

bool vtimer_is_valid(const int64_t value[4])
{
    return value[0] >= 0 && value[2] >= 0 && value[1] >= 0 && value[1] < (int64_t)NS_PER_SEC &&
           value[3] >= 0 && value[3] < (int64_t)NS_PER_SEC;
}

enum verdict sys_timer_settime(struct box *box, struct task *task)
{
    struct user_regs_struct *regs = task_regs(task);
    struct vtimer *timer = find_posix(task, regs->rdi);
    int64_t old[4], new[4];

    if (!timer)
        return VERDICT_GO;
    if (guest_read(task, regs->rdx, new, sizeof new) < 0)
        return done(task, -EFAULT);
    if (!vtimer_is_valid(new))
        return done(task, -EINVAL);
    vtimer_show(box, timer, old);
    vtimer_set(box, timer, vtimer_ns(new[2], new[3]), vtimer_ns(new[0], new[1]),
               regs->rsi & TIMER_ABSTIME);
    return done(task, regs->r10 ? guest_write(task, regs->r10, old, sizeof old) : 0);
}

enum verdict sys_timer_gettime(struct box *box, struct task *task)
{
    struct user_regs_struct *regs = task_regs(task);
    struct vtimer *timer = find_posix(task, regs->rdi);
    int64_t value[4];

    if (!timer)
        return look_at_cpu(box, task);
    vtimer_show(box, timer, value);
    return done(task, guest_write(task, regs->rsi, value, sizeof value));
}

enum verdict sys_timer_getoverrun(struct box *box, struct task *task)
{
    struct vtimer *timer = find_posix(task, task_regs(task)->rdi);

    (void)box;
    return timer ? done(task, timer->overrun) : VERDICT_GO;
}

enum verdict sys_timer_delete(struct box *box, struct task *task)
{
    struct vtimer *timer = find_posix(task, task_regs(task)->rdi);

    if (!timer)
        return VERDICT_GO;
    struct vtimer **link = &task->process->timers->posix;
    while (*link != timer)
        link = &(*link)->next;
    *link = timer->next;
    task->process->timers->live--;
    deadline_disarm(&box->deadlines, &timer->deadline);
    free(timer);
    return done(task, 0);
}
