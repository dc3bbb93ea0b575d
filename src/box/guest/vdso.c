/* SPDX-License-Identifier: MIT */
/* The vDSO that guests see instead of the kernel's. libc, Go's runtime and others find it through
 * AT_SYSINFO_EHDR and call it for every clock read; here a read is a load from the clock page.
 *
 * Reads are counted. A program that spins on a clock that stands still would never end, so after
 * read_limit reads with nothing in between, one read goes to the supervisor as a plain system call,
 * which may move the clock (sys_time.c). There is no vDSO getrandom here, so callers make the
 * system call, which is traced.
 *
 * Freestanding: no libc, no data of its own, position independent. */
#include "../box_abi.h"

#define EXPORT __attribute__((visibility("default"), used))

struct timespec {
    int64_t tv_sec;
    int64_t tv_nsec;
};
struct timeval {
    int64_t tv_sec;
    int64_t tv_usec;
};

/* Placed by vdso.lds relative to the image. */
extern const volatile struct box_clock_page clock_page __attribute__((visibility("hidden")));
extern volatile struct box_guest_page guest_page __attribute__((visibility("hidden")));

enum { NR_clock_gettime = 228, NR_clock_getres = 229 };
enum {
    REALTIME = 0,
    MONOTONIC = 1,
    MONOTONIC_RAW = 4,
    REALTIME_COARSE = 5,
    MONOTONIC_COARSE = 6,
    BOOTTIME = 7,
    TAI = 11
};

static long call2(long number, long a, long b)
{
    long result;

    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b)
                     : "rcx", "r11", "memory");
    return result;
}

static int is_realtime(int clock)
{
    return clock == REALTIME || clock == REALTIME_COARSE || clock == TAI;
}

static int is_known(int clock)
{
    return clock >= 0 && clock <= TAI && (0x8f3u >> clock & 1);
}

static __attribute__((noinline)) int64_t scaled_ns(int64_t monotonic_ns, int64_t base_ns,
                                                   uint32_t scale)
{
    struct timespec now;
    int (*kernel)(int, struct timespec *) =
        (int (*)(int, struct timespec *))guest_page.kernel_clock_gettime;

    kernel(MONOTONIC, &now);
    return monotonic_ns + (now.tv_sec * 1000000000 + now.tv_nsec - base_ns) * (int64_t)scale;
}

/* The time of `clock` in ns. */
static int64_t read_ns(int clock)
{
    for (;;) {
        uint32_t sequence = clock_page.sequence;
        int64_t ns = clock_page.monotonic_ns, offset = clock_page.realtime_offset_ns;
        if (clock_page.drive == BOX_DRIVE_REAL)
            ns = scaled_ns(ns, clock_page.real_base_ns, clock_page.scale);
        __asm__ volatile("" ::: "memory");
        if (!(sequence & 1) && clock_page.sequence == sequence)
            return is_realtime(clock) ? ns + offset : ns;
    }
}

/* True when this read has to go to the supervisor. */
static int count_read(void)
{
    uint32_t sequence = clock_page.sequence;

    if (guest_page.sequence != sequence) {
        guest_page.sequence = sequence;
        guest_page.reads = 0;
    }
    return ++guest_page.reads >= clock_page.read_limit;
}

EXPORT int __vdso_clock_gettime(int clock, struct timespec *ret)
{
    if (!is_known(clock) || count_read())
        return (int)call2(NR_clock_gettime, clock, (long)ret);
    int64_t ns = read_ns(clock);
    ret->tv_sec = ns / 1000000000;
    ret->tv_nsec = ns % 1000000000;
    return 0;
}

EXPORT int __vdso_gettimeofday(struct timeval *ret, void *zone)
{
    struct timespec now;

    if (ret) {
        __vdso_clock_gettime(REALTIME, &now);
        ret->tv_sec = now.tv_sec;
        ret->tv_usec = now.tv_nsec / 1000;
    }
    if (zone) {
        ((int *)zone)[0] = 0;
        ((int *)zone)[1] = 0;
    }
    return 0;
}

EXPORT int64_t __vdso_time(int64_t *ret)
{
    struct timespec now;

    __vdso_clock_gettime(REALTIME, &now);
    if (ret)
        *ret = now.tv_sec;
    return now.tv_sec;
}

EXPORT int __vdso_clock_getres(int clock, struct timespec *ret)
{
    if (!is_known(clock))
        return (int)call2(NR_clock_getres, clock, (long)ret);
    if (ret) {
        ret->tv_sec = 0;
        ret->tv_nsec = 1;
    }
    return 0;
}

EXPORT int __vdso_getcpu(unsigned *cpu, unsigned *node, void *unused)
{
    (void)unused;
    if (cpu)
        *cpu = 0;
    if (node)
        *node = 0;
    return 0;
}

#define ALIAS(name) __attribute__((weak, alias("__vdso_" #name), visibility("default")))
int clock_gettime(int, struct timespec *) ALIAS(clock_gettime);
int gettimeofday(struct timeval *, void *) ALIAS(gettimeofday);
int64_t time(int64_t *) ALIAS(time);
int clock_getres(int, struct timespec *) ALIAS(clock_getres);
int getcpu(unsigned *, unsigned *, void *) ALIAS(getcpu);
