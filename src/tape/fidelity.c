/* SPDX-License-Identifier: MIT */
/* Opens two tapes, compares their headers, lets pairs.c walk them and fidelity_pair.c judge the
 * pairs, and sums up. */
#include "tape/fidelity.h"
#include "base/json.h"
#include "base/text.h"
#include "tape/fidelity_internal.h"
#include "tape/pairs.h"
#include "tape/tape_reader.h"
#include <assert.h>
#include <errno.h>
#include <string.h>

enum { KEEP_MAX = 1000 };

const char *const fidelity_modes[FIDELITY_MODE_COUNT] = {"byte", "semantic", "outcome", "phase"};

int fidelity_mode_parse(const char *text, enum fidelity_mode *ret, struct err *err)
{
    static const struct {
        const char *name;
        enum fidelity_mode mode;
    } names[] = {
        {"byte", FIDELITY_BYTE},
        {"byte-identical", FIDELITY_BYTE},
        {"byte_identical", FIDELITY_BYTE},
        {"semantic", FIDELITY_SEMANTIC},
        {"outcome", FIDELITY_OUTCOME},
        {"phase", FIDELITY_PHASE},
        {"phase-aware", FIDELITY_PHASE},
        {"phase_aware", FIDELITY_PHASE},
        {"byte-user-semantic-runtime", FIDELITY_PHASE},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(names); i++)
        if (strcmp(text, names[i].name) == 0) {
            *ret = names[i].mode;
            return 0;
        }
    err_set(err, -EINVAL, "unknown fidelity mode '%s'", text);
    return err_hint(err, "byte (byte-identical), semantic, outcome, phase (phase-aware, "
                         "byte-user-semantic-runtime)");
}

void fidelity_keep(struct fidelity_report *report, size_t keep_max, struct divergence *divergence)
{
    report->total++;
    if (report->kept >= keep_max) {
        divergence_done(divergence);
        return;
    }
    report->divergences =
        mem_grow(report->divergences, (report->kept + 1) * sizeof *report->divergences);
    report->divergences[report->kept++] = *divergence;
}

static void compare_headers(struct comparison *comparison, const json_t *a, const json_t *b)
{
    static const char *const members[] = {"argv", "options", "rules", "started_at_unix_ms"};

    for (size_t i = 0; i < ARRAY_LENGTH(members); i++) {
        CLEANUP(buf_done) struct buf path = {0};
        struct value_diff diff = {
            .noise = comparison->options->noise, .kind = "header", .path = &path};
        buf_adds(&path, members[i]);
        value_diff(&diff, json_object_get(a, members[i]), json_object_get(b, members[i]));
        if (!diff.count)
            continue;
        struct divergence divergence = {
            .category = mem_format("header_%s", members[i]),
            .message = fidelity_values_message(diff.first_path, diff.first_a, diff.first_b),
            .rule = mem_format("header.%s", diff.first_path),
            .kind = mem_dup("header"),
            .process = mem_dup(""),
            .recorded = json_incref(diff.first_a),
            .replay = json_incref(diff.first_b),
            .recorded_seq = -1,
            .replay_seq = -1,
        };
        fidelity_keep(comparison->report, comparison->keep_max, &divergence);
        free(diff.first_path);
    }
}

static int compare_tapes(struct comparison *comparison, struct tape_reader *recorded,
                         struct tape_reader *replay)
{
    struct fidelity_report *report = comparison->report;
    int r;

    report->start_ns = tape_reader_start_ns(recorded);
    if (comparison->options->mode == FIDELITY_OUTCOME) {
        r = outcome_compare(comparison, recorded, replay);
    } else {
        struct pairs_options pairs = {.mode = comparison->options->mode,
                                      .noise = comparison->options->noise,
                                      .pair = fidelity_pair,
                                      .context = comparison};
        if (comparison->options->mode != FIDELITY_SEMANTIC)
            compare_headers(comparison, tape_reader_header(recorded), tape_reader_header(replay));
        /* The clocks may start apart: that is the header's divergence, if it is one. */
        comparison->after_divergence = report->total != 0;
        r = pairs_run(recorded, replay, &pairs, comparison->err);
    }
    struct tape_summary a = tape_reader_summary(recorded), b = tape_reader_summary(replay);
    report->recorded_records = a.records;
    report->replay_records = b.records;
    report->recorded_torn = a.torn_line != 0;
    report->replay_torn = b.torn_line != 0;
    uint64_t most = a.records > b.records ? a.records : b.records;
    double share = (double)report->diverged_records / (double)(most ? most : 1);
    report->score = 1 - (share > 1 ? 1 : share);
    if (comparison->options->mode == FIDELITY_OUTCOME || !most)
        report->score = report->total ? 0 : 1;
    return r;
}

int fidelity_compare(const struct fidelity_options *options, struct fidelity_report *ret,
                     struct err *err)
{
    CLEANUP(tape_reader_free) struct tape_reader *recorded = NULL;
    CLEANUP(tape_reader_free) struct tape_reader *replay = NULL;
    struct fidelity_report report = {.mode = options->mode};
    struct comparison comparison = {.options = options,
                                    .report = &report,
                                    .keep_max = options->keep_max ? options->keep_max : KEEP_MAX,
                                    .err = err};
    int r =
        tape_reader_open(&(struct tape_reader_options){.path = options->recorded}, &recorded, err);

    if (r == 0)
        r = tape_reader_open(&(struct tape_reader_options){.path = options->replay}, &replay, err);
    if (r == 0)
        r = compare_tapes(&comparison, recorded, replay);
    if (r < 0) {
        fidelity_report_done(&report);
        return r;
    }
    *ret = report;
    return 0;
}
