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
#include "box/numbers.h"
#include "box/reads.h"
#include "box/bare.h"
#include "box/box_files.h"
#include "box/file_times.h"
#include "box/order.h"
#include "box/settle.h"
#include "box/special.h"
#include "box/sub.h"
#include "base/fd.h"
#include "base/trace.h"
#include "base/wall.h"
#include "base/when.h"
#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

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
    (void)fs_stamp_part(box->moved_real_ns);
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

/* A verdict that ends the run is not given at first sight: nothing must have happened for a while.
 */
static bool is_stuck(struct box *box)
{
    uint64_t now = wall_monotonic_ns();

    if (!box->stuck_since_ns || box->stuck_steps != box->steps) {
        box->stuck_since_ns = now;
        box->stuck_steps = box->steps;
    }
    return now - box->stuck_since_ns > 20 * NS_PER_MS;
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
        if (report_waits_outside(box) || !is_stuck(box))
            return false;
        report_deadlock(box);
        return true;
    }
    if (box->hold.task && next != &box->hold.task->wait.deadline)
        return false;
    if (box_over_max_time(box, next->due_ns))
        return true;
    if (next->due_ns > vclock_now(&box->clock)) {
        box->clock.jumps++;
        box_move_clock(box, deadline_landing(next));
    }
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
    events_handle(box, tid, status);
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
            events_interrupt(box);
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
    bool any = true; /* the first guest was just told to go */

    while (!box->over && box->task_count) {
        while (!box->over && take_event(box))
            any = true;
        if (box->over || !box->task_count)
            break;
        if (any) {
            if (!box->hold.task)
                (void)sched_yield(); /* whoever was resumed runs now, until it blocks or stops */
            looks = 0;
            last_event = 0;
            check_steps(box);
            if (box->steps - checked > 64) {
                checked = box->steps;
                check_ceiling(box);
                (void)computing_step(box, wall_monotonic_ns(), true);
            }
            any = !box->hold.task && take_event(box);
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
        if (!box->over && box->hold.task) { /* the one look did not end its wait */
            hold_release(box);
            progress = true;
        }
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
    box->numbers = numbers_free(box->numbers);
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
    if (!box->task_count)
        order_apart(box);
    kill_all(box);
    if (box->task_count)
        wait_for_all();
    forget_guests(box);
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
    if (r < 0) {
        if (box->init_pid > 0) /* it may wait for a word from us */
            (void)kill(box->init_pid, SIGKILL);
        return r;
    }
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
    return r < 0 ? r : closed;
}

void box_leave(struct box *box)
{
    wait_for_all();
    bare_end(box);
}
