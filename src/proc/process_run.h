/* SPDX-License-Identifier: MIT */
/* process_run: a program outside of any box, its streams taken down as they come. */
#pragma once
#include "proc/recording.h"
#include "vitro/process.h"

struct process_output {
    struct buf streams[3];      /* [0] is not used */
    struct recording recording; /* its events, status and duration */
};
/* 0 when it ran, however it ended. -ENOENT if there is no such program. */
int process_run(const struct vitro_process_call *call, struct process_output *ret, struct err *err);
void process_output_done(struct process_output *output);
static inline __attribute__((unused)) void process_output_done_cleanup(struct process_output *o)
{
    process_output_done(o);
}
