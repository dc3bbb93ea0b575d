/* SPDX-License-Identifier: MIT */
/* What secrets.c (bytes) and secrets_json.c (payloads) share. */
#pragma once
#include "tape/secrets.h"
#include <stdint.h>

struct secrets {
    char *key;
    char **fields; /* owned */
    struct secret_literal {
        char *text;       /* owned */
        const char *rule; /* "value", or "name" for that of a variable */
        size_t length;
    } * literals;
    size_t field_count, literal_count;
    bool always_look;
    unsigned char pairs[65536 / 8]; /* one bit for each pair of bytes a secret can start with */
    uint32_t thirds[32];            /* [first & 31]: one bit for each third byte & 31 it can have */
};

bool secrets_maybe(const struct secrets *secrets, const char *text, size_t length);
void secrets_add_placeholder(const struct secrets *secrets, const char *rule, const char *value,
                             size_t length, struct buf *ret);
bool secrets_is_placeholder(const char *text, size_t length);
/* The first rule that finds something; with `ret`, appends the whole text with all of it hidden. */
const char *secrets_scan(const struct secrets *secrets, const char *bytes, size_t length,
                         struct buf *ret);
