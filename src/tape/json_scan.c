/* SPDX-License-Identifier: MIT */
#include "tape/json_scan.h"
#include "base/text.h"
#include <string.h>

void json_scan_begin(struct json_scan *scan, const char *text, size_t length)
{
    *scan =
        (struct json_scan){.next = text, .end = text + length, .start = text, .canonical = true};
}

bool json_scan_fail(struct json_scan *scan, const char *problem)
{
    if (!scan->problem)
        scan->problem = problem;
    return false;
}

size_t json_scan_column(const struct json_scan *scan)
{
    return (size_t)(scan->next - scan->start) + 1;
}

void json_scan_space(struct json_scan *scan)
{
    while (scan->next < scan->end && (*scan->next == ' ' || *scan->next == '\t' ||
                                      *scan->next == '\r' || *scan->next == '\n')) {
        scan->next++;
        scan->canonical = false;
    }
}

bool json_scan_take(struct json_scan *scan, char c, const char *problem)
{
    if (scan->next < scan->end && *scan->next == c) {
        scan->next++;
        return true;
    }
    return json_scan_fail(scan, scan->next < scan->end ? problem : "the line ends too early");
}

/* The first byte at or behind `p` that a string treats specially: quote, backslash, control or not
 * ASCII. Eight bytes at a time; the carries of the zero-byte trick can only mark a byte too many
 * above a marked one, and only the lowest mark is used. */
static const char *string_special(const char *p, const char *end)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), high = ones * 0x80;

    while (end - p >= 8) {
        uint64_t word;
        memcpy(&word, p, sizeof word);
        uint64_t quote = word ^ ones * '"', slash = word ^ ones * '\\';
        uint64_t marks = ((quote - ones) & ~quote) | ((slash - ones) & ~slash) |
                         ((word - ones * 0x20) & ~word) | word;
        marks &= high;
        if (marks)
            return p + __builtin_ctzll(marks) / 8;
        p += 8;
    }
    while (p < end && (unsigned char)*p >= 0x20 && (unsigned char)*p < 0x80 && *p != '"' &&
           *p != '\\')
        p++;
    return p;
}

static bool is_hex4(const char *p, const char *end, unsigned *ret)
{
    unsigned value = 0;

    if (end - p < 4)
        return false;
    for (int i = 0; i < 4; i++) {
        char c = p[i];
        if (c >= '0' && c <= '9')
            value = value << 4 | (unsigned)(c - '0');
        else if ((c | 32) >= 'a' && (c | 32) <= 'f')
            value = value << 4 | (unsigned)((c | 32) - 'a' + 10);
        else
            return false;
    }
    *ret = value;
    return true;
}

static bool scan_unicode(struct json_scan *scan)
{
    unsigned unit, low;

    if (!is_hex4(scan->next, scan->end, &unit))
        return json_scan_fail(scan, "\\u needs four hex digits");
    scan->next += 4;
    /* Canonical text uses \u for control characters that have no letter, in lower case. */
    if (unit >= 0x20 || (unit >= 8 && unit <= 13 && unit != 11) ||
        (scan->next[-1] >= 'A' && scan->next[-1] <= 'F'))
        scan->canonical = false;
    if (unit >= 0xdc00 && unit <= 0xdfff)
        return json_scan_fail(scan, "half a surrogate pair");
    if (unit < 0xd800 || unit > 0xdbff)
        return true;
    if (scan->end - scan->next < 6 || scan->next[0] != '\\' || scan->next[1] != 'u' ||
        !is_hex4(scan->next + 2, scan->end, &low) || low < 0xdc00 || low > 0xdfff)
        return json_scan_fail(scan, "half a surrogate pair");
    scan->next += 6;
    return true;
}

static bool scan_escape(struct json_scan *scan)
{
    if (++scan->next >= scan->end)
        return json_scan_fail(scan, "the line ends inside a string");
    switch (*scan->next++) {
    case '"':
    case '\\':
    case 'b':
    case 'f':
    case 'n':
    case 'r':
    case 't':
        return true;
    case '/':
        scan->canonical = false;
        return true;
    case 'u':
        return scan_unicode(scan);
    default:
        scan->next--;
        return json_scan_fail(scan, "an escape that JSON does not know");
    }
}

/* Steps over a run of bytes above 0x7f; they are checked together. */
static bool scan_utf8(struct json_scan *scan)
{
    const char *start = scan->next;

    while (scan->next < scan->end && (unsigned char)*scan->next >= 0x80)
        scan->next++;
    if (text_is_utf8(start, (size_t)(scan->next - start)))
        return true;
    scan->next = start;
    return json_scan_fail(scan, "bytes that are not UTF-8");
}

bool json_scan_string(struct json_scan *scan, struct span *ret)
{
    if (!json_scan_take(scan, '"', "a string is expected"))
        return false;
    const char *start = scan->next;
    for (;;) {
        scan->next = string_special(scan->next, scan->end);
        if (scan->next == scan->end)
            return json_scan_fail(scan, "the line ends inside a string");
        unsigned char c = (unsigned char)*scan->next;
        if (c == '"')
            break;
        if (c < 0x20)
            return json_scan_fail(scan, "a control character inside a string");
        if (!(c == '\\' ? scan_escape(scan) : scan_utf8(scan)))
            return false;
    }
    *ret = (struct span){start, (size_t)(scan->next - start)};
    scan->next++;
    return true;
}

static size_t scan_digits(struct json_scan *scan)
{
    const char *start = scan->next;

    while (scan->next < scan->end && *scan->next >= '0' && *scan->next <= '9')
        scan->next++;
    return (size_t)(scan->next - start);
}

