/* SPDX-License-Identifier: MIT */
/* Rules that repeat every year, as POSIX writes them, with the hours of RFC 8536 (-167 to 167). */
#include "base/when.h"
#include "service/zone.h"
#include <ctype.h>
#include <errno.h>
#include <string.h>

/* ---- reading */

struct text {
    const char *start, *at, *end;
};

static bool take(struct text *text, char c)
{
    bool is = text->at < text->end && *text->at == c;

    text->at += is;
    return is;
}

static bool number(struct text *text, int least, int most, int *ret)
{
    int value = 0;
    const char *start = text->at;

    while (text->at < text->end && isdigit((unsigned char)*text->at) && text->at - start < 4)
        value = value * 10 + (*text->at++ - '0');
    *ret = value;
    bool ok = text->at > start && value >= least && value <= most;
    text->at = ok ? text->at : start;
    return ok;
}

/* [+-]hh[:mm[:ss]] */
static bool seconds(struct text *text, int hours_max, int32_t *ret)
{
    int hours, minutes = 0, rest = 0;
    int sign = take(text, '-') ? -1 : 1;

    if (sign > 0)
        (void)take(text, '+');
    if (!number(text, 0, hours_max, &hours))
        return false;
    if (take(text, ':')) {
        if (!number(text, 0, 59, &minutes) || (take(text, ':') && !number(text, 0, 59, &rest)))
            return false;
    }
    *ret = sign * (hours * 3600 + minutes * 60 + rest);
    return true;
}

/* Letters, or anything between < and >. */
static bool abbreviation(struct text *text, char *ret, size_t size)
{
    bool quoted = take(text, '<');
    size_t length = 0;

    while (text->at < text->end &&
           (quoted ? *text->at != '>' &&
                         (isalnum((unsigned char)*text->at) || *text->at == '+' || *text->at == '-')
                   : isalpha((unsigned char)*text->at))) {
        if (length + 1 == size)
            return false;
        ret[length++] = *text->at++;
    }
    ret[length] = '\0';
    return length >= 3 && (!quoted || take(text, '>'));
}

static bool change(struct text *text, struct zone_change *ret)
{
    bool ok;

    *ret = (struct zone_change){.second = 2 * 3600};
    if (take(text, 'M')) {
        ret->form = DAY_OF_WEEK;
        ok = number(text, 1, 12, &ret->month) && take(text, '.') &&
             number(text, 1, 5, &ret->week) && take(text, '.') && number(text, 0, 6, &ret->weekday);
    } else if (take(text, 'J')) {
        ret->form = DAY_WITHOUT_LEAP;
        ok = number(text, 1, 365, &ret->day);
    } else {
        ok = number(text, 0, 365, &ret->day);
    }
    return ok && (!take(text, '/') || seconds(text, 167, &ret->second));
}

static bool rule(struct text *text, struct zone_rule *ret)
{
    int32_t west;

    if (!abbreviation(text, ret->standard.abbreviation, sizeof ret->standard.abbreviation) ||
        !seconds(text, 24, &west))
        return false;
    ret->standard.offset_s = -west;
    if (text->at == text->end)
        return true;
    ret->has_dst = ret->summer.is_dst = true;
    if (!abbreviation(text, ret->summer.abbreviation, sizeof ret->summer.abbreviation))
        return false;
    ret->summer.offset_s = ret->standard.offset_s + 3600;
    if (text->at < text->end && *text->at != ',') {
        if (!seconds(text, 24, &west))
            return false;
        ret->summer.offset_s = -west;
    }
    if (text->at == text->end) { /* as elsewhere: the rule of the United States */
        ret->to_summer = (struct zone_change){DAY_OF_WEEK, 0, 3, 2, 0, 2 * 3600};
        ret->to_standard = (struct zone_change){DAY_OF_WEEK, 0, 11, 1, 0, 2 * 3600};
        return true;
    }
    return take(text, ',') && change(text, &ret->to_summer) && take(text, ',') &&
           change(text, &ret->to_standard) && text->at == text->end;
}

int zone_rule_parse(const char *text, size_t length, struct zone_rule *ret, struct err *err)
{
    struct text input = {text, text, text + length};

    *ret = (struct zone_rule){0};
    if (rule(&input, ret))
        return 0;
    return err_set(err, -EINVAL,
                   "time zone rule '%.*s': it cannot be read on from column %zu\n"
                   "hint: a rule is like CET-1CEST,M3.5.0,M10.5.0/3",
                   (int)length, text, (size_t)(input.at - text) + 1);
}

/* ---- asking */

/* In local seconds, as if they were UTC. */
static int64_t change_in(const struct zone_change *change, int64_t year)
{
    int64_t day = when_days_from_date(year, 1, 1);
    bool leap = when_days_in_month(year, 2) == 29;

    switch (change->form) {
    case DAY_OF_YEAR:
        day += change->day;
        break;
    case DAY_WITHOUT_LEAP:
        day += change->day - 1 + (leap && change->day >= 60);
        break;
    case DAY_OF_WEEK: {
        int64_t first = when_days_from_date(year, (unsigned)change->month, 1);
        int weekday = (int)((first + 4) % 7), length; /* 1970-01-01 was a Thursday */
        weekday = weekday < 0 ? weekday + 7 : weekday;
        length = (int)when_days_in_month(year, (unsigned)change->month);
        int of_month = (change->weekday - weekday + 7) % 7 + 7 * (change->week - 1);
        day = first + (of_month >= length ? of_month - 7 : of_month);
        break;
    }
    }
    return day * 86400 + change->second;
}

struct zone_period zone_rule_at(const struct zone_rule *rule, int64_t at_s)
{
    struct zone_period period = {INT64_MIN, INT64_MAX, rule->standard};
    int64_t year;
    unsigned month, day;

    /* Beyond the years that nanoseconds reach, nobody asks. */
    if (!rule->has_dst || at_s < -INT64_C(10000000000) || at_s > INT64_C(10000000000))
        return period;
    int64_t days = at_s / 86400 - (at_s % 86400 < 0);
    when_date_from_days(days, &year, &month, &day);
    period.from_s = INT64_MIN;
    for (int64_t y = year - 2; y <= year + 2; y++) {
        int64_t to_summer = change_in(&rule->to_summer, y) - rule->standard.offset_s;
        int64_t to_standard = change_in(&rule->to_standard, y) - rule->summer.offset_s;
        bool summer_first = to_summer < to_standard;
        for (int i = 0; i < 2; i++) {
            bool summer = (i == 0) == summer_first;
            int64_t at = summer ? to_summer : to_standard;
            if (at <= at_s && at >= period.from_s) {
                period.from_s = at;
                period.kind = summer ? rule->summer : rule->standard;
            } else if (at > at_s && at < period.until_s) {
                period.until_s = at;
            }
        }
    }
    return period;
}
