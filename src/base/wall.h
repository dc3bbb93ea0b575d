/* SPDX-License-Identifier: MIT */
/* wall: the one place that reads the machine's real clock. Ceilings and progress lines need it;
 * nothing that is recorded may depend on it. */
#pragma once
#include <stdint.h>

uint64_t wall_monotonic_ns(void);
int64_t wall_now_ns(void);    /* since 1970 */
int64_t wall_coarse_ns(void); /* since 1970, as the kernel stamps files: moves with its tick */
