/* SPDX-License-Identifier: MIT */
#include "box/meet.h"
#include "base/fd.h"
#include "base/fd_pass.h"
#include "box/loopback.h"
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>

int meet_make(const struct box *box, int socket, struct err *err)
{
    if (box->options->net_real)
        return 0;
    if (unshare(CLONE_NEWNET) < 0)
        return err_set(err, -errno, "make a network namespace: %m");
    loopback_up();
    CLEANUP(fd_close) int net = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    if (net < 0)
        return err_set(err, -errno, "open the box's network namespace: %m");
    (void)fd_send(socket, 'm', &net, 1); /* an init that is gone has said why */
    return 0;
}

int meet_enter(struct meet_door *door, struct err *err)
{
    CLEANUP(fd_close) int net = -1;
    char byte;

    if (door->entered)
        return 0;
    door->entered = true;
    int r = fd_receive(door->socket, &byte, &net, 1);
    if (r < 0)
        return err_set(err, r, "receive the box's network namespace: %s", strerror(-r));
    return setns(net, CLONE_NEWNET) < 0
               ? err_set(err, -errno, "enter the box's network namespace: %m")
               : 0;
}
