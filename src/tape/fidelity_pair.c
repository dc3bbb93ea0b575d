/* SPDX-License-Identifier: MIT */
/* One pair of records: what differs, in which category, and which rule would overlook it. */
#include "base/buf.h"
#include "base/json.h"
#include "tape/fidelity_fields.h"
#include "tape/fidelity_internal.h"
#include "tape/pairs.h"
#include <assert.h>
#include <string.h>

enum { VALUE_TEXT_MAX = 160 };

/* One pair being compared. */
struct pairing {
    struct comparison *comparison;
    const struct tape_entry *recorded, *replay; /* one may be NULL */
    char *kind, *subject, *process;             /* owned */
    unsigned found;
};

static void report_one(struct pairing *pairing, const char *category, char *message, char *rule,
                       json_t *recorded, json_t *replay)
{
    const struct tape_entry *a = pairing->recorded, *b = pairing->replay;
    struct divergence divergence = {
        .category = mem_dup(category),
        .message = message,
        .rule = rule,
        .kind = mem_dup(pairing->kind),
        .subject = mem_dup(pairing->subject),
        .process = mem_dup(pairing->process),
        .recorded = json_incref(recorded),
        .replay = json_incref(replay),
        .recorded_seq = a ? (int64_t)a->seq : -1,
        .replay_seq = b ? (int64_t)b->seq : -1,
        .virtual_time_ns = a ? a->virtual_time_ns : b->virtual_time_ns,
        .has_record = true,
    };

    pairing->found++;
    fidelity_keep(pairing->comparison->report, pairing->comparison->keep_max, &divergence);
}

static void add_value(struct buf *buf, const json_t *value)
{
    CLEANUP(buf_done) struct buf text = {0};

    if (!value) {
        buf_adds(buf, "nothing");
        return;
    }
    json_add_canonical(&text, value);
    if (text.length <= VALUE_TEXT_MAX) {
        buf_adds(buf, text.data);
        return;
    }
    size_t cut = VALUE_TEXT_MAX;
    while (cut && ((unsigned char)text.data[cut] & 0xc0) == 0x80)
        cut--;
    buf_add(buf, text.data, cut);
    buf_adds(buf, "...");
}

char *fidelity_values_message(const char *path, const json_t *recorded, const json_t *replay)
{
    struct buf text = {0};

    buf_addf(&text, "%s: recorded ", path);
    add_value(&text, recorded);
    buf_adds(&text, ", replayed ");
    add_value(&text, replay);
    return buf_take(&text);
}

static char *rule_for(const struct pairing *pairing, const char *path)
{
    if (pairing->subject && !strpbrk(pairing->subject, "]\n'"))
        return mem_format("%s[%s].%s", pairing->kind, pairing->subject, path);
    return mem_format("%s.%s", pairing->kind, path);
}

static void compare_member(struct pairing *pairing, const char *member, bool strict,
                           const json_t *recorded, const json_t *replay)
{
    const struct fidelity_options *options = pairing->comparison->options;
    enum tape_kind kind = pairing->recorded->kind;
    const struct fidelity_field *field = fidelity_field_find(kind, member);
    CLEANUP(buf_done) struct buf path = {0};
    struct value_diff diff = {
        .noise = options->noise, .kind = pairing->kind, .subject = pairing->subject, .path = &path};

    if (field && field->strict && !strict)
        return;
    buf_adds(&path, member);
    value_diff(&diff, recorded, replay);
    if (!diff.count)
        return;
    CLEANUP(mem_free) char *made = mem_format("%s_%s", pairing->kind, member);
    const char *category = field ? field->category : kind == TAPE_UNKNOWN ? "unknown_kind" : made;
    char *message = fidelity_values_message(diff.first_path, diff.first_a, diff.first_b);
    if (diff.count > 1) {
        char *longer = mem_format("%s (and %u more)", message, diff.count - 1);
        free(message);
        message = longer;
    }
    report_one(pairing, category, message, rule_for(pairing, diff.first_path), diff.first_a,
               diff.first_b);
    free(diff.first_path);
}

