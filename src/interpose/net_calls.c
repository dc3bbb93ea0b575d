/* SPDX-License-Identifier: MIT */
/* Connections under a bench's rules. What no rule allows fails at once, with EACCES as behind a
 * firewall, and is kept for the findings. Nothing is set in the environment. */
#include "interpose/calls.h"
#include "interpose/net_rules.h"
#include "tape/tape_data.h"
#include <arpa/inet.h>
#include <fcntl.h>
#include <string.h>

static struct vitro_world *net_here(const void *caller, const char *capability)
{
    struct lane *lane = lane_here(caller);
    struct vitro_world *world = lane ? lane_world(lane) : NULL;

    bool audited = world && world->audit_real;
    while (world && !world->net)
        world = world->outer;
    if (!world && audited)
        leak_here(capability, caller);
    return world;
}

/* For the tape: who was reached, or would have been. `rule` NULL: reached. Port 0: a name. */
static void note(const char *host, uint16_t port, const char *rule)
{
    struct lane *lane = lane_self();
    CLEANUP(tape_data_done) struct tape_data data = {0};

    inside_begin(lane);
    tape_data_begin(&data);
    if (!rule)
        tape_data_text(&data, "address", host);
    tape_data_text(&data, "host", host);
    if (port)
        tape_data_u64(&data, "port", port);
    if (rule)
        tape_data_text(&data, "rule", rule);
    tape_data_end(&data);
    world_note(lane_world(lane), rule ? "net_denied" : "net_connect", "%s", buf_text(&data.text));
    inside_end(lane);
}

static void deny(struct vitro_world *world, const char *call, const char *to)
{
    struct lane *lane = lane_self();

    inside_begin(lane);
    CLEANUP(mem_free) char *line = mem_format("%s %s: no allow rule matched\n", call, to);
    (void)pthread_mutex_lock(&world->lock);
    world->denied_count++;
    if (!strstr(buf_text(&world->denied), line))
        buf_adds(&world->denied, line);
    (void)pthread_mutex_unlock(&world->lock);
    inside_end(lane);
}

static bool may_reach(struct vitro_world *world, const char *call, const struct sockaddr *to,
                      socklen_t length)
{
    char text[80];

    if (!to)
        return true;
    (void)pthread_mutex_lock(&world->lock);
    bool allowed = net_rules_allow_address(world->net, to, length);
    (void)pthread_mutex_unlock(&world->lock);
    if (!allowed) {
        char host[46];
        uint16_t port;
        deny(world, call, net_address_text(to, length, text));
        if (net_address_read(to, length, host, &port))
            note(host, port, "none");
    }
    return allowed;
}

/* A connection that was begun: waits as for any fd, so that the clock looks at it before it moves.
 * A socket's SO_SNDTIMEO is a time of the clock. 0 or an errno. */
static int await_connection(struct lane *lane, int fd)
{
    struct pollfd one = {.fd = fd, .events = POLLOUT};
    struct deadline until = no_deadline;
    struct timeval timeout = {0};
    socklen_t size = sizeof timeout;
    int code = 0;

    if (getsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, &size) == 0 &&
        (timeout.tv_sec || timeout.tv_usec)) {
        struct timespec time = {.tv_sec = timeout.tv_sec, .tv_nsec = timeout.tv_usec * 1000};
        until = deadline_after(ns_of(&time));
    }
    switch (wait_fds(lane, lane_clock(lane), &one, 1, &until, NULL)) {
    case WAITED_SIGNAL:
        return EINTR;
    case WAITED_TIME:
        return EINPROGRESS;
    case WAITED_READY:
        break;
    }
    size = sizeof code;
    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &code, &size) < 0 ? errno : code;
}

/* Most connections to this machine are made at once. Standing aside for those would let the clock
 * overtake the thread, or not, as the kernel's scheduler likes. */
