/* SPDX-License-Identifier: MIT */
/* The list of all verbs, sorted by name. */
#include "cli/cli.h"

extern const struct command command_apply;
extern const struct command command_diff;
extern const struct command command_doctor;
extern const struct command command_help;

const struct command *const cli_commands[] = {
    &command_apply, &command_diff, &command_doctor, &command_help, NULL,
};
