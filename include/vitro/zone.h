/* SPDX-License-Identifier: MIT */
/* Time zones as values, from the system's zone files: no TZ, no tzset, nothing global.
 *
 *     vitro_zone *zone = vitro_zone_open("Europe/Berlin", &error);
 *     struct vitro_local local;
 *     vitro_zone_at(zone, vitro_clock_now(clock), &local);            17:30, CET
 *
 * NULL for a zone means UTC. A zone does not change: any number of threads may use it.
 * RESULTS: 0 or more is success, -errno a failure; words are in `error`, which may be NULL. */
#ifndef VITRO_ZONE_H
#define VITRO_ZONE_H

#include "vitro/clock.h"
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vitro_zone vitro_zone;

/* "Europe/Berlin", from /usr/share/zoneinfo and its like; "UTC" and "Z" need no file; "+05:30" is a
 * fixed distance east of Greenwich; "CET-1CEST,M3.5.0,M10.5.0/3" is a rule as POSIX writes it.
 * NULL with words: -ENOENT with the closest name, -EINVAL for what is no name, -EBADMSG for a file
 * that is damaged or counts leap seconds. */
VITRO_API vitro_zone *vitro_zone_open(const char *name, struct vitro_clock_error *error);
/* The bytes of a zone file (TZif, RFC 8536). `name` is for words. */
VITRO_API vitro_zone *vitro_zone_parse(const char *name, const void *bytes, size_t length,
                                       struct vitro_clock_error *error);
VITRO_API void vitro_zone_free(vitro_zone *zone);
VITRO_API const char *vitro_zone_name(const vitro_zone *zone);

struct vitro_local {
    int year, month, day;     /* month and day from 1 */
    int hour, minute, second; /* no leap seconds */
    int weekday;              /* 0 is Sunday */
    int offset_s;             /* east of Greenwich */
    int is_dst;
    char abbreviation[16];
};

/* What clocks on the wall show then. */
VITRO_API void vitro_zone_at(const vitro_zone *zone, int64_t now_ns, struct vitro_local *ret);
/* When they show it: date and time of `local` count, and all else is ignored. The number of
 * instants: 1; 2 where the hour comes twice, the first one first; 0 where it is left out: then
 * ret_ns[0] is the instant of the change. -EINVAL: no such date. -ERANGE: before 1678 or after
 * 2261. */
VITRO_API int vitro_zone_find(const vitro_zone *zone, const struct vitro_local *local,
                              int64_t ret_ns[2]);

#ifdef __cplusplus
}
#endif
#endif
