/* SPDX-License-Identifier: MIT */
/* clock_log: what was seen of a clock, by lane (a lane is a worker; threads that are none share
 * ""). */
#pragma once
#include "clock/clock.h"
#include <pthread.h>

struct clock_lane {
    char *name;     /* owned */
    size_t *events; /* indexes into the log, ascending; owned */
    size_t count, capacity;
};

struct logged {
    enum vitro_clock_event_kind kind;
    int result;
    int64_t value_ns;
    size_t lane;
};

struct vitro_clock_log {
    pthread_mutex_t lock;
    struct logged *events; /* owned */
    size_t count, capacity;
    struct clock_lane *lanes; /* owned */
    size_t lane_count;
};

const char *clock_event_name(enum vitro_clock_event_kind kind); /* "now"; NULL: no such kind */
