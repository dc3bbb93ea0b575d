/* SPDX-License-Identifier: MIT */
/* wasi: WebAssembly modules as programs (--wasi DIR).
 *
 * DIR/NAME.wasm becomes an ordinary program NAME: wasm2c makes C of it, the C compiler makes a
 * program of that and of our WASI preview 1 host (src/proc/guest), and a directory with all of them
 * goes first in the guests' PATH. Programs are kept in a cache, by the module's hash, wabt's
 * version, our host's hash and the flags; a second run finds them there. */
#pragma once
#include "base/err.h"
#include <stdint.h>

struct wasi_options {
    const char *directory;
    uint64_t memory_bytes; /* that a module may use; 0: as much as it asks for */
    uint64_t steps;        /* branches and calls of a module; 0: no limit */
    const char *cache;     /* NULL: $XDG_CACHE_HOME/vitro/wasi or ~/.cache/vitro/wasi */
    void (*progress)(void *context, const char *name, size_t done, size_t of);
    void *context;
};

/* Returns an owned path of a directory with a program for each module. */
int wasi_prepare(const struct wasi_options *options, char **ret_directory, struct err *err);
