/* SPDX-License-Identifier: MIT */
/* feed: between what a program writes and libvterm. libvterm 0.1.4 has more than 16 numbers in a
 * control sequence overwrite its memory, repeats for as long as a number says, and for ever when
 * there is nothing to repeat. So control sequences are taken apart here: at most 16 numbers of at
 * most four digits go on (no screen is larger), and "repeat the last character" is made of
 * characters. It also reads behind the end of strings (titles and the like) that come in parts:
 * strings are put together here, and handed over whole. Text goes on as whole UTF-8: what is none
 * becomes U+FFFD, however it was cut, and C1 controls, which have no width, are left out. Of a list
 * of modes libvterm sees the first: each goes on by itself. Everything else passes as it is. */
#pragma once
#include "base/buf.h"
#include "term/pen.h"
#include <stdbool.h>
#include <stddef.h>

enum { FEED_SEQUENCE_MAX = 256, FEED_STRING_MAX = 4096 };

struct feed {
    void (*sink)(void *user, const char *bytes, size_t length);
    /* A whole string: OSC (']'), DCS ('P'), APC ('_'), PM ('^') or SOS ('X'). */
    void (*string)(void *user, char kind, const char *text, size_t length);
    /* ESC [ SEQUENCE FINAL; true: it is dealt with, and does not go on. */
    bool (*control)(void *user, const char *sequence, char final);
    void *user;
    enum { FEED_GROUND, FEED_ESCAPE, FEED_CONTROL, FEED_STRING, FEED_STRING_ESCAPE } state;
    char sequence[FEED_SEQUENCE_MAX]; /* behind ESC [, or between ESC and its end */
    size_t length;                    /* of it; FEED_SEQUENCE_MAX when it is too long to be one */
    char kind;                        /* of the string */
    char text[FEED_STRING_MAX + 1];   /* what is longer is cut */
    size_t text_length;
    char held[4]; /* the beginning of a character whose rest has not come */
    size_t held_length;
    struct buf clean; /* scratch */
    char last[4];     /* the last character shown, or the beginning of one */
    size_t last_length;
    struct pen pen; /* what libvterm does not know of it */
};

void feed_done(struct feed *feed);
void feed_bytes(struct feed *feed, const char *bytes, size_t length);
