/* SPDX-License-Identifier: MIT */
/* Cron: texts, times, clock changes, runs on a paused clock. tests/vt/cron.vt holds times against
 * other implementations. */
#include "vitro/cron.h"
#include "base/when.h"
#include "lib/check.h"
#include <errno.h>

static struct vitro_clock_error error;
#define SECOND INT64_C(1000000000)
#define HOUR   (3600 * SECOND)

static int64_t at(const char *when)
{
    int64_t ns = 0;

    CHECK_INT(when_parse(when, &ns, NULL), 0);
    return ns;
}

static vitro_cron *parsed(const char *text, const vitro_zone *zone)
{
    vitro_cron *cron = vitro_cron_parse(text, zone, &error);

    if (!cron)
        check_fail(__FILE__, __LINE__, "%s", error.text);
    return cron;
}

/* The next times after a point, in UTC, by minutes. */
static void check_next(const char *text, const char *zone_name, const char *after, int count,
                       const char *wanted)
{
    CLEANUP(buf_done) struct buf found = {0};
    vitro_zone *zone = vitro_zone_open(zone_name, &error);
    vitro_cron *cron = parsed(text, zone);
    int64_t ns = at(after);

    for (int i = 0; i < count; i++) {
        CHECK_INT(vitro_cron_next(cron, ns, &ns), 0);
        when_add(&found, ns);
        buf_cut(&found, found.length - 4); /* :00Z */
        buf_addc(&found, ' ');
    }
    CHECK_TEXT(buf_text(&found), wanted);
    vitro_cron_free(cron);
    vitro_zone_free(zone);
}

TEST(fields_lists_ranges_steps_and_names_say_when)
{
    static const struct {
        const char *text, *wanted;
    } rows[] = {
        {"* * * * *", "2026-01-01T00:01 2026-01-01T00:02 "},
        {"0 9 * * *", "2026-01-01T09:00 2026-01-02T09:00 "},
        {"*/20 * * * *", "2026-01-01T00:20 2026-01-01T00:40 "},
        {"5-10/5,59 0 * * *", "2026-01-01T00:05 2026-01-01T00:10 "},
        {"0 0 29 2 *", "2028-02-29T00:00 2032-02-29T00:00 "},
        {"0 0 31 * *", "2026-01-31T00:00 2026-03-31T00:00 "},
        {"0 0 * * fri-sun", "2026-01-02T00:00 2026-01-03T00:00 "},
        {"0 0 * * 7", "2026-01-04T00:00 2026-01-11T00:00 "},
        {"0 0 * * SUN", "2026-01-04T00:00 2026-01-11T00:00 "},
        {"0 0 1 jul,Dec *", "2026-07-01T00:00 2026-12-01T00:00 "},
        {"\t0  0 1\t1 * ", "2027-01-01T00:00 2028-01-01T00:00 "},
        {"0 0 13 * fri", "2026-01-02T00:00 2026-01-09T00:00 "},   /* either */
        {"0 0 */13 * fri", "2026-02-27T00:00 2026-03-27T00:00 "}, /* both: '*' is no restriction */
        {"0 0 13 * */5", "2026-02-13T00:00 2026-03-13T00:00 "},   /* the same */
        {"@hourly", "2026-01-01T01:00 2026-01-01T02:00 "},
        {"@daily", "2026-01-02T00:00 2026-01-03T00:00 "},
        {"@Midnight", "2026-01-02T00:00 2026-01-03T00:00 "},
        {"@weekly", "2026-01-04T00:00 2026-01-11T00:00 "},
        {"@monthly", "2026-02-01T00:00 2026-03-01T00:00 "},
        {"@yearly", "2027-01-01T00:00 2028-01-01T00:00 "},
        {"@annually", "2027-01-01T00:00 2028-01-01T00:00 "},
        {"@every 1h30m", "2026-01-01T01:30 2026-01-01T03:00 "},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++)
        check_next(rows[i].text, "UTC", "2026-01-01", 2, rows[i].wanted);
}

