/* SPDX-License-Identifier: MIT */
/* sys_socket: SO_RCVTIMEO, SO_SNDTIMEO and the timeout of recvmmsg on the virtual clock.
 *
 * Such a timeout makes plain read, recv, accept, connect and send timed calls, which are otherwise
 * let through. So the kernel's own timeout is never set; it is kept here, by the socket's inode,
 * and a process that has set one is from then on stopped at every call it makes (PTRACE_SYSCALL
 * instead of PTRACE_CONT): rare enough to be slow. */
#include "box/policy.h"
#include "base/fd.h"
#include "base/text.h"
#include "base/when.h"
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

struct socket_timeout {
    struct socket_timeout *next;
    uint64_t inode;
    int64_t receive_ns, send_ns; /* 0: none */
    bool is_open;                /* as of the last look at all of them */
};

static uint64_t inode_of(const struct task *task, int fd)
{
    char path[48];
    struct stat st;

    (void)snprintf(path, sizeof path, "/proc/%d/fd/%d", task->tid, fd);
    return stat(path, &st) == 0 && S_ISSOCK(st.st_mode) ? st.st_ino : 0;
}

static struct socket_timeout *find(struct box *box, uint64_t inode)
{
    struct socket_timeout *timeout = box->socket_timeouts;

    while (timeout && timeout->inode != inode)
        timeout = timeout->next;
    return timeout;
}

static void look_at(struct box *box, pid_t pid)
{
    char path[48], target[64];
    struct dirent *entry;

    (void)snprintf(path, sizeof path, "/proc/%d/fd", pid);
    DIR *directory = opendir(path);
    while (directory && (entry = readdir(directory))) {
        ssize_t length = readlinkat(dirfd(directory), entry->d_name, target, sizeof target - 1);
        target[length > 0 ? length : 0] = '\0';
        struct socket_timeout *timeout =
            text_starts(target, "socket:[") ? find(box, strtoull(target + 8, NULL, 10)) : NULL;
        if (timeout)
            timeout->is_open = true;
    }
    if (directory)
        (void)closedir(directory);
}

/* Sockets that nobody has any more are forgotten before they become many. */
static void forget_closed(struct box *box)
{
    size_t left = 0;

    for (struct socket_timeout *timeout = box->socket_timeouts; timeout; timeout = timeout->next)
        timeout->is_open = false;
    for (struct process *process = box->processes; process; process = process->next)
        look_at(box, process->pid);
    for (struct socket_timeout **link = &box->socket_timeouts; *link;) {
        struct socket_timeout *timeout = *link;
        if (timeout->is_open) {
            link = &timeout->next;
            left++;
            continue;
        }
        *link = timeout->next;
        free(timeout);
    }
    box->socket_timeout_count = left;
    box->socket_timeout_limit = 2 * left + 64;
}

static struct socket_timeout *find_or_add(struct box *box, uint64_t inode)
{
    struct socket_timeout *timeout = find(box, inode);

    if (timeout)
        return timeout;
    if (box->socket_timeout_count >= box->socket_timeout_limit)
        forget_closed(box);
    timeout = mem_alloc(sizeof *timeout);
    timeout->inode = inode;
    timeout->next = box->socket_timeouts;
    box->socket_timeouts = timeout;
    box->socket_timeout_count++;
    return timeout;
}

static bool is_receive(uint64_t name)
{
    return name == 20 || name == 66; /* SO_RCVTIMEO, old and new */
}

/* SO_TIMESTAMP, SO_TIMESTAMPNS and SO_TIMESTAMPING, old and new: the kernel would stamp datagrams
 * with real time. No stamp comes instead, and programs that miss one look at the clock themselves.
 */
static bool is_stamp(uint64_t name)
{
    return name == 29 || name == 35 || name == 37 || (name >= 63 && name <= 65);
}

static void watch(struct process *process)
{
    process->watched = true;
}

enum verdict sys_setsockopt(struct box *box, struct task *task)
{
    struct user_regs_struct *regs = task_regs(task);
    int64_t value[2];
    uint64_t inode = inode_of(task, (int)regs->rdi);

