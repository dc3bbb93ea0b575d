/* SPDX-License-Identifier: MIT */
/* control: the caller's side of a box's control socket. */
#pragma once
#include "base/buf.h"
#include "base/err.h"

/* Sends one line of JSON and reads the answer. */
int control_ask(const char *path, const char *request, struct buf *ret, struct err *err);
/* The socket of a box: a path is itself, a name is looked for in the runtime directory. */
char *control_path(const char *box); /* returns owned */
