/* SPDX-License-Identifier: MIT */
#include "base/text.h"
#include <ctype.h>
#include <string.h>
#include <strings.h>

bool text_equal(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

bool text_starts(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

bool text_ends(const char *text, const char *suffix)
{
    size_t length = strlen(text), tail = strlen(suffix);

    return length >= tail && memcmp(text + length - tail, suffix, tail) == 0;
}

static size_t min3(size_t a, size_t b, size_t c)
{
    size_t least = a < b ? a : b;

    return least < c ? least : c;
}

size_t text_distance(const char *a, const char *b)
{
    enum { LENGTH_MAX = 64 };
    size_t rows[3][LENGTH_MAX + 1];
    size_t a_length = strlen(a), b_length = strlen(b);

    if (a_length > LENGTH_MAX || b_length > LENGTH_MAX)
        return a_length > b_length ? a_length : b_length;
    size_t *before = rows[0], *above = rows[1], *row = rows[2];
    for (size_t j = 0; j <= b_length; j++)
        above[j] = j;
    for (size_t i = 1; i <= a_length; i++) {
        row[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            size_t cost = a[i - 1] != b[j - 1];
            row[j] = min3(above[j] + 1, row[j - 1] + 1, above[j - 1] + cost);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                before[j - 2] + 1 < row[j])
                row[j] = before[j - 2] + 1;
        }
        size_t *spare = before;
        before = above;
        above = row;
        row = spare;
    }
    return above[b_length];
}

const char *text_closest(const char *word, const char *const *candidates, size_t count)
{
    const char *best = NULL;
    size_t best_distance = strlen(word) / 3 + 2; /* further away is another word */

    for (size_t i = 0; i < count; i++) {
        size_t distance = text_distance(word, candidates[i]);
        if (*word && text_starts(candidates[i], word))
            distance = 1;
        if (distance < best_distance) {
            best = candidates[i];
            best_distance = distance;
        }
    }
    return best;
}

/* The length of the UTF-8 sequence at `s`, 0 if it is none. */
static size_t utf8_length(const unsigned char *s, size_t left)
{
    if (s[0] < 0x80)
        return 1;
    if (s[0] < 0xc2 || s[0] > 0xf4)
        return 0;
    size_t length = s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
    if (left < length)
        return 0;
    for (size_t i = 1; i < length; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
        (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
        return 0;
    return length;
}

bool text_is_utf8(const void *bytes, size_t length)
{
    const unsigned char *s = bytes;

    while (length) {
        uint64_t word;
        if (length >= sizeof word) { /* eight ASCII bytes at a time */
            memcpy(&word, s, sizeof word);
            if (!(word & UINT64_C(0x8080808080808080))) {
                s += sizeof word;
                length -= sizeof word;
                continue;
            }
        }
        size_t step = utf8_length(s, length);
        if (!step)
            return false;
        s += step;
        length -= step;
    }
    return true;
}

void text_add_escaped(struct buf *buf, const void *bytes, size_t length)
{
    const unsigned char *s = bytes;

    while (length) {
        size_t step = utf8_length(s, length);
        if (step > 1 || (step == 1 && isprint(s[0]) && s[0] != '\\'))
            buf_add(buf, s, step);
        else if (s[0] == '\n')
            buf_adds(buf, "\\n");
        else if (s[0] == '\t')
            buf_adds(buf, "\\t");
        else if (s[0] == '\r')
            buf_adds(buf, "\\r");
        else if (s[0] == '\\')
            buf_adds(buf, "\\\\");
        else
            buf_addf(buf, "\\x%02x", s[0]);
        step = step ? step : 1;
        s += step;
        length -= step;
    }
}

void text_add_quoted(struct buf *buf, const char *argument)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "@%_-+=:,./";

    if (*argument && argument[strspn(argument, plain)] == '\0') {
        buf_adds(buf, argument);
        return;
    }
    buf_addc(buf, '\'');
    for (; *argument; argument++)
        if (*argument == '\'')
            buf_adds(buf, "'\\''");
        else
            buf_addc(buf, *argument);
    buf_addc(buf, '\'');
}

bool text_to_u64(const char *text, uint64_t *ret)
{
    uint64_t value = 0;

    if (!*text)
        return false;
    for (; *text; text++) {
        if (*text < '0' || *text > '9')
            return false;
        if (__builtin_mul_overflow(value, (uint64_t)10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*text - '0'), &value))
            return false;
    }
    *ret = value;
    return true;
}

bool text_to_size(const char *text, uint64_t *ret)
{
    static const char units[] = "kmgt";
    char digits[16] = "";
    size_t length = strspn(text, "0123456789");
    const char *unit = text + length;
    const char *found = *unit ? strchr(units, *unit | 0x20) : NULL;
    uint64_t number;

    if (!length || length >= sizeof digits)
        return false;
    memcpy(digits, text, length);
    if (!text_to_u64(digits, &number) || !number || number >= UINT64_C(1) << 40 ||
        (*unit && (!found || (unit[1] && strcasecmp(unit + 1, "ib") != 0))))
        return false;
    *ret = number << (found ? 10 * (found - units + 1) : 0);
    return true;
}

void text_add_tail(struct buf *ret, const char *title, const struct buf *output)
{
    enum { TAIL = 1500 };
    size_t from = output->length > TAIL ? output->length - TAIL : 0;

    if (!output->length)
        return;
    buf_addf(ret, "  %s:\n", title);
    for (const char *p = output->data + from, *end = output->data + output->length; p < end;) {
        const char *newline = memchr(p, '\n', (size_t)(end - p));
        const char *stop = newline ? newline : end;
        buf_adds(ret, "    ");
        text_add_escaped(ret, p, (size_t)(stop - p));
        buf_addc(ret, '\n');
        p = stop + 1;
    }
}
