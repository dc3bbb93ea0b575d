/* SPDX-License-Identifier: MIT */
/* when: points in time and durations as people write them. Points are nanoseconds since
 * 1970-01-01T00:00:00Z, durations are nanoseconds; both 64 bits. UTC always, no locale. */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include <stdint.h>

#define NS_PER_US  UINT64_C(1000)
#define NS_PER_MS  UINT64_C(1000000)
#define NS_PER_SEC UINT64_C(1000000000)

/* "2026-01-01T00:00:00Z", with a fraction or an offset, "2026-01-01" (midnight),
 * "@1767225600.5" (seconds), or "1767225600000" (milliseconds, eleven digits and more).
 * From 1970 to 2262. -EINVAL with a text that shows the forms. */
int when_parse(const char *text, int64_t *ret_ns, struct err *err);
/* "90s", "1h30m", "1.5ms", "7d", "250us", "10ns", "2w"; a bare number is refused. */
int when_parse_duration(const char *text, uint64_t *ret_ns, struct err *err);

void when_add(struct buf *buf, int64_t ns);           /* 2026-01-01T00:00:00Z, fraction if any */
void when_add_duration(struct buf *buf, uint64_t ns); /* "1 d 02:00:00", "00:00:03.250" */

/* Dates of the proleptic Gregorian calendar, years from 0, as days since 1970-01-01. */
int64_t when_days_from_date(int64_t year, unsigned month, unsigned day);
void when_date_from_days(int64_t days, int64_t *year, unsigned *month, unsigned *day);
unsigned when_days_in_month(int64_t year, unsigned month);
