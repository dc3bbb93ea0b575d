/* SPDX-License-Identifier: MIT */
/* musl has no strerrorname_np: the names that the guests print. */
#include <errno.h>
static inline const char *guest_errno_name(int e)
{
    return e == EINTR ? "EINTR" : e == EAGAIN ? "EAGAIN" : e == ETIMEDOUT ? "ETIMEDOUT" : "?";
}
