/* SPDX-License-Identifier: MIT */
/* wasi_glue: the C between what wasm2c made and our host. Names and shapes of made functions differ
 * between versions of wabt; they are read from the made header, whose comments do not. */
#pragma once
#include "base/buf.h"
#include "base/err.h"

/* -ENOTSUP for a module that imports what preview 1 does not have, or has no _start. */
int wasi_glue(const char *header, struct buf *ret, struct err *err);
