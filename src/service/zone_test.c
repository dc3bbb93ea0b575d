/* SPDX-License-Identifier: MIT */
/* Time zones: files, rules, hours that come twice and hours that are left out. Every zone of the
 * machine is held against another reader in tests/vt/cron.vt. */
#include "vitro/zone.h"
#include "base/when.h"
#include "lib/check.h"
#include <errno.h>
#include <stdio.h>

static struct vitro_clock_error error;

static vitro_zone *opened(const char *name)
{
    vitro_zone *zone = vitro_zone_open(name, &error);

    if (!zone)
        check_fail(__FILE__, __LINE__, "%s", error.text);
    return zone;
}

static void check_at(const vitro_zone *zone, const char *when, const char *wanted)
{
    struct vitro_local local;
    char text[64];
    int64_t ns;

    CHECK_INT(when_parse(when, &ns, NULL), 0);
    vitro_zone_at(zone, ns, &local);
    (void)snprintf(text, sizeof text, "%04d-%02d-%02d %02d:%02d:%02d %d %s %+d%s", local.year,
                   local.month, local.day, local.hour, local.minute, local.second, local.weekday,
                   local.abbreviation, local.offset_s, local.is_dst ? " dst" : "");
    CHECK_TEXT(text, wanted);
}

TEST(a_zone_shows_what_clocks_on_the_wall_show)
{
    vitro_zone *berlin = opened("Europe/Berlin"), *utc = opened("UTC"), *fixed = opened("+05:30");

    check_at(berlin, "2026-01-31T23:30:00Z", "2026-02-01 00:30:00 0 CET +3600");
    check_at(berlin, "2026-03-29T00:59:59Z", "2026-03-29 01:59:59 0 CET +3600");
    check_at(berlin, "2026-03-29T01:00:00Z", "2026-03-29 03:00:00 0 CEST +7200 dst");
    check_at(berlin, "2026-10-25T00:59:59Z", "2026-10-25 02:59:59 0 CEST +7200 dst");
    check_at(berlin, "2026-10-25T01:00:00Z", "2026-10-25 02:00:00 0 CET +3600");
    check_at(berlin, "2200-07-01T12:00:00Z", "2200-07-01 14:00:00 2 CEST +7200 dst");
    check_at(utc, "2026-01-31T23:30:00Z", "2026-01-31 23:30:00 6 UTC +0");
    check_at(NULL, "2026-01-31T23:30:00Z", "2026-01-31 23:30:00 6 UTC +0");
    check_at(fixed, "2026-01-31T23:30:00Z", "2026-02-01 05:00:00 0 +05:30 +19800");
    CHECK_TEXT(vitro_zone_name(berlin), "Europe/Berlin");
    CHECK_TEXT(vitro_zone_name(NULL), "UTC");
    vitro_zone_free(berlin);
    vitro_zone_free(utc);
    vitro_zone_free(fixed);
    vitro_zone_free(NULL);
}

TEST(times_before_1970_are_shown_too)
{
    vitro_zone *berlin = opened("Europe/Berlin");
    struct vitro_local local;

    vitro_zone_at(berlin, -1, &local); /* a nanosecond before */
    CHECK_INT(local.hour * 100 + local.minute, 59);
    CHECK_INT(local.second, 59);
    vitro_zone_at(berlin, INT64_MIN, &local);
    CHECK_TEXT(local.abbreviation, "LMT");
    CHECK_INT(local.year, 1677);
    vitro_zone_at(berlin, INT64_MAX, &local);
    CHECK_INT(local.year, 2262);
    vitro_zone_free(berlin);
}

TEST(rules_of_every_form_are_followed)
{
    static const struct {
        const char *rule, *when, *wanted;
    } rows[] = {
        {"CET-1CEST,M3.5.0,M10.5.0/3", "2026-03-29T01:00:00Z",
         "2026-03-29 03:00:00 0 CEST +7200 dst"},
        {"CET-1CEST,M3.5.0,M10.5.0/3", "2026-10-25T01:00:00Z", "2026-10-25 02:00:00 0 CET +3600"},
        {"AEST-10AEDT,M10.1.0,M4.1.0/3", "2026-01-01T00:00:00Z",
         "2026-01-01 11:00:00 4 AEDT +39600 dst"},
        {"AEST-10AEDT,M10.1.0,M4.1.0/3", "2026-07-01T00:00:00Z",
         "2026-07-01 10:00:00 3 AEST +36000"},
        {"EST5EDT", "2026-07-01T00:00:00Z", "2026-06-30 20:00:00 2 EDT -14400 dst"},
        {"<+0330>-3:30<+0430>,J79/24,J263/24", "2026-03-20T20:30:00Z",
         "2026-03-21 01:00:00 6 +0430 +16200 dst"},
        {"AAA0BBB,59,61", "2024-02-29T12:00:00Z", "2024-02-29 13:00:00 4 BBB +3600 dst"},
        {"AAA0BBB,J60,J61", "2024-02-29T12:00:00Z", "2024-02-29 12:00:00 4 AAA +0"},
        {"AAA0BBB,J60,J61", "2024-03-01T12:00:00Z", "2024-03-01 13:00:00 5 BBB +3600 dst"},
        {"EST5EDT4,0/0,J365/25", "2026-12-31T23:00:00Z", "2026-12-31 19:00:00 4 EDT -14400 dst"},
        {"EST5EDT4,0/0,J365/25", "2026-01-01T04:30:00Z", "2026-01-01 00:30:00 4 EDT -14400 dst"},
        {"<-02>2<-01>,M3.5.0/-1,M10.5.0/0", "2026-03-29T00:59:59Z",
         "2026-03-28 22:59:59 6 -02 -7200"},
        {"<-02>2<-01>,M3.5.0/-1,M10.5.0/0", "2026-03-29T01:00:00Z",
         "2026-03-29 00:00:00 0 -01 -3600 dst"},
        {"LMT-0:53:28", "2026-01-01T00:00:00Z", "2026-01-01 00:53:28 4 LMT +3208"},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        vitro_zone *zone = opened(rows[i].rule);
        check_at(zone, rows[i].when, rows[i].wanted);
        vitro_zone_free(zone);
    }
}

