/* SPDX-License-Identifier: MIT */
#include "doctor/doctor.h"
#include "base/json.h"
#include <string.h>

/* What each axis needs, by the names of probes. */
static const struct {
    const char *axis;
    enum doctor_tier tier; /* the least that has it */
    const char *without;   /* what is different in tier B; NULL if nothing is */
} axes[] = {
    {"clock", DOCTOR_B, NULL},
    {"random", DOCTOR_B, NULL},
    {"files", DOCTOR_A, "--fs real does without"},
    {"processes", DOCTOR_B, "with the machine's numbers"},
    {"network", DOCTOR_A, "--net real does without"},
    {"terminal", DOCTOR_NONE, NULL},
    {"threads", DOCTOR_NONE, NULL},
};

void doctor_examine(const struct doctor_probe *probes, struct doctor_report *ret)
{
    size_t count = 0;
    bool all = true, tier_a = true;

    while (probes[count].name)
        count++;
    *ret = (struct doctor_report){.probes = probes, .count = count};
    ret->answers = mem_alloc((count + 1) * sizeof *ret->answers);
    for (size_t i = 0; i < count; i++) {
        probes[i].probe(&ret->answers[i]);
        if (!ret->answers[i].remedy)
            ret->answers[i].remedy = probes[i].remedy;
        all &= ret->answers[i].works || probes[i].need != DOCTOR_FOR_ALL;
        tier_a &= ret->answers[i].works || probes[i].need != DOCTOR_FOR_A;
    }
    ret->tier = !all ? DOCTOR_NONE : tier_a ? DOCTOR_A : DOCTOR_B;
}

void doctor_report_done(struct doctor_report *report)
{
    free(report->answers);
    *report = (struct doctor_report){0};
}

static const char *tier_words(enum doctor_tier tier)
{
    switch (tier) {
    case DOCTOR_A:
        return "tier A: every axis is virtual";
    case DOCTOR_B:
        return "tier B: no namespaces, so no files in memory and no network of its own";
    case DOCTOR_NONE:
        break;
    }
    return "vitro run cannot work here";
}

void doctor_add_text(struct buf *buf, const struct doctor_report *report, bool colour)
{
    const char *red = colour ? "\033[31m" : "", *green = colour ? "\033[32m" : "",
               *yellow = colour ? "\033[33m" : "", *plain = colour ? "\033[m" : "";

    buf_addf(buf, "%s\n\n", tier_words(report->tier));
    for (size_t i = 0; i < report->count; i++) {
        const struct doctor_answer *answer = &report->answers[i];
        bool needed = report->probes[i].need != DOCTOR_FOR_ONE;
        buf_addf(buf, "  %s%-7s%s  %-16s  %s",
                 answer->works ? green
                 : needed      ? red
                               : yellow,
                 answer->works ? "ok" : "missing", plain, report->probes[i].name,
                 report->probes[i].gives);
        if (answer->detail[0])
            buf_addf(buf, " (%s)", answer->detail);
        buf_addc(buf, '\n');
        if (!answer->works)
            buf_addf(buf, "           remedy: %s\n", answer->remedy);
    }
    buf_addc(buf, '\n');
    for (size_t i = 0; i < ARRAY_LENGTH(axes); i++) {
        bool has = report->tier >= axes[i].tier;
        const char *note = report->tier == DOCTOR_B ? axes[i].without : NULL;
        buf_addf(buf, "  %-9s  %s%s%s\n", axes[i].axis, has ? "virtual" : "not here",
                 note ? ", " : "", note ? note : "");
    }
}

void doctor_add_json(struct buf *buf, const struct doctor_report *report)
{
    static const char *const tiers[] = {"none", "B", "A"};
    static const char *const needs[] = {"all", "A", "one"};
    CLEANUP(json_free) json_t *root = json_object();
    json_t *probes = json_array(), *list = json_object();

    json_object_set_new(root, "tier", json_string(tiers[report->tier]));
    for (size_t i = 0; i < report->count; i++) {
        const struct doctor_answer *answer = &report->answers[i];
        json_t *row = json_object();
        json_object_set_new(row, "name", json_string(report->probes[i].name));
        json_object_set_new(row, "gives", json_string(report->probes[i].gives));
        json_object_set_new(row, "needed_for", json_string(needs[report->probes[i].need]));
        json_object_set_new(row, "works", json_boolean(answer->works));
        json_object_set_new(row, "detail", json_string(answer->detail));
        if (!answer->works)
            json_object_set_new(row, "remedy", json_string(answer->remedy));
        json_array_append_new(probes, row);
    }
    json_object_set_new(root, "probes", probes);
    for (size_t i = 0; i < ARRAY_LENGTH(axes); i++)
        json_object_set_new(list, axes[i].axis, json_boolean(report->tier >= axes[i].tier));
    json_object_set_new(root, "axes", list);
    json_add_canonical(buf, root);
    buf_addc(buf, '\n');
}
