/* SPDX-License-Identifier: MIT */
/* fd_pass: file descriptors in messages between processes, over a Unix socket that keeps messages
 * apart. */
#pragma once
#include <stddef.h>

enum { FD_PASS_MAX = 4 };

/* One byte, which says what this is, and `count` descriptors. 0 or -errno. */
int fd_send(int socket, char byte, const int *fds, size_t count);
/* A message with exactly `count` of them, which become the caller's, close-on-exec. -EPIPE at the
 * end of the socket, -EPROTO for any other message. */
int fd_receive(int socket, char *byte, int *fds, size_t count);
