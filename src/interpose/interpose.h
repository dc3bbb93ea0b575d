/* SPDX-License-Identifier: MIT */
/* interpose: libc, as a thread under a mock or a bench sees it.
 *
 * Two halves. libvitro_interpose (shim/) defines the functions of calls.def before libc does. Each
 * is one branch on `active` and a jump to the real one; it knows nothing of the library, and may be
 * preloaded into any program. This part, in libvitro, has a call_NAME for each of them, which asks
 * what is in force for the calling thread: its lane (clock/clock.h). The two find each other
 * through one symbol, vitro_interposer, which is weak here: without the shims nothing is
 * interposed, and everything else works.
 *
 * What a change must keep:
 *  - Calls of libvitro itself go to the real functions: its code is one section (vitro_text), and
 *    who calls is known by the return address.
 *  - Reading the time takes no lock and allocates nothing: signal handlers do it.
 *  - Nothing here prints or exits. errno is the caller's to read.
 *  - A thread counts as running before anybody can move its clock past what woke it (clock_wait.h).
 */
#pragma once
#include "clock/clock_wait.h"
#include "interpose/calls_types.h"
#include <errno.h>
#include <stdbool.h>

#define CALL(result, name, parameters, arguments) result(*name) parameters;
#define CALL0(result, name)                       result (*name)(void);
#define LEAK(result, name, parameters, arguments, capability)                                      \
    CALL(result, name, parameters, arguments)
#define LEAK0(result, name, capability) CALL0(result, name)
struct interpose_real {
#include "interpose/calls.def"
    long (*syscall)(long number, ...);
    int (*openat)(int dirfd, const char *path, int flags, ...);
};
#undef CALL
#undef CALL0
#define UNWRAP(...) __VA_ARGS__
#define CALL(result, name, parameters, arguments)                                                  \
    result (*name)(const void *caller, UNWRAP parameters);
#define CALL0(result, name) result (*name)(const void *caller);
struct interpose_calls {
#include "interpose/calls.def"
    long (*syscall)(const void *caller, long number, const long arguments[6]);
    int (*openat)(const void *caller, int dirfd, const char *path, int flags, mode_t mode);
};
#undef CALL
#undef CALL0
#undef LEAK
#undef LEAK0

struct interposer {
    uint32_t size;   /* of this struct: shims of another version are not used */
    uint32_t active; /* mocks and benches in the process, and threads that wait for one another */
    const struct interpose_calls *calls;
    struct interpose_real real;
};
extern struct interposer vitro_interposer __attribute__((visibility("default")));
