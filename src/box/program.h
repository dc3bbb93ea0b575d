/* SPDX-License-Identifier: MIT */
/* program: what a box is to run, found in PATH as a shell would. */
#pragma once
#include "box/box_options.h"

struct box;

struct program { /* of the process that will become it; nothing is ever freed */
    const char *const *argv;
    char **envp;
    char **candidates; /* NULL-ended; empty: no such program */
};

/* Outside of the view, where looking is cheap: leaves out what cannot be inside either. */
void program_find(const struct box *box, struct program *ret);
/* Inside. Returns only on failure, with the errno of the last candidate; never runs a shell. */
int program_exec(const struct program *program);
