/* SPDX-License-Identifier: MIT */
/* trace: what the code is doing, for whoever debugs it. Off unless the environment variable
 * VITRO_TRACE lists the area ("box,tape") or is "all"; then one line an event goes to standard
 * error, or to the file named by VITRO_TRACE_FILE. Off costs one load and a branch. */
#pragma once
#include "base/cleanup.h"
#include <stdbool.h>

enum trace_area {
    TRACE_BASE,
    TRACE_TAPE,
    TRACE_BOX,
    TRACE_CLOCK,
    TRACE_SCHED,
    TRACE_FS,
    TRACE_PROC,
    TRACE_NET,
    TRACE_TERM,
    TRACE_CLI,
    TRACE_AREA_COUNT
};

extern unsigned trace_mask; /* one bit an area; set by trace_init */

void trace_init(void); /* reads the environment; programs call it first thing in main */
void trace_write(enum trace_area area, const char *format, ...) PRINTF_LIKE(2, 3);

#define trace(area, ...)                                                                           \
    do {                                                                                           \
        if (__builtin_expect(trace_mask & 1u << (area), 0))                                        \
            trace_write(area, __VA_ARGS__);                                                        \
    } while (0)
