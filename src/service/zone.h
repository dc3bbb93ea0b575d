/* SPDX-License-Identifier: MIT */
/* zone: when a zone has which distance from UTC. Public face: include/vitro/zone.h.
 *
 * A zone is a table of changes and, behind the last of them, a rule that repeats every year. Times
 * are seconds since 1970; periods are half open. */
#pragma once
#include "base/err.h"
#include "vitro/zone.h"
#include <stdbool.h>

struct zone_kind {
    int32_t offset_s;
    bool is_dst;
    char abbreviation[16];
};

/* A day of the year, and a second of that day in local time, which may be of a neighbour. */
struct zone_change {
    enum { DAY_OF_YEAR, DAY_WITHOUT_LEAP, DAY_OF_WEEK } form;
    int day;         /* DAY_OF_YEAR from 0; DAY_WITHOUT_LEAP from 1, 29 February not counted */
    int month, week; /* week 5 is the last */
    int weekday;
    int32_t second;
};
struct zone_rule {
    bool has_dst;
    struct zone_kind standard, summer;
    struct zone_change to_summer, to_standard;
};
struct vitro_zone {
    char *name;  /* owned */
    int64_t *at; /* ascending; owned */
    uint8_t *kind_of;
    size_t count;
    struct zone_kind *kinds; /* owned; the first holds before the table */
    size_t kind_count;
    bool has_rule;
    struct zone_rule rule;
};

struct zone_period {
    int64_t from_s, until_s; /* INT64_MIN and INT64_MAX: without end */
    struct zone_kind kind;
};
struct zone_period zone_period_at(const vitro_zone *zone, int64_t at_s);
/* The same, with neighbours of the same distance taken together. */
struct zone_period zone_offset_at(const vitro_zone *zone, int64_t at_s);

/* "CET-1CEST,M3.5.0,M10.5.0/3" up to `length`; -EINVAL with the place. */
int zone_rule_parse(const char *text, size_t length, struct zone_rule *ret, struct err *err);
struct zone_period zone_rule_at(const struct zone_rule *rule, int64_t at_s);

/* Seconds of a local time, as if it were UTC; and back. */
int64_t zone_wall_s(const struct vitro_local *local);
void zone_wall_fields(int64_t wall_s, struct vitro_local *ret);
