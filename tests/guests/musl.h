/* SPDX-License-Identifier: MIT */
/* musl has no strerrorname_np: the names that the guests print. */
#include <errno.h>
static inline const char *guest_errno_name(int e)
{
    switch (e) {
    case EINTR:
        return "EINTR";
    case EAGAIN:
        return "EAGAIN";
    case ETIMEDOUT:
        return "ETIMEDOUT";
    case EINVAL:
        return "EINVAL";
    case EPERM:
        return "EPERM";
    case EOPNOTSUPP:
        return "EOPNOTSUPP";
    default:
        return "?";
    }
}
