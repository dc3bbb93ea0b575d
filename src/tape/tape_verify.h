/* SPDX-License-Identifier: MIT */
/* tape_verify: reads a tape to its end and checks all that can be checked: the form of every line,
 * the order of seq, members given twice, hashes of payloads, contents in the store, the digest and
 * count of the end line, and on demand what looks like a secret. A finding is a problem of the
 * tape; a note is not. Trouble that ends the reading (a line that is no JSON) is a finding, too. */
#pragma once
#include "base/err.h"
#include "tape/secrets.h"
#include "tape/store.h"
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct tape_verify_options {
    const char *path;
    struct store *store;     /* borrowed; NULL leaves the contents alone */
    struct secrets *secrets; /* borrowed; NULL does not look for them */
    bool complete;           /* a tape without an end line is a finding */
    size_t findings_max;     /* kept with their text; 0: 1000 */
};

struct tape_verdict {
    uint64_t records, contents; /* contents: those read from the store */
    uint64_t finding_count;
    json_t *findings; /* owned: [{"line","code","message"}] */
    json_t *notes;    /* owned: texts */
    json_t *kinds;    /* owned: kind to its number of records */
};

/* -errno only when the tape cannot be opened at all. */
int tape_verify(const struct tape_verify_options *options, struct tape_verdict *ret,
                struct err *err);
void tape_verdict_done(struct tape_verdict *verdict);
static inline __attribute__((unused)) void tape_verdict_done_cleanup(struct tape_verdict *verdict)
{
    tape_verdict_done(verdict);
}
