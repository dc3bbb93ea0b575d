/* SPDX-License-Identifier: MIT */
/* wasi_cli: --wasi and its limits. Modules become programs before the box starts. */
#pragma once
#include "cli/cli.h"
#include "box/box_options.h"

#define WASI_CLI_OPTIONS                                                                           \
    {"wasi", "DIR", "NAME runs DIR/NAME.wasm, where there is one", 0, false},                      \
        {"wasi-memory", "BYTES", "how much memory a module may use", 0, false},                    \
    {                                                                                              \
        "wasi-steps", "N", "how many branches and calls a module may make", 0, false               \
    }

/* Fills `path_first` and `add_env`. `memory` is --wasi-memory, or 0. */
int wasi_cli_read(const struct cli_args *args, uint64_t memory, struct box_options *ret,
                  struct err *err);
void wasi_cli_done(struct box_options *options);
