/* SPDX-License-Identifier: MIT */
/* sys_timerfd: timerfds on the virtual clock. A timerfd stays the guest's: at its expiry the
 * supervisor arms it, through a descriptor of its own for the same open file, with a time that has
 * passed, so read, poll, epoll, dup and passing it around are the kernel's. That descriptor is kept
 * only while the timer is armed: a guest that closes its own must find it gone from its epolls. */
#include "box/vtimer.h"
#include "box/sub.h"
#include "base/fd.h"
#include "base/trace.h"
#include "base/wall.h"
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

static enum verdict done(struct task *task, long result)
{
    return verdict_skip(task, result);
}

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

/* Whether the supervisor's open file `fd` is process `pid`'s `other`: 0 if so, 1 or 2 if it comes
 * before or behind it in an order that the kernel has for open files; -1: no such file. */
static long compare_files(int fd, pid_t pid, int other)
{
    return syscall(SYS_kcmp, getpid(), pid, 0 /* KCMP_FILE */, fd, other);
}

static bool is_same_file(const struct vtimer *timer, pid_t pid, int fd)
{
    return compare_files(timer->fd, pid, fd) == 0;
}

/* The place among the armed timerfds where this one is, or belongs. */
static size_t place_of(const struct timerfds *all, pid_t pid, int fd)
{
    size_t low = 0, high = all->count;

    while (low < high) {
        size_t middle = (low + high) / 2;
        if (compare_files(all->items[middle]->fd, pid, fd) == 1)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct vtimer *find_timerfd(struct box *box, struct task *task, int fd)
{
    const struct timerfds *all = &box->timerfds;
    pid_t pid = task->process->pid;
    size_t place = place_of(all, pid, fd);

    return place < all->count && is_same_file(all->items[place], pid, fd) ? all->items[place]
                                                                          : NULL;
}

static void drop(struct box *box, struct vtimer *timer)
{
    struct timerfds *all = &box->timerfds;
    size_t place = place_of(all, getpid(), timer->fd);

    assert(place < all->count && all->items[place] == timer);
    all->count--;
    memmove(all->items + place, all->items + place + 1, (all->count - place) * sizeof *all->items);
    deadline_disarm(&box->deadlines, &timer->deadline);
    fd_close(timer->fd);
    free(timer);
}

/* What happens inside of a subprocess is not on the tape. */
static void note_fired(struct box *box, const struct vtimer *timer)
{
    const struct process *holder = box->processes;

    while (holder && holder->pid != timer->holder)
        holder = holder->next;
    if (holder)
        subs_woke(box, holder);
    if (!holder || subs_on_tape(holder, TAPE_NOTE))
        tape_event(box, NULL, 1, TAPE_NOTE, "\"text\":\"timerfd fires\"");
}

static void fire_timerfd(struct box *box, struct deadline *deadline)
{
    struct vtimer *timer = (struct vtimer *)deadline;
    int64_t due = deadline->due_ns;
    struct pollfd unread = {.fd = timer->fd, .events = POLLIN};

    deadline_disarm(&box->deadlines, deadline);
    timer->unread = poll(&unread, 1, 0) == 1 ? timer->unread + 1 : 1;
    note_fired(box, timer);
    make_readable(timer, timer->unread);
    if (timer->interval_ns)
        deadline_repeat(&box->deadlines, deadline, due + timer->interval_ns);
    else
        drop(box, timer);
}

static bool is_held_by(struct vtimer *timer, pid_t pid)
{
    char path[48];
    struct dirent *entry;
    bool held = false;

    (void)snprintf(path, sizeof path, "/proc/%d/fd", pid);
    DIR *directory = opendir(path);
    while (directory && !held && (entry = readdir(directory))) {
        int fd = (int)strtol(entry->d_name, NULL, 10);
        held = is_same_file(timer, pid, fd);
        if (held)
            timer->holder_fd = fd;
    }
    if (directory)
        (void)closedir(directory);
    return held;
}

/* True if a guest still has the open file that `timer` is about. */
static bool is_held(struct box *box, struct vtimer *timer)
{
    if (is_same_file(timer, timer->holder, timer->holder_fd))
        return true;
    for (struct process *process = box->processes; process; process = process->next)
        if (is_held_by(timer, process->pid)) {
            timer->holder = process->pid;
            return true;
        }
    return false;
}

/* A timerfd that nobody has any more must not move the clock. */
bool timers_collect(struct box *box, struct deadline *first)
{
    struct vtimer *timer = (struct vtimer *)first;

    if (first->fire != fire_timerfd || is_held(box, timer))
        return false;
    drop(box, timer);
    return true;
}

/* Those that were closed while armed, before they become too many. */
static void collect_all(struct box *box)
{
    struct timerfds *all = &box->timerfds;

    for (size_t i = all->count; i > 0; i--)
        (void)timers_collect(box, &all->items[i - 1]->deadline);
    all->limit = 2 * all->count + 64;
    all->items = mem_grow(all->items, all->limit * sizeof *all->items);
}

static struct vtimer *add_timerfd(struct box *box, struct task *task, int fd)
{
    struct timerfds *all = &box->timerfds;

    if (all->count >= all->limit)
        collect_all(box);
    int own = task_borrow_fd(task, fd);
    if (own < 0)
        return NULL;
    struct vtimer *timer = mem_alloc(sizeof *timer);
    timer->deadline.fire = fire_timerfd;
    timer->fd = own;
    timer->holder = task->process->pid;
    timer->holder_fd = fd;
    timer->clock = timerfd_clock(task, fd);
    size_t place = place_of(all, getpid(), own);
    memmove(all->items + place + 1, all->items + place, (all->count - place) * sizeof *all->items);
    all->items[place] = timer;
    all->count++;
    return timer;
}

enum verdict sys_timerfd_settime(struct box *box, struct task *task)
{
    static const struct itimerspec zero;
    struct user_regs_struct *regs = task_regs(task);
    int64_t old[4], new[4];
    int fd = (int)regs->rdi;

    if (regs->rsi & ~(uint64_t)(TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET) ||
        !is_timerfd(task, fd) || guest_read(task, regs->rdx, new, sizeof new) < 0 ||
        !vtimer_is_valid(new))
        return VERDICT_GO; /* the kernel names the error */
    struct vtimer *timer = find_timerfd(box, task, fd);
    if (!timer && !new[2] && !new[3])
        return VERDICT_GO;
    if (!timer)
        timer = add_timerfd(box, task, fd);
    if (!timer) {
        leak_add(box, task->process, "clock/timerfd");
        return VERDICT_GO;
    }
    vtimer_show(box, timer, old);
    (void)timerfd_settime(timer->fd, 0, &zero, NULL);
    timer->unread = 0;
    vtimer_set(box, timer, vtimer_ns(new[2], new[3]), vtimer_ns(new[0], new[1]),
               regs->rsi & TFD_TIMER_ABSTIME);
    if (!timer->deadline.index)
        drop(box, timer);
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
        return VERDICT_GO; /* not armed: all zero */
    vtimer_show(box, timer, value);
    return done(task, guest_write(task, regs->rsi, value, sizeof value));
}
