/* SPDX-License-Identifier: MIT */
/* box: the supervisor's loop.
 *
 *     take every event there is -> prove that the box is idle -> move the clock -> again
 *
 * Between two looks the supervisor sleeps on one epoll (children, controller, its own signals), for
 * a while that grows with the time since the last event: a guest that computes is not disturbed,
 * and a box that falls idle is noticed at once. How long it sleeps changes when a jump happens in
 * real time, never to where. */
#include "box/box_internal.h"
#include "box/reads.h"
#include "box/bare.h"
#include "box/box_files.h"
#include "box/file_times.h"
#include "box/policy.h"
#include "box/settle.h"
#include "box/special.h"
#include "box/sub.h"
#include "base/fd.h"
#include "base/trace.h"
#include "base/wall.h"
#include "base/when.h"
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ptrace.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#ifndef PTRACE_EVENT_STOP
#define PTRACE_EVENT_STOP 128
#endif

/* The end of init is that of its pid namespace; where there is none, everybody is known. */
static void kill_all(struct box *box)
{
    (void)kill(box->init_pid, SIGKILL);
    if (box->bare)
        FOR_EACH_TASK(box, task)
    (void)kill(task->tid, SIGKILL);
}

void box_end(struct box *box, enum box_outcome outcome, const char *format, ...)
{
    va_list args;

    if (box->over)
        return;
    box->over = true;
    box->findings->outcome = outcome;
    va_start(args, format);
    (void)vsnprintf(box->findings->text, sizeof box->findings->text, format, args);
    va_end(args);
    kill_all(box);
}

/* ---- events ------------------------------------------------------------------------------ */

static void task_ended(struct box *box, struct task *task, int status)
{
    struct process *process = task->process;

    trace(TRACE_BOX, "%d ended, status %x", task->tid, (unsigned)status);
    if (process && process->pid == task->tid) {
        struct process *parent = process->parent;
        if (process->random_draws)
            tape_event(box, process, 1, TAPE_RANDOM, "\"bytes\":%llu,\"draws\":%llu",
                       (unsigned long long)process->random_bytes,
                       (unsigned long long)process->random_draws);
        if (WIFSIGNALED(status))
            tape_event(box, process, 1, TAPE_PROCESS_EXIT, "\"signal\":%d", WTERMSIG(status));
        else
            tape_event(box, process, 1, TAPE_PROCESS_EXIT, "\"exit_code\":%d", WEXITSTATUS(status));
        subs_ended(box, process, status);
        if (process == box->first) {
            box->main_ended = true;
            box->main_status = status;
        }
        task_remove(box, task);
        if (parent)
            wait_check_signals(box, parent); /* SIGCHLD */
        return;
    }
    task_remove(box, task);
}

static bool is_thread_of(const struct process *process, pid_t tid)
{
    char path[64];

    (void)snprintf(path, sizeof path, "/proc/%d/task/%d", process->pid, tid);
    return access(path, F_OK) == 0;
}

static void start_child(struct box *box, struct task *child)
{
    child->stepping_in = false;
    child->started = true;
    task_resume(box, child, 0);
}

static void on_spawn(struct box *box, struct task *task, int event)
{
    unsigned long message = 0;

    if (ptrace(PTRACE_GETEVENTMSG, task->tid, NULL, &message) < 0) {
        task_resume(box, task, 0);
        return;
    }
    struct task *child = task_find(box, (pid_t)message);
    if (!child)
        child = task_add(box, (pid_t)message);
    struct process *process = task->process;
    if (!task->schedule.reset)
        child->schedule = task->schedule;
    if (event == PTRACE_EVENT_CLONE && is_thread_of(process, child->tid)) {
        child->process = process;
        process->task_count++;
        child->ordinal = ++process->threads_spawned;
    } else {
        child->process = process_add(box, process, child->tid);
        child->process->task_count = 1;
        child->ordinal = child->process->threads_spawned = 1;
        child->process->shares_memory = event != PTRACE_EVENT_FORK;
        if (event == PTRACE_EVENT_CLONE) /* clone(SIGCHLD) without CLONE_VM is a fork */
            child->process->shares_memory = true;
        if (box->options->max_procs && box->process_count > box->options->max_procs) {
            box_end(box, BOX_CEILING,
                    "more than %u processes at once (--max-procs), made by %s (%s)",
                    box->options->max_procs, process->path, process->program);
            return;
        }
    }
    task_resume(box, task, 0);
    if (child->stepping_in)
        start_child(box, child);
}

