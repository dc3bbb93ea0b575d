/* SPDX-License-Identifier: MIT */
/* The two views of a fidelity report, for people and for machines. */
#include "base/json.h"
#include "base/text.h"
#include "base/when.h"
#include "tape/fidelity.h"
#include "tape/fidelity_internal.h"
#include <math.h>
#include <string.h>

void divergence_done(struct divergence *divergence)
{
    free(divergence->category);
    free(divergence->message);
    free(divergence->rule);
    free(divergence->kind);
    free(divergence->subject);
    free(divergence->process);
    json_decref(divergence->recorded);
    json_decref(divergence->replay);
    *divergence = (struct divergence){0};
}

void fidelity_report_done(struct fidelity_report *report)
{
    for (size_t i = 0; i < report->kept; i++)
        divergence_done(&report->divergences[i]);
    free(report->divergences);
    *report = (struct fidelity_report){0};
}

static json_t *seq_json(int64_t seq)
{
    return seq < 0 ? json_null() : json_integer(seq);
}

static json_t *value_json(json_t *value)
{
    return value ? json_incref(value) : json_null();
}

static json_t *text_json(const char *text)
{
    return text ? json_string(text) : json_null();
}

static json_t *divergence_json(const struct divergence *d)
{
    json_t *object = json_object();

    json_object_set_new(object, "category", json_string(d->category));
    json_object_set_new(object, "message", json_string(d->message));
    json_object_set_new(object, "kind", json_string(d->kind));
    json_object_set_new(object, "subject", text_json(d->subject));
    json_object_set_new(object, "process", json_string(d->process));
    json_object_set_new(object, "rule", text_json(d->rule));
    json_object_set_new(object, "seq",
                        seq_json(d->recorded_seq >= 0 ? d->recorded_seq : d->replay_seq));
    json_object_set_new(object, "recorded_seq", seq_json(d->recorded_seq));
    json_object_set_new(object, "replay_seq", seq_json(d->replay_seq));
    json_object_set_new(object, "recorded", value_json(d->recorded));
    json_object_set_new(object, "replay", value_json(d->replay));
    json_object_set_new(object, "virtual_time_ns",
                        d->has_record ? json_integer(d->virtual_time_ns) : json_null());
    return object;
}

json_t *fidelity_report_json(const struct fidelity_report *report)
{
    json_t *object = json_object(), *list = json_array();

    for (size_t i = 0; i < report->kept; i++)
        json_array_append_new(list, divergence_json(&report->divergences[i]));
    json_object_set_new(object, "mode", json_string(fidelity_modes[report->mode]));
    json_object_set_new(object, "recorded_records",
                        json_integer((json_int_t)report->recorded_records));
    json_object_set_new(object, "replay_records", json_integer((json_int_t)report->replay_records));
    json_object_set_new(object, "divergence_count", json_integer((json_int_t)report->total));
    json_object_set_new(object, "divergences", list);
    json_object_set_new(object, "first_cause",
                        report->kept ? json_incref(json_array_get(list, 0)) : json_null());
    json_object_set_new(object, "score", json_real(report->score));
    json_object_set_new(object, "recorded_torn", json_boolean(report->recorded_torn));
    json_object_set_new(object, "replay_torn", json_boolean(report->replay_torn));
    return object;
}

/* " at 00:00:03.250, process 1.4, record 37" */
static void add_place(struct buf *buf, const struct fidelity_report *report,
                      const struct divergence *d)
{
    if (!d->has_record)
        return;
    buf_adds(buf, " at ");
    when_add_duration(buf, d->virtual_time_ns > report->start_ns
                               ? (uint64_t)(d->virtual_time_ns - report->start_ns)
                               : 0);
    if (*d->process) {
        buf_adds(buf, ", process ");
        text_add_escaped(buf, d->process, strlen(d->process));
    }
    buf_addf(buf, ", record %lld",
             (long long)(d->recorded_seq >= 0 ? d->recorded_seq : d->replay_seq));
    if (d->recorded_seq >= 0 && d->replay_seq >= 0 && d->recorded_seq != d->replay_seq)
        buf_addf(buf, " (%lld in the replay)", (long long)d->replay_seq);
}

static void add_divergence(struct buf *buf, const struct fidelity_report *report, size_t index)
{
    const struct divergence *d = &report->divergences[index];

    buf_adds(buf, index ? "also" : "first cause");
    add_place(buf, report, d);
    buf_addf(buf, ": %s\n  ", d->category);
    if (*d->kind) {
        buf_adds(buf, d->kind);
        if (d->subject) {
            buf_addc(buf, ' ');
            text_add_escaped(buf, d->subject, strlen(d->subject));
        }
        buf_adds(buf, "  ");
    }
    text_add_escaped(buf, d->message, strlen(d->message));
    buf_addc(buf, '\n');
    if (d->rule) {
        buf_adds(buf, "  rule  --ignore ");
        text_add_quoted(buf, d->rule);
        buf_addc(buf, '\n');
    }
}

void fidelity_report_add(struct buf *buf, const struct fidelity_report *report, size_t shown_max)
{
    size_t shown = report->kept < shown_max ? report->kept : shown_max;

    for (size_t i = 0; i < shown; i++)
        add_divergence(buf, report, i);
    if (report->total > shown)
        buf_addf(buf, "... and %llu more\n", (unsigned long long)(report->total - shown));
    if (report->recorded_torn || report->replay_torn)
        buf_addf(buf, "note: the last line of the %s is torn and was dropped\n",
                 report->recorded_torn ? "recording" : "replay");
    buf_addf(buf, "%s: %llu divergence%s, score %.4f, %llu recorded and %llu replayed records\n",
             fidelity_modes[report->mode], (unsigned long long)report->total,
             report->total == 1 ? "" : "s", floor(report->score * 10000) / 10000,
             (unsigned long long)report->recorded_records,
             (unsigned long long)report->replay_records);
}
