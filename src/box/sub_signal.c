/* SPDX-License-Identifier: MIT */
/* sub_signal: signals that others send to a subprocess while it is recorded.
 *
 * Who sends one from outside of all subprocesses, or by the terminal, does so again when it is
 * played, and the stub waits for it: at its end, if it ended the program, or as an event, if the
 * program lives on (it has a handler, ignores it, or takes it by sigwait or signalfd). That is
 * known when the signal is sent: some are taken without a stop, and so is SIGKILL.
 *
 * A subprocess that sends signals to others (kill, pkill) is played too, and sends none then: what
 * it did to others comes at its time. So does what the program did to itself. */
#include "box/sub.h"
#include "base/fd.h"
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool comes_again(const struct process *sender)
{
    return !sender->sub || sender->sub->how == SUB_PASSED;
}

static bool is_recorded(const struct process *process)
{
    const struct sub *sub = process->sub;

    return sub && sub->how == SUB_RECORDED && sub->pid == process->pid && !sub->exited;
}

/* Who waits in sigwait has those signals unblocked meanwhile. */
static bool takes(struct task *task, uint64_t bit)
{
    struct blocked_call call;
    uint64_t set;

    return task->state == TASK_RUNNING && idle_blocked_call(task, &call) &&
           call.number == SYS_rt_sigtimedwait &&
           guest_read(task, call.args[0], &set, sizeof set) == 0 && set & bit;
}

static bool lives_on(struct box *box, const struct process *process, uint64_t bit)
{
    struct task_status status;

    FOR_EACH_TASK(box, task)
    if (task->process == process && takes(task, bit))
        return true;
    return task_status_read(process->pid, &status) &&
           bit & (task_status_mask(&status, "SigCgt") | task_status_mask(&status, "SigIgn") |
                  task_status_mask(&status, "SigBlk"));
}

static void is_sent(struct box *box, struct process *process, int signal, bool again)
{
    struct sub *sub = process->sub;
    uint64_t bit = UINT64_C(1) << (signal - 1);
    bool lives = signal != SIGKILL && lives_on(box, process, bit);

    sub->awaited &= ~bit;
    if (again && !lives)
        sub->awaited |= bit;
    if (again && lives)
        recording_add_event(&sub->recording, sub_offset(box, sub), RECORDING_SIGNAL,
                            (uint64_t)signal);
}

/* The terminal's come from the kernel. */
void subs_signal(struct box *box, struct task *task, int signal)
{
    static const int of_terminals[] = {SIGINT, SIGQUIT, SIGHUP, SIGTSTP, SIGWINCH, SIGCONT};
    siginfo_t info;

    if (!is_recorded(task->process) || ptrace(PTRACE_GETSIGINFO, task->tid, NULL, &info) < 0 ||
        info.si_code != SI_KERNEL)
        return;
    for (size_t i = 0; i < ARRAY_LENGTH(of_terminals); i++)
        if (of_terminals[i] == signal)
            is_sent(box, task->process, signal, true);
}

/* The process that a pidfd of the caller's stands for, as the supervisor numbers it. */
static pid_t of_pidfd(const struct task *task, int fd)
{
    char path[64];
    CLEANUP(buf_done) struct buf text = {0};
    struct err err;

    (void)snprintf(path, sizeof path, "/proc/%d/fdinfo/%d", task->tid, fd);
    if (file_read(path, 4096, &text, &err) < 0)
        return 0;
    const char *line = strstr(buf_text(&text), "Pid:");
    return line ? (pid_t)strtol(line + 4, NULL, 10) : 0;
}

void subs_kill(struct box *box, struct task *task)
{
    const struct user_regs_struct *regs = task_regs(task);
    bool thread =
        (long)regs->orig_rax == SYS_tgkill || (long)regs->orig_rax == SYS_rt_tgsigqueueinfo;
    bool by_fd = (long)regs->orig_rax == SYS_pidfd_send_signal;
    pid_t pid = (pid_t)regs->rdi, group = 0;
    int signal = (int)(thread ? regs->rdx : regs->rsi);

    if (!box->subs || signal < 1 || signal > 64)
        return;
    if (by_fd)
        pid = of_pidfd(task, (int)regs->rdi);
    for (struct process *process = box->processes; process && pid < -1; process = process->next)
        if (process_pid_inside(process) == -pid)
            group = process->pid;
    for (struct process *process = box->processes; process; process = process->next) {
        if (!is_recorded(process) || process->sub == task->process->sub)
            continue;
        if (pid > 0   ? (by_fd ? process->pid : process_pid_inside(process)) == pid
            : pid < 0 ? pid == -1 || (group && getpgid(process->pid) == group)
                      : getpgid(process->pid) == getpgid(task->process->pid))
            is_sent(box, process, signal, comes_again(task->process));
    }
}
