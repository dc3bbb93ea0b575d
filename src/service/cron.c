/* SPDX-License-Identifier: MIT */
/* When the next time is, and running until then.
 *
 * A search goes from period to period of equal distance from UTC; within one, local time goes up
 * with real time, and the next time is found by its fields, month by month. What happens at the
 * edges of periods is the rule of docs/decisions/0080. */
#include "service/cron.h"
#include "base/buf.h"
#include "base/when.h"
#include "service/zone.h"
#include <errno.h>
#include <string.h>

#define END_S INT64_C(9214646400) /* 2262-01-01: nanoseconds end soon after */

vitro_cron *vitro_cron_parse(const char *text, const vitro_zone *zone,
                             struct vitro_clock_error *error)
{
    vitro_cron *cron = mem_alloc(sizeof *cron);

    cron->zone = zone;
    if (cron_parse(text, cron, (struct err *)error) == 0) {
        cron->text = mem_dup(text);
        return cron;
    }
    free(cron);
    return NULL;
}

void vitro_cron_free(vitro_cron *cron)
{
    if (!cron)
        return;
    free(cron->text);
    free(cron);
}

const char *vitro_cron_text(const vitro_cron *cron)
{
    return cron->text;
}

/* ---- by fields, in local time */

/* The least value of a set that is not less; -1: none. */
static int bit_from(uint64_t bits, int value)
{
    uint64_t left = value > 63 ? 0 : bits >> value << value;

    return left ? __builtin_ctzll(left) : -1;
}

static bool day_matches(const vitro_cron *cron, int day, int weekday)
{
    bool by_day = cron->bits[CRON_DAY] >> day & 1,
         by_weekday = cron->bits[CRON_WEEKDAY] >> weekday & 1;

    return cron->starred[CRON_DAY] || cron->starred[CRON_WEEKDAY] ? by_day && by_weekday
                                                                  : by_day || by_weekday;
}

/* The first minute at or after `of_day` (in minutes); -1: none that day. */
static int minute_from(const vitro_cron *cron, int of_day)
{
    int hour = bit_from(cron->bits[CRON_HOUR], of_day / 60), minute = 0;

    if (hour == of_day / 60) {
        minute = bit_from(cron->bits[CRON_MINUTE], of_day % 60);
        if (minute >= 0)
            return hour * 60 + minute;
        hour = bit_from(cron->bits[CRON_HOUR], hour + 1);
    }
    return hour < 0 ? -1 : hour * 60 + bit_from(cron->bits[CRON_MINUTE], 0);
}

/* The first time at or after a local time, as if it were UTC; INT64_MAX: none before `end_s`. */
static int64_t wall_from(const vitro_cron *cron, int64_t wall_s, int64_t end_s)
{
    int64_t minutes = wall_s / 60 + (wall_s % 60 > 0), year; /* up */
    int64_t days = minutes / 1440 - (minutes % 1440 < 0);
    int of_day = (int)(minutes - days * 1440);
    unsigned month, day;

    when_date_from_days(days, &year, &month, &day);
    while (days * 86400 < end_s) {
        if (!(cron->bits[CRON_MONTH] >> month & 1)) {
            days += when_days_in_month(year, month) - day + 1;
            month = month % 12 + 1;
            year += month == 1;
            day = 1;
            of_day = 0;
            continue;
        }
        int found =
            day_matches(cron, (int)day, (int)((days + 4) % 7)) ? minute_from(cron, of_day) : -1;
        if (found >= 0)
            return days * 86400 + found * 60;
        of_day = 0;
        days++;
        if (++day > when_days_in_month(year, month)) {
            day = 1;
            month = month % 12 + 1;
            year += month == 1;
        }
    }
    return INT64_MAX;
}

/* ---- in the zone */

