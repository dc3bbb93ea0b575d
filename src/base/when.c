/* SPDX-License-Identifier: MIT */
#include "base/when.h"
#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const char when_forms[] =
    "write 2026-01-31T12:00:00Z, 2026-01-31, @1769860800 (seconds) or 1769860800000 (milliseconds)";

int64_t when_days_from_date(int64_t year, unsigned month, unsigned day)
{
    year -= month <= 2;
    int64_t era = year / 400;
    unsigned year_of_era = (unsigned)(year - era * 400);
    unsigned day_of_year = (153 * (month + (month > 2 ? -3U : 9U)) + 2) / 5 + day - 1;
    unsigned day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;

    return era * 146097 + (int64_t)day_of_era - 719468;
}

void when_date_from_days(int64_t days, int64_t *year, unsigned *month, unsigned *day)
{
    days += 719468;
    int64_t era = days / 146097;
    unsigned day_of_era = (unsigned)(days - era * 146097);
    unsigned year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    unsigned day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    unsigned shifted = (5 * day_of_year + 2) / 153;

    *day = day_of_year - (153 * shifted + 2) / 5 + 1;
    *month = shifted < 10 ? shifted + 3 : shifted - 9;
    *year = (int64_t)year_of_era + era * 400 + (*month <= 2);
}

static bool read_digits(const char **text, unsigned count, unsigned *ret)
{
    unsigned value = 0;

    for (unsigned i = 0; i < count; i++) {
        if (!isdigit((unsigned char)(*text)[i]))
            return false;
        value = value * 10 + (unsigned)((*text)[i] - '0');
    }
    *text += count;
    *ret = value;
    return true;
}

/* Digits behind a point as nanoseconds; digits past the ninth are dropped. */
static bool read_fraction(const char **text, uint64_t *ret_ns)
{
    uint64_t scale = NS_PER_SEC / 10, ns = 0;

    if (!isdigit((unsigned char)**text))
        return false;
    for (; isdigit((unsigned char)**text); (*text)++, scale /= 10)
        ns += (uint64_t)(**text - '0') * scale;
    *ret_ns = ns;
    return true;
}

unsigned when_days_in_month(int64_t year, unsigned month)
{
    static const unsigned char days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

    return days[month - 1] + (month == 2 && leap);
}

/* hh:mm[:ss[.fraction]] and then Z or an offset. */
static bool read_time_of_day(const char **text, int64_t *ret_seconds, uint64_t *ret_ns)
{
    unsigned hour, minute, second = 0;

    if (!read_digits(text, 2, &hour) || *(*text)++ != ':' || !read_digits(text, 2, &minute))
        return false;
    if (**text == ':') {
        (*text)++;
        if (!read_digits(text, 2, &second))
            return false;
        if (**text == '.') {
            (*text)++;
            if (!read_fraction(text, ret_ns))
                return false;
        }
    }
    if (hour > 23 || minute > 59 || second > 59)
        return false;
    *ret_seconds = hour * 3600 + minute * 60 + second;
    if (**text == 'Z' || **text == 'z') {
        (*text)++;
        return true;
    }
    if (**text != '+' && **text != '-')
        return false;
    int sign = *(*text)++ == '+' ? -1 : 1;
    if (!read_digits(text, 2, &hour) || *(*text)++ != ':' || !read_digits(text, 2, &minute) ||
        hour > 23 || minute > 59)
        return false;
    *ret_seconds += sign * (int64_t)(hour * 3600 + minute * 60);
    return true;
}

static bool read_date(const char *text, int64_t *ret_ns)
{
    unsigned year, month, day;
    int64_t seconds = 0, total;
    uint64_t ns = 0;

    if (!read_digits(&text, 4, &year) || *text++ != '-' || !read_digits(&text, 2, &month) ||
        *text++ != '-' || !read_digits(&text, 2, &day))
        return false;
    if (month < 1 || month > 12 || day < 1 || day > when_days_in_month(year, month))
        return false;
    if (*text == 'T' || *text == 't' || *text == ' ') {
        text++;
        if (!read_time_of_day(&text, &seconds, &ns))
            return false;
    }
    seconds += when_days_from_date(year, month, day) * 86400;
    if (*text || seconds < 0 || __builtin_mul_overflow(seconds, (int64_t)NS_PER_SEC, &total) ||
        __builtin_add_overflow(total, (int64_t)ns, &total))
        return false;
    *ret_ns = total;
    return true;
}

