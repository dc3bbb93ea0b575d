/* SPDX-License-Identifier: MIT */
/* random: a uuid from sixteen bytes, whoever drew them. */
#pragma once
#include <stdio.h>

static inline void random_uuid_text(const unsigned char bytes[16], char ret[37])
{
    size_t at = 0;

    for (int i = 0; i < 16; i++) {
        unsigned byte = bytes[i];
        if (i == 6)
            byte = (byte & 0x0f) | 0x40; /* version 4 */
        if (i == 8)
            byte = (byte & 0x3f) | 0x80;
        if (i == 4 || i == 6 || i == 8 || i == 10)
            ret[at++] = '-';
        (void)snprintf(ret + at, 3, "%02x", byte);
        at += 2;
    }
}
