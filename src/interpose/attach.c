/* SPDX-License-Identifier: MIT */
/* Where the shims find the calls, and what of a thread's lane counts. */
#include "interpose/calls.h"
#include "vitro/bench.h"

#define CALL(result, name, parameters, arguments)             .name = call_##name,
#define CALL0(result, name)                                   .name = call_##name,
#define LEAK(result, name, parameters, arguments, capability) .name = call_##name,
#define LEAK0(result, name, capability)                       .name = call_##name,
static const struct interpose_calls calls = {
#include "interpose/calls.def"
    .syscall = call_syscall,
    .openat = call_openat,
};
#undef CALL
#undef CALL0
#undef LEAK
#undef LEAK0

int vitro_interposed(void)
{
    return &vitro_interposer != NULL && vitro_interposer.size == sizeof vitro_interposer;
}

void interpose_count(int change)
{
    if (!vitro_interposed())
        return;
    __atomic_store_n(&vitro_interposer.calls, &calls, __ATOMIC_RELEASE);
    (void)__atomic_add_fetch(&vitro_interposer.active, (uint32_t)change, __ATOMIC_SEQ_CST);
}

/* The library's own code: the Makefile puts it into one section. */
extern const char __start_vitro_text[] __attribute__((weak, visibility("hidden")));
extern const char __stop_vitro_text[] __attribute__((weak, visibility("hidden")));

bool is_library(const void *caller)
{
    return (const char *)caller > __start_vitro_text && (const char *)caller <= __stop_vitro_text;
}

struct lane *lane_here(const void *caller)
{
    struct lane *lane = lane_self();

    return lane->top && !lane->inside && !is_library(caller) ? lane : NULL;
}

struct vitro_clock *lane_clock(const struct lane *lane)
{
    struct vitro_clock *clock = lane->top ? lane->top->clock : NULL;

    return clock && clock_innermost(clock) != vitro_clock_real() ? clock : NULL;
}

struct vitro_world *lane_world(const struct lane *lane)
{
    return lane->top ? lane->top->world : NULL;
}

struct vitro_clock *clock_here(const void *caller)
{
    const struct lane *lane = lane_self();

    return lane->top && !is_library(caller) ? lane_clock(lane) : NULL;
}

void inside_begin(struct lane *lane)
{
    lane->inside++;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

void inside_end(struct lane *lane)
{
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (--lane->inside == 0 && lane->deferred) {
        lane->deferred = false;
        unpark(NULL, true);
    }
}

void leak_here(const char *capability, const void *caller)
{
    leaks_note_literal(capability, caller);
}
