/* SPDX-License-Identifier: MIT */
/* sys_timer: alarm, interval timers, POSIX timers and timerfds on the virtual clock.
 *
 * The kernel's own timers are never armed with what the guest asks for. Signal timers live here: at
 * their expiry the supervisor queues the signal, marked SI_TIMER; the one of alarm() is given the
 * kernel's mark at its delivery stop. A timerfd stays the guest's: at its expiry the supervisor
 * arms it, through a descriptor of its own for the same open file, with a time that has passed, so
 * read, poll, epoll, dup and passing it around are the kernel's. */
#include "box/policy.h"
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

enum { ITIMER_MARK = 0x7669, TIMER_IDS_MAX = 4096 };

struct vtimer {
    struct deadline deadline;
    struct process *process; /* NULL for a timerfd */
    struct vtimer *next;
    int64_t interval_ns;
    clockid_t clock;
    /* POSIX and interval timers */
    int id; /* -1: ITIMER_REAL */
    int notify, signal;
    pid_t thread;   /* SIGEV_THREAD_ID, in the box's numbers */
    uint64_t value; /* sigev_value */
    int overrun;
    /* timerfd */
    int fd; /* of the supervisor, same open file */
    uint64_t unread, fired;
};

struct process_timers {
    struct vtimer alarm;
    struct vtimer cpu[2]; /* ITIMER_VIRTUAL, ITIMER_PROF: kept, since CPU time hardly passes */
    struct vtimer *posix;
    int next_id;
};

/* ---- setting and showing ------------------------------------------------------------------- */

static struct process_timers *timers_of(struct process *process);

static int64_t ns_of(int64_t seconds, int64_t nanoseconds)
{
    if (seconds > INT64_MAX / 4 / (int64_t)NS_PER_SEC)
        return INT64_MAX / 4;
    return seconds * (int64_t)NS_PER_SEC + nanoseconds;
}

static void show(const struct box *box, const struct vtimer *timer, int64_t out[4])
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

static void set(struct box *box, struct vtimer *timer, int64_t value_ns, int64_t interval_ns,
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
    deadline_arm(&box->deadlines, &timer->deadline, due);
}

/* ---- signals ------------------------------------------------------------------------------- */

static bool is_pending(pid_t pid, int signal)
{
    char path[40], text[4096];

    (void)snprintf(path, sizeof path, "/proc/%d/status", pid);
    CLEANUP(fd_close) int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t count = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (count <= 0)
        return false;
    text[count] = '\0';
    for (const char *line = strstr(text, "Pnd:"); line; line = strstr(line + 4, "Pnd:"))
        if (strtoull(line + 4, NULL, 16) >> (signal - 1) & 1)
            return true;
    return false;
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
    tape_event(box, timer->process, 1, TAPE_NOTE, "\"text\":\"timer %d fires\"", timer->id);
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

void timers_signal(struct box *box, struct task *task, int signal)
{
    siginfo_t info;

    (void)box;
    if (signal != SIGALRM || ptrace(PTRACE_GETSIGINFO, task->tid, NULL, &info) < 0)
        return;
    if (info.si_code != SI_TIMER || info.si_timerid != ITIMER_MARK)
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
        init_signal_timer(&process->timers->cpu[0], process, -2, SIGVTALRM);
        init_signal_timer(&process->timers->cpu[1], process, -3, SIGPROF);
    }
    return process->timers;
}

