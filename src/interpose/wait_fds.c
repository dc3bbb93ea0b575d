/* SPDX-License-Identifier: MIT */
/* Waiting for fds, for a time of the clock, and for signals, whichever comes first.
 *
 * On a paused clock the thread stands aside (clock/clock_wait.h) and blocks in a real ppoll on the
 * fds and a bell, which whoever ends the wait rings. A clock that jumps looks at the fds before:
 * who can run goes first. On other clocks a wait is a sleep between two looks.
 *
 * Signals sent by the clock itself come while the thread is in here. As long as any is armed,
 * signals are blocked until the ppoll, which takes the caller's mask: none is missed. */
#include "base/buf.h"
#include "base/fd.h"
#include "interpose/calls.h"
#include "interpose/stall.h"
#include <fcntl.h>
#include <string.h>
#include <sys/eventfd.h>

const struct deadline no_deadline = {.is_none = true};

struct deadline deadline_after(int64_t ns)
{
    return (struct deadline){.base = BY_MONOTONIC, .ns = ns};
}

struct deadline deadline_at(struct vitro_clock *clock, clockid_t id, const struct timespec *at)
{
    int64_t ns = ns_of(at);

    if (is_day(id))
        return (struct deadline){.base = BY_DAY, .ns = ns};
    return deadline_after(ns - MONOTONIC_OFFSET_NS - (int64_t)vitro_clock_monotonic(clock));
}

/* ---- bells: eventfds far up, where nobody counts on numbers; kept for the next wait */

enum { BELLS_KEPT = 64, BELLS_FROM = 500 };
static struct {
    pthread_mutex_t lock;
    int fds[BELLS_KEPT];
    int count;
} bells = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int bell_take(void)
{
    int bell = -1;

    (void)pthread_mutex_lock(&bells.lock);
    if (bells.count)
        bell = bells.fds[--bells.count];
    (void)pthread_mutex_unlock(&bells.lock);
    if (bell >= 0)
        return bell;
    bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int high = fcntl(bell, F_DUPFD_CLOEXEC, BELLS_FROM);
    if (high < 0)
        return bell;
    (void)REAL.close(bell);
    return high;
}

static void bell_put(int bell)
{
    uint64_t rung;

    (void)!REAL.read(bell, &rung, sizeof rung);
    (void)pthread_mutex_lock(&bells.lock);
    if (bells.count < BELLS_KEPT) {
        bells.fds[bells.count++] = bell;
        bell = -1;
    }
    (void)pthread_mutex_unlock(&bells.lock);
    fd_close(bell);
}

/* ---- one wait */

enum { FDS_FEW = 32 };
struct fd_wait {
    struct clock_wait wait; /* first */
    const struct pollfd *fds;
    nfds_t count;
    int bell;      /* -1: not needed yet */
    bool rung;     /* then the bell is, too, if it is there */
    sigset_t mask; /* under which it waits */
    bool masked;   /* that is known */
};

static void ring(struct clock_wait *wait)
{
    struct fd_wait *self = (struct fd_wait *)wait;
    static const uint64_t one = 1;

    __atomic_store_n(&self->rung, true, __ATOMIC_SEQ_CST);
    int bell = __atomic_load_n(&self->bell, __ATOMIC_SEQ_CST);
    if (bell >= 0)
        (void)!write(bell, &one, sizeof one);
}

static bool fds_ready(struct clock_wait *wait)
{
    struct fd_wait *self = (struct fd_wait *)wait;
    struct pollfd few[FDS_FEW], *fds = few;
    CLEANUP(mem_free) struct pollfd *many = NULL;

    if (self->count > FDS_FEW)
        fds = many = mem_alloc(self->count * sizeof *many);
    memcpy(fds, self->fds, self->count * sizeof *fds);
    return REAL.poll(fds, self->count, 0) != 0;
}

