/* SPDX-License-Identifier: MIT */
/* poll, select and epoll: what is ready now; else a wait, and then what is ready. */
#include "base/buf.h"
#include "interpose/calls.h"

static struct vitro_clock *waits_here(const void *caller, struct lane **ret_lane)
{
    *ret_lane = lane_here(caller);
    return *ret_lane ? lane_clock(*ret_lane) : NULL;
}

static struct deadline after_ms(int ms)
{
    return ms < 0 ? no_deadline : deadline_after((int64_t)ms * 1000000);
}

/* Waits and looks again until `look` finds something, time has come, or a signal. */
struct looking {
    int (*look)(void *arg); /* as poll with a timeout of 0 */
    void *arg;
    const struct pollfd *fds;
    nfds_t count;
    const sigset_t *mask;
};

static int look_until(struct lane *lane, struct vitro_clock *clock, const struct looking *looking,
                      struct deadline until)
{
    uint64_t began = vitro_clock_monotonic(clock);
    int64_t whole_ns = until.ns;

    for (;;) {
        int r = looking->look(looking->arg);
        if (r != 0 || (!until.is_none && until.ns <= 0))
            return r;
        enum waited waited =
            wait_fds(lane, clock, looking->fds, looking->count, &until, looking->mask);
        if (waited == WAITED_TIME)
            return looking->look(looking->arg);
        if (waited == WAITED_SIGNAL) {
            errno = EINTR;
            return -1;
        }
        if (!until.is_none)
            until.ns = whole_ns - (int64_t)(vitro_clock_monotonic(clock) - began);
    }
}

/* ---- poll */

struct polling {
    struct pollfd *fds;
    nfds_t count;
};

static int look_poll(void *arg)
{
    struct polling *polling = arg;

    return REAL.poll(polling->fds, polling->count, 0);
}

static int poll_until(struct lane *lane, struct vitro_clock *clock, struct pollfd *fds,
                      nfds_t count, struct deadline until, const sigset_t *mask)
{
    struct polling polling = {fds, count};

    return look_until(lane, clock, &(struct looking){look_poll, &polling, fds, count, mask}, until);
}

int call_poll(const void *caller, struct pollfd *fds, nfds_t count, int ms)
{
    struct lane *lane;
    struct vitro_clock *clock = waits_here(caller, &lane);

    return clock && ms ? poll_until(lane, clock, fds, count, after_ms(ms), NULL)
                       : REAL.poll(fds, count, ms);
}

int call_ppoll(const void *caller, struct pollfd *fds, nfds_t count, const struct timespec *wait,
               const sigset_t *mask)
{
    struct lane *lane;
    struct vitro_clock *clock = waits_here(caller, &lane);

    if (!clock || (wait && ns_of(wait) <= 0))
        return REAL.ppoll(fds, count, wait, mask);
    return poll_until(lane, clock, fds, count, wait ? deadline_after(ns_of(wait)) : no_deadline,
                      mask);
}

/* ---- select */

struct selecting {
    int count;
    fd_set *sets[3], given[3];
};

static int look_select(void *arg)
{
    struct selecting *self = arg;

    for (int i = 0; i < 3; i++)
        if (self->sets[i])
            *self->sets[i] = self->given[i];
    return REAL.select(self->count, self->sets[0], self->sets[1], self->sets[2],
                       &(struct timeval){0});
}

static int select_until(struct lane *lane, struct vitro_clock *clock, struct selecting *self,
                        struct deadline until, const sigset_t *mask)
{
    static const short events[] = {POLLIN, POLLOUT, POLLPRI};
    struct pollfd fds[FD_SETSIZE];
    nfds_t count = 0;

    for (int i = 0; i < 3; i++)
        if (self->sets[i])
            self->given[i] = *self->sets[i];
    for (int fd = 0; fd < self->count && fd < FD_SETSIZE; fd++) {
        short wanted = 0;
        for (int i = 0; i < 3; i++)
            if (self->sets[i] && FD_ISSET(fd, &self->given[i]))
                wanted |= events[i];
        if (wanted)
            fds[count++] = (struct pollfd){.fd = fd, .events = wanted};
    }
    return look_until(lane, clock, &(struct looking){look_select, self, fds, count, mask}, until);
}

