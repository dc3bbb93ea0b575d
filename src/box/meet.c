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
    CLEANUP(fd_close) int ipc = -1;
    CLEANUP(fd_close) int net = -1;

    if (unshare(CLONE_NEWIPC | (box->options->net_real ? 0 : CLONE_NEWNET)) < 0)
        return err_set(err, -errno, "make IPC and network namespaces: %m");
    if (!box->options->net_real)
        loopback_up();
    ipc = open("/proc/self/ns/ipc", O_RDONLY | O_CLOEXEC);
    net = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    if (ipc < 0 || net < 0)
        return err_set(err, -errno, "open the box's namespaces: %m");
    (void)fd_send(socket, 'm', (int[]){ipc, net}, 2); /* an init that is gone has said why */
    return 0;
}

int meet_enter(struct meet_door *door, struct err *err)
{
    int both[2];
    char byte;

    if (door->entered)
        return 0;
    door->entered = true;
    int r = fd_receive(door->socket, &byte, both, 2);
    if (r < 0)
        return err_set(err, r, "receive the box's namespaces: %s", strerror(-r));
    if (setns(both[0], CLONE_NEWIPC) < 0 || setns(both[1], CLONE_NEWNET) < 0)
        r = err_set(err, -errno, "enter the box's namespaces: %m");
    fd_close(both[0]);
    fd_close(both[1]);
    return r;
}
