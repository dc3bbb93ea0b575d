/* SPDX-License-Identifier: MIT */
/* poll_oneoff: clocks and descriptors in one wait. What is ready comes first, then the clocks that
 * are due, earliest first. */
#include "wasi_host.h"
#include "wasi_calls.h"
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>

enum { SUBSCRIPTION_BYTES = 48, EVENT_BYTES = 32, SUBSCRIPTIONS_MAX = 4096 };
enum { TAG_CLOCK, TAG_READ, TAG_WRITE };

struct wish {
    uint64_t userdata;
    uint8_t tag;
    uint32_t error; /* known at once */
    int64_t due_ns; /* of a clock, on CLOCK_MONOTONIC */
    int host;
};

static int64_t now_ns(clockid_t clock)
{
    struct timespec time;

    (void)clock_gettime(clock, &time);
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static int64_t later(int64_t a, uint64_t b)
{
    return b > (uint64_t)(INT64_MAX - a) ? INT64_MAX : a + (int64_t)b;
}

static void read_clock(struct wish *wish, const uint8_t *at, int64_t now)
{
    uint32_t clock;
    uint64_t timeout;
    uint16_t flags;

    memcpy(&clock, at + 16, sizeof clock);
    memcpy(&timeout, at + 24, sizeof timeout);
    memcpy(&flags, at + 40, sizeof flags);
    if (clock > 1) {
        wish->error = clock > 3 ? WASI_INVAL : WASI_NOTSUP; /* CPU time does not pass in a wait */
    } else if (!(flags & 1)) {
        wish->due_ns = later(now, timeout);
    } else if (clock == 1) {
        wish->due_ns = timeout > INT64_MAX ? INT64_MAX : (int64_t)timeout;
    } else {
        int64_t wall = now_ns(CLOCK_REALTIME);
        wish->due_ns = timeout > (uint64_t)wall ? later(now, timeout - (uint64_t)wall) : now;
    }
}

static void read_wish(struct wish *wish, const uint8_t *at, int64_t now)
{
    uint32_t fd;

    memset(wish, 0, sizeof *wish);
    memcpy(&wish->userdata, at, sizeof wish->userdata);
    wish->tag = at[8];
    wish->host = -1;
    if (wish->tag == TAG_CLOCK) {
        read_clock(wish, at, now);
    } else if (wish->tag <= TAG_WRITE) {
        memcpy(&fd, at + 16, sizeof fd);
        struct wasi_fd *file = wasi_fd_get(fd);
        wish->error = file ? WASI_OK : WASI_BADF;
        wish->host = file ? file->host : -1;
    } else {
        wish->error = WASI_INVAL;
    }
}

static void put_event(uint8_t *at, const struct wish *wish, uint64_t bytes, uint16_t flags)
{
    uint16_t error = (uint16_t)wish->error;

    memset(at, 0, EVENT_BYTES);
    memcpy(at, &wish->userdata, sizeof wish->userdata);
    memcpy(at + 8, &error, sizeof error);
    at[10] = wish->tag;
    memcpy(at + 16, &bytes, sizeof bytes);
    memcpy(at + 24, &flags, sizeof flags);
}

static uint32_t put_ready(uint8_t *out, const struct wish *wishes, const struct pollfd *fds,
                          uint32_t count)
{
    uint32_t done = 0;

    for (uint32_t i = 0; i < count; i++) {
        int waiting = 0;
        if (wishes[i].error) {
            put_event(out + (size_t)done++ * EVENT_BYTES, &wishes[i], 0, 0);
        } else if (wishes[i].host >= 0 && fds[i].revents) {
            if (wishes[i].tag == TAG_READ)
                (void)ioctl(wishes[i].host, FIONREAD, &waiting);
            put_event(out + (size_t)done++ * EVENT_BYTES, &wishes[i], (uint64_t)waiting,
                      fds[i].revents & POLLHUP ? 1 : 0);
        }
    }
    return done;
}

static int by_due(const void *a, const void *b)
{
    const struct wish *x = *(const struct wish *const *)a, *y = *(const struct wish *const *)b;

    if (x->due_ns != y->due_ns)
        return x->due_ns < y->due_ns ? -1 : 1;
    return (x > y) - (x < y);
}

static uint32_t put_due(uint8_t *out, const struct wish *wishes, const struct wish **due,
                        uint32_t count)
{
    uint32_t found = 0;
    int64_t now = now_ns(CLOCK_MONOTONIC);

    for (uint32_t i = 0; i < count; i++)
        if (wishes[i].tag == TAG_CLOCK && !wishes[i].error && wishes[i].due_ns <= now)
            due[found++] = &wishes[i];
    qsort(due, found, sizeof *due, by_due);
    for (uint32_t i = 0; i < found; i++)
        put_event(out + (size_t)i * EVENT_BYTES, due[i], 0, 0);
    return found;
}

/* Until a descriptor is ready or the first clock is due. */
static int wait_for(const struct wish *wishes, struct pollfd *fds, uint32_t count)
{
    int64_t due = INT64_MAX;
    bool at_once = false, forever = true;

    for (uint32_t i = 0; i < count; i++) {
        fds[i] = (struct pollfd){.fd = wishes[i].host,
                                 .events = wishes[i].tag == TAG_READ ? POLLIN : POLLOUT};
        at_once |= wishes[i].error != WASI_OK;
        if (wishes[i].tag == TAG_CLOCK && !wishes[i].error && wishes[i].due_ns <= due) {
            due = wishes[i].due_ns;
            forever = false;
        }
    }
    for (;;) {
        int64_t left = due - now_ns(CLOCK_MONOTONIC);
        left = at_once || left < 0 ? 0 : left;
        struct timespec timeout = {left / 1000000000, left % 1000000000};
        int r = ppoll(fds, count, forever && !at_once ? NULL : &timeout, NULL);
        if (r >= 0 || errno != EINTR)
            return r;
    }
}

uint32_t wasi_poll_oneoff(uint32_t in, uint32_t out, uint32_t count, uint32_t ret)
{
    if (count == 0 || count > SUBSCRIPTIONS_MAX)
        return WASI_INVAL;
    const uint8_t *from = wasi_at(in, (uint64_t)count * SUBSCRIPTION_BYTES);
    uint8_t *to = wasi_at(out, (uint64_t)count * EVENT_BYTES);
    if (!from || !to || !wasi_at(ret, 4))
        return WASI_FAULT;
    struct wish *wishes = calloc(count, sizeof *wishes);
    struct pollfd *fds = calloc(count, sizeof *fds);
    const struct wish **due = calloc(count, sizeof *due);
    uint32_t result = wishes && fds && due ? WASI_OK : WASI_NOMEM;
    if (result == WASI_OK) {
        int64_t now = now_ns(CLOCK_MONOTONIC);
        for (uint32_t i = 0; i < count; i++)
            read_wish(&wishes[i], from + (size_t)i * SUBSCRIPTION_BYTES, now);
        if (wait_for(wishes, fds, count) < 0)
            result = wasi_last(-1);
    }
    if (result == WASI_OK) {
        uint32_t done = put_ready(to, wishes, fds, count);
        done += put_due(to + (size_t)done * EVENT_BYTES, wishes, due, count);
        (void)wasi_put32(ret, done);
    }
    free(wishes);
    free(fds);
    free(due);
    return result;
}
