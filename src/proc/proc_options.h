/* SPDX-License-Identifier: MIT */
/* proc_options: what a box is asked to do about subprocesses, and what it found. */
#pragma once
#include "match/call.h"
#include <stdbool.h>
#include <stdint.h>

enum proc_mode {
    PROC_OFF,    /* they run, and nothing is kept */
    PROC_RECORD, /* they run, and what they do is recorded */
    PROC_REPLAY, /* they do not run: the cassette answers */
    PROC_NEW,    /* the cassette answers; what it does not know runs and is recorded */
    PROC_VERIFY, /* they run, and what they do is held against the cassette */
};

enum proc_on_miss {
    PROC_MISS_FAILS,  /* the call gets an error and the run fails */
    PROC_MISS_PASSES, /* the program runs, unrecorded */
    PROC_MISS_RECORDS,
};

struct proc_options {
    enum proc_mode mode;
    enum proc_on_miss on_miss;
    const char *cassette;      /* bundle, tape or JSON list to read; NULL: none */
    const char *const *only;   /* patterns of program names, NULL-ended; NULL: all */
    const char *const *except; /* the same, of those left alone */
    struct call_view view;     /* what of a call counts */
    uint64_t max_age_ns;       /* of recordings; 0: any */
    bool strict_order;         /* calls must come in the recorded order */
    bool allow_unused;         /* recordings that nobody asked for do not fail the run */
    bool allow_miss;           /* neither do calls without a recording */
    bool keep_unused;          /* they are written to the new bundle as well */
};

/* Some may be recorded. */
static inline bool proc_options_record(const struct proc_options *options)
{
    return options->mode != PROC_OFF &&
           (options->mode != PROC_REPLAY || options->on_miss == PROC_MISS_RECORDS);
}

enum { PROC_TEXT_MAX = 12288 };

struct proc_findings { /* plain data */
    uint64_t recorded, played, passed;
    uint64_t misses, unused;
    uint64_t differences;     /* of PROC_VERIFY */
    uint64_t troubles;        /* what could not be recorded or played as it should be */
    char text[PROC_TEXT_MAX]; /* what is wrong, in words; "" when nothing is */
};