static bool scan_number(struct json_scan *scan)
{
    const char *start = scan->next;

    if (*scan->next == '-')
        scan->next++;
    const char *first = scan->next;
    size_t digits = scan_digits(scan);
    if (!digits || (*first == '0' && digits > 1))
        return json_scan_fail(scan, "not a number as JSON writes them");
    if (digits > 19 || (digits == 19 && memcmp(first, "9223372036854775807", 19) > 0) ||
        (*first == '0' && first > start))
        scan->canonical = false; /* does not fit, or is -0 */
    if (scan->next < scan->end && *scan->next == '.') {
        scan->canonical = false;
        scan->next++;
        if (!scan_digits(scan))
            return json_scan_fail(scan, "a number needs digits behind its point");
    }
    if (scan->next < scan->end && (*scan->next | 32) == 'e') {
        scan->canonical = false;
        scan->next++;
        if (scan->next < scan->end && (*scan->next == '+' || *scan->next == '-'))
            scan->next++;
        if (!scan_digits(scan))
            return json_scan_fail(scan, "a number needs digits in its exponent");
    }
    return true;
}

static bool scan_word(struct json_scan *scan, const char *word)
{
    size_t length = strlen(word);

    if ((size_t)(scan->end - scan->next) < length || memcmp(scan->next, word, length) != 0)
        return json_scan_fail(scan, "not a JSON value");
    scan->next += length;
    return true;
}

static bool key_is_behind(struct span key, struct span before)
{
    size_t length = key.length < before.length ? key.length : before.length;
    int order = length ? memcmp(before.text, key.text, length) : 0;

    return order < 0 || (order == 0 && before.length < key.length);
}

bool json_members_begin(struct json_scan *scan, struct json_members *members)
{
    *members = (struct json_members){.first = true};
    if (!json_scan_take(scan, '{', "an object is expected"))
        return false;
    if (++scan->depth > JSON_SCAN_DEPTH_MAX)
        return json_scan_fail(scan, "nested too deeply (more than 64 levels)");
    return true;
}

bool json_members_next(struct json_scan *scan, struct json_members *members)
{
    struct span before = members->key;

    json_scan_space(scan);
    if (scan->next < scan->end && *scan->next == '}') {
        scan->next++;
        scan->depth--;
        return false;
    }
    if (!members->first && !json_scan_take(scan, ',', "',' or '}' is expected"))
        return false;
    json_scan_space(scan);
    if (!json_scan_string(scan, &members->key))
        return false;
    if (!members->first && !key_is_behind(members->key, before))
        scan->canonical = false;
    members->first = false;
    json_scan_space(scan);
    if (!json_scan_take(scan, ':', "':' is expected"))
        return false;
    json_scan_space(scan);
    return true;
}

static bool scan_object(struct json_scan *scan)
{
    struct json_members members;
    struct span value;

    if (!json_members_begin(scan, &members))
        return false;
    while (json_members_next(scan, &members))
        if (!json_scan_value(scan, &value))
            return false;
    return !scan->problem;
}

static bool scan_array(struct json_scan *scan)
{
    struct span value;

    scan->next++;
    if (++scan->depth > JSON_SCAN_DEPTH_MAX)
        return json_scan_fail(scan, "nested too deeply (more than 64 levels)");
    json_scan_space(scan);
    for (bool first = true; scan->next >= scan->end || *scan->next != ']'; first = false) {
        if (!first && !json_scan_take(scan, ',', "',' or ']' is expected"))
            return false;
        json_scan_space(scan);
        if (!json_scan_value(scan, &value))
            return false;
        json_scan_space(scan);
    }
    scan->next++;
    scan->depth--;
    return true;
}

bool json_scan_value(struct json_scan *scan, struct span *ret)
{
    const char *start = scan->next;
    struct span inside;
    bool ok;

    if (scan->next >= scan->end)
        return json_scan_fail(scan, "the line ends too early");
    switch (*start) {
    case '{':
        ok = scan_object(scan);
        break;
    case '[':
        ok = scan_array(scan);
        break;
    case '"':
        ok = json_scan_string(scan, &inside);
        break;
    case 't':
        ok = scan_word(scan, "true");
        break;
    case 'f':
        ok = scan_word(scan, "false");
        break;
    case 'n':
        ok = scan_word(scan, "null");
        break;
    default:
        ok = (*start == '-' || (*start >= '0' && *start <= '9')) ? scan_number(scan)
                                                                 : scan_word(scan, "true");
        break;
    }
    if (ok)
        *ret = (struct span){start, (size_t)(scan->next - start)};
    return ok;
}

bool json_scan_whole(struct json_scan *scan, const char *text, size_t length)
{
    struct span value;

    json_scan_begin(scan, text, length);
    json_scan_space(scan);
    if (!json_scan_value(scan, &value))
        return false;
    json_scan_space(scan);
    return scan->next == scan->end || json_scan_fail(scan, "more text behind the value");
}

bool span_is(struct span span, const char *text)
{
    return strlen(text) == span.length && memcmp(span.text, text, span.length) == 0;
}

bool span_to_i64(struct span span, int64_t *ret)
{
    size_t i = 0;
    int64_t value = 0;
    bool negative = span.length && span.text[0] == '-';

    if (negative)
        i++;
    if (i == span.length || span.length - i > 19)
        return false;
    for (; i < span.length; i++) {
        int digit = span.text[i] - '0';
        if (digit < 0 || digit > 9 || __builtin_mul_overflow(value, (int64_t)10, &value) ||
            __builtin_add_overflow(value, (int64_t)digit, &value))
            return false;
    }
    *ret = negative ? -value : value;
    return true;
}