TEST(a_time_between_seconds_counts_as_passed)
{
    vitro_cron *cron = parsed("0 0 * * *", NULL);
    int64_t ns;

    CHECK_INT(vitro_cron_next(cron, at("2026-01-02") - 1, &ns), 0);
    CHECK_INT(ns, at("2026-01-02"));
    CHECK_INT(vitro_cron_next(cron, at("2026-01-02"), &ns), 0);
    CHECK_INT(ns, at("2026-01-03"));
    CHECK_INT(vitro_cron_next(cron, INT64_MIN, &ns), 0);
    CHECK_INT(ns, 0);
    CHECK_INT(vitro_cron_next(cron, INT64_MAX, &ns), -ERANGE);
    vitro_cron_free(cron);
    cron = parsed("@every 106751d", NULL);
    CHECK_INT(vitro_cron_next(cron, at("2026-01-02"), &ns), -ERANGE);
    vitro_cron_free(cron);
}

TEST(what_falls_into_an_hour_left_out_runs_once_at_the_change)
{
    check_next("30 2 * * *", "Europe/Berlin", "2026-03-28", 3,
               "2026-03-28T01:30 2026-03-29T01:00 2026-03-30T00:30 ");
    check_next("*/10 2 * * *", "Europe/Berlin", "2026-03-28T02:00:00Z", 2,
               "2026-03-29T01:00 2026-03-30T00:00 ");
    check_next("0 3 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", 1, "2026-03-29T01:00 ");
    check_next("0 2,3 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", 2,
               "2026-03-29T01:00 2026-03-30T00:00 ");
    check_next("0 0 * * *", "America/Sao_Paulo", "2017-10-14T12:00:00Z", 2,
               "2017-10-15T03:00 2017-10-16T02:00 ");
}

TEST(an_hour_that_comes_twice_has_one_run_of_a_job_at_a_time_of_day)
{
    check_next("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", 2,
               "2026-10-25T00:30 2026-10-26T01:30 ");
    check_next("30 2 * * *", "Europe/Berlin", "2026-10-25T01:10:00Z", 1, "2026-10-26T01:30 ");
}

TEST(a_job_of_every_hour_follows_the_hours_that_pass)
{
    check_next("30 * * * *", "Europe/Berlin", "2026-03-29T00:00:00Z", 3,
               "2026-03-29T00:30 2026-03-29T01:30 2026-03-29T02:30 ");
    check_next("30 * * * *", "Europe/Berlin", "2026-10-24T23:40:00Z", 3,
               "2026-10-25T00:30 2026-10-25T01:30 2026-10-25T02:30 ");
}