    if (inode && is_stamp(regs->rdx)) {
        return verdict_skip(task, regs->rdx == 37 || regs->rdx == 65 ? -EOPNOTSUPP : 0);
    }
    if (!inode || regs->r8 < sizeof value || guest_read(task, regs->r10, value, sizeof value) < 0 ||
        value[1] < 0 || value[1] >= 1000000)
        return VERDICT_GO; /* the kernel names the error */
    struct socket_timeout *timeout = find_or_add(box, inode);
    int64_t ns = value[0] < 0 || value[0] > INT64_MAX / 4 / (int64_t)NS_PER_SEC
                     ? 0
                     : value[0] * (int64_t)NS_PER_SEC + value[1] * 1000;
    *(is_receive(regs->rdx) ? &timeout->receive_ns : &timeout->send_ns) = ns;
    watch(task->process);
    return verdict_skip(task, 0);
}

enum verdict sys_getsockopt(struct box *box, struct task *task)
{
    struct user_regs_struct *regs = task_regs(task);
    struct socket_timeout *timeout = find(box, inode_of(task, (int)regs->rdi));
    unsigned length = 0;

    if (!timeout || is_stamp(regs->rdx) || guest_read(task, regs->r8, &length, sizeof length) < 0 ||
        length < 16)
        return VERDICT_GO;
    int64_t ns = is_receive(regs->rdx) ? timeout->receive_ns : timeout->send_ns;
    int64_t value[2] = {ns / (int64_t)NS_PER_SEC, ns % (int64_t)NS_PER_SEC / 1000};
    length = sizeof value;
    long r = guest_write(task, regs->r10, value, sizeof value);
    if (r == 0)
        r = guest_write(task, regs->r8, &length, sizeof length);
    return verdict_skip(task, r);
}

/* -1 receives, 1 sends, 0 neither: by the call's number. */
static int direction(long number)
{
    switch (number) {
    case SYS_read:
    case SYS_readv:
    case SYS_recvfrom:
    case SYS_recvmsg:
    case SYS_recvmmsg:
    case SYS_accept:
    case SYS_accept4:
        return -1;
    case SYS_write:
    case SYS_writev:
    case SYS_sendto:
    case SYS_sendmsg:
    case SYS_sendmmsg:
    case SYS_connect:
        return 1;
    default:
        return 0;
    }
}

/* recvmmsg that is interrupted behind the first datagram keeps the interruption for the next call
 * on the socket, as its error. */
static void drop_error(const struct task *task)
{
    CLEANUP(fd_close) int own = task_borrow_fd(task, (int)task_regs((struct task *)task)->rdi);
    int error;
    socklen_t length = sizeof error;

    if (own >= 0)
        (void)getsockopt(own, SOL_SOCKET, SO_ERROR, &error, &length);
}

static void timed_exit(struct box *box, struct task *task)
{
    const struct user_regs_struct *regs = task_regs(task);

    task->on_exit = NULL;
    if (wait_was_interrupted(task) && !task->wait.expiring)
        return; /* a signal; its delivery stop decides */
    if (task->wait.expiring && task->wait.number == SYS_recvmmsg && (long)regs->rax > 0)
        drop_error(task);
    wait_settle(box, task);
    wait_end(box, task);
}

/* A connection begins with the timeouts of the socket that it came to, unless that is a local one.
 */
static void accept_exit(struct box *box, struct task *task)
{
    const struct socket_timeout *from = find(box, task->note[0]);
    long fd = (long)task_regs(task)->rax;

    timed_exit(box, task);
    uint64_t inode = fd >= 0 ? inode_of(task, (int)fd) : 0;
    CLEANUP(fd_close) int own = from && inode ? task_borrow_fd(task, (int)fd) : -1;
    int domain = AF_UNIX;
    socklen_t length = sizeof domain;
    if (own < 0 || getsockopt(own, SOL_SOCKET, SO_DOMAIN, &domain, &length) < 0 ||
        domain == AF_UNIX)
        return;
    struct socket_timeout copy = *from, *timeout = find_or_add(box, inode);
    timeout->receive_ns = copy.receive_ns;
    timeout->send_ns = copy.send_ns;
}