static void compare_data(struct pairing *pairing, bool strict, const json_t *a, const json_t *b)
{
    CLEANUP(mem_free) const char **keys = NULL;
    size_t count = json_keys_of_both(a, b, &keys);

    for (size_t i = 0; i < count; i++)
        compare_member(pairing, keys[i], strict, json_object_get(a, keys[i]),
                       json_object_get(b, keys[i]));
}

static bool is_covered(const struct pairing *pairing, const char *path)
{
    return noise_covers(pairing->comparison->options->noise, pairing->kind, pairing->subject, path);
}

static void compare_envelope(struct pairing *pairing, bool strict)
{
    const struct tape_entry *a = pairing->recorded, *b = pairing->replay;

    if ((a->process.length != b->process.length ||
         (a->process.length && memcmp(a->process.text, b->process.text, a->process.length) != 0)) &&
        !is_covered(pairing, "process"))
        report_one(pairing, "process_mismatch",
                   mem_format("process: recorded %.*s, replayed %.*s", (int)a->process.length,
                              a->process.text ? a->process.text : "", (int)b->process.length,
                              b->process.text ? b->process.text : ""),
                   rule_for(pairing, "process"), NULL, NULL);
    if (strict && a->phase != b->phase && !is_covered(pairing, "phase"))
        report_one(pairing, "phase_mismatch",
                   mem_format("phase: recorded %s, replayed %s", tape_phases[a->phase],
                              tape_phases[b->phase]),
                   rule_for(pairing, "phase"), NULL, NULL);
}

static char *drift_message(const char *what, int64_t before, int64_t now)
{
    int64_t change = (int64_t)((uint64_t)now - (uint64_t)before);

    return mem_format("%s: replayed %llu ns %s than recorded", what,
                      (unsigned long long)(change < 0 ? -(uint64_t)change : (uint64_t)change),
                      change < 0 ? "earlier" : "later");
}

/* A changed distance between the two clocks is a divergence of its own only where nothing else
 * explains it: behind another divergence it is its consequence. */
static void compare_times(struct pairing *pairing, bool strict)
{
    struct comparison *comparison = pairing->comparison;
    const struct tape_entry *a = pairing->recorded, *b = pairing->replay;
    int64_t wall = (int64_t)((uint64_t)b->virtual_time_ns - (uint64_t)a->virtual_time_ns);
    int64_t monotonic = (int64_t)(b->monotonic_ns - a->monotonic_ns);
    bool explained = comparison->after_divergence || pairing->found || !strict;
    int64_t wall_change = (int64_t)((uint64_t)wall - (uint64_t)comparison->wall_ns);
    int64_t monotonic_change = (int64_t)((uint64_t)monotonic - (uint64_t)comparison->monotonic_ns);

    if (!explained && wall_change && !is_covered(pairing, "virtual_time_ns"))
        report_one(pairing, "virtual_time_drift",
                   drift_message("virtual_time_ns", comparison->wall_ns, wall),
                   mem_dup("*.virtual_time_ns"), NULL, NULL);
    if (!explained && monotonic_change && monotonic_change != wall_change &&
        !is_covered(pairing, "monotonic_ns"))
        report_one(pairing, "monotonic_drift",
                   drift_message("monotonic_ns", comparison->monotonic_ns, monotonic),
                   mem_dup("*.monotonic_ns"), NULL, NULL);
    comparison->wall_ns = wall;
    comparison->monotonic_ns = monotonic;
}

static char *what_is(const struct pairing *pairing)
{
    const struct tape_entry *entry = pairing->recorded ? pairing->recorded : pairing->replay;

    return mem_format("record %llu (%s%s%s)", (unsigned long long)entry->seq, pairing->kind,
                      pairing->subject ? " " : "", pairing->subject ? pairing->subject : "");
}

