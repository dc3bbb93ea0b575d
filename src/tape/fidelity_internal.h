/* SPDX-License-Identifier: MIT */
/* What the files of fidelity share. */
#pragma once
#include "tape/fidelity.h"
#include "tape/tape_reader.h"

struct comparison {
    const struct fidelity_options *options;
    struct fidelity_report *report;
    size_t keep_max;
    struct err *err;
    int64_t wall_ns, monotonic_ns; /* distance between the clocks at the last pair */
    bool after_divergence;         /* the record before diverged, so times may jump here */
};

/* Takes the divergence: keeps it or, beyond keep_max, only counts it. */
void fidelity_keep(struct fidelity_report *report, size_t keep_max, struct divergence *divergence);
void divergence_done(struct divergence *divergence);
char *fidelity_values_message(const char *path, const json_t *recorded, const json_t *replay);

/* fidelity_pair.c: for pairs_options; the context is a comparison. One of the two may be NULL. */
int fidelity_pair(void *context, const struct tape_entry *recorded,
                  const struct tape_entry *replay);
/* fidelity_outcome.c */
int outcome_compare(struct comparison *comparison, struct tape_reader *recorded,
                    struct tape_reader *replay);

/* value_diff.c: the leaves where two values differ, noise left out. */
struct value_diff {
    const struct noise *noise;
    const char *kind, *subject;
    struct buf *path;          /* where the values stand; restored */
    unsigned count;            /* leaves that differ */
    char *first_path;          /* owned by the caller; NULL while count is 0 */
    json_t *first_a, *first_b; /* borrowed from the values; NULL where there is none */
};
void value_diff(struct value_diff *diff, const json_t *a, const json_t *b);
/* The members of either object, sorted: returns owned list of borrowed names. */
size_t json_keys_of_both(const json_t *a, const json_t *b, const char ***ret);
