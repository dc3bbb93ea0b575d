/* SPDX-License-Identifier: MIT */
/* The list of all verbs, sorted by name. */
#include "cli/cli.h"

extern const struct command command_help;
extern const struct command command_sched_lanes;
extern const struct command command_sched_show;
extern const struct command command_sched_shrink;

const struct command *const cli_commands[] = {
    &command_help, &command_sched_lanes, &command_sched_show, &command_sched_shrink, NULL,
};
