/* SPDX-License-Identifier: MIT */
#include "base/fd_pass.h"
#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

union fd_control {
    char bytes[CMSG_SPACE(FD_PASS_MAX * sizeof(int))];
    struct cmsghdr align;
};

int fd_send(int socket, char byte, const int *fds, size_t count)
{
    union fd_control control = {{0}};
    struct iovec bytes = {&byte, 1};
    struct msghdr message = {.msg_iov = &bytes, .msg_iovlen = 1};

    assert(count <= FD_PASS_MAX);
    if (count) {
        message.msg_control = &control;
        message.msg_controllen = CMSG_SPACE(count * sizeof *fds);
        struct cmsghdr *head = CMSG_FIRSTHDR(&message);
        *head = (struct cmsghdr){CMSG_LEN(count * sizeof *fds), SOL_SOCKET, SCM_RIGHTS};
        memcpy(CMSG_DATA(head), fds, count * sizeof *fds);
    }
    return sendmsg(socket, &message, MSG_NOSIGNAL) == 1 ? 0 : -errno;
}

int fd_receive(int socket, char *byte, int *fds, size_t count)
{
    union fd_control control;
    struct iovec bytes = {byte, 1};
    struct msghdr message = {.msg_iov = &bytes,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};

    if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC) <= 0)
        return -EPIPE;
    const struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    if (!head || head->cmsg_type != SCM_RIGHTS || head->cmsg_len != CMSG_LEN(count * sizeof *fds))
        return -EPROTO;
    memcpy(fds, CMSG_DATA(head), count * sizeof *fds);
    return 0;
}
