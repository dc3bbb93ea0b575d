/* SPDX-License-Identifier: MIT */
/* exec_state: what a program inherits over exec is what its parent left it, however a box gets its
 * pages into the new image: ignored and blocked signals (SIGTRAP among them, which debuggers use),
 * one that is pending, registers and a filter of its own that forbids what it does not know.
EXPECT
blocked: 5 10
ignored: 5 12
pending: 10
a signal that was pending ends the program: 15
a strict filter is no hindrance: 7
*/
#include "guest.h"
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void tell(const char *what, const sigset_t *set)
{
    printf("%s:", what);
    for (int signal = 1; signal < 32; signal++)
        if (sigismember(set, signal) == 1)
            printf(" %d", signal);
    printf("\n");
}

/* What this program is started as a second time for. */
static int inherited(void)
{
    sigset_t blocked, pending, ignored;
    struct sigaction action;

    sigprocmask(SIG_BLOCK, NULL, &blocked);
    sigpending(&pending);
    sigemptyset(&ignored);
    for (int signal = 1; signal < 32; signal++)
        if (sigaction(signal, NULL, &action) == 0 && action.sa_handler == SIG_IGN)
            sigaddset(&ignored, signal);
    tell("blocked", &blocked);
    tell("ignored", &ignored);
    tell("pending", &pending);
    return 0;
}

static int status_of(pid_t child)
{
    int status;

    waitpid(child, &status, 0);
    return status;
}

static void start(const char *self, const char *what)
{
    execl(self, self, what, (char *)NULL);
    _exit(99);
}

static void leave_signals(const char *self)
{
    sigset_t set;

    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        for (int number = 1; number < 32; number++)
            signal(number, SIG_DFL);
        signal(SIGTRAP, SIG_IGN);
        signal(SIGUSR2, SIG_IGN);
        sigemptyset(&set);
        sigaddset(&set, SIGTRAP);
        sigaddset(&set, SIGUSR1);
        sigprocmask(SIG_SETMASK, &set, NULL);
        raise(SIGUSR1);
        start(self, "inherited");
    }
    (void)status_of(child);
}

/* The signal waits until the mask of the exec's last moment is the new program's first. */
static void leave_pending(const char *self)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        sigset_t set;
        sigemptyset(&set);
        sigaddset(&set, SIGTERM);
        sigprocmask(SIG_BLOCK, &set, NULL);
        raise(SIGTERM);
        start(self, "unblock");
    }
    printf("a signal that was pending ends the program: %d\n", WTERMSIG(status_of(child)));
}

static void leave_filter(const char *self)
{
    static const int forbidden[] = {SYS_uname, SYS_sysinfo};
    struct sock_filter code[16];
    unsigned short length = 0;

    code[length++] =
        (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (size_t i = 0; i < 2; i++) {
        code[length++] =
            (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)forbidden[i], 0, 1);
        code[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    }
    code[length++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 470, 0, 1);
    code[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS);
    code[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        struct sock_fprog program = {length, code};
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
        start(self, "seven");
    }
    printf("a strict filter is no hindrance: %d\n", WEXITSTATUS(status_of(child)));
}

int main(int argc, char **argv)
{
    sigset_t all;

    if (argc > 1 && strcmp(argv[1], "inherited") == 0)
        return inherited();
    if (argc > 1 && strcmp(argv[1], "unblock") == 0) {
        sigfillset(&all);
        sigprocmask(SIG_UNBLOCK, &all, NULL);
        return 1;
    }
    if (argc > 1 && strcmp(argv[1], "seven") == 0)
        return 7;
    leave_signals(argv[0]);
    leave_pending(argv[0]);
    leave_filter(argv[0]);
    return 0;
}
