/* SPDX-License-Identifier: MIT */
/* answer: what a terminal says when a program asks what it is and how it is set up, as far as
 * libvterm 0.1 does not say it: version, units, size, colours, modes, capabilities. A question that
 * only some terminals know is left without an answer, as most of them do. */
#pragma once
#include "base/buf.h"
#include <stdbool.h>
#include <stddef.h>

struct answer_facts {
    unsigned rows, cols;
    bool alternate;
    /* 0-255 of the palette. */
    void (*colour)(const void *user, unsigned index, unsigned char ret_rgb[static 3]);
    const void *user;
};

/* ESC [ SEQUENCE FINAL. True if it is a question of this kind; the answer is added. */
bool answer_control(struct buf *ret, const struct answer_facts *facts, const char *sequence,
                    char final);
/* A string (feed.h): colours (OSC 4, 10, 11, 12), capabilities (XTGETTCAP), settings that are none
 * (DECRQSS). `text` has a NUL behind it. */
bool answer_string(struct buf *ret, const struct answer_facts *facts, char kind, const char *text,
                   size_t length);
