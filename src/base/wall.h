/* SPDX-License-Identifier: MIT */
/* wall: the one place that reads the machine's real clock. Ceilings and progress lines need it;
 * nothing that is recorded may depend on it. */
#pragma once
#include <stdint.h>
#include <sys/types.h>

uint64_t wall_monotonic_ns(void);
int64_t wall_now_ns(void);       /* since 1970 */
int64_t wall_coarse_ns(void);    /* since 1970, as the kernel stamps files: moves with its tick */
uint64_t wall_cpu_ns(pid_t pid); /* what that process has used of the CPU; 0 if there is none */
/* From now on by system calls, not by the vDSO, which reads the time stamp counter: for a process
 * that has renounced it (prctl PR_SET_TSC). */
void wall_avoid_counter(void);
