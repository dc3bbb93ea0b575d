/* SPDX-License-Identifier: MIT */
#include "box/box_internal.h"
#include "lib/check.h"
#include "base/wall.h"
#include "base/when.h"
#include <errno.h>

static const int64_t SEC = (int64_t)NS_PER_SEC;
static const int64_t START = INT64_C(1767225600) * INT64_C(1000000000); /* 2026-01-01 */
static const int64_t DAY = INT64_C(86400) * INT64_C(1000000000);

static struct box_clock parsed(const char *text)
{
    struct box_clock clock = {0};
    struct err err = {0};

    CHECK_OK(box_clock_parse(text, &clock, &err), err);
    return clock;
}

static struct vclock clock_of(const char *text, struct box_clock_page *page)
{
    struct vclock clock = {.page = page};

    vclock_init(&clock, &(struct box_options){.clock = parsed(text)});
    return clock;
}

TEST(every_form_of_a_clock_is_read)
{
    static const struct {
        const char *text;
        struct box_clock clock;
    } rows[] = {
        {"real", {.mode = BOX_CLOCK_REAL}},
        {"manual", {.mode = BOX_CLOCK_MANUAL}},
        {"2024-02-29", {BOX_CLOCK_PAUSED, INT64_C(1709164800000000000), 0, 0, true}},
        {"2024-02-29T23:59:58Z", {BOX_CLOCK_PAUSED, INT64_C(1709251198000000000), 0, 0, true}},
        {"2024-02-29T23:59:58.25Z", {BOX_CLOCK_PAUSED, INT64_C(1709251198250000000), 0, 0, true}},
        {"2024-03-01T01:59:58+02:00", {BOX_CLOCK_PAUSED, INT64_C(1709251198000000000), 0, 0, true}},
        {"@1000.5", {BOX_CLOCK_PAUSED, INT64_C(1000500000000), 0, 0, true}},
        {"1767225600000", {BOX_CLOCK_PAUSED, INT64_C(1767225600000000000), 0, 0, true}},
        {"2026-01-01,manual", {BOX_CLOCK_MANUAL, INT64_C(1767225600000000000), 0, 0, true}},
        {"1970-01-01", {BOX_CLOCK_PAUSED, 0, 0, 0, true}},
        {"@1,manual", {BOX_CLOCK_MANUAL, INT64_C(1000000000), 0, 0, true}},
        {"+7d", {BOX_CLOCK_SHIFTED, 0, INT64_C(604800000000000), 0, false}},
        {"-2h", {BOX_CLOCK_SHIFTED, 0, -INT64_C(7200000000000), 0, false}},
        {"+1h30m", {BOX_CLOCK_SHIFTED, 0, INT64_C(5400000000000), 0, false}},
        {"x10", {BOX_CLOCK_SCALED, 0, 0, 10, false}},
        {"x1", {BOX_CLOCK_SCALED, 0, 0, 1, false}},
        {"x1000000", {BOX_CLOCK_SCALED, 0, 0, 1000000, false}},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        struct box_clock clock = parsed(rows[i].text);
        CHECK_INT(clock.mode, rows[i].clock.mode);
        CHECK_INT(clock.start_ns, rows[i].clock.start_ns);
        CHECK_INT(clock.shift_ns, rows[i].clock.shift_ns);
        CHECK_INT(clock.scale, rows[i].clock.scale);
        CHECK_INT(clock.start_given, rows[i].clock.start_given);
    }
}

TEST(what_is_no_clock_is_refused_with_the_forms)
{
    static const char *const texts[] = {
        "",
        "noon",
        "Real",
        "2026-13-01",
        "2026-02-30",
        "2026-01-01,",
        "2026-01-01,auto",
        "manual,manual",
        "real,manual",
        "+",
        "-",
        "+7",
        "+7x",
        "+-7d",
        "x",
        "x0",
        "x-1",
        "x1.5",
        "x1000001",
        "x10,manual",
        " real",
        "2026-01-01 ",
        "12",
        "@",
    };

    for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
        struct box_clock clock = {.scale = 77};
        struct err err = {0};
        CHECK_INT(box_clock_parse(texts[i], &clock, &err), -EINVAL);
        CHECK_HAS(err.text, "is not a clock\nhint: write real, 2026-01-31T12:00:00Z");
        CHECK_HAS(err.text, texts[i]);
        CHECK_INT(clock.scale, 77);
    }
}

TEST(a_paused_clock_starts_at_a_day_of_uptime_and_stands)
{
    struct box_clock_page page = {0};
    struct vclock clock = clock_of("2024-02-29", &page);

    CHECK_TRUE(vclock_held(&clock) && vclock_virtual(&clock));
    CHECK_INT(vclock_now(&clock), DAY);
    CHECK_INT(vclock_realtime(&clock), INT64_C(1709164800) * SEC);
    CHECK_INT(clock.start_monotonic_ns, DAY);
    CHECK_INT(page.version, BOX_ABI_VERSION);
    CHECK_INT(page.drive, BOX_DRIVE_HELD);
    CHECK_INT(page.monotonic_ns, DAY);
    CHECK_INT(page.monotonic_ns + page.realtime_offset_ns, INT64_C(1709164800) * SEC);
    CHECK_TRUE(page.read_limit > 1000 && page.read_limit < UINT64_MAX);
    CHECK_TRUE(page.never[0] > INT64_C(3000000000) && page.never[1] == 0);
    CHECK_INT(page.sequence % 2, 0);
}

