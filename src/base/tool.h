/* SPDX-License-Identifier: MIT */
/* tool: runs a program to its end and keeps what it prints. For compilers and their like: no input,
 * the caller's environment, both outputs together. */
#pragma once
#include "base/buf.h"

/* `directory` may be NULL. 0 with the status of wait(2), or -errno when it could not be started
 * (-ENOENT: there is no such program). */
int tool_run(const char *const *argv, const char *directory, struct buf *ret_output,
             int *ret_status);