static void set_program(struct task *task)
{
    char path[40], name[64];

    (void)snprintf(path, sizeof path, "/proc/%d/comm", task->tid);
    CLEANUP(fd_close) int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, name, sizeof name);
    if (length <= 0)
        return;
    name[length - 1] = '\0'; /* its newline */
    free(task->process->program);
    task->process->program = mem_dup(name);
}

/* exec by a thread other than the first: the others are gone, and it has taken the leader's tid. */
static struct task *exec_survivor(struct box *box, struct task *leader)
{
    struct process *process = leader->process;

    FOR_EACH_TASK(box, task)
    if (task->process == process && task != leader)
        task_remove(box, task);
    leader->ordinal = 1;
    process->threads_spawned = 1;
    return leader;
}

/* Traced programs, and those with no_new_privs, get no rights from the bits of their file. */
static void note_setuid(struct box *box, struct task *task)
{
    char path[40];
    struct stat st;

    (void)snprintf(path, sizeof path, "/proc/%d/exe", task->tid);
    if (stat(path, &st) == 0 && st.st_mode & (S_ISUID | S_ISGID) && st.st_uid != geteuid())
        leak_note(box, "%s (%s) is set-user-ID and runs without the rights of that user in a box",
                  task->process->path, task->process->program);
}

static void on_exec(struct box *box, struct task *task)
{
    char path[40];
    int status = 0;

    task = exec_survivor(box, task);
    wait_end(box, task);
    task->slot = -1;
    memset(task->process->slots, 0, sizeof task->process->slots);
    task->process->shares_memory = false;
    timers_exec(box, task->process);
    set_program(task);
    enum sub_exec sub = subs_exec_done(box, task);
    if (sub == SUB_EXEC_PLAIN)
        tape_exec(box, task);
    if (sub != SUB_EXEC_PLAYED) { /* the stub needs nothing of what a program does */
        note_setuid(box, task);
        if (box->root_fd < 0) {
            (void)snprintf(path, sizeof path, "/proc/%d/root", box->init_pid);
            box->root_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        }
        bool first = !box->program_started;
        if (!exec_happened(box, task, &status)) {
            task_ended(box, task, status);
            return;
        }
        if (first) {
            fs_started_wait(box->wall_started_ns);
            subs_program_started(box);
        }
    }
    if (!box->over)
        task_resume(box, task, 0);
}

static void deny_unknown(struct box *box, struct task *task, unsigned long why)
{
    char capability[40];
    long number = (long)task_regs(task)->orig_rax;

    (void)snprintf(capability, sizeof capability,
                   why ? "syscall/foreign-%ld" : "syscall/unknown-%ld", number);
    leak_add(box, task->process, capability);
    task_skip(task, -ENOSYS);
}

static void on_seccomp(struct box *box, struct task *task)
{
    unsigned long data = 0;
    struct user_regs_struct *regs = task_regs(task);
    sys_handler handler = policy_handler((long)regs->orig_rax);

    (void)ptrace(PTRACE_GETEVENTMSG, task->tid, NULL, &data);
    if (!handler && subs_stub_call(box, task)) {
        task_resume(box, task, 0);
        return;
    }
    if (data || !handler) {
        deny_unknown(box, task, data);
        task_resume(box, task, 0);
        return;
    }
    trace(TRACE_BOX, "%s/%u %s(%llx, %llx, %llx, %llx)", task->process->path, task->ordinal,
          policy_name((long)regs->orig_rax), regs->rdi, regs->rsi, regs->rdx, regs->r10);
    fast_patch(box, task);
    switch (handler(box, task)) {
    case VERDICT_PARK:
        task->state = TASK_PARKED;
        break;
    case VERDICT_GO:
    case VERDICT_EXIT:
    case VERDICT_DONE:
        if (!box->over)
            task_resume(box, task, 0);
        break;
    }
}

