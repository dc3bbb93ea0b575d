/* SPDX-License-Identifier: MIT */
/* counter: the supervisor does without the time stamp counter, like its guests.
 *
 * That rdtsc faults is a bit of CR4, switched whenever the CPU goes from a task that may read the
 * counter to one that may not. A hypervisor watches that register: on a virtual machine the switch
 * and the switch back were seen to cost 14 us, twice as much as the rest of a stop. So the
 * supervisor renounces the counter too, and nothing is switched between it and its guests. Its own
 * clock comes from the kernel by a call (base/wall.h); should some library read the counter after
 * all, the fault gives it back for good. */
#include "box/box_internal.h"
#include "base/wall.h"
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <ucontext.h>

#ifndef __SANITIZE_ADDRESS__ /* its runtime wants SIGSEGV for itself */
static void on_fault(int signal, siginfo_t *info, void *context)
{
    const ucontext_t *state = context;
    const unsigned char *code = (const unsigned char *)state->uc_mcontext.gregs[REG_RIP];

    (void)info;
    if (memcmp(code, "\x0f\x31", 2) == 0 || memcmp(code, "\x0f\x01\xf9", 3) == 0)
        (void)prctl(PR_SET_TSC, PR_TSC_ENABLE); /* and the instruction is tried again */
    else
        (void)sigaction(signal, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
}
#endif

void counter_renounce(struct box *box)
{
    if (!vclock_held(&box->clock))
        return;
#ifndef __SANITIZE_ADDRESS__
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    wall_avoid_counter();
    if (sigaction(SIGSEGV, &action, NULL) == 0)
        (void)prctl(PR_SET_TSC, PR_TSC_SIGSEGV);
#endif
}