int call_pselect(const void *caller, int count, fd_set *r, fd_set *w, fd_set *e,
                 const struct timespec *wait, const sigset_t *mask)
{
    struct lane *lane;
    struct vitro_clock *clock = waits_here(caller, &lane);
    struct selecting self = {.count = count, .sets = {r, w, e}};

    if (!clock || (wait && ns_of(wait) <= 0))
        return REAL.pselect(count, r, w, e, wait, mask);
    return select_until(lane, clock, &self, wait ? deadline_after(ns_of(wait)) : no_deadline, mask);
}

/* What is left of the time is written back, as Linux does. */
int call_select(const void *caller, int count, fd_set *r, fd_set *w, fd_set *e,
                struct timeval *wait)
{
    struct lane *lane;
    struct vitro_clock *clock = waits_here(caller, &lane);
    struct selecting self = {.count = count, .sets = {r, w, e}};

    if (!clock || (wait && (wait->tv_sec < 0 || wait->tv_usec < 0 ||
                            (wait->tv_sec == 0 && wait->tv_usec == 0))))
        return REAL.select(count, r, w, e, wait);
    struct timespec time = {0};
    if (wait)
        time = (struct timespec){.tv_sec = wait->tv_sec + wait->tv_usec / 1000000,
                                 .tv_nsec = wait->tv_usec % 1000000 * 1000};
    uint64_t began = vitro_clock_monotonic(clock);
    int ready =
        select_until(lane, clock, &self, wait ? deadline_after(ns_of(&time)) : no_deadline, NULL);
    if (wait) {
        int64_t left = ns_of(&time) - (int64_t)(vitro_clock_monotonic(clock) - began);
        struct timespec rest = timespec_of(left > 0 ? left : 0);
        *wait = (struct timeval){.tv_sec = rest.tv_sec, .tv_usec = rest.tv_nsec / 1000};
    }
    return ready;
}

/* ---- epoll: an epoll fd is readable when it has something */

struct epolling {
    int fd, max;
    struct epoll_event *ret;
};

static int look_epoll(void *arg)
{
    struct epolling *self = arg;

    return REAL.epoll_wait(self->fd, self->ret, self->max, 0);
}

static int epoll_until(struct lane *lane, struct vitro_clock *clock, struct epolling *self,
                       struct deadline until, const sigset_t *mask)
{
    struct pollfd fd = {.fd = self->fd, .events = POLLIN};

    return look_until(lane, clock, &(struct looking){look_epoll, self, &fd, 1, mask}, until);
}

int call_epoll_pwait(const void *caller, int fd, struct epoll_event *ret, int max, int ms,
                     const sigset_t *mask)
{
    struct lane *lane;
    struct vitro_clock *clock = waits_here(caller, &lane);
    struct epolling self = {fd, max, ret};

    return clock && ms ? epoll_until(lane, clock, &self, after_ms(ms), mask)
                       : REAL.epoll_pwait(fd, ret, max, ms, mask);
}

int call_epoll_wait(const void *caller, int fd, struct epoll_event *ret, int max, int ms)
{
    return call_epoll_pwait(caller, fd, ret, max, ms, NULL);
}

int call_epoll_pwait2(const void *caller, int fd, struct epoll_event *ret, int max,
                      const struct timespec *wait, const sigset_t *mask)
{
    struct lane *lane;
    struct vitro_clock *clock = waits_here(caller, &lane);
    struct epolling self = {fd, max, ret};

    if (!clock || (wait && ns_of(wait) <= 0))
        return REAL.epoll_pwait2(fd, ret, max, wait, mask);
    return epoll_until(lane, clock, &self, wait ? deadline_after(ns_of(wait)) : no_deadline, mask);
}