static int connect_here(const void *caller, int fd, __CONST_SOCKADDR_ARG to, socklen_t length)
{
    struct lane *lane = lane_here(caller);
    int mode = lane && lane_clock(lane) ? fcntl(fd, F_GETFL) : -1;

    if (mode < 0 || mode & O_NONBLOCK || fcntl(fd, F_SETFL, mode | O_NONBLOCK) < 0)
        return REAL.connect(fd, to, length);
    int r = REAL.connect(fd, to, length), code = r < 0 ? errno : 0;
    if (code == EINPROGRESS)
        code = await_connection(lane, fd);
    (void)fcntl(fd, F_SETFL, mode);
    if (code == EAGAIN) { /* a unix socket whose listener is busy: nothing to wait for but this */
        vitro_worker_idle_begin();
        code = REAL.connect(fd, to, length) < 0 ? errno : 0;
        vitro_worker_idle_end();
    }
    errno = code;
    return code ? -1 : 0;
}

int call_connect(const void *caller, int fd, __CONST_SOCKADDR_ARG to, socklen_t length)
{
    struct vitro_world *world = net_here(caller, "net/connect");
    char host[46];
    uint16_t port;

    if (world && !may_reach(world, "connect", to.__sockaddr__, length)) {
        errno = EACCES;
        return -1;
    }
    int r = connect_here(caller, fd, to, length), code = errno;
    if ((r == 0 || code == EINPROGRESS) && lane_here(caller) &&
        net_address_read(to.__sockaddr__, length, host, &port))
        note(host, port, NULL);
    errno = code;
    return r;
}

ssize_t call_sendto(const void *caller, int fd, const void *bytes, size_t size, int flags,
                    __CONST_SOCKADDR_ARG to, socklen_t length)
{
    struct vitro_world *world = to.__sockaddr__ ? net_here(caller, "net/sendto") : NULL;

    if (!world || may_reach(world, "sendto", to.__sockaddr__, length))
        return REAL.sendto(fd, bytes, size, flags, to, length);
    errno = EACCES;
    return -1;
}

ssize_t call_sendmsg(const void *caller, int fd, const struct msghdr *message, int flags)
{
    struct vitro_world *world =
        message && message->msg_name ? net_here(caller, "net/sendmsg") : NULL;

    if (!world || may_reach(world, "sendmsg", message->msg_name, message->msg_namelen))
        return REAL.sendmsg(fd, message, flags);
    errno = EACCES;
    return -1;
}

/* ---- names */

static bool is_numeric(const char *node)
{
    unsigned char address[16];

    return !node || inet_pton(AF_INET, node, address) == 1 ||
           inet_pton(AF_INET6, node, address) == 1;
}

static bool may_look_up(struct vitro_world *world, const char *call, const char *name)
{
    (void)pthread_mutex_lock(&world->lock);
    bool allowed = net_rules_allow_name(world->net, name);
    (void)pthread_mutex_unlock(&world->lock);
    if (!allowed) {
        deny(world, call, name);
        note(name, 0, "none");
    }
    return allowed;
}

int call_getaddrinfo(const void *caller, const char *restrict node, const char *restrict service,
                     const struct addrinfo *restrict hints, struct addrinfo **restrict ret)
{
    struct vitro_world *world = is_numeric(node) ? NULL : net_here(caller, "net/getaddrinfo");

    if (!world)
        return REAL.getaddrinfo(node, service, hints, ret);
    if (!may_look_up(world, "getaddrinfo", node))
        return EAI_FAIL;
    int r = REAL.getaddrinfo(node, service, hints, ret);
    (void)pthread_mutex_lock(&world->lock);
    for (struct addrinfo *info = r == 0 ? *ret : NULL; info; info = info->ai_next)
        net_rules_pin(world->net, info->ai_addr, node);
    (void)pthread_mutex_unlock(&world->lock);
    return r;
}

struct hostent *call_gethostbyname(const void *caller, const char *name)
{
    struct vitro_world *world = is_numeric(name) ? NULL : net_here(caller, "net/gethostbyname");

    if (!world)
        return REAL.gethostbyname(name);
    if (!may_look_up(world, "gethostbyname", name)) {
        h_errno = NO_RECOVERY;
        return NULL;
    }
    struct hostent *host = REAL.gethostbyname(name);
    (void)pthread_mutex_lock(&world->lock);
    for (char **address = host && host->h_addrtype == AF_INET ? host->h_addr_list : NULL;
         address && *address; address++) {
        struct sockaddr_in found = {.sin_family = AF_INET};
        memcpy(&found.sin_addr, *address, sizeof found.sin_addr);
        net_rules_pin(world->net, (struct sockaddr *)&found, name);
    }
    (void)pthread_mutex_unlock(&world->lock);
    return host;
}
