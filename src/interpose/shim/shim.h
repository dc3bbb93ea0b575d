/* SPDX-License-Identifier: MIT */
/* shim: what the shims share. */
#pragma once
#include "interpose/interpose.h"

#define EXPORT __attribute__((visibility("default")))
/* A mock or a bench is in force somewhere. */
#define SHIM_ASKS __builtin_expect(__atomic_load_n(&shim.active, __ATOMIC_RELAXED) != 0, 0)

extern struct interposer shim __attribute__((visibility("hidden"))); /* vitro_interposer */
int shim_first_openat(int dirfd, const char *path, int flags, ...);
void shim_resolve_openat(void);
