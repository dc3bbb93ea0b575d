/* SPDX-License-Identifier: MIT */
/* What is seen of the machine and not made virtual, for a bench that audits everything; and system
 * calls made by number. */
#include "interpose/calls.h"
#include <sys/syscall.h>

static void seen(const void *caller, const char *capability)
{
    struct lane *lane = lane_here(caller);
    const struct vitro_world *world = lane ? lane_world(lane) : NULL;

    if (world && world->audit_real)
        leak_here(capability, caller);
}

#define CALL(result, name, parameters, arguments)
#define CALL0(result, name)
#define LEAK(result, name, parameters, arguments, capability)                                      \
    result call_##name(const void *caller, UNWRAP parameters)                                      \
    {                                                                                              \
        seen(caller, capability);                                                                  \
        return REAL.name arguments;                                                                \
    }
#define LEAK0(result, name, capability)                                                            \
    result call_##name(const void *caller)                                                         \
    {                                                                                              \
        seen(caller, capability);                                                                  \
        return REAL.name();                                                                        \
    }
#include "interpose/calls.def"

/* The ones that people do make by number go where the functions go. */
long call_syscall(const void *caller, long number, const long a[6])
{
    struct lane *lane = lane_here(caller);

    if (number == SYS_futex)
        return call_futex(caller, a);
    if (!lane)
        return REAL.syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
    switch (number) {
    case SYS_clock_gettime:
        return call_clock_gettime(caller, (clockid_t)a[0], (struct timespec *)a[1]);
    case SYS_gettimeofday:
        return call_gettimeofday(caller, (struct timeval *)a[0], (void *)a[1]);
    case SYS_time:
        return call_time(caller, (time_t *)a[0]);
    case SYS_nanosleep:
        return call_nanosleep(caller, (const struct timespec *)a[0], (struct timespec *)a[1]);
    case SYS_getrandom:
        return call_getrandom(caller, (void *)a[0], (size_t)a[1], (unsigned)a[2]);
    default:
        seen(caller, "syscall");
        return REAL.syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
    }
}
