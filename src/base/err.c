/* SPDX-License-Identifier: MIT */
#include "base/err.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

int err_setv(struct err *err, int code, const char *format, va_list args)
{
    if (!err)
        return code;
    err->code = code;
    (void)vsnprintf(err->text, sizeof err->text, format, args);
    return code;
}

int err_set(struct err *err, int code, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    err_setv(err, code, format, args);
    va_end(args);
    return code;
}

int err_wrap(struct err *err, const char *format, ...)
{
    char inner[sizeof err->text];
    va_list args;

    if (!err)
        return -EIO;
    memcpy(inner, err->text, sizeof inner);
    va_start(args, format);
    int length = vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    if (length < 0)
        length = 0;
    if ((size_t)length < sizeof err->text)
        (void)snprintf(err->text + length, sizeof err->text - (size_t)length, ": %s", inner);
    return err->code;
}

int err_hint(struct err *err, const char *format, ...)
{
    va_list args;

    if (!err)
        return -EIO;
    if (strstr(err->text, "\nhint: "))
        return err->code;
    size_t length = strlen(err->text);
    int added = snprintf(err->text + length, sizeof err->text - length, "\nhint: ");
    if (added > 0 && length + (size_t)added < sizeof err->text) {
        length += (size_t)added;
        va_start(args, format);
        (void)vsnprintf(err->text + length, sizeof err->text - length, format, args);
        va_end(args);
    }
    return err->code;
}

int err_no_handle(struct err *err, const char *what, const char *maker)
{
    err_set(err, -EINVAL, "there is no %s: NULL was given", what);
    (void)err_hint(err, "%s returned it, and its error says why", maker);
    return -EINVAL;
}