static void on_event_stop(struct box *box, struct task *task, int signal)
{
    if (!task->process) { /* a child that is faster than its parent's event */
        task->stepping_in = true;
        return;
    }
    if (!task->started) {
        start_child(box, task);
        return;
    }
    if (signal != SIGTRAP) { /* group-stop: it stays stopped until SIGCONT */
        task->state = TASK_LISTENING;
        (void)ptrace(PTRACE_LISTEN, task->tid, NULL, 0);
        return;
    }
    wait_settle(box, task);
    task_resume(box, task, 0);
}

static bool is_call_entry(const struct task *task)
{
    struct __ptrace_syscall_info info = {0};

    return ptrace(PTRACE_GET_SYSCALL_INFO, task->tid, sizeof info, &info) > 0 &&
           info.op == PTRACE_SYSCALL_INFO_ENTRY;
}

/* Behind a call whose wait was to end: this stop took the place of the one that was asked for. */
static void call_returned(struct box *box, struct task *task)
{
    if (task->on_exit)
        task->on_exit(box, task);
    if (task->wait.expiring)
        wait_settle(box, task);
}

static void on_syscall_stop(struct box *box, struct task *task)
{
    struct process *process = task->process;

    if (process && (process->watched || process->tapped) && is_call_entry(task)) {
        if (process->watched)
            socket_call(box, task);
        if (process->tapped)
            sub_io_tapped(box, task);
    } else {
        call_returned(box, task);
    }
    if (!box->over)
        task_resume(box, task, 0);
}

/* rdtsc and rdtscp are made to fault. */
static bool emulate_tsc(struct box *box, struct task *task)
{
    struct user_regs_struct *regs = task_regs(task);
    unsigned char code[3] = {0};

    if (!vclock_held(&box->clock) || guest_read(task, regs->rip, code, 2) < 0)
        return false;
    bool rdtsc = code[0] == 0x0f && code[1] == 0x31, rdtscp = false;
    if (!rdtsc && code[0] == 0x0f && code[1] == 0x01)
        rdtscp = guest_read(task, regs->rip, code, 3) == 0 && code[2] == 0xf9;
    if (!rdtsc && !rdtscp)
        return false;
    uint64_t counter = clock_counter(box, task);
    regs->rax = counter & 0xffffffffu;
    regs->rdx = counter >> 32;
    if (rdtscp)
        regs->rcx = 0;
    regs->rip += rdtscp ? 3 : 2;
    task_set_regs(task);
    return true;
}

/* Ctrl-C is the program's. The second one within a second is for the box, unless a line editor is
 * at work, where pressing it again and again is ordinary. One press reaches every process of the
 * foreground: what comes close together is one. */
static void interrupt_pressed(struct box *box)
{
    uint64_t now = wall_monotonic_ns(), last = box->last_interrupt_ns;
    struct termios state;

    if (box->settle || (last && now - last < 50 * NS_PER_MS))
        return; /* whoever has made the terminal ends the session in other ways */
    box->last_interrupt_ns = now;
    CLEANUP(fd_close) int tty = open("/dev/tty", O_RDONLY | O_CLOEXEC | O_NOCTTY);
    bool editing = tty >= 0 && tcgetattr(tty, &state) == 0 && !(state.c_lflag & ICANON);
    if (!box->program_started || (last && now - last < NS_PER_SEC && !editing))
        box_end(box, BOX_KILLED, "interrupted");
}

static void on_signal(struct box *box, struct task *task, int signal)
{
    siginfo_t info;

    trace(TRACE_BOX, "%d gets signal %d", task->tid, signal);
    if (signal == SIGINT && ptrace(PTRACE_GETSIGINFO, task->tid, NULL, &info) == 0 &&
        info.si_code == SI_KERNEL)
        interrupt_pressed(box);
    if (box->over)
        return;
    if (signal == SIGSEGV && (emulate_tsc(box, task) || fast_fault(task))) {
        task_resume(box, task, 0);
        return;
    }
    if (!task->process) {
        task_resume(box, task, signal);
        return;
    }
    if (task->wait.expiring)
        wait_settle(box, task);
    subs_signal(box, task, signal);
    wait_signal(box, task, signal);
    timers_signal(box, task, signal);
    task_resume(box, task, signal);
}

