/* SPDX-License-Identifier: MIT */
/* noise_cli: the options that say what a comparison of tapes overlooks. */
#pragma once
#include "cli/cli.h"
#include "tape/noise.h"

#define NOISE_CLI_OPTIONS                                                                          \
    {"ignore", "RULE", "overlook what the rule names, as a divergence prints it", 'i', true},      \
    {                                                                                              \
        "rules", "FILE", "rules from a file, one a line", 0, true                                  \
    }

int noise_cli_read(const struct cli_args *args, struct noise *noise, struct err *err);
