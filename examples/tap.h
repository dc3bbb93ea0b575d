/* SPDX-License-Identifier: MIT */
/* Enough TAP for an example to check itself. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

static int tap_count, tap_failed;

static inline void tap(bool ok, const char *sentence)
{
    tap_failed += !ok;
    printf("%s %d - %s\n", ok ? "ok" : "not ok", ++tap_count, sentence);
}

static inline int tap_end(void)
{
    printf("1..%d\n", tap_count);
    return tap_failed != 0;
}

/* A report, as comments. */
static inline __attribute__((unused)) void tap_note(const char *text)
{
    for (bool start = true; *text; start = *text++ == '\n') {
        if (start)
            (void)fputs("# ", stdout);
        (void)fputc(*text, stdout);
    }
}