TEST(wrong_texts_are_refused_with_column_and_closest_form)
{
    static const struct {
        const char *text, *words;
    } rows[] = {
        {"", "cron '', column 1, minute: the field is missing\nhint: five fields"},
        {"   ", "column 4, minute: the field is missing"},
        {"* * * *", "column 8, day of week: the field is missing"},
        {"60 * * * *", "column 1, minute: 60 is not from 0 to 59\nhint: the closest is 59"},
        {"0 24 * * *", "column 3, hour: 24 is not from 0 to 23\nhint: midnight is 0"},
        {"0 0 0 * *", "column 5, day of month: 0 is not from 1 to 31\nhint: the closest is 1"},
        {"0 0 32 * *", "day of month: 32 is not from 1 to 31"},
        {"0 0 1 13 *", "column 7, month: 13 is not from 1 to 12"},
        {"0 0 * * 8", "column 9, day of week: 8 is not from 0 to 7"},
        {"0 0 * ja *", "column 7, month: 'ja' is neither a number, a name nor '*'\nhint: did you "
                       "mean 'jan'?"},
        {"0 0 * * monday", "column 9, day of week: 'monday' is neither"},
        {"0 0 * * mno", "did you mean 'mon'?"},
        {"x * * * *", "column 1, minute: 'x' is neither a number nor '*'\nhint: write 0 to 59"},
        {"** * * * *", "hint: any value is '*'"},
        {"0 0 ? * *", "column 5, day of month: '?' is neither a number nor '*'\nhint: any value is "
                      "'*'"},
        {"0 0 L * *", "L, W and # are not known"},
        {"0 0 * * 5#2", "L, W and # are not known"},
        {"10-5 * * * *",
         "column 1, minute: a range goes up, and 10 is more than 5\nhint: write '10-59,0-5'"},
        {"0 0 * * sat-mon", "hint: write '6-7,0-1'"},
        {"1- * * * *", "column 3, minute: a value is missing"},
        {"-1 * * * *", "column 1, minute: a value is missing"},
        {"1, * * * *", "column 3, minute: a value is missing"},
        {",1 * * * *", "column 1, minute: a value is missing"},
        {"1--2 * * * *", "column 3, minute: a value is missing"},
        {"1-2-3 * * * *", "column 4, minute: '-' cannot stand here"},
        {"*-5 * * * *", "column 2, minute: '*' is a range already"},
        {"*/0 * * * *", "column 3, minute: a step is a number from 1, not '0'"},
        {"*/ * * * *", "column 3, minute: a step is a number from 1"},
        {"*/x * * * *", "a step is a number from 1"},
        {"*/5x * * * *", "a step is a number from 1, not '5x'"},
        {"*/-1 * * * *", "a step is a number from 1"},
        {"*/90 * * * *", "column 3, minute: a step of 90 leaves the range 0 to 59 at once\nhint: "
                         "write '0'"},
        {"0 0 * * */7", "a step of 7 leaves the range 0 to 6 at once"},
        {"5/15 * * * *", "column 2, minute: a step needs a range\nhint: write '5-59/15'"},
        {"99999999999 * * * *", "column 1, minute: '99999999999' is neither"},
        {"0 0 30 2 *", "column 5, day of month: no month of these has such a day"},
        {"0 0 31 4,6,9,11 *", "it would never come"},
        {"0 0 0 1 1 *", "column 5, day of month: 0 is not"},
        {"0 0 1 1 * *", "column 11: '*' stands behind the fifth field\nhint: minutes come first"},
        {"0 0 1 1 * /bin/true", "'/bin/true' stands behind the fifth field"},
        {"@dayly", "column 1: '@dayly' is not known\nhint: did you mean '@daily'?"},
        {"@reboot", "hint: what is done at the start"},
        {"@daily x", "column 8: 'x' stands behind @daily"},
        {"@every", "column 7: '' is not a duration"},
        {"@every 5", "column 8: '5' is not a duration\nhint: write a number and a unit"},
        {"@every 0s", "column 8: '0s' is no time at all"},
        {"@", "'@' is not known"},
        {"TZ=UTC 0 0 * * *", "the time zone is not part of the text\nhint: give it"},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        error.text[0] = '\0';
        if (vitro_cron_parse(rows[i].text, NULL, &error))
            check_fail(__FILE__, __LINE__, "'%s' was taken", rows[i].text);
        CHECK_INT(error.code, -EINVAL);
        CHECK_HAS(error.text, rows[i].words);
    }
    CHECK_TRUE(!vitro_cron_parse(NULL, NULL, &error));
    CHECK_TRUE(!vitro_cron_parse("x", NULL, NULL));
    CLEANUP(buf_done) struct buf lengthy = {0};
    for (int i = 0; i < 600; i++)
        buf_adds(&lengthy, "1");
    CHECK_TRUE(!vitro_cron_parse(buf_text(&lengthy), NULL, &error));
    CHECK_HAS(error.text, "more than 512 bytes");
}

/* ---- running */

struct runs {
    struct vitro_clock *clock;
    const vitro_cron *cron;
    enum vitro_cron_missed missed;
    int count;
    int64_t due_ns[64];
    int64_t busy_ns; /* how long the first run takes */
};

static int note(void *arg, int64_t due_ns)
{
    struct runs *runs = arg;

    runs->due_ns[runs->count++ % 64] = due_ns;
    if (runs->count == 1 && runs->busy_ns)
        return vitro_clock_sleep(runs->clock, runs->busy_ns);
    return runs->count == 40 ? 7 : 0;
}

static int run(void *arg)
{
    struct runs *runs = arg;

    return vitro_cron_run(runs->cron, runs->clock,
                          &(struct vitro_cron_options){.missed = runs->missed}, note, arg, NULL);
}