static bool read_number(const char *text, uint64_t unit_ns, int64_t *ret_ns)
{
    int64_t value = 0;
    uint64_t fraction = 0;

    if (!isdigit((unsigned char)*text))
        return false;
    for (; isdigit((unsigned char)*text); text++)
        if (__builtin_mul_overflow(value, (int64_t)10, &value) ||
            __builtin_add_overflow(value, (int64_t)(*text - '0'), &value))
            return false;
    if (unit_ns == NS_PER_SEC && *text == '.') {
        text++;
        if (!read_fraction(&text, &fraction))
            return false;
    }
    return !*text && !__builtin_mul_overflow(value, (int64_t)unit_ns, &value) &&
           !__builtin_add_overflow(value, (int64_t)fraction, ret_ns);
}

int when_parse(const char *text, int64_t *ret_ns, struct err *err)
{
    bool ok;

    if (*text == '@')
        ok = read_number(text + 1, NS_PER_SEC, ret_ns);
    else if (strlen(text) >= 11 && text[strspn(text, "0123456789")] == '\0')
        ok = read_number(text, NS_PER_MS, ret_ns);
    else
        ok = read_date(text, ret_ns);
    if (ok)
        return 0;
    err_set(err, -EINVAL, "'%s' is not a point in time from 1970 to 2262", text);
    return err_hint(err, "%s", when_forms);
}

static const struct {
    const char *name;
    uint64_t ns;
} units[] = {
    {"ns", 1},
    {"us", NS_PER_US},
    {"ms", NS_PER_MS},
    {"s", NS_PER_SEC},
    {"m", 60 * NS_PER_SEC},
    {"h", 3600 * NS_PER_SEC},
    {"d", 86400 * NS_PER_SEC},
    {"w", 7 * 86400 * NS_PER_SEC},
};

static const char *read_duration_part(const char *text, uint64_t *total)
{
    uint64_t value = 0, fraction = 0, part = 0;
    bool digits = isdigit((unsigned char)*text);

    for (; isdigit((unsigned char)*text); text++)
        if (__builtin_mul_overflow(value, (uint64_t)10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*text - '0'), &value))
            return NULL;
    if (*text == '.') {
        text++;
        if (!read_fraction(&text, &fraction))
            return NULL;
    } else if (!digits) {
        return NULL;
    }
    size_t length = strspn(text, "nmushdw");
    for (size_t i = 0; i < ARRAY_LENGTH(units); i++) {
        if (strlen(units[i].name) != length || memcmp(units[i].name, text, length) != 0)
            continue;
        part = (uint64_t)((__uint128_t)fraction * units[i].ns / NS_PER_SEC);
        if (__builtin_mul_overflow(value, units[i].ns, &value) ||
            __builtin_add_overflow(value, part, &value) ||
            __builtin_add_overflow(*total, value, total))
            return NULL;
        return text + length;
    }
    return NULL;
}

int when_parse_duration(const char *text, uint64_t *ret_ns, struct err *err)
{
    uint64_t total = 0;
    const char *next = text;

    do
        next = read_duration_part(next, &total);
    while (next && *next);
    if (!next || total > INT64_MAX) {
        err_set(err, -EINVAL, "'%s' is not a duration", text);
        return err_hint(err,
                        "write a number and a unit (ns us ms s m h d w), as in 250ms or 1h30m");
    }
    *ret_ns = total;
    return 0;
}

static void add_fraction(struct buf *buf, unsigned ns)
{
    char digits[16];

    if (!ns)
        return;
    (void)snprintf(digits, sizeof digits, ".%09u", ns);
    size_t length = strlen(digits);
    while ((length - 1) % 3 || memcmp(digits + length - 3, "000", 3) == 0)
        length -= (length - 1) % 3 ? 1 : 3;
    buf_add(buf, digits, length);
}

void when_add(struct buf *buf, int64_t ns)
{
    int64_t seconds = ns / (int64_t)NS_PER_SEC, year;
    unsigned rest = (unsigned)(ns % (int64_t)NS_PER_SEC), month, day;
    unsigned of_day = (unsigned)(seconds % 86400);

    when_date_from_days(seconds / 86400, &year, &month, &day);
    buf_addf(buf, "%04lld-%02u-%02uT%02u:%02u:%02u", (long long)year, month, day, of_day / 3600,
             of_day / 60 % 60, of_day % 60);
    add_fraction(buf, rest);
    buf_addc(buf, 'Z');
}

void when_add_duration(struct buf *buf, uint64_t ns)
{
    uint64_t seconds = ns / NS_PER_SEC;
    unsigned of_day = (unsigned)(seconds % 86400);

    if (seconds >= 86400)
        buf_addf(buf, "%llu d ", (unsigned long long)(seconds / 86400));
    buf_addf(buf, "%02u:%02u:%02u", of_day / 3600, of_day / 60 % 60, of_day % 60);
    add_fraction(buf, (unsigned)(ns % NS_PER_SEC));
}
