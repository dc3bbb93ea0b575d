/* SPDX-License-Identifier: MIT */
/* fidelity: how faithful a replay is to its recording. Records are aligned, not paired by position,
 * so an inserted record is one divergence and not one for each record behind it. Modes:
 *
 *     byte       every member of every record, its phase and its times
 *     semantic   the same but for times, phases, durations and lengths
 *     outcome    only what is left behind: files, the last exit code, the number of llm calls
 *     phase      byte for the phase user_script; semantic for runtime_finalize, without clock reads
 *
 * Times are compared by their distance: a divergence is reported where the distance between the two
 * runs changes, not at every record that follows. The first divergence is the first cause.
 *
 * Both tapes are streamed; memory is bounded by a window of records around a difference. */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "tape/noise.h"
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum fidelity_mode {
    FIDELITY_BYTE,
    FIDELITY_SEMANTIC,
    FIDELITY_OUTCOME,
    FIDELITY_PHASE,
    FIDELITY_MODE_COUNT,
};

struct divergence {
    char *category; /* owned, as are all below */
    char *message;  /* one line, stable wording */
    char *rule;     /* noise rule that would overlook it; NULL in outcome mode */
    char *kind;     /* "" in outcome mode */
    char *subject;  /* NULL for none */
    char *process;
    json_t *recorded, *replay;        /* the values that differ, or whole payloads; NULL for none */
    int64_t recorded_seq, replay_seq; /* -1 where there is no record on that side */
    int64_t virtual_time_ns;          /* of the recorded record, or else the replayed one */
    bool has_record;                  /* off in outcome mode and for headers */
};

struct fidelity_report {
    enum fidelity_mode mode;
    uint64_t recorded_records, replay_records;
    struct divergence *divergences; /* owned; in the order of the tapes */
    size_t kept;                    /* how many of them are here */
    uint64_t total;                 /* how many there are */
    uint64_t diverged_records;
    double score; /* 1 - diverged records / records; outcome: 1 or 0 */
    int64_t start_ns;
    bool recorded_torn, replay_torn;
};

struct fidelity_options {
    const char *recorded, *replay; /* paths of tapes */
    enum fidelity_mode mode;
    const struct noise *noise; /* borrowed; NULL for none */
    size_t keep_max;           /* divergences kept with their text; 0: 1000 */
};

/* Names and aliases: byte, byte-identical, byte_identical; semantic; outcome; phase, phase-aware,
 * phase_aware, byte-user-semantic-runtime. -EINVAL with the list. */
int fidelity_mode_parse(const char *text, enum fidelity_mode *ret, struct err *err);
extern const char *const fidelity_modes[FIDELITY_MODE_COUNT];

int fidelity_compare(const struct fidelity_options *options, struct fidelity_report *ret,
                     struct err *err);
void fidelity_report_done(struct fidelity_report *report);
static inline __attribute__((unused)) void fidelity_report_done_cleanup(struct fidelity_report *r)
{
    fidelity_report_done(r);
}

/* fidelity_report.c: the two views. */
json_t *fidelity_report_json(const struct fidelity_report *report); /* returns owned */
void fidelity_report_add(struct buf *buf, const struct fidelity_report *report, size_t shown_max);
