/* SPDX-License-Identifier: MIT */
/* A flow is a struct that begins with `struct vitro_flow`. */
#pragma once
#include "sched/sched.h"
#include "vitro/flow.h"

struct vitro_flow {
    int (*next)(vitro_flow *flow, vitro_value *ret, const char *where);
    void (*free)(vitro_flow *flow); /* what hangs off it, not itself; may be NULL */
    bool lost; /* a task that works for it could not be ended: the memory is left to it */
};

/* Ends tasks that work for a flow: cancelled and joined. False while a run is taken down. */
bool flow_end_tasks(vitro_task **tasks, size_t n);
