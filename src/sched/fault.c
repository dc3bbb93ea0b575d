/* SPDX-License-Identifier: MIT */
/* Signals that end the program: a task that ran over its stack is named, and whoever explores gets
 * the chance to save the schedule first. Then the handler that was there before goes on. */
#include "sched/sched.h"
#include "sched/explore.h"
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ALT_BYTES = 64 << 10 };
static const int signals[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL};
static struct sigaction before[NSIG];
static __thread bool have_stack;
static __thread void (*crash_callback)(int);
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void fault_on_crash(void (*callback)(int))
{
    crash_callback = callback;
}

static void say(const char *text)
{
    (void)!write(STDERR_FILENO, text, strlen(text));
}

static void say_overflow(const struct stack *stack)
{
    vitro_sched *sched = sched_here;
    char size[64];

    if (!sched || !sched->current)
        return;
    struct buf name = {0}; /* we are on the alternate stack; the task's own heap calls are over */
    core_add_name(&sched->core, sched->current->core.id, &name);
    (void)snprintf(size, sizeof size, "' ran over its stack of %zu KiB", stack->size >> 10);
    say("vitro: task '");
    say(buf_text(&name));
    say(size);
    say("\nhint: .stack_size in the options of the spawn or the scheduler\n");
}

static void handler(int signal, siginfo_t *info, void *context)
{
    if (signal == SIGSEGV || signal == SIGBUS) {
        const struct stack *stack = stack_guarding(info->si_addr);
        if (stack)
            say_overflow(stack);
    }
    if (crash_callback)
        crash_callback(signal);
    const struct sigaction *old = &before[signal];
    if (old->sa_flags & SA_SIGINFO && old->sa_sigaction) {
        old->sa_sigaction(signal, info, context);
        return;
    }
    if (old->sa_handler != SIG_DFL && old->sa_handler != SIG_IGN) {
        old->sa_handler(signal);
        return;
    }
    (void)sigaction(signal, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
    (void)raise(signal); /* taken when we return */
}

/* Test runners set handlers of their own for each test: look every time. */
static void install(void)
{
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_ONSTACK}, now;

    (void)sigemptyset(&action.sa_mask);
    (void)pthread_mutex_lock(&lock);
    for (size_t i = 0; i < ARRAY_LENGTH(signals); i++) {
        if (sigaction(signals[i], NULL, &now) < 0 ||
            (now.sa_flags & SA_SIGINFO && now.sa_sigaction == handler))
            continue;
        before[signals[i]] = now;
        (void)sigaction(signals[i], &action, NULL);
    }
    (void)pthread_mutex_unlock(&lock);
}

void fault_install(void)
{
    stack_t old;

    install();
    if (have_stack)
        return;
    have_stack = true;
    if (sigaltstack(NULL, &old) == 0 && !(old.ss_flags & SS_DISABLE))
        return; /* somebody has one already */
    void *memory =
        mmap(NULL, ALT_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory != MAP_FAILED)
        (void)sigaltstack(&(stack_t){.ss_sp = memory, .ss_size = ALT_BYTES}, NULL);
}
