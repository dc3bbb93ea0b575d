/* SPDX-License-Identifier: MIT */
/* events: what the supervisor does when a guest stops, gets a signal or ends. One function for each
 * kind of stop; events_handle tells them apart. */
#include "box/box_internal.h"
#include "box/numbers.h"
#include "box/policy.h"
#include "box/sub.h"
#include "base/fd.h"
#include "base/trace.h"
#include "base/wall.h"
#include "base/when.h"
#include "fs/fs.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#ifndef PTRACE_EVENT_STOP
#define PTRACE_EVENT_STOP 128
#endif

/* Who may be killed with a thread of this process: the others, and its children (PR_SET_PDEATHSIG).
 */
static void stir(struct box *box, struct process *ended)
{
    for (struct process *process = box->processes; process && ended; process = process->next)
        if (process == ended || process->parent == ended)
            process->stirred = true;
}

static void task_ended(struct box *box, struct task *task, int status)
{
    struct process *process = task->process;

    trace(TRACE_BOX, "%d ended, status %x", task->tid, (unsigned)status);
    stir(box, process);
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
        trace_ended(box, process);
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
            numbers_open(box);
        }
        bool first = !box->program_started;
        if (!exec_happened(box, task, &status)) {
            task_ended(box, task, status);
            return;
        }
        if (first)
            subs_program_started(box);
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
        if (box->never_park && task != box->hold.task)
            wait_unpark(box, task);
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
        if (task->process->parent)
            wait_check_signals(box, task->process->parent); /* SIGCHLD */
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

    if (process && (process->watched || process->tapped || process->traces) &&
        is_call_entry(task)) {
        if (process->traces)
            trace_call(box, task);
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
void events_interrupt(struct box *box)
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
        events_interrupt(box);
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

void events_handle(struct box *box, pid_t tid, int status)
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
