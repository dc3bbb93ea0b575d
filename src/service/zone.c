/* SPDX-License-Identifier: MIT */
/* Asking a zone: the table first, the rule behind its last change. */
#include "service/zone.h"
#include "base/when.h"
#include <errno.h>
#include <string.h>

static const struct zone_kind utc = {.abbreviation = "UTC"};

struct zone_period zone_period_at(const vitro_zone *zone, int64_t at_s)
{
    struct zone_period period = {INT64_MIN, INT64_MAX, utc};
    size_t low = 0, high = zone ? zone->count : 0;

    if (!zone)
        return period;
    while (low < high) { /* the number of changes that have happened */
        size_t middle = low + (high - low) / 2;
        *(zone->at[middle] <= at_s ? &low : &high) = zone->at[middle] <= at_s ? middle + 1 : middle;
    }
    if (low == zone->count && zone->has_rule) {
        period = zone_rule_at(&zone->rule, at_s);
        if (low && period.from_s < zone->at[low - 1])
            period.from_s = zone->at[low - 1];
        return period;
    }
    period.kind = zone->kinds[low ? zone->kind_of[low - 1] : 0];
    period.from_s = low ? zone->at[low - 1] : INT64_MIN;
    period.until_s = low < zone->count ? zone->at[low] : INT64_MAX;
    return period;
}

struct zone_period zone_offset_at(const vitro_zone *zone, int64_t at_s)
{
    enum { NEIGHBOURS_MAX = 600 };
    struct zone_period period = zone_period_at(zone, at_s), next;

    for (int i = 0; i < NEIGHBOURS_MAX && period.from_s != INT64_MIN; i++) {
        next = zone_period_at(zone, period.from_s - 1);
        if (next.kind.offset_s != period.kind.offset_s)
            break;
        period.from_s = next.from_s;
    }
    for (int i = 0; i < NEIGHBOURS_MAX && period.until_s != INT64_MAX; i++) {
        next = zone_period_at(zone, period.until_s);
        if (next.kind.offset_s != period.kind.offset_s)
            break;
        period.until_s = next.until_s;
    }
    return period;
}

const char *vitro_zone_name(const vitro_zone *zone)
{
    return zone ? zone->name : "UTC";
}

/* ---- fields */

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

void zone_wall_fields(int64_t wall_s, struct vitro_local *ret)
{
    int64_t days = floor_div(wall_s, 86400), year;
    int of_day = (int)(wall_s - days * 86400);
    unsigned month, day;

    when_date_from_days(days, &year, &month, &day);
    int weekday = (int)((days + 4) % 7); /* 1970-01-01 was a Thursday */
    *ret = (struct vitro_local){.year = (int)year,
                                .month = (int)month,
                                .day = (int)day,
                                .hour = of_day / 3600,
                                .minute = of_day / 60 % 60,
                                .second = of_day % 60,
                                .weekday = weekday < 0 ? weekday + 7 : weekday};
}

int64_t zone_wall_s(const struct vitro_local *local)
{
    return when_days_from_date(local->year, (unsigned)local->month, (unsigned)local->day) * 86400 +
           local->hour * 3600 + local->minute * 60 + local->second;
}

void vitro_zone_at(const vitro_zone *zone, int64_t now_ns, struct vitro_local *ret)
{
    int64_t now_s = floor_div(now_ns, (int64_t)NS_PER_SEC);
    struct zone_period period = zone_period_at(zone, now_s);

    zone_wall_fields(now_s + period.kind.offset_s, ret);
    ret->offset_s = period.kind.offset_s;
    ret->is_dst = period.kind.is_dst;
    memcpy(ret->abbreviation, period.kind.abbreviation, sizeof ret->abbreviation);
}

int vitro_zone_find(const vitro_zone *zone, const struct vitro_local *local, int64_t ret_ns[2])
{
    const struct vitro_local *l = local;
    int found = 0;

    if (l->month < 1 || l->month > 12 || l->hour < 0 || l->hour > 23 || l->minute < 0 ||
        l->minute > 59 || l->second < 0 || l->second > 59 || l->day < 1)
        return -EINVAL;
    if (l->year < 1678 || l->year > 2261)
        return -ERANGE;
    if (l->day > (int)when_days_in_month(l->year, (unsigned)l->month))
        return -EINVAL;
    int64_t wall_s = zone_wall_s(local), at_s = wall_s - 2 * 86400;
    while (at_s <= wall_s + 2 * 86400) {
        struct zone_period period = zone_offset_at(zone, at_s);
        int64_t then_s = wall_s - period.kind.offset_s;
        if (then_s >= period.from_s && then_s < period.until_s && found < 2)
            ret_ns[found++] = then_s * (int64_t)NS_PER_SEC;
        else if (then_s >= period.until_s && found == 0) /* a change leaves it out, unless later */
            ret_ns[0] = period.until_s * (int64_t)NS_PER_SEC;
        if (period.until_s == INT64_MAX)
            break;
        at_s = period.until_s;
    }
    return found;
}