static void handle(struct box *box, pid_t tid, int status)
{
    struct task *task = task_find(box, tid);
    int event = status >> 16, signal = WIFSTOPPED(status) ? WSTOPSIG(status) : 0;

    if (tid == box->init_pid)
        return;
    if (!WIFSTOPPED(status)) {
        if (task)
            task_ended(box, task, status);
        return;
    }
    if (!task)
        task = task_add(box, tid);
    box->steps++;
    task->state = TASK_STOPPED;
    task->regs_valid = task->regs_dirty = false;
    if (task->process)
        task_scratch_done(task);
    switch (event) {
    case PTRACE_EVENT_SECCOMP:
        on_seccomp(box, task);
        break;
    case PTRACE_EVENT_FORK:
    case PTRACE_EVENT_VFORK:
    case PTRACE_EVENT_CLONE:
        on_spawn(box, task, event);
        break;
    case PTRACE_EVENT_EXEC:
        on_exec(box, task);
        break;
    case PTRACE_EVENT_STOP:
        on_event_stop(box, task, signal);
        break;
    default:
        if (signal == (SIGTRAP | 0x80))
            on_syscall_stop(box, task);
        else
            on_signal(box, task, signal);
    }
}

/* ---- the clock moves --------------------------------------------------------------------- */

/* The earliest deadline that still means something: waits that ended unseen are dropped. */
static struct deadline *next_deadline(struct box *box)
{
    for (;;) {
        struct deadline *first = deadline_first(&box->deadlines);
        if (!first || first->fire != wait_fire) {
            if (first && timers_collect(box, first))
                continue;
            return first;
        }
        struct task *task = wait_task(first);
        if (!vclock_held(&box->clock)) /* nobody has looked at it lately */
            (void)idle_blocked_call(task, &task->blocked);
        if (task->state != TASK_RUNNING || wait_is_current(task))
            return first;
        wait_end(box, task);
    }
}

/* Writes went on without a stop: what comes after the move gets another stamp than what came
 * before. */
static void part_file_times(struct box *box)
{
    box->writes_noted = 0;
    box->moved_real_ns = wall_now_ns();
    if (!box->clock.page->writes_free)
        return;
    box->clock.page->writes_free = false;
    fs_started_wait(box->moved_real_ns);
    file_times_part(box->times, box->moved_real_ns, vclock_realtime(&box->clock));
}

void box_move_clock(struct box *box, int64_t to_ns)
{
    int64_t from = vclock_now(&box->clock);

    if (to_ns <= from)
        return;
    if (file_times_any_touched(box->times))
        file_times_settle(box->times, box->root_fd, vclock_realtime(&box->clock));
    part_file_times(box);
    tape_event(box, NULL, 1, TAPE_CLOCK_ADVANCE, "\"by_ns\":%lld", (long long)(to_ns - from));
    box_tape_moved(box);
    vclock_move(&box->clock, to_ns);
    trace(TRACE_CLOCK, "clock moves by %lld ns", (long long)(to_ns - from));
}

bool box_over_max_time(struct box *box, int64_t due_ns)
{
    uint64_t limit = box->options->max_time_ns;

    if (!limit || (uint64_t)(due_ns - box->clock.start_monotonic_ns) <= limit)
        return false;
    box_end(box, BOX_CEILING, "the virtual time budget is used up (--max-time)");
    return true;
}

static void report_deadlock(struct box *box)
{
    CLEANUP(buf_done) struct buf text = {0};

    report_blocked(box, &text);
    box_end(box, BOX_DEADLOCK, "%s", buf_text(&text));
}

/* Everybody is blocked. True if that changed something. */
static bool idle_step(struct box *box)
{
    struct deadline *next = next_deadline(box);

    if (box->main_ended) { /* the program is over; what is left are its orphans */
        box->over = true;
        return true;
    }
    if (box->settle && (!next || next->due_ns > vclock_now(&box->clock)))
        return settle_idle(box, next);
    if (box->clock.mode == BOX_CLOCK_MANUAL && (!next || next->due_ns > vclock_now(&box->clock)))
        return control_idle(box, next);
    if ((!next || next->due_ns > vclock_now(&box->clock)) && outside_pending(box, next))
        return false;
    if (!next) {
        if (report_waits_outside(box))
            return false;
        report_deadlock(box);
        return true;
    }
    if (box_over_max_time(box, next->due_ns))
        return true;
    if (next->due_ns > vclock_now(&box->clock))
        box->clock.jumps++;
    box_move_clock(box, next->due_ns);
    next->fire(box, next);
    return true;
}