static void compare_alone(struct pairing *pairing, json_t *data)
{
    CLEANUP(mem_free) char *what = what_is(pairing);

    if (pairing->recorded)
        report_one(pairing, "missing_in_replay", mem_format("%s is missing in the replay", what),
                   mem_dup(pairing->kind), data, NULL);
    else
        report_one(pairing, "missing_in_recorded",
                   mem_format("%s is missing in the recording", what), mem_dup(pairing->kind), NULL,
                   data);
}

static void compare_both(struct pairing *pairing, bool strict, json_t *a, json_t *b)
{
    const struct tape_entry *recorded = pairing->recorded, *replay = pairing->replay;

    if (recorded->kind_name.length != replay->kind_name.length ||
        memcmp(recorded->kind_name.text, replay->kind_name.text, replay->kind_name.length) != 0) {
        report_one(pairing, "kind_mismatch",
                   mem_format("kind: recorded %s, replayed %.*s", pairing->kind,
                              (int)replay->kind_name.length, replay->kind_name.text),
                   mem_dup(pairing->kind), a, b);
        return;
    }
    compare_envelope(pairing, strict);
    compare_data(pairing, strict, a, b);
}

/* Nearly all pairs are equal but for their place: nothing is built for them. */
static bool is_plainly_equal(const struct comparison *comparison, const struct tape_entry *a,
                             const struct tape_entry *b)
{
    return a && b && a->form == TAPE_NATIVE && b->form == TAPE_NATIVE && a->phase == b->phase &&
           a->data.length == b->data.length && a->process.length == b->process.length &&
           a->kind_name.length == b->kind_name.length &&
           memcmp(a->data.text, b->data.text, a->data.length) == 0 &&
           memcmp(a->kind_name.text, b->kind_name.text, a->kind_name.length) == 0 &&
           (!a->process.length ||
            memcmp(a->process.text, b->process.text, a->process.length) == 0) &&
           (comparison->wall_ns ==
                (int64_t)((uint64_t)b->virtual_time_ns - (uint64_t)a->virtual_time_ns) &&
            comparison->monotonic_ns == (int64_t)(b->monotonic_ns - a->monotonic_ns));
}

int fidelity_pair(void *context, const struct tape_entry *a, const struct tape_entry *b)
{
    struct comparison *comparison = context;
    enum fidelity_mode mode = comparison->options->mode;
    CLEANUP(json_free) json_t *a_data = NULL;
    CLEANUP(json_free) json_t *b_data = NULL;
    CLEANUP(buf_done) struct buf process = {0};
    const struct tape_entry *one = a ? a : b;
    int r = 0;

    assert(one);
    bool strict = pairs_is_strict(mode, one) || (b && pairs_is_strict(mode, b));
    if (is_plainly_equal(comparison, a, b)) {
        comparison->after_divergence = false;
        return 0;
    }
    if (a)
        r = tape_entry_data(a, &a_data, comparison->err);
    if (r == 0 && b)
        r = tape_entry_data(b, &b_data, comparison->err);
    if (r < 0)
        return r;
    tape_entry_add_process(one, &process);
    struct pairing pairing = {
        .comparison = comparison,
        .recorded = a,
        .replay = b,
        .kind = mem_dupn(one->kind_name.text, one->kind_name.length),
        .subject = mem_dup(pairs_subject(one->kind, a ? a_data : b_data)),
        .process = mem_dup(buf_text(&process)),
    };
    if (a && b) {
        compare_both(&pairing, strict, a_data, b_data);
        compare_times(&pairing, strict);
    } else {
        compare_alone(&pairing, a ? a_data : b_data);
    }
    comparison->report->diverged_records += pairing.found != 0;
    comparison->after_divergence = pairing.found != 0;
    free(pairing.kind);
    free(pairing.subject);
    free(pairing.process);
    return 0;
}
