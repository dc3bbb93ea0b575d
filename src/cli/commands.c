/* SPDX-License-Identifier: MIT */
/* The list of all verbs, sorted by name. */
#include "cli/cli.h"

extern const struct command command_help, command_run;

const struct command *const cli_commands[] = {
    &command_help,
    &command_run,
    NULL,
};