static int64_t next_s(const vitro_cron *cron, int64_t after_s)
{
    bool by_wall = cron->bits[CRON_HOUR] != (UINT64_C(1) << 24) - 1;
    struct zone_period period = zone_offset_at(cron->zone, after_s);
    int64_t from_s = after_s + 1;

    while (from_s < END_S) {
        int32_t offset_s = period.kind.offset_s;
        int64_t wall_s = from_s + offset_s;
        if (by_wall && period.from_s > INT64_MIN) { /* what was shown before the change, too */
            int64_t had_s =
                period.from_s + zone_period_at(cron->zone, period.from_s - 1).kind.offset_s;
            wall_s = wall_s < had_s ? had_s : wall_s;
        }
        int64_t until_s = period.until_s < END_S ? period.until_s : END_S;
        int64_t found_s = wall_from(cron, wall_s, until_s + offset_s);
        if (found_s != INT64_MAX && found_s - offset_s < until_s)
            return found_s - offset_s;
        if (until_s == END_S)
            break;
        struct zone_period next = zone_offset_at(cron->zone, until_s);
        int64_t gap_end_s = until_s + next.kind.offset_s;
        if (by_wall && wall_from(cron, until_s + offset_s, gap_end_s) < gap_end_s)
            return until_s; /* left out, or just then */
        period = next;
        from_s = until_s;
    }
    return INT64_MAX;
}

int vitro_cron_next(const vitro_cron *cron, int64_t after_ns, int64_t *ret_ns)
{
    int64_t found_s, second = (int64_t)NS_PER_SEC;

    if (cron->every_ns)
        return __builtin_add_overflow(after_ns, cron->every_ns, ret_ns) ? -ERANGE : 0;
    if (after_ns < 0) /* crons begin with 1970 */
        after_ns = -1;
    found_s = next_s(cron, after_ns / second - (after_ns % second < 0));
    if (found_s == INT64_MAX)
        return -ERANGE;
    *ret_ns = found_s * second;
    return 0;
}

/* ---- running */

int cron_missed(const vitro_cron *cron, enum vitro_cron_missed missed, int64_t due_ns,
                int64_t now_ns, int64_t *ret_due_ns, int64_t *ret_last_ns)
{
    int64_t next_ns;

    *ret_due_ns = *ret_last_ns = due_ns;
    if (missed == VITRO_CRON_ALL || vitro_cron_next(cron, due_ns, &next_ns) < 0 || next_ns > now_ns)
        return 1;
    if (cron->every_ns) { /* by counting, as there may be many */
        *ret_last_ns = due_ns + (now_ns - due_ns) / cron->every_ns * cron->every_ns;
    } else {
        while (next_ns <= now_ns) {
            *ret_last_ns = next_ns;
            if (vitro_cron_next(cron, next_ns, &next_ns) < 0)
                break;
        }
    }
    *ret_due_ns = *ret_last_ns;
    return missed == VITRO_CRON_ONCE;
}

int vitro_cron_run(const vitro_cron *cron, struct vitro_clock *clock,
                   const struct vitro_cron_options *options, int (*job)(void *arg, int64_t due_ns),
                   void *arg, struct vitro_clock_error *error)
{
    enum vitro_cron_missed missed = options ? options->missed : VITRO_CRON_ONCE;
    int64_t last_ns = vitro_clock_now(clock), due_ns;
    int r;

    while ((r = vitro_cron_next(cron, last_ns, &due_ns)) == 0) {
        if ((r = vitro_clock_sleep_until(clock, due_ns)) < 0)
            return err_set((struct err *)error, r, "cron '%s': the clock was stopped", cron->text);
        r = cron_missed(cron, missed, due_ns, vitro_clock_now(clock), &due_ns, &last_ns);
        if (r && (r = job(arg, due_ns)) != 0)
            return r < 0 ? err_set((struct err *)error, r, "cron '%s': the job gave %d", cron->text,
                                   r)
                         : r;
    }
    return err_set((struct err *)error, r, "cron '%s': there is no time after this one",
                   cron->text);
}
