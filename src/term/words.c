/* SPDX-License-Identifier: MIT */
#include "term/words.h"
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { SEQUENCE_MAX = 4096, ESC = 0x1b, SHIFT_OUT = 0x0e, SHIFT_IN = 0x0f };

struct words_cut { /* the text's byte `at` is the stream's byte `offset` */
    size_t at, offset;
};

struct sequence {
    size_t length; /* 0: its end has not come */
    bool unseen;   /* it shows nothing and moves nothing */
};

static bool is_between(char c, unsigned char first, unsigned char last)
{
    return (unsigned char)c >= first && (unsigned char)c <= last;
}

/* ESC [ ? NUMBERS h or l, where no number is one of a mode that moves the cursor or changes what
 * is shown: 132 columns, origin, the alternate screen and the saved cursor that comes with it. */
static bool is_unseen_mode(const char *numbers, size_t length)
{
    static const unsigned long moving[] = {3, 6, 47, 1047, 1048, 1049};
    const char *end = numbers + length;

    while (numbers < end) {
        unsigned long number = 0;
        for (; numbers < end && is_between(*numbers, '0', '9'); numbers++)
            number = number < 100000 ? number * 10 + (unsigned long)(*numbers - '0') : number;
        for (size_t i = 0; i < sizeof moving / sizeof *moving; i++)
            if (number == moving[i])
                return false;
        numbers++;
    }
    return true;
}

/* Behind ESC [. */
static struct sequence control(const char *bytes, size_t length)
{
    size_t at = 2;

    while (at < length && is_between(bytes[at], 0x20, 0x3f))
        at++;
    if (at == length)
        return (struct sequence){0};
    if (!is_between(bytes[at], 0x40, 0x7e)) /* no sequence */
        return (struct sequence){at, false};
    bool private = is_between(bytes[2], '<', '?'), unseen = strchr("mKncqtp", bytes[at]) != NULL;
    if (bytes[at] == 'h' || bytes[at] == 'l')
        unseen = bytes[2] != '?' || is_unseen_mode(bytes + 3, at - 3);
    if (bytes[at] == 'u')
        unseen = private; /* how keys are told; else the saved cursor */
    return (struct sequence){at + 1, unseen};
}

/* Behind ESC ], P, _, ^ or X: up to ST, or BEL, or the next escape. */
static struct sequence string(const char *bytes, size_t length)
{
    for (size_t at = 2; at < length; at++) {
        if (bytes[at] == '\a')
            return (struct sequence){at + 1, true};
        if (bytes[at] == ESC && at + 1 < length)
            return (struct sequence){bytes[at + 1] == '\\' ? at + 2 : at, true};
    }
    return (struct sequence){0};
}

static struct sequence sequence(const char *bytes, size_t length)
{
    size_t at = 1;

    if (bytes[0] != ESC)
        return (struct sequence){1, true};
    if (length < 2)
        return (struct sequence){0};
    if (bytes[1] == '[')
        return control(bytes, length);
    if (strchr("]P_^X", bytes[1]) && bytes[1])
        return string(bytes, length);
    while (at < length && is_between(bytes[at], 0x20, 0x2f))
        at++;
    if (at == length)
        return (struct sequence){0};
    if (at > 1) /* sets of characters; ESC # draws */
        return (struct sequence){at + 1, bytes[1] != '#'};
    return (struct sequence){2, bytes[1] == '=' || bytes[1] == '>'};
}

static size_t plain_length(const char *bytes, size_t length)
{
    size_t at = 0;

    while (at < length && bytes[at] != ESC && bytes[at] != SHIFT_OUT && bytes[at] != SHIFT_IN)
        at++;
    return at;
}

void words_feed(struct words *words, const struct buf *stream)
{
    while (words->fed < stream->length) {
        const char *bytes = stream->data + words->fed;
        size_t left = stream->length - words->fed, length = plain_length(bytes, left);
        struct sequence found = {length, false};
        if (!length)
            found = sequence(bytes, left);
        if (!found.length && left < SEQUENCE_MAX)
            return;
        if (!found.length)
            found.length = 1; /* too long to be one */
        words->fed += found.length;
        if (found.unseen) {
            struct words_cut cut = {words->text.length, words->fed};
            buf_add(&words->cuts, &cut, sizeof cut);
        } else {
            buf_add(&words->text, bytes, found.length);
        }
    }
}

/* How many cuts there are at or before a place of the text, or of the stream. */
static size_t cuts_up_to(const struct words *words, size_t place, bool in_stream)
{
    const struct words_cut *cuts = (const void *)words->cuts.data;
    size_t low = 0, high = words->cuts.length / sizeof *cuts;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if ((in_stream ? cuts[middle].offset : cuts[middle].at) <= place)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

size_t words_to_stream(const struct words *words, size_t at)
{
    const struct words_cut *cuts = (const void *)words->cuts.data;
    size_t before = cuts_up_to(words, at, false);

    return before ? cuts[before - 1].offset + (at - cuts[before - 1].at) : at;
}

size_t words_from_stream(const struct words *words, size_t offset)
{
    const struct words_cut *cuts = (const void *)words->cuts.data;
    size_t count = words->cuts.length / sizeof *cuts;
    size_t before = cuts_up_to(words, offset, true);
    size_t at = before ? cuts[before - 1].at + (offset - cuts[before - 1].offset) : offset;

    if (before < count && at > cuts[before].at) /* within what was cut out */
        at = cuts[before].at;
    return at < words->text.length ? at : words->text.length;
}

void words_done(struct words *words)
{
    buf_done(&words->text);
    buf_done(&words->cuts);
}
