/* SPDX-License-Identifier: MIT */
#include "doctor/doctor.h"
#include "base/json.h"
#include "lib/check.h"
#include <errno.h>
#include <signal.h>
#include <unistd.h>

static void works(struct doctor_answer *ret)
{
    ret->works = true;
}
static void fails(struct doctor_answer *ret)
{
    (void)snprintf(ret->detail, sizeof ret->detail, "Operation not permitted");
}
static void fails_with_remedy(struct doctor_answer *ret)
{
    ret->remedy = "sudo sysctl -w this=1";
}

static enum doctor_tier tier_of(void (*all)(struct doctor_answer *),
                                void (*tier_a)(struct doctor_answer *),
                                void (*one)(struct doctor_answer *), struct buf *text)
{
    const struct doctor_probe probes[] = {
        {"first", "everything", DOCTOR_FOR_ALL, all, "general remedy"},
        {"second", "namespaces", DOCTOR_FOR_A, tier_a, "other remedy"},
        {"third", "one thing", DOCTOR_FOR_ONE, one, "third remedy"},
        {0},
    };
    CLEANUP(doctor_report_done) struct doctor_report report = {0};

    doctor_examine(probes, &report);
    doctor_add_text(text, &report, false);
    return report.tier;
}

TEST(the_tier_follows_from_what_is_missing)
{
    CLEANUP(buf_done) struct buf text = {0};

    CHECK_INT(tier_of(works, works, works, &text), DOCTOR_A);
    CHECK_INT(tier_of(works, works, fails, &text), DOCTOR_A);
    CHECK_INT(tier_of(works, fails, works, &text), DOCTOR_B);
    CHECK_INT(tier_of(fails, works, works, &text), DOCTOR_NONE);
}

TEST(what_is_missing_is_shown_with_its_cause_and_its_remedy)
{
    CLEANUP(buf_done) struct buf text = {0};

    (void)tier_of(fails, fails_with_remedy, works, &text);
    CHECK_HAS(text.data, "vitro run cannot work here");
    CHECK_HAS(text.data, "missing  first             everything (Operation not permitted)\n"
                         "           remedy: general remedy\n");
    CHECK_HAS(text.data, "           remedy: sudo sysctl -w this=1\n");
    CHECK_TRUE(!strstr(text.data, "other remedy") && !strstr(text.data, "third remedy"));
    CHECK_HAS(text.data, "files      not here");
}

TEST(the_json_view_says_the_same)
{
    CLEANUP(doctor_report_done) struct doctor_report report = {0};
    CLEANUP(buf_done) struct buf text = {0};
    CLEANUP(json_free) json_t *root = NULL;
    struct err err = {0};

    doctor_examine(doctor_probes, &report);
    doctor_add_json(&text, &report);
    CHECK_OK(json_parse(text.data, text.length, "doctor", &root, &err), err);
    CHECK_INT(json_array_size(json_object_get(root, "probes")), report.count);
    for (size_t i = 0; i < report.count; i++)
        CHECK_TRUE(report.probes[i].remedy && *report.probes[i].gives);
}

static int killed(struct err *err)
{
    (void)err;
    raise(SIGKILL);
    return 0;
}
static int refused(struct err *err)
{
    return err_set(err, -EPERM, "no such luck");
}

TEST(what_a_child_says_or_how_it_dies_comes_back)
{
    struct err err = {0};

    CHECK_INT(doctor_in_child(0, refused, &err), -EPERM);
    CHECK_TEXT(err.text, "no such luck");
    CHECK_INT(doctor_in_child(0, killed, &err), -EIO);
    CHECK_HAS(err.text, "signal 9");
}