/* Running clocks: whatever is due, is due. */
static bool fire_due(struct box *box)
{
    struct deadline *next = next_deadline(box);

    if (!next || next->due_ns > vclock_now(&box->clock))
        return false;
    next->fire(box, next);
    return true;
}

/* ---- the loop ---------------------------------------------------------------------------- */

static bool take_event(struct box *box)
{
    int status;
    pid_t tid = waitpid(-1, &status, __WALL | WNOHANG);

    if (tid <= 0)
        return false;
    handle(box, tid, status);
    return true;
}

static void check_steps(struct box *box)
{
    if (box->options->max_steps && box->steps > box->options->max_steps)
        box_end(box, BOX_CEILING, "more than %llu stops (--max-steps)",
                (unsigned long long)box->options->max_steps);
}

static void check_ceiling(struct box *box)
{
    if (wall_monotonic_ns() < box->real_deadline_ns)
        return;
    CLEANUP(buf_done) struct buf text = {0};
    report_blocked(box, &text);
    if (computing_is_long(box))
        buf_adds(&text, "A paused clock stands while guests compute. One that measures how fast it "
                        "is, as benchmarks do, waits in vain: let time pass with --clock +0s\n");
    box_end(box, BOX_CEILING, "still running at the real-time ceiling (--timeout)\n%s",
            buf_text(&text));
}

static void take_signal(struct box *box)
{
    struct signalfd_siginfo info;

    while (read(box->signal_fd, &info, sizeof info) == sizeof info) {
        if (info.ssi_signo == SIGCHLD || box->over)
            continue;
        if (info.ssi_signo == SIGINT)
            interrupt_pressed(box);
        if (box->over || box->main_ended || !box->first)
            continue;
        tape_event(box, box->first, 1, TAPE_NOTE, "\"text\":\"signal %u from outside\"",
                   info.ssi_signo);
        (void)kill(box->first->pid, (int)info.ssi_signo);
        wait_check_signals(box, NULL);
    }
}

/* Sleeps until something may have changed, at most `limit_ns`. */
static void sleep_on_events(struct box *box, uint64_t limit_ns)
{
    struct epoll_event event;
    struct timespec limit = {(time_t)(limit_ns / NS_PER_SEC), (long)(limit_ns % NS_PER_SEC)};

    if (epoll_pwait2(box->epoll_fd, &event, 1, &limit, NULL) <= 0)
        return;
    if (event.data.fd == box->signal_fd)
        take_signal(box);
    else if (settle_owns(box, event.data.fd))
        settle_serve(box);
    else
        control_serve(box, event.data.fd);
}

static uint64_t sleep_limit(struct box *box, uint64_t quiet_ns)
{
    uint64_t limit = quiet_ns / 8;

    limit = limit < 20 * NS_PER_US ? 20 * NS_PER_US : limit;
    limit = limit > 5 * NS_PER_MS ? 5 * NS_PER_MS : limit;
    if (box->settle && !settle_asked(box) && !box->main_ended)
        limit = 100 * NS_PER_MS; /* nothing moves the clock before somebody asks */
    if (!vclock_held(&box->clock)) {
        struct deadline *next = deadline_first(&box->deadlines);
        uint64_t delay = next ? vclock_real_delay(&box->clock, next->due_ns) : NS_PER_SEC / 10;
        return delay < NS_PER_SEC / 10 ? delay : NS_PER_SEC / 10;
    }
    return limit;
}

