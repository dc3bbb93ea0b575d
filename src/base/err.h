/* SPDX-License-Identifier: MIT */
/* err: a failure as a code and a sentence.
 *
 * A function that can fail returns 0 or more on success and -errno on failure, and takes a
 * `struct err *` last, which may be NULL. The text buffer is inside the struct: nothing is
 * allocated, so it works when memory is gone and between clone and exec.
 *
 * Texts are lower case, name the object in single quotes, say what was attempted before why it
 * failed, and carry no full stop. A second line that starts with "hint: " says what to do. */
#pragma once
#include "base/cleanup.h"
#include <stdarg.h>

struct err {
    int code; /* -errno, or 0 while nothing failed */
    char text[1024];
};

/* Sets the text and returns `code`, so that failing is one line. %m is errno's words. */
int err_set(struct err *err, int code, const char *format, ...) PRINTF_LIKE(3, 4);
int err_setv(struct err *err, int code, const char *format, va_list args) PRINTF_LIKE(3, 0);

/* For public functions whose handle is NULL: `what` ("box") was to be made by `maker`. -EINVAL. */
int err_no_handle(struct err *err, const char *what, const char *maker);

/* Puts "context: " before the text; returns the code already set. */
int err_wrap(struct err *err, const char *format, ...) PRINTF_LIKE(2, 3);

/* Appends a line "hint: ..." unless there is one; returns the code already set. */
int err_hint(struct err *err, const char *format, ...) PRINTF_LIKE(2, 3);