static void drop_posix(struct box *box, struct process_timers *timers)
{
    while (timers->posix) {
        struct vtimer *timer = timers->posix;
        timers->posix = timer->next;
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
    task_skip(task, result);
    return VERDICT_DONE;
}

enum verdict sys_setitimer(struct box *box, struct task *task)
{
    struct user_regs_struct *regs = task_regs(task);
    struct process_timers *timers = timers_of(task->process);
    int64_t old[4], new[4] = {0};

    if (regs->rdi > 2 || (regs->rsi && guest_read(task, regs->rsi, new, sizeof new) < 0))
        return VERDICT_GO; /* the kernel names the error */
    if (new[0] < 0 || new[2] < 0 || new[1] < 0 || new[1] > 999999 || new[3] < 0 || new[3] > 999999)
        return VERDICT_GO;
    struct vtimer *timer = regs->rdi == ITIMER_REAL ? &timers->alarm : &timers->cpu[regs->rdi - 1];
    show(box, timer, old);
    to_timeval(old);
    if (regs->rdi == ITIMER_REAL)
        set(box, timer, ns_of(new[2], new[3] * 1000), ns_of(new[0], new[1] * 1000), false);
    else
        timer->interval_ns = ns_of(new[0], new[1] * 1000);
    return done(task, regs->rdx ? guest_write(task, regs->rdx, old, sizeof old) : 0);
}

enum verdict sys_getitimer(struct box *box, struct task *task)
{
    struct user_regs_struct *regs = task_regs(task);
    struct process_timers *timers = timers_of(task->process);
    int64_t value[4];

    if (regs->rdi > 2)
        return VERDICT_GO;
    show(box, regs->rdi == ITIMER_REAL ? &timers->alarm : &timers->cpu[regs->rdi - 1], value);
    to_timeval(value);
    return done(task, guest_write(task, regs->rsi, value, sizeof value));
}

enum verdict sys_alarm(struct box *box, struct task *task)
{
    struct vtimer *timer = &timers_of(task->process)->alarm;
    int64_t old[4];
    unsigned seconds = (unsigned)task_regs(task)->rdi;

    show(box, timer, old);
    set(box, timer, ns_of(seconds, 0), 0, false);
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
    if (clock > CLOCK_TAI || clock == CLOCK_MONOTONIC_RAW || clock == CLOCK_REALTIME_COARSE ||
        clock == CLOCK_MONOTONIC_COARSE)
        return done(task, -EINVAL);
    if (regs->rsi && guest_read(task, regs->rsi, &event, sizeof event) < 0)
        return done(task, -EFAULT);
    if (event.notify != SIGEV_SIGNAL && event.notify != SIGEV_NONE &&
        event.notify != SIGEV_THREAD_ID && event.notify != SIGEV_THREAD)
        return done(task, -EINVAL);
    if (timers->next_id == TIMER_IDS_MAX)
        return done(task, -EAGAIN);
    struct vtimer *timer = mem_alloc(sizeof *timer);
    init_signal_timer(timer, task->process, timers->next_id++, event.signal);
    timer->clock = clock;
    timer->notify = event.notify;
    timer->thread = event.thread;
    timer->value = regs->rsi ? event.value : (uint64_t)timer->id;
    timer->next = timers->posix;
    timers->posix = timer;
    return done(task, guest_write(task, regs->rdx, &timer->id, sizeof timer->id));
}

static bool valid_itimerspec(const int64_t value[4])
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
        return done(task, -EINVAL);
    if (guest_read(task, regs->rdx, new, sizeof new) < 0)
        return done(task, -EFAULT);
    if (!valid_itimerspec(new))
        return done(task, -EINVAL);
    show(box, timer, old);
    /* CPU-time timers never fire by themselves: CPU time stands still in a box. */
    bool cpu = timer->clock < 0 || timer->clock == CLOCK_PROCESS_CPUTIME_ID ||
               timer->clock == CLOCK_THREAD_CPUTIME_ID;
    if (!cpu)
        set(box, timer, ns_of(new[2], new[3]), ns_of(new[0], new[1]), regs->rsi & TIMER_ABSTIME);
    return done(task, regs->r10 ? guest_write(task, regs->r10, old, sizeof old) : 0);
}

enum verdict sys_timer_gettime(struct box *box, struct task *task)
{
    struct user_regs_struct *regs = task_regs(task);
    struct vtimer *timer = find_posix(task, regs->rdi);
    int64_t value[4];

    if (!timer)
        return done(task, -EINVAL);
    show(box, timer, value);
    return done(task, guest_write(task, regs->rsi, value, sizeof value));
}

enum verdict sys_timer_getoverrun(struct box *box, struct task *task)
{
    struct vtimer *timer = find_posix(task, task_regs(task)->rdi);

    (void)box;
    return done(task, timer ? timer->overrun : -EINVAL);
}

enum verdict sys_timer_delete(struct box *box, struct task *task)
{
    struct vtimer *timer = find_posix(task, task_regs(task)->rdi);

    if (!timer)
        return done(task, -EINVAL);
    struct vtimer **link = &task->process->timers->posix;
    while (*link != timer)
        link = &(*link)->next;
    *link = timer->next;
    deadline_disarm(&box->deadlines, &timer->deadline);
    free(timer);
    return done(task, 0);
}

/* ---- timerfd ------------------------------------------------------------------------------- */

static bool is_timerfd(struct task *task, int fd)
{
    char path[48], target[64];

    (void)snprintf(path, sizeof path, "/proc/%d/fd/%d", task->tid, fd);
    ssize_t length = readlink(path, target, sizeof target - 1);
    if (length < 0)
        return false;
    target[length] = '\0';
    return strcmp(target, "anon_inode:[timerfd]") == 0;
}

static clockid_t timerfd_clock(struct task *task, int fd)
{
    char path[48];
    struct err err;
    CLEANUP(buf_done) struct buf text = {0};

    (void)snprintf(path, sizeof path, "/proc/%d/fdinfo/%d", task->tid, fd);
    if (file_read(path, 4096, &text, &err) < 0)
        return CLOCK_MONOTONIC;
    const char *line = strstr(buf_text(&text), "clockid:");
    return line ? (clockid_t)strtol(line + 8, NULL, 10) : CLOCK_MONOTONIC;
}

static int borrow_fd(struct task *task, int fd)
{
    CLEANUP(fd_close) int pidfd = (int)syscall(SYS_pidfd_open, task->process->pid, 0);

    return pidfd < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, pidfd, fd, 0);
}

