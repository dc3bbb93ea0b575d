/* SPDX-License-Identifier: MIT */
/* The listener of a service, and waiting for sockets with timeouts on the service's clock. */
#include "base/buf.h"
#include "base/fd.h"
#include "base/when.h"
#include "clock/clock.h"
#include "service/service.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

enum { FDS_MAX = 1024 };

static int address_parse(const vitro_service *service, struct sockaddr_storage *ret,
                         socklen_t *ret_length, struct err *err)
{
    const char *text = service->options.address ? service->options.address : "127.0.0.1";
    struct sockaddr_in *four = (void *)ret;
    struct sockaddr_in6 *six = (void *)ret;

    memset(ret, 0, sizeof *ret);
    if (inet_pton(AF_INET, text, &four->sin_addr) == 1) {
        four->sin_family = AF_INET;
        four->sin_port = htons(service->options.port);
        *ret_length = sizeof *four;
    } else if (inet_pton(AF_INET6, text, &six->sin6_addr) == 1) {
        six->sin6_family = AF_INET6;
        six->sin6_port = htons(service->options.port);
        *ret_length = sizeof *six;
    } else {
        return err_set(err, -EINVAL,
                       "start '%s': '%s' is no address\nhint: addresses are like 127.0.0.1 or ::1",
                       service->options.name, text);
    }
    return 0;
}

int service_listen(vitro_service *service, struct err *err)
{
    struct sockaddr_storage address;
    socklen_t length;
    int r = address_parse(service, &address, &length, err), on = 1;

    if (r < 0)
        return r;
    CLEANUP(fd_close) int fd = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0 ||
        bind(fd, (struct sockaddr *)&address, length) < 0 || listen(fd, SOMAXCONN) < 0 ||
        getsockname(fd, (struct sockaddr *)&address, &length) < 0) {
        r = err_set(err, -errno, "start '%s': listen at %s, port %u: %m", service->options.name,
                    service->options.address ? service->options.address : "127.0.0.1",
                    service->options.port);
        return r == -EADDRINUSE ? err_hint(err, "port 0 is one that is free") : r;
    }
    bool is_six = address.ss_family == AF_INET6;
    service->port = ntohs(is_six ? ((struct sockaddr_in6 *)(void *)&address)->sin6_port
                                 : ((struct sockaddr_in *)(void *)&address)->sin_port);
    service->url = mem_format(is_six ? "http://[%s]:%d" : "http://%s:%d",
                              service->options.address ? service->options.address : "127.0.0.1",
                              service->port);
    service->listener = take_fd(&fd);
    return 0;
}

/* ---- timeouts */

struct alarm {
    struct vitro_clock_timer timer;
    struct vitro_clock *clock; /* of the worker that polls; NULL: none */
    int fd;
    bool came;
};

static void running(struct vitro_clock *clock, int change)
{
    if (clock && clock->ops->running)
        clock->ops->running(clock, change);
}

static void ring(struct vitro_clock_timer *timer)
{
    struct alarm *alarm = (struct alarm *)timer;
    uint64_t one = 1;

    alarm->came = true;
    running(alarm->clock, +1);
    (void)fd_write_full(alarm->fd, &one, sizeof one);
}

static int poll_all(struct pollfd *fds, size_t count, int64_t timeout_ns)
{
    struct timespec timeout = {.tv_sec = timeout_ns / (int64_t)NS_PER_SEC,
                               .tv_nsec = timeout_ns % (int64_t)NS_PER_SEC};
    int r;

    do
        r = ppoll(fds, count, timeout_ns < 0 ? NULL : &timeout, NULL);
    while (r < 0 && errno == EINTR && timeout_ns < 0);
    return r < 0 && errno != EINTR ? -errno : r < 0 ? 0 : r;
}

/* The last two of `fds` are the stop and the alarm. */
static int poll_virtual(vitro_service *service, struct pollfd *fds, size_t count,
                        int64_t timeout_ns)
{
    const struct lane *lane = lane_self();
    struct vitro_clock *innermost = clock_innermost(service->inner);
    struct alarm alarm = {.timer.fire = ring, .fd = -1};
    CLEANUP(fd_close) int fd = -1;
    bool timed = timeout_ns >= 0;

    alarm.clock = lane->clock == innermost && !lane->idle ? innermost : NULL;
    if (timed) {
        alarm.fd = fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (fd < 0)
            return -errno;
        int r = vitro_clock_arm(service->inner, &alarm.timer, timeout_ns);
        if (r < 0)
            return r == -EINVAL ? -ENOTSUP : r;
    }
    fds[count + 1] = (struct pollfd){.fd = fd, .events = POLLIN};
    running(alarm.clock, -1);
    int r = poll_all(fds, count + 2, -1);
    if (timed)
        (void)vitro_clock_disarm(service->inner, &alarm.timer);
    if (!alarm.came)
        running(alarm.clock, +1);
    return r < 0 ? r : r - (fds[count + 1].revents != 0);
}

int vitro_service_poll(vitro_service *service, struct pollfd *fds, size_t count, int64_t timeout_ns)
{
    int r;

    if (count > FDS_MAX)
        return -EINVAL;
    CLEANUP(mem_free) struct pollfd *all = mem_alloc((count + 2) * sizeof *all);
    if (count)
        memcpy(all, fds, count * sizeof *all);
    all[count] = (struct pollfd){.fd = service->stop_fd, .events = POLLIN};
    if (timeout_ns == 0)
        r = poll_all(all, count + 1, 0);
    else if (service->kind == INNER_REAL)
        r = poll_all(all, count + 1, timeout_ns);
    else
        r = poll_virtual(service, all, count, timeout_ns);
    if (count)
        memcpy(fds, all, count * sizeof *all);
    return r >= 0 && all[count].revents ? -ECANCELED : r;
}

int vitro_service_accept(vitro_service *service)
{
    struct pollfd listener = {.fd = service->listener, .events = POLLIN};

    if (service->listener < 0)
        return -EBADF;
    for (;;) {
        int r = vitro_service_poll(service, &listener, 1, -1);
        if (r < 0)
            return r;
        int fd = accept4(service->listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd >= 0 || (errno != EINTR && errno != ECONNABORTED && errno != EAGAIN))
            return fd < 0 ? -errno : fd;
    }
}