TEST(thirty_days_are_thirty_runs_each_at_its_time)
{
    struct vitro_clock *clock = vitro_clock_paused(NULL);
    struct runs runs = {.clock = clock, .cron = parsed("@daily", NULL)};
    vitro_worker *worker = vitro_worker_start(clock, run, &runs);

    CHECK_INT(vitro_clock_advance(clock, 30 * 24 * HOUR, &error), 30);
    CHECK_INT(runs.count, 30);
    for (int i = 0; i < 30; i++)
        CHECK_INT(runs.due_ns[i], at("2026-01-02") + i * 24 * HOUR);
    CHECK_INT(vitro_clock_advance(clock, 30 * 24 * HOUR, &error), 10); /* the job ends it */
    CHECK_INT(vitro_worker_join(worker), 7);
    vitro_cron_free((vitro_cron *)runs.cron);
    vitro_clock_free(clock);
}

TEST(a_stopped_clock_ends_a_run_in_words)
{
    struct vitro_clock *clock = vitro_clock_paused(NULL);
    struct runs runs = {.clock = clock, .cron = parsed("@daily", NULL)};

    vitro_clock_stop(clock);
    CHECK_INT(vitro_cron_run(runs.cron, clock, NULL, note, &runs, &error), -ECANCELED);
    CHECK_HAS(error.text, "cron '@daily': the clock was stopped");
    vitro_cron_free((vitro_cron *)runs.cron);
    vitro_clock_free(clock);
}

/* The first run of an hourly job takes three hours and a half. */
static void check_missed(const char *text, enum vitro_cron_missed missed, const char *wanted)
{
    CLEANUP(buf_done) struct buf found = {0};
    struct vitro_clock *clock = vitro_clock_paused(NULL);
    struct runs runs = {
        .clock = clock, .missed = missed, .cron = parsed(text, NULL), .busy_ns = 7 * HOUR / 2};
    vitro_worker *worker = vitro_worker_start(clock, run, &runs);

    CHECK_TRUE(vitro_clock_advance(clock, 6 * HOUR, &error) > 0);
    for (int i = 0; i < runs.count; i++)
        buf_addf(&found, "%lld ", (long long)((runs.due_ns[i] - at("2026-01-01")) / HOUR));
    CHECK_TEXT(buf_text(&found), wanted);
    vitro_clock_stop(clock);
    CHECK_INT(vitro_worker_join(worker), -ECANCELED);
    vitro_cron_free((vitro_cron *)runs.cron);
    vitro_clock_free(clock);
}

TEST(times_that_passed_meanwhile_are_one_run_or_none_or_all)
{
    check_missed("@hourly", VITRO_CRON_ONCE, "1 4 5 6 ");
    check_missed("@hourly", VITRO_CRON_SKIP, "1 5 6 ");
    check_missed("@hourly", VITRO_CRON_ALL, "1 2 3 4 5 6 ");
    check_missed("@every 1h", VITRO_CRON_ONCE, "1 4 5 6 ");
    check_missed("@every 1h", VITRO_CRON_SKIP, "1 5 6 ");
    check_missed("@every 1h", VITRO_CRON_ALL, "1 2 3 4 5 6 ");
}

TEST(a_clock_set_back_repeats_nothing)
{
    struct vitro_clock *clock = vitro_clock_paused(NULL);
    struct runs runs = {.clock = clock, .cron = parsed("@hourly", NULL)};
    vitro_worker *worker = vitro_worker_start(clock, run, &runs);

    CHECK_INT(vitro_clock_advance(clock, 3 * HOUR, &error), 3);
    CHECK_INT(vitro_clock_set(clock, at("2026-01-01"), &error), 0);
    CHECK_INT(vitro_clock_advance(clock, 3 * HOUR, &error), 0);
    CHECK_INT(vitro_clock_advance(clock, 1 * HOUR, &error), 1);
    CHECK_INT(runs.due_ns[3], at("2026-01-01T04:00:00Z"));
    vitro_clock_stop(clock);
    CHECK_INT(vitro_worker_join(worker), -ECANCELED);
    vitro_cron_free((vitro_cron *)runs.cron);
    vitro_clock_free(clock);
}
