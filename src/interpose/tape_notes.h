/* SPDX-License-Identifier: MIT */
/* tape_notes: what happened on a bench, in memory until its tape is written. Threads note at the
 * same time; the order on the tape is (time, worker, the worker's own order), never who came first.
 */
#pragma once
#include "base/buf.h"
#include <stdint.h>

struct tape_note {
    char *kind, *data, *worker; /* owned */
    int64_t now_ns;
    uint64_t monotonic_ns, number;
};
struct tape_notes {
    struct tape_note *notes; /* owned */
    size_t count, capacity;
};

/* Copies. Whoever has the world's lock. */
void tape_notes_add(struct tape_notes *notes, const char *kind, const char *data);
void tape_notes_sort(struct tape_notes *notes);
void tape_notes_done(struct tape_notes *notes);
