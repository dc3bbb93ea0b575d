/* SPDX-License-Identifier: MIT */
/* A TCP receiver delays its acknowledgement by some 40 ms of real time, and a sender with little to
 * say waits for it. While that timer runs in the kernel, everybody in the box is blocked and the
 * clock would jump. The routes of the loopback get the quickack metric, which switches the delay
 * off. */
#include "box/loopback.h"
#include "base/fd.h"
#include <arpa/inet.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

struct route_request {
    struct nlmsghdr header;
    struct rtmsg route;
    char attributes[256];
};

static void add_attribute(struct route_request *request, unsigned short type, const void *bytes,
                          size_t length)
{
    struct rtattr *attribute =
        (struct rtattr *)((char *)request + NLMSG_ALIGN(request->header.nlmsg_len));

    attribute->rta_type = type;
    attribute->rta_len = (unsigned short)RTA_LENGTH(length);
    memcpy(RTA_DATA(attribute), bytes, length);
    request->header.nlmsg_len =
        (unsigned)(NLMSG_ALIGN(request->header.nlmsg_len) + RTA_ALIGN(attribute->rta_len));
}

/* Of the last request; the kernel answers before send returns. */
static bool was_done(int fd)
{
    struct {
        struct nlmsghdr header;
        struct nlmsgerr answer;
    } reply = {0};

    return recv(fd, &reply, sizeof reply, MSG_DONTWAIT) > 0 &&
           reply.header.nlmsg_type == NLMSG_ERROR && reply.answer.error == 0;
}

/* The local route to address/bits, as the kernel made it, but with quickack. IPv6 does not replace
 * what the kernel made: ours is behind it, until that one is gone. */
static void set_quickack(int fd, int family, const char *address, unsigned char bits)
{
    struct {
        struct rtattr head;
        uint32_t value;
    } metric = {{RTA_LENGTH(4), RTAX_QUICKACK}, 1};
    struct route_request request = {
        .header = {.nlmsg_len = NLMSG_LENGTH(sizeof(struct rtmsg)),
                   .nlmsg_type = RTM_NEWROUTE,
                   .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_REPLACE | NLM_F_CREATE},
        .route = {.rtm_family = (unsigned char)family,
                  .rtm_dst_len = bits,
                  .rtm_table = RT_TABLE_LOCAL,
                  .rtm_protocol = RTPROT_KERNEL,
                  .rtm_scope = RT_SCOPE_HOST,
                  .rtm_type = RTN_LOCAL},
    };
    unsigned char destination[16], source[4];
    unsigned index = 1; /* the first interface of every namespace */
    size_t length = family == AF_INET ? 4 : 16;

    (void)inet_pton(family, address, destination);
    (void)inet_pton(AF_INET, "127.0.0.1", source);
    add_attribute(&request, RTA_DST, destination, length);
    add_attribute(&request, RTA_OIF, &index, sizeof index);
    if (family == AF_INET)
        add_attribute(&request, RTA_PREFSRC, source, sizeof source);
    add_attribute(&request, RTA_METRICS, &metric, sizeof metric);
    (void)send(fd, &request, request.header.nlmsg_len, 0);
    if (!was_done(fd) || family == AF_INET)
        return;
    request.header.nlmsg_type = RTM_DELROUTE; /* of two, the first */
    request.header.nlmsg_flags = NLM_F_REQUEST;
    (void)send(fd, &request, request.header.nlmsg_len, 0);
}

void loopback_up(void)
{
    CLEANUP(fd_close) int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    CLEANUP(fd_close) int netlink = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    struct ifreq request = {.ifr_name = "lo"};

    if (fd < 0 || netlink < 0 || ioctl(fd, SIOCGIFFLAGS, &request) < 0)
        return;
    request.ifr_flags |= IFF_UP | IFF_RUNNING;
    if (ioctl(fd, SIOCSIFFLAGS, &request) < 0)
        return;
    set_quickack(netlink, AF_INET, "127.0.0.0", 8);
    set_quickack(netlink, AF_INET, "127.0.0.1", 32);
    set_quickack(netlink, AF_INET6, "::1", 128);
}
