/* SPDX-License-Identifier: MIT */
/* base64: any bytes as text, in the alphabet of RFC 4648 with padding. */
#pragma once
#include "base/buf.h"
#include <stdbool.h>

void base64_add(struct buf *ret, const void *bytes, size_t length);
/* Appends the bytes; false, and maybe some of them, where the text is not base64. */
bool base64_read(struct buf *ret, const char *text, size_t length);