static void loop(struct box *box)
{
    uint64_t last_event = wall_monotonic_ns(), scanned = last_event, checked = 0;
    unsigned looks = 0;
    bool any = false;

    while (!box->over && box->task_count) {
        while (!box->over && take_event(box))
            any = true;
        if (box->over || !box->task_count)
            break;
        if (any) {
            (void)sched_yield(); /* whoever was resumed runs now, until it blocks or stops */
            looks = 0;
            last_event = 0;
            check_steps(box);
            if (box->steps - checked > 64) {
                checked = box->steps;
                check_ceiling(box);
                (void)computing_step(box, wall_monotonic_ns(), true);
            }
            any = take_event(box);
            if (any)
                continue;
        }
        bool progress = false;
        enum idle idle = IDLE_NO;
        if (vclock_held(&box->clock)) {
            idle = idle_check(box);
            if (idle == IDLE_YES && terminal_flush(box))
                idle = idle_check(box);
            if (idle == IDLE_YES) {
                computing_over(box);
                progress = special_refill(box) || idle_step(box);
            }
        } else if (vclock_virtual(&box->clock)) {
            progress = fire_due(box);
        }
        if (!progress && !vclock_held(&box->clock) && settle_asked(box))
            progress = idle_check(box) == IDLE_YES &&
                       (!terminal_flush(box) || idle_check(box) == IDLE_YES) && idle_step(box);
        if (progress) {
            (void)sched_yield();
            continue;
        }
        uint64_t now = wall_monotonic_ns();
        if (idle == IDLE_NO && computing_step(box, now, !last_event))
            continue;
        if (!last_event)
            last_event = now;
        if (looks++ < 3 && idle == IDLE_NO) {
            (void)sched_yield();
            continue;
        }
        if (now - scanned > 50 * NS_PER_MS) { /* signals whose sender we did not see */
            scanned = now;
            wait_check_signals(box, NULL);
            check_ceiling(box);
        }
        sleep_on_events(box, sleep_limit(box, now - last_event));
        if (settle_nudged(box)) {
            last_event = 0;
            looks = 0;
        }
    }
}

static int open_events(struct box *box, struct err *err)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGQUIT);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGUSR2);
    sigaddset(&set, SIGWINCH);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
    (void)signal(SIGPIPE, SIG_IGN); /* a guest may close what we write to at any moment */
    box->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    box->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN, .data.fd = box->signal_fd};
    if (box->signal_fd < 0 || box->epoll_fd < 0 ||
        epoll_ctl(box->epoll_fd, EPOLL_CTL_ADD, box->signal_fd, &event) < 0)
        return err_set(err, -errno, "watch for events: %m");
    return 0;
}

static void count_orphans(struct box *box)
{
    for (struct process *process = box->processes; process; process = process->next) {
        box->findings->orphans++;
        leak_add(box, process, "process/orphan");
    }
}

/* What was kept about guests, and of them; behind the last one, since recordings of files end with
 * their process. */
static void forget_guests(struct box *box)
{
    special_done(box);
    sockets_done(box);
    while (box->task_count)
        FOR_EACH_TASK(box, task)
    task_remove(box, task);
    box->root_fd = fd_close(box->root_fd);
    box->times = file_times_free(box->times);
    loader_done(box);
    listings_done(box);
    reads_done(box);
}

static void wait_for_all(void)
{
    pid_t tid;
    int status = 0;

    while ((tid = waitpid(-1, &status, __WALL)) > 0 || errno == EINTR)
        if (tid > 0 && WIFSTOPPED(status)) /* made at the last moment */
            (void)kill(tid, SIGKILL);
}

/* Ends whatever is left. When this returns, no guest is; init may still be on its way, taking the
 * namespaces down while the supervisor goes on. */
static void clear_box(struct box *box)
{
    bool left = box->task_count > 0;

    if (!left)
        forget_guests(box);
    kill_all(box);
    if (left) {
        wait_for_all();
        forget_guests(box);
    }
}

int box_supervise(struct box *box, struct err *err)
{
    int r = open_events(box, err);

    box->root_fd = -1;
    if (r == 0)
        r = exec_find_kernel_vdso(box, err);
    if (r == 0)
        r = box_tape_open(box, err);
    if (r == 0)
        r = subs_open(box, err);
    if (r == 0)
        r = control_open(box, err);
    if (r == 0)
        r = settle_open(box, err);
    if (r == 0)
        r = spawn_box(box, err);
    if (r < 0)
        return r;
    counter_renounce(box);
    loop(box);
    if (box->findings->outcome == BOX_EXITED)
        count_orphans(box);
    clear_box(box);
    r = subs_close(box, err);
    control_close(box);
    settle_close(box);
    if (r == 0 && box->program_started)
        r = box_files_gather(box, err);
    box_files_done(box);
    int closed = box_tape_close(box, r < 0 ? NULL : err);
    wait_for_all();
    bare_end(box);
    return r < 0 ? r : closed;
}