/* Arms the guest's timerfd so that exactly `count` expirations can be read from it now. */
static void make_readable(struct vtimer *timer, uint64_t count)
{
    struct itimerspec value = {.it_value = {0, 1}};

    if (count > 1) {
        int64_t now =
            vclock_is_realtime(timer->clock) ? wall_now_ns() : (int64_t)wall_monotonic_ns();
        int64_t interval = now / (int64_t)(count + 1);
        int64_t first = now - (int64_t)(count - 1) * interval - 1;
        value.it_value =
            (struct timespec){first / (int64_t)NS_PER_SEC, first % (int64_t)NS_PER_SEC};
        value.it_interval =
            (struct timespec){interval / (int64_t)NS_PER_SEC, interval % (int64_t)NS_PER_SEC};
    }
    (void)timerfd_settime(timer->fd, TFD_TIMER_ABSTIME, &value, NULL);
}

static void fire_timerfd(struct box *box, struct deadline *deadline)
{
    struct vtimer *timer = (struct vtimer *)deadline;
    int64_t due = deadline->due_ns;
    struct pollfd unread = {.fd = timer->fd, .events = POLLIN};

    deadline_disarm(&box->deadlines, deadline);
    timer->unread = poll(&unread, 1, 0) == 1 ? timer->unread + 1 : 1;
    tape_event(box, NULL, 1, TAPE_NOTE, "\"text\":\"timerfd fires\"");
    make_readable(timer, timer->unread);
    if (timer->interval_ns)
        deadline_repeat(&box->deadlines, deadline, due + timer->interval_ns);
}

static struct vtimer *find_timerfd(struct box *box, struct task *task, int fd)
{
    for (struct vtimer *timer = box->timerfds; timer; timer = timer->next)
        if (syscall(SYS_kcmp, getpid(), task->process->pid, 0 /* KCMP_FILE */, timer->fd, fd) == 0)
            return timer;
    return NULL;
}

static struct vtimer *add_timerfd(struct box *box, struct task *task, int fd)
{
    int own = borrow_fd(task, fd);

    if (own < 0)
        return NULL;
    struct vtimer *timer = mem_alloc(sizeof *timer);
    timer->deadline.fire = fire_timerfd;
    timer->fd = own;
    timer->clock = timerfd_clock(task, fd);
    timer->next = box->timerfds;
    box->timerfds = timer;
    return timer;
}

/* True if a guest still has the open file that `timer` is about. */
static bool is_held(struct box *box, const struct vtimer *timer)
{
    for (struct process *process = box->processes; process; process = process->next) {
        char path[48];
        struct dirent *entry;
        bool held = false;
        (void)snprintf(path, sizeof path, "/proc/%d/fd", process->pid);
        DIR *directory = opendir(path);
        while (directory && !held && (entry = readdir(directory)))
            held = syscall(SYS_kcmp, getpid(), process->pid, 0 /* KCMP_FILE */, timer->fd,
                           strtol(entry->d_name, NULL, 10)) == 0;
        if (directory)
            (void)closedir(directory);
        if (held)
            return true;
    }
    return false;
}

/* A periodic timerfd that nobody has any more must not keep the clock moving. Looked at when it
 * would fire for the second time, and then now and again. */
bool timers_collect(struct box *box, struct deadline *first)
{
    struct vtimer *timer = (struct vtimer *)first;

    if (first->fire != fire_timerfd || timer->fired++ % 64 != 1 || is_held(box, timer))
        return false;
    struct vtimer **link = &box->timerfds;
    while (*link != timer)
        link = &(*link)->next;
    *link = timer->next;
    deadline_disarm(&box->deadlines, first);
    fd_close(timer->fd);
    free(timer);
    return true;
}

enum verdict sys_timerfd_settime(struct box *box, struct task *task)
{
    static const struct itimerspec zero;
    struct user_regs_struct *regs = task_regs(task);
    int64_t old[4], new[4];
    int fd = (int)regs->rdi;

    if (regs->rsi & ~(uint64_t)(TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET) ||
        !is_timerfd(task, fd) || guest_read(task, regs->rdx, new, sizeof new) < 0 ||
        !valid_itimerspec(new))
        return VERDICT_GO; /* the kernel names the error */
    struct vtimer *timer = find_timerfd(box, task, fd);
    if (!timer)
        timer = add_timerfd(box, task, fd);
    if (!timer) {
        leak_add(box, task->process, "clock/timerfd");
        return VERDICT_GO;
    }
    show(box, timer, old);
    (void)timerfd_settime(timer->fd, 0, &zero, NULL);
    timer->unread = 0;
    set(box, timer, ns_of(new[2], new[3]), ns_of(new[0], new[1]), regs->rsi & TFD_TIMER_ABSTIME);
    return done(task, regs->r10 ? guest_write(task, regs->r10, old, sizeof old) : 0);
}

enum verdict sys_timerfd_gettime(struct box *box, struct task *task)
{
    struct user_regs_struct *regs = task_regs(task);
    int64_t value[4];

    if (!is_timerfd(task, (int)regs->rdi))
        return VERDICT_GO;
    struct vtimer *timer = find_timerfd(box, task, (int)regs->rdi);
    if (!timer)
        return VERDICT_GO; /* never armed: all zero */
    show(box, timer, value);
    return done(task, guest_write(task, regs->rsi, value, sizeof value));
}
