/* SPDX-License-Identifier: MIT */
/* cassette_file: the recordings of a bundle in other forms. */
#pragma once
#include "base/err.h"
#include "proc/recording.h"
#include "tape/store.h"

/* A tape of its own, with its store; replaces one that is there. */
int cassette_write_tape(const char *bundle, const char *path, struct err *err);
/* The plain JSON list of Harn: loses binary output, signals, input and files. */
int cassette_write_list(const char *bundle, const char *path, struct err *err);
/* Everything a recording names, from one store to another. */
int cassette_copy_contents(const struct recording *recording, struct store *from, struct store *to,
                           struct err *err);