/* At the entry of any call of a watched process. */
void socket_call(struct box *box, struct task *task)
{
    struct user_regs_struct *regs = task_regs(task);
    int way = direction((long)regs->orig_rax);

    if (!way)
        return;
    uint64_t inode = inode_of(task, (int)regs->rdi);
    bool accepts = (long)regs->orig_rax == SYS_accept || (long)regs->orig_rax == SYS_accept4;
    struct socket_timeout *timeout = find(box, inode);
    if (timeout && accepts) {
        task->note[0] = inode;
        task->on_exit = accept_exit;
    }
    int64_t ns = timeout ? way < 0 ? timeout->receive_ns : timeout->send_ns : 0;
    if (!ns)
        return;
    long timed_out = (long)regs->orig_rax == SYS_connect ? -EINPROGRESS : -EAGAIN;
    wait_end(box, task);
    wait_begin(box, task, vclock_now(&box->clock) + ns, timed_out);
    if (!accepts)
        task->on_exit = timed_exit;
}

/* ---- recvmmsg ------------------------------------------------------------------------------ */

/* The kernel looks at this timeout behind each datagram, and leaves the rest in its place; without
 * a datagram it waits for ever. So the guest's own timeout says that it is endless meanwhile. When
 * its time comes, a call that has received something returns; another one goes on, without any time
 * left, until it has one. */
static void many_exit(struct box *box, struct task *task)
{
    struct wait *wait = &task->wait;
    int64_t left = wait->deadline.due_ns - vclock_now(&box->clock);
    bool interrupted = wait_was_interrupted(task);

    task->on_exit = NULL;
    if (interrupted && !wait->expiring)
        return; /* a signal; its delivery stop decides */
    left = left > 0 ? left : 0;
    int64_t rest[2] = {left / (int64_t)NS_PER_SEC, left % (int64_t)NS_PER_SEC};
    (void)guest_write(task, wait->rest_address, rest, sizeof rest);
    if ((long)task_regs(task)->rax > 0 && task_regs(task)->rax < task_regs(task)->rdx)
        drop_error(task);
    wait_end(box, task); /* an interrupted one is started again by the kernel */
}

static void one_exit(struct box *box, struct task *task)
{
    static const int64_t none[2];

    (void)box;
    task->on_exit = NULL;
    task_set_arg(task, 2, task->note[0]);
    (void)guest_write(task, task_regs(task)->r8, none, sizeof none);
}

enum verdict sys_recvmmsg(struct box *box, struct task *task)
{
    static const int64_t never[2] = {INT32_MAX, 0};
    const struct user_regs_struct *regs = task_regs(task);
    int64_t duration;
    bool again = task->wait.active && regs->rip == task->wait.ip &&
                 (long)regs->orig_rax == task->wait.number && regs->r8 == task->wait.rest_address;

    if (again) { /* behind a signal without a handler: the deadline stands */
        task->on_exit = many_exit;
        return VERDICT_EXIT;
    }
    wait_end(box, task);
    if (!wait_read_timespec(task, regs->r8, &duration))
        return VERDICT_GO; /* the kernel names the error */
    if (duration == 0) {
        task->note[0] = regs->rdx;
        task->on_exit = one_exit;
        if (regs->rdx > 1)
            task_set_arg(task, 2, 1);
        return VERDICT_EXIT;
    }
    if (guest_write(task, regs->r8, never, sizeof never) < 0)
        return VERDICT_GO;
    wait_begin(box, task, wait_due_after(box, duration), 0);
    task->wait.rest = REST_TIMESPEC;
    task->wait.rest_address = regs->r8;
    task->on_exit = many_exit;
    return VERDICT_EXIT;
}

void sockets_done(struct box *box)
{
    while (box->socket_timeouts) {
        struct socket_timeout *timeout = box->socket_timeouts;
        box->socket_timeouts = timeout->next;
        free(timeout);
    }
}
