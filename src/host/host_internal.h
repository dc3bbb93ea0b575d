/* SPDX-License-Identifier: MIT */
/* What the files of hosts and their doubles share. */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "vitro/host.h"
#include <stdbool.h>

/* One layout: asserted in host.c. */
static inline struct err *host_err(struct vitro_host_error *error)
{
    return (struct err *)error;
}

/* ---- processes that end by themselves: mock_process.c */

/* Starts a double that was not queued. */
int spawner_start(vitro_spawner *spawner, const struct vitro_mock_config *config,
                  const struct vitro_process_call *call, vitro_child **ret, struct err *err);
/* Runs a double to its end: what `vitro_processes_ops.run` is for doubles. */
int mock_child_finish(vitro_child *child, const struct vitro_process_call *call,
                      struct vitro_process_result *ret, struct err *err);
/* How many doubles wait in the queue. */
size_t spawner_queued(vitro_spawner *spawner);

/* ---- programs for real: real_child.c */
int real_spawn(const struct vitro_process_call *call, vitro_child **ret, struct err *err);
