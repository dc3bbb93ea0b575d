/* SPDX-License-Identifier: MIT */
/* tool: finds programs, and runs one to its end and keeps what it prints. The latter is for
 * compilers and their like: no input, the caller's environment, both outputs together. */
#pragma once
#include "base/buf.h"

/* The file that a shell would execute for a name: searched in `path` (NULL: PATH of this process),
 * but not in the directory `except` (NULL: none). Names with a slash are themselves. Returns owned;
 * NULL: there is none. */
char *tool_find(const char *name, const char *path, const char *except);
/* `directory` may be NULL. 0 with the status of wait(2), or -errno when it could not be started
 * (-ENOENT: there is no such program). */
int tool_run(const char *const *argv, const char *directory, struct buf *ret_output,
             int *ret_status);
