/* SPDX-License-Identifier: MIT */
/* sys_port: ports that guests do not choose themselves.
 *
 * The kernel takes a free one at random, for bind to port 0 and for the near end of a connection,
 * and programs print it. So every socket is told at its making to take one certain port, the next
 * in order (IP_LOCAL_PORT_RANGE, Linux 6.3; older kernels go on by chance). It uses it only if it
 * needs one. A port that some guest has chosen by number is passed over. Behind the last one the
 * kernel chooses again: whether an old one is still in use nobody tells us. */
#include "box/policy.h"
#include "base/fd.h"
#include <fcntl.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#ifndef IP_LOCAL_PORT_RANGE
#define IP_LOCAL_PORT_RANGE 51
#endif

static bool is_bound(const struct ports *ports, unsigned index)
{
    return ports->bound[index / 64] >> index % 64 & 1;
}

/* 0: they are used up. */
static uint32_t next_port(struct ports *ports)
{
    while (ports->given <= PORT_LAST - PORT_FIRST)
        if (!is_bound(ports, ports->given++))
            return PORT_FIRST + ports->given - 1;
    return 0;
}

static void made_exit(struct box *box, struct task *task)
{
    long fd = (long)task_regs(task)->rax;

    task->on_exit = NULL;
    uint32_t port = fd < 0 ? 0 : next_port(&box->ports), range = port << 16 | port;
    CLEANUP(fd_close) int own = port ? task_borrow_fd(task, (int)fd) : -1;
    if (own >= 0)
        (void)setsockopt(own, IPPROTO_IP, IP_LOCAL_PORT_RANGE, &range, sizeof range);
}

enum verdict sys_socket(struct box *box, struct task *task)
{
    if (box->options->net_real || box->ports.given > PORT_LAST - PORT_FIRST)
        return VERDICT_GO;
    task->on_exit = made_exit;
    return VERDICT_EXIT;
}

/* A socket with a name is a file that is made. */
static void touch_unix(struct box *box, struct task *task)
{
    const struct user_regs_struct *regs = task_regs(task);
    struct sockaddr_un address;
    size_t length = regs->rdx < sizeof address ? regs->rdx : sizeof address;
    size_t head = offsetof(struct sockaddr_un, sun_path);

    if (length > head && guest_read(task, regs->rsi, &address, length) == 0 &&
        address.sun_family == AF_UNIX && address.sun_path[0] &&
        memchr(address.sun_path, '\0', length - head))
        files_touch(box, task, AT_FDCWD, regs->rsi + head);
}

enum verdict sys_bind(struct box *box, struct task *task)
{
    struct sockaddr_in address; /* the port of an IPv6 address is in the same place */
    struct ports *ports = &box->ports;

    touch_unix(box, task);
    if (guest_read(task, task_regs(task)->rsi, &address, 4) < 0 ||
        (address.sin_family != AF_INET && address.sin_family != AF_INET6))
        return VERDICT_GO;
    unsigned port = ntohs(address.sin_port);
    if (port >= PORT_FIRST && port <= PORT_LAST)
        ports->bound[(port - PORT_FIRST) / 64] |= UINT64_C(1) << (port - PORT_FIRST) % 64;
    return VERDICT_GO;
}
