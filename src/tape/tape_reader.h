/* SPDX-License-Identifier: MIT */
/* tape_reader: reads a tape record by record in bounded memory.
 *
 * The header is read at opening; a newer major version is refused by name. Blank lines are skipped.
 * A last line without its newline is what a killed writer leaves: if it is not whole it is dropped,
 * and `torn` says so. Anything else that is wrong is -EBADMSG with "FILE:LINE: column N: why". A
 * line longer than the limit is -EFBIG: no input makes the reader take more memory than that. */
#pragma once
#include "base/err.h"
#include "base/hash.h"
#include "tape/tape_entry.h"
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct tape_reader;

struct tape_reader_options {
    const char *path;      /* a tape, or "-" for standard input */
    const char *bytes;     /* instead of a file: borrowed; path then only names it */
    size_t bytes_length;   /* used when bytes is not NULL */
    size_t line_bytes_max; /* 0: TAPE_LINE_BYTES_MAX */
    bool digest;           /* hash what is read, to hold it against the end line */
};

struct tape_summary { /* valid at the end of the tape */
    uint64_t records;
    uint64_t torn_line;    /* number of the dropped last line; 0 for none */
    bool closed;           /* there is an end line */
    uint64_t end_records;  /* what it says */
    struct hash end_hash;  /* what it says */
    struct hash read_hash; /* with `digest`: what was read before the end line */
};

int tape_reader_open(const struct tape_reader_options *options, struct tape_reader **ret,
                     struct err *err);
struct tape_reader *tape_reader_free(struct tape_reader *reader);
DEFINE_CLEANUP(struct tape_reader *, tape_reader_free)

const json_t *tape_reader_header(const struct tape_reader *reader); /* borrowed */
const char *tape_reader_path(const struct tape_reader *reader);
int64_t tape_reader_start_ns(const struct tape_reader *reader); /* started_at, since 1970 */

/* 1 with the next record (borrowed until the next call), 0 at the end, or -errno. */
int tape_reader_next(struct tape_reader *reader, struct tape_entry *ret, struct err *err);
struct tape_summary tape_reader_summary(const struct tape_reader *reader);
