/* SPDX-License-Identifier: MIT */
/* pairs: walks two tapes side by side and says which records belong together. While both go the
 * same way, records are compared where they lie. At a difference a window of both is taken up,
 * grown until they meet again, and aligned: first by whole records, then what is left by kind,
 * process and subject, then by kind alone, and last by position where as many are left on either
 * side. */
#pragma once
#include "tape/fidelity.h"
#include "tape/tape_reader.h"

struct pairs_options {
    enum fidelity_mode mode;
    const struct noise *noise;
    /* One of the two is NULL when a record has no partner. Returns 0 or -errno. */
    int (*pair)(void *context, const struct tape_entry *recorded, const struct tape_entry *replay);
    void *context;
};

int pairs_run(struct tape_reader *recorded, struct tape_reader *replay,
              const struct pairs_options *options, struct err *err);

/* Whether this record is compared strictly in this mode, or dropped from the comparison. */
bool pairs_is_strict(enum fidelity_mode mode, const struct tape_entry *entry);
/* The value of the subject of a payload; NULL if it has none that is a text. Borrowed from data. */
const char *pairs_subject(enum tape_kind kind, const json_t *data);