/* The real wait: until the bell, an fd, or a signal. */
static int block(struct fd_wait *self, const sigset_t *mask)
{
    struct pollfd few[FDS_FEW + 1], *fds = few;
    CLEANUP(mem_free) struct pollfd *many = NULL;

    if (self->count > FDS_FEW)
        fds = many = mem_alloc((self->count + 1) * sizeof *many);
    if (self->count)
        memcpy(fds, self->fds, self->count * sizeof *fds);
    __atomic_store_n(&self->bell, bell_take(), __ATOMIC_SEQ_CST);
    fds[self->count] = (struct pollfd){.fd = self->bell, .events = POLLIN};
    static const struct timespec while_ns = {.tv_nsec = STALL_NS};
    struct stall stall = {0};
    int r = 0;
    while (!__atomic_load_n(&self->rung, __ATOMIC_SEQ_CST)) {
        r = REAL.ppoll(fds, self->count + 1, self->wait.paused ? &while_ns : NULL, mask);
        if (r != 0)
            break;
        stall_look(&stall, self->wait.paused);
    }
    return r < 0 ? -errno : 0;
}

static uint32_t armed;

void signals_armed(int change)
{
    (void)__atomic_add_fetch(&armed, (uint32_t)change, __ATOMIC_SEQ_CST);
}

void wait_signalled(struct lane *lane, int signal)
{
    struct fd_wait *self = (struct fd_wait *)__atomic_load_n(&lane->waiting, __ATOMIC_SEQ_CST);
    struct sigaction action;

    if (!self || !self->masked || sigismember(&self->mask, signal))
        return;
    if (sigaction(signal, NULL, &action) == 0 && action.sa_handler != SIG_IGN)
        (void)clock_wait_wake(&self->wait); /* it will return from its ppoll */
}

static enum waited wait_paused(struct lane *lane, struct paused *paused, const struct pollfd *fds,
                               nfds_t count, const struct deadline *until, const sigset_t *mask)
{
    struct fd_wait self = {.wait = {.paused = paused, .wake = ring, .is_ready = fds_ready},
                           .fds = fds,
                           .count = count,
                           .bell = -1};
    sigset_t all, old;
    int r = 0;

    if (count == 0)
        self.wait.is_ready = NULL;
    self.masked = mask || __atomic_load_n(&armed, __ATOMIC_SEQ_CST);
    inside_begin(lane);
    if (self.masked) {
        (void)sigfillset(&all);
        (void)pthread_sigmask(SIG_BLOCK, &all, &old);
        self.mask = mask ? *mask : old;
        __atomic_store_n(&lane->waiting, &self.wait, __ATOMIC_SEQ_CST);
    }
    uint64_t at = until->is_none          ? UINT64_MAX
                  : until->base == BY_DAY ? paused_day_key(until->ns)
                                          : paused_key_after(paused, until->ns);
    enum wait_state state = clock_wait_begin(&self.wait, paused, until->base, at);
    inside_end(lane);
    if (state == WAIT_WAITING || state == WAIT_WOKEN)
        r = block(&self, self.masked ? &self.mask : NULL);
    inside_begin(lane);
    state = clock_wait_end(&self.wait);
    __atomic_store_n(&lane->waiting, NULL, __ATOMIC_SEQ_CST);
    if (self.bell >= 0)
        bell_put(self.bell);
    if (self.masked)
        (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
    inside_end(lane);
    return r == -EINTR || state == WAIT_STOPPED ? WAITED_SIGNAL
           : state == WAIT_TIME_CAME            ? WAITED_TIME
                                                : WAITED_READY;
}

enum waited wait_fds(struct lane *lane, struct vitro_clock *clock, const struct pollfd *fds,
                     nfds_t count, const struct deadline *until, const sigset_t *mask)
{
    struct paused *paused = paused_of(clock);

    if (paused)
        return wait_paused(lane, paused, fds, count, until, mask);
    if (until->is_none) {
        struct fd_wait self = {.fds = fds, .count = count, .bell = -1};
        int r = block(&self, mask);
        bell_put(self.bell);
        return r < 0 ? WAITED_SIGNAL : WAITED_READY;
    }
    int r = until->base == BY_DAY ? vitro_clock_sleep_until(clock, until->ns)
                                  : vitro_clock_sleep(clock, until->ns);
    return r < 0 ? WAITED_SIGNAL : WAITED_TIME;
}