TEST(an_hour_that_comes_twice_is_found_twice_and_one_left_out_not_at_all)
{
    vitro_zone *berlin = opened("Europe/Berlin");
    struct vitro_local local = {.year = 2026, .month = 10, .day = 25, .hour = 2, .minute = 30};
    int64_t found[2], wanted;

    CHECK_INT(vitro_zone_find(berlin, &local, found), 2);
    CHECK_INT(when_parse("2026-10-25T00:30:00Z", &wanted, NULL), 0);
    CHECK_INT(found[0], wanted);
    CHECK_INT(found[1], wanted + INT64_C(3600000000000));
    local.month = 3;
    local.day = 29;
    CHECK_INT(vitro_zone_find(berlin, &local, found), 0);
    CHECK_INT(when_parse("2026-03-29T01:00:00Z", &wanted, NULL), 0);
    CHECK_INT(found[0], wanted);
    local.hour = 3;
    CHECK_INT(vitro_zone_find(berlin, &local, found), 1);
    CHECK_INT(found[0], wanted + INT64_C(1800000000000));
    local.day = 32;
    CHECK_INT(vitro_zone_find(berlin, &local, found), -EINVAL);
    local = (struct vitro_local){.year = 3000, .month = 1, .day = 1};
    CHECK_INT(vitro_zone_find(berlin, &local, found), -ERANGE);
    vitro_zone_free(berlin);
}

TEST(a_day_that_an_island_left_out_is_left_out)
{
    vitro_zone *apia = opened("Pacific/Apia");
    struct vitro_local local = {.year = 2011, .month = 12, .day = 30, .hour = 12};
    int64_t found[2], wanted;

    CHECK_INT(vitro_zone_find(apia, &local, found), 0);
    CHECK_INT(when_parse("2011-12-30T10:00:00Z", &wanted, NULL), 0);
    CHECK_INT(found[0], wanted);
    vitro_zone_free(apia);
}

static void check_refused(const char *name, int code, const char *words)
{
    CHECK_TRUE(!vitro_zone_open(name, &error));
    CHECK_INT(error.code, code);
    CHECK_HAS(error.text, words);
}

TEST(zones_that_are_not_are_refused_with_the_closest)
{
    check_refused("Europe/Berlni", -ENOENT,
                  "no time zone 'Europe/Berlni'\nhint: did you mean "
                  "'Europe/Berlin'?");
    check_refused("berlin", -ENOENT, "did you mean 'Europe/Berlin'?");
    check_refused("utc", -ENOENT, "did you mean");
    check_refused("Europe", -ENOENT, "no time zone 'Europe'");
    check_refused("Xyzzy/Plugh_Qwertyuiop", -ENOENT, "no time zone");
    check_refused("", -EINVAL, "no name of one");
    check_refused("../../etc/passwd", -EINVAL, "no name of one");
    check_refused("/etc/passwd", -EINVAL, "no name of one");
    check_refused("zone.tab", -EINVAL, "no name of one");
    check_refused("CET-1CEST,M13.5.0,M10.5.0", -EINVAL, "from column 12");
    check_refused("CET-1CEST,M3.5.0", -EINVAL, "from column 17");
    check_refused("A1", -EINVAL, "time zone rule 'A1'");
    check_refused("+25:00", -EINVAL, "column");
    CHECK_TRUE(!vitro_zone_open("no/zone", NULL));
}

TEST(a_zone_file_cut_at_any_byte_is_refused_in_words)
{
    CLEANUP(buf_done) struct buf whole = {0};
    CHECK_INT(file_read("/usr/share/zoneinfo/Europe/Berlin", 1 << 20, &whole, NULL), 0);

    for (size_t length = 0; length < whole.length; length++) {
        CLEANUP(mem_free) char *bytes = malloc(length + !length); /* so that reading on is seen */
        memcpy(bytes, whole.data, length);
        CHECK_TRUE(!vitro_zone_parse("cut", bytes, length, &error));
        CHECK_INT(error.code, -EBADMSG);
        CHECK_HAS(error.text, "cut short");
    }
    vitro_zone *zone = vitro_zone_parse(NULL, whole.data, whole.length, &error);
    check_at(zone, "2026-07-01T12:00:00Z", "2026-07-01 14:00:00 3 CEST +7200 dst");
    vitro_zone_free(zone);
    whole.data[0] = 'X';
    CHECK_TRUE(!vitro_zone_parse("x", whole.data, whole.length, &error));
    CHECK_HAS(error.text, "not a time zone file");
}
