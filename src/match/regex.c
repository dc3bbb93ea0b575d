/* SPDX-License-Identifier: MIT */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "match/regex.h"
#include <errno.h>
#include <pcre2.h>
#include <string.h>

enum { BACKTRACK_MAX = 10 * 1000 * 1000, DEPTH_MAX = 10 * 1000 };

static pcre2_match_context *bounds(void)
{
    pcre2_match_context *context = pcre2_match_context_create(NULL);
    if (context) {
        pcre2_set_match_limit(context, BACKTRACK_MAX);
        pcre2_set_depth_limit(context, DEPTH_MAX);
    }
    return context;
}

int regex_compile(const char *source, void **ret_code, struct err *err)
{
    int number = 0;
    size_t offset = 0;
    pcre2_code *code = pcre2_compile((PCRE2_SPTR)source, PCRE2_ZERO_TERMINATED,
                                     PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_NEVER_BACKSLASH_C,
                                     &number, &offset, NULL);
    if (!code) {
        char reason[160] = "";
        pcre2_get_error_message(number, (PCRE2_UCHAR *)reason, sizeof reason);
        return err_set(err, -EINVAL, "regular expression '%s': %s, at character %zu", source,
                       reason, offset + 1);
    }
    *ret_code = code;
    return 0;
}

bool regex_finds(const void *code, const char *bytes, size_t length)
{
    pcre2_match_data *data = pcre2_match_data_create(1, NULL);
    pcre2_match_context *context = bounds();
    int r = data ? pcre2_match(code, (PCRE2_SPTR)bytes, length, 0, 0, data, context) : -1;
    pcre2_match_context_free(context);
    pcre2_match_data_free(data);
    return r >= 0;
}

void regex_replace(const void *code, const char *bytes, size_t length, const char *text,
                   struct buf *ret)
{
    pcre2_match_context *context = bounds();
    size_t room = length + length / 2 + 256;
    for (;;) {
        buf_reserve(ret, room);
        size_t written = room;
        int r =
            pcre2_substitute(code, (PCRE2_SPTR)bytes, length, 0,
                             PCRE2_SUBSTITUTE_GLOBAL | PCRE2_SUBSTITUTE_UNSET_EMPTY |
                                 PCRE2_SUBSTITUTE_UNKNOWN_UNSET | PCRE2_SUBSTITUTE_OVERFLOW_LENGTH,
                             NULL, context, (PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED,
                             (PCRE2_UCHAR *)ret->data + ret->length, &written);
        if (r == PCRE2_ERROR_NOMEMORY && written > room) {
            room = written;
            continue;
        }
        if (r < 0)
            buf_add(ret, bytes, length); /* too hard to match: left as it is */
        else
            ret->length += written;
        ret->data[ret->length] = '\0';
        break;
    }
    pcre2_match_context_free(context);
}

void regex_free(void *code)
{
    pcre2_code_free(code);
}
