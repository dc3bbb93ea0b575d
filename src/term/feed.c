/* SPDX-License-Identifier: MIT */
#include "term/feed.h"
#include "term/term_internal.h"
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBERS_MAX = 16, DIGITS_MAX = 4, REPEATS_MAX = 1000, BETWEEN_MAX = 2 };

static void pass(struct feed *feed, const char *bytes, size_t length)
{
    if (length)
        feed->sink(feed->user, bytes, length);
}

static bool is_ascii(const char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)bytes[i] >= 0x80)
            return false;
    return true;
}

/* C1 controls as UTF-8 are 0xc2 0x80 to 0xc2 0x9f. */
static void drop_c1(struct buf *text)
{
    size_t to = 0;

    for (size_t i = 0; i < text->length; i++) {
        unsigned char c = (unsigned char)text->data[i];
        unsigned char next = i + 1 < text->length ? (unsigned char)text->data[i + 1] : 0;
        if (c == 0xc2 && next >= 0x80 && next < 0xa0)
            i++;
        else
            text->data[to++] = (char)c;
    }
    text->length = to;
}

/* Marks combine in one way within a piece and in another across two: each character is a piece. */
static void pass_characters(struct feed *feed, const char *text, size_t length)
{
    for (size_t at = 0, end; at < length; at = end) {
        end = at + 1;
        if ((unsigned char)text[at] < 0x80)
            while (end < length && (unsigned char)text[end] < 0x80)
                end++;
        else
            while (end < length && ((unsigned char)text[end] & 0xc0) == 0x80)
                end++;
        pass(feed, text + at, end - at);
    }
}

/* Text between sequences. `more`: a character may go on in the next piece. */
static void pass_text(struct feed *feed, const char *bytes, size_t length, bool more)
{
    struct buf whole = {0};

    if (!feed->held_length && is_ascii(bytes, length)) {
        pass(feed, bytes, length);
        return;
    }
    buf_add(&whole, feed->held, feed->held_length);
    buf_add(&whole, bytes, length);
    size_t tail = more ? utf8_cut_tail(whole.data, whole.length) : 0;
    buf_clear(&feed->clean);
    utf8_add_clean(&feed->clean, whole.data, whole.length - tail);
    memcpy(feed->held, whole.data + whole.length - tail, tail);
    feed->held_length = tail;
    buf_done(&whole);
    drop_c1(&feed->clean);
    pass_characters(feed, buf_text(&feed->clean), feed->clean.length);
}

void feed_done(struct feed *feed)
{
    buf_done(&feed->clean);
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
        pass_text(feed, feed->last, feed->last_length, false);
}

/* Attributes, in numbers that libvterm knows. */
static void pass_attributes(struct feed *feed, const char *numbers, size_t length)
{
    char out[FEED_SEQUENCE_MAX + PEN_ROOM];

    pass(feed, out, pen_sgr(&feed->pen, numbers, length, out));
}

/* Modes that are set or reset, each by itself. */
static void pass_modes(struct feed *feed, const char *sequence, size_t length, char final)
{
    const char *end = sequence + length, *at = sequence;
    const bool private = length && *at == '?';

    for (at += private;; at++) {
        char one[DIGITS_MAX + 8] = "\033[";
        size_t used = strlen(one), digits = strspn(at, "0123456789");
        if (private)
            one[used++] = '?';
        memcpy(one + used, at, digits);
        one[used + digits] = final;
        pass(feed, one, used + digits + 1);
        at += digits;
        if (at == end)
            return;
    }
}

static bool is_mode_list(const char *sequence, size_t length, char final)
{
    const char *numbers = sequence + (length && *sequence == '?');

    return (final == 'h' || final == 'l') && strchr(numbers, ';') &&
           strspn(numbers, "0123456789;") == strlen(numbers);
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
    if (final == 'b') { /* with more than one number it is nothing */
        if (plain)
            repeat(feed);
        return;
    }
    if (final == 'm' && strspn(feed->sequence, "0123456789;:") == feed->length) {
        out[used] = '\0';
        pass_attributes(feed, out + 2, used - 2);
        return;
    }
    if (feed->control(feed->user, feed->sequence, final))
        return;
    pen_control(&feed->pen, feed->sequence, final);
    if (!feed->length && (final == 's' || final == 'u')) { /* which libvterm knows as ESC 7 and 8 */
        pass(feed, final == 's' ? "\0337" : "\0338", 2);
        return;
    }
    out[used] = '\0';
    if (is_mode_list(out + 2, used - 2, final)) {
        pass_modes(feed, out + 2, used - 2, final);
        return;
    }
    out[used++] = final;
    pass(feed, out, used);
    if (final == 'p' && strcmp(feed->sequence, "!") == 0)
        pass(feed, "\033[m", 3); /* a soft reset is one of the pen, too */
}

/* One byte behind ESC [. */
static void take_control(struct feed *feed, char byte)
{
    unsigned char c = (unsigned char)byte;

    if (c == 0x1b) {
        feed->state = FEED_ESCAPE;
        feed->length = 0;
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

/* ESC with bytes between it and its end, as of a set of characters: ESC ( 0. To libvterm a bracket
 * or the beginning of a string there is one, to nobody else. */
static void pass_escape(struct feed *feed, char final)
{
    char whole[BETWEEN_MAX + 2] = "\033";

    if (feed->length > BETWEEN_MAX || (feed->length && strchr("[]P_^X", final)))
        return;
    memcpy(whole + 1, feed->sequence, feed->length);
    whole[1 + feed->length] = final;
    if (!feed->length)
        pen_escape(&feed->pen, final);
    if (!feed->length && final == 'Z') /* the old way to ask what it is */
        pass(feed, "\033[c", 3);
    else
        pass(feed, whole, feed->length + 2);
}

/* One byte behind ESC. */
static void take_escaped(struct feed *feed, char byte)
{
    unsigned char c = (unsigned char)byte;

    if (c == 0x1b) {
        feed->length = 0;
    } else if (c == 0x18 || c == 0x1a) {
        feed->state = FEED_GROUND; /* cancelled */
    } else if (c < 0x20) {
        pass(feed, &byte, 1); /* done at once, in the middle of it */
    } else if (c < 0x30) {
        if (feed->length <= BETWEEN_MAX)
            feed->sequence[feed->length++] = byte;
    } else if (c >= 0x7f) {
        feed->state = FEED_GROUND; /* no sequence */
        pass_text(feed, &byte, 1, true);
    } else if (byte == '[' && !feed->length) {
        feed->state = FEED_CONTROL;
    } else if (strchr("]P_^X", byte) && !feed->length) {
        feed->state = FEED_STRING;
        feed->kind = byte;
        feed->text_length = 0;
    } else {
        feed->state = FEED_GROUND;
        pass_escape(feed, byte);
    }
}

static void end_string(struct feed *feed)
{
    feed->state = FEED_GROUND;
    feed->text[feed->text_length] = '\0';
    feed->string(feed->user, feed->kind, feed->text, feed->text_length);
}

static void take_string(struct feed *feed, char byte)
{
    if (feed->state == FEED_STRING_ESCAPE) {
        feed->state = FEED_ESCAPE;
        feed->length = 0;
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
        pass_text(feed, at, (size_t)(stop - at), !escape);
        at = stop;
        if (escape) {
            feed->state = FEED_ESCAPE;
            feed->length = 0;
            at++;
        }
    }
}
