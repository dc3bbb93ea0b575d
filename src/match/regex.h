/* SPDX-License-Identifier: MIT */
/* regex: PCRE2 behind three calls. Bytes, not characters, unless the text is UTF-8; bounded, so
 * that no pattern hangs on no text. */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include <stdbool.h>
#include <stddef.h>

int regex_compile(const char *source, void **ret_code, struct err *err); /* returns owned */
bool regex_finds(const void *code, const char *bytes, size_t length);
/* Appends `bytes` with every match replaced by `text`, in which $1 stands for the first group. */
void regex_replace(const void *code, const char *bytes, size_t length, const char *text,
                   struct buf *ret);
void regex_free(void *code);
