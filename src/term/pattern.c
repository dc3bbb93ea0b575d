/* SPDX-License-Identifier: MIT */
/* pattern: what is looked for in a stream that grows. Each byte is looked at a bounded number of
 * times, however the bytes come: literals resume where they left off, expressions resume where a
 * partial match began, and are tried again only when the rest has grown by a share of it.
 *
 * match/regex.h answers whether a whole text fits; a stream needs places, groups and partial
 * matches, so this has PCRE2 for itself. Lines end with CR, LF or both: terminals write CR LF. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "term/term_internal.h"
#include <errno.h>
#include <pcre2.h>
#include <string.h>

enum { BACKTRACK_MAX = 50 * 1000 * 1000, AGAIN_BYTES_MIN = 64 << 10 };

struct pattern {
    char *text; /* owned; of a literal */
    size_t length;
    pcre2_code *code; /* owned; NULL for a literal */
    pcre2_match_data *data;
    pcre2_match_context *context;
    size_t tried; /* length of the stream when it was last tried */
};

int pattern_new(const char *text, size_t length, bool regex, struct pattern **ret, struct err *err)
{
    CLEANUP(pattern_free) struct pattern *pattern = mem_alloc(sizeof *pattern);
    int number;
    size_t offset;

    pattern->text = mem_dupn(text, length);
    pattern->length = length;
    if (!length)
        return err_set(err, -EINVAL, "what is expected is empty: it would always be there");
    if (!regex) {
        *ret = take_ptr(&pattern);
        return 0;
    }
    pcre2_compile_context *context = pcre2_compile_context_create(NULL);
    (void)pcre2_set_newline(context, PCRE2_NEWLINE_ANYCRLF);
    pattern->code = pcre2_compile((PCRE2_SPTR)text, length,
                                  PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_MULTILINE |
                                      PCRE2_NEVER_BACKSLASH_C,
                                  &number, &offset, context);
    pcre2_compile_context_free(context);
    if (!pattern->code) {
        char reason[160] = "";
        (void)pcre2_get_error_message(number, (PCRE2_UCHAR *)reason, sizeof reason);
        return err_set(err, -EINVAL, "expression '%.200s': %s, at character %zu", text, reason,
                       offset + 1);
    }
    (void)pcre2_jit_compile(pattern->code, PCRE2_JIT_COMPLETE | PCRE2_JIT_PARTIAL_HARD);
    pattern->data = pcre2_match_data_create_from_pattern(pattern->code, NULL);
    pattern->context = pcre2_match_context_create(NULL);
    (void)pcre2_set_match_limit(pattern->context, BACKTRACK_MAX);
    *ret = take_ptr(&pattern);
    return 0;
}

struct pattern *pattern_free(struct pattern *pattern)
{
    if (!pattern)
        return NULL;
    pcre2_match_data_free(pattern->data);
    pcre2_match_context_free(pattern->context);
    pcre2_code_free(pattern->code);
    free(pattern->text);
    free(pattern);
    return NULL;
}

static int find_literal(const struct pattern *pattern, const char *bytes, size_t length,
                        size_t *from, struct pattern_match *ret)
{
    const char *at = *from < length
                         ? memmem(bytes + *from, length - *from, pattern->text, pattern->length)
                         : NULL;

    if (at) {
        size_t start = (size_t)(at - bytes);
        *ret = (struct pattern_match){
            start, start + pattern->length, 1, {start}, {start + pattern->length}};
        return 1;
    }
    if (length >= pattern->length && length - pattern->length + 1 > *from)
        *from = length - pattern->length + 1;
    return 0;
}

/* Whether trying again is worth it: at the end always, else when enough came. */
static bool worth_it(const struct pattern *pattern, size_t length, size_t from, bool more)
{
    size_t span = length - from, fresh = length - pattern->tried;

    return !more || !pattern->tried || fresh >= AGAIN_BYTES_MIN || fresh >= span / 4;
}

int pattern_find(struct pattern *pattern, const char *bytes, size_t length, size_t *from, bool more,
                 struct pattern_match *ret, struct err *err)
{
    if (!pattern->code)
        return find_literal(pattern, bytes, length, from, ret);
    if (*from > length || !worth_it(pattern, length, *from, more))
        return 0;
    pattern->tried = length;
    int r = pcre2_match(pattern->code, (PCRE2_SPTR)(bytes ? bytes : ""), length, *from,
                        more ? PCRE2_PARTIAL_HARD : 0, pattern->data, pattern->context);
    const size_t *places = pcre2_get_ovector_pointer(pattern->data);
    if (r == PCRE2_ERROR_PARTIAL) {
        /* What it saw before its start (lookbehind, \b) stays in the stream. */
        *from = places[0];
        return 0;
    }
    if (r == PCRE2_ERROR_NOMATCH) {
        if (more)
            *from = length;
        return 0;
    }
    if (r < 0)
        return err_set(err, -EINVAL, "expression '%.200s' takes too long to match", pattern->text);
    *ret = (struct pattern_match){.start = places[0], .end = places[1]};
    uint32_t groups = pcre2_get_ovector_count(pattern->data);
    for (unsigned i = 0; i < groups && i < 10; i++, ret->groups++) {
        ret->group_start[i] = places[2 * i];
        ret->group_end[i] = places[2 * i + 1];
    }
    return 1;
}