TEST(no_options_give_the_first_of_january_2026)
{
    struct vclock clock = {0};

    vclock_init(&clock, &(struct box_options){0});
    CHECK_INT(clock.mode, BOX_CLOCK_PAUSED);
    CHECK_INT(vclock_realtime(&clock), START);
}

TEST(a_move_reaches_the_page_of_the_guests)
{
    struct box_clock_page page = {0};
    struct vclock clock = clock_of("manual", &page);
    uint32_t sequence = page.sequence;

    CHECK_TRUE(vclock_held(&clock));
    vclock_move(&clock, DAY + 5 * SEC);
    CHECK_INT(vclock_now(&clock), DAY + 5 * SEC);
    CHECK_INT(vclock_realtime(&clock), START + 5 * SEC);
    CHECK_INT(page.monotonic_ns, DAY + 5 * SEC);
    CHECK_INT(page.sequence, sequence + 2);
}

TEST(setting_the_wall_clock_leaves_monotonic_time_alone)
{
    struct box_clock_page page = {0};
    struct vclock clock = clock_of("manual", &page);

    vclock_set_realtime(&clock, 1000 * SEC);
    CHECK_INT(vclock_now(&clock), DAY);
    CHECK_INT(vclock_realtime(&clock), 1000 * SEC);
    CHECK_INT(page.monotonic_ns + page.realtime_offset_ns, 1000 * SEC);
    vclock_move(&clock, DAY + SEC);
    CHECK_INT(vclock_realtime(&clock), 1001 * SEC);
}

TEST(each_clock_id_is_wall_or_monotonic)
{
    struct vclock clock = clock_of("manual", NULL);
    static const clockid_t wall[] = {CLOCK_REALTIME, CLOCK_REALTIME_COARSE, CLOCK_REALTIME_ALARM,
                                     CLOCK_TAI};
    static const clockid_t monotonic[] = {CLOCK_MONOTONIC, CLOCK_MONOTONIC_RAW,
                                          CLOCK_MONOTONIC_COARSE, CLOCK_BOOTTIME,
                                          CLOCK_BOOTTIME_ALARM};

    for (size_t i = 0; i < ARRAY_LENGTH(wall); i++) {
        CHECK_TRUE(vclock_is_realtime(wall[i]));
        CHECK_INT(vclock_of(&clock, wall[i]), START);
    }
    for (size_t i = 0; i < ARRAY_LENGTH(monotonic); i++) {
        CHECK_TRUE(!vclock_is_realtime(monotonic[i]));
        CHECK_INT(vclock_of(&clock, monotonic[i]), DAY);
    }
}

/* The real clock goes on between two reads of it: what lies between them is all we know. */
static void check_between(int64_t from, int64_t value, int64_t to)
{
    if (value < from || value > to)
        check_fail(__FILE__, __LINE__, "%lld is not between %lld and %lld", (long long)value,
                   (long long)from, (long long)to);
}

TEST(a_shifted_clock_is_the_real_one_at_an_offset)
{
    struct box_clock_page page = {0};
    int64_t before = wall_now_ns();
    struct vclock clock = clock_of("+7d", &page);
    int64_t shown = vclock_realtime(&clock);

    CHECK_TRUE(!vclock_held(&clock) && vclock_virtual(&clock));
    check_between(before + 7 * DAY, shown, wall_now_ns() + 7 * DAY + SEC / 100);
    CHECK_INT(page.drive, BOX_DRIVE_REAL);
    CHECK_INT(page.scale, 1);
    CHECK_TRUE(page.read_limit == UINT64_MAX);
    int64_t earlier = (int64_t)wall_monotonic_ns();
    int64_t now = vclock_now(&clock);
    check_between(earlier, now, (int64_t)wall_monotonic_ns());
}

TEST(a_scaled_clock_runs_that_many_times_as_fast)
{
    struct box_clock_page page = {0};
    struct vclock clock = clock_of("x1000", &page);
    int64_t base = clock.real_base_ns;

    CHECK_INT(page.scale, 1000);
    CHECK_INT(page.real_base_ns, base);
    int64_t before = (int64_t)wall_monotonic_ns();
    int64_t passed = vclock_now(&clock) - clock.start_monotonic_ns;
    check_between((before - base) * 1000, passed, ((int64_t)wall_monotonic_ns() - base) * 1000);
    CHECK_INT(vclock_real_delay(&clock, 0), 0);
    int64_t start = (int64_t)wall_monotonic_ns();
    int64_t delay = (int64_t)vclock_real_delay(&clock, vclock_now(&clock) + 1000 * SEC);
    check_between(SEC - ((int64_t)wall_monotonic_ns() - start), delay, SEC + 1);
}

TEST(the_real_clock_is_neither_held_nor_virtual)
{
    struct vclock clock = clock_of("real", NULL);

    CHECK_TRUE(!vclock_held(&clock) && !vclock_virtual(&clock));
}
