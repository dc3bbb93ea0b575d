/* SPDX-License-Identifier: MIT */
#include "term/feed.h"
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBERS_MAX = 16, DIGITS_MAX = 4, REPEATS_MAX = 1000 };

static void pass(struct feed *feed, const char *bytes, size_t length)
{
    if (length)
        feed->sink(feed->user, bytes, length);
}

/* Remembers the last character of a run, for repeating it. */
static void remember(struct feed *feed, const char *bytes, size_t length)
{
    for (size_t i = length > 4 ? length - 4 : 0; i < length; i++) {
        unsigned char c = (unsigned char)bytes[i];
        if (c < 0x20 || c == 0x7f)
            continue;
        if (c < 0x80 || c >= 0xc0)
            feed->last_length = 0;
        if (feed->last_length < sizeof feed->last)
            feed->last[feed->last_length++] = (char)c;
    }
}

static void repeat(struct feed *feed)
{
    long count = strtol(feed->sequence, NULL, 10);

    count = count < 1 ? 1 : count > REPEATS_MAX ? REPEATS_MAX : count;
    for (long i = 0; feed->last_length && i < count; i++)
        pass(feed, feed->last, feed->last_length);
}

/* ESC [ SEQUENCE FINAL, within what libvterm can take. */
static void pass_control(struct feed *feed, char final)
{
    char out[FEED_SEQUENCE_MAX + 3];
    size_t used = 0, digits = 0, numbers = 1;
    bool plain = true;

    if (feed->length == FEED_SEQUENCE_MAX)
        return;
    out[used++] = '\033';
    out[used++] = '[';
    for (size_t i = 0; i < feed->length; i++) {
        char c = feed->sequence[i];
        bool digit = c >= '0' && c <= '9', between = c == ';' || c == ':';
        plain = plain && digit;
        digits = digit ? digits + 1 : 0;
        numbers += between;
        if ((digit && digits > DIGITS_MAX) || ((digit || between) && numbers > NUMBERS_MAX))
            continue;
        out[used++] = c;
    }
    feed->sequence[feed->length] = '\0';
    if (final == 'b' && plain) {
        repeat(feed);
        return;
    }
    out[used++] = final;
    pass(feed, out, used);
}

/* One byte behind ESC [. */
static void take_control(struct feed *feed, char byte)
{
    unsigned char c = (unsigned char)byte;

    if (c == 0x1b) {
        feed->state = FEED_ESCAPE;
    } else if (c == 0x18 || c == 0x1a || c >= 0x7f) {
        feed->state = FEED_GROUND; /* cancelled, or no sequence */
    } else if (c >= 0x40) {
        feed->state = FEED_GROUND;
        pass_control(feed, byte);
    } else if (c < 0x20) {
        pass(feed, &byte, 1); /* done at once, in the middle of it */
    } else if (feed->length < FEED_SEQUENCE_MAX - 1) {
        feed->sequence[feed->length++] = byte;
    } else {
        feed->length = FEED_SEQUENCE_MAX;
    }
}

static void take_escaped(struct feed *feed, char byte)
{
    const char both[2] = {'\033', byte};

    if (byte == '[') {
        feed->state = FEED_CONTROL;
        feed->length = 0;
        return;
    }
    if (byte == '\033')
        return;
    if (byte && strchr("]P_^X", byte)) {
        feed->state = FEED_STRING;
        feed->kind = byte;
        feed->text_length = 0;
        return;
    }
    feed->state = FEED_GROUND;
    pass(feed, both, 2);
}

static void end_string(struct feed *feed)
{
    feed->state = FEED_GROUND;
    feed->string(feed->user, feed->kind, feed->text, feed->text_length);
}

static void take_string(struct feed *feed, char byte)
{
    if (feed->state == FEED_STRING_ESCAPE) {
        feed->state = FEED_ESCAPE;
        if (byte == '\\')
            end_string(feed);
        else
            take_escaped(feed, byte); /* cut short by another sequence */
    } else if (byte == 0x07) {
        end_string(feed);
    } else if (byte == 0x1b) {
        feed->state = FEED_STRING_ESCAPE;
    } else if (byte == 0x18 || byte == 0x1a) {
        feed->state = FEED_GROUND;
    } else if (feed->text_length < FEED_STRING_MAX) {
        feed->text[feed->text_length++] = byte;
    }
}

void feed_bytes(struct feed *feed, const char *bytes, size_t length)
{
    const char *at = bytes, *end = bytes + length;

    while (at < end) {
        if (feed->state == FEED_CONTROL) {
            take_control(feed, *at++);
            continue;
        }
        if (feed->state == FEED_ESCAPE) {
            take_escaped(feed, *at++);
            continue;
        }
        if (feed->state != FEED_GROUND) {
            take_string(feed, *at++);
            continue;
        }
        const char *escape = memchr(at, 0x1b, (size_t)(end - at));
        const char *stop = escape ? escape : end;
        remember(feed, at, (size_t)(stop - at));
        pass(feed, at, (size_t)(stop - at));
        at = stop;
        if (escape) {
            feed->state = FEED_ESCAPE;
            at++;
        }
    }
}
