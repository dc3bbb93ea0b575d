/* SPDX-License-Identifier: MIT */
/* tape_writer: writes a tape, one record a call, in bounded memory.
 *
 *     CLEANUP(tape_writer_free) struct tape_writer *tape = NULL;
 *     tape_writer_open(&(struct tape_writer_options){.path = "out/tape", .argv = argv}, &tape,
 * err); struct tape_data data = {0};                        reuse it: its memory is kept
 *     tape_data_begin(&data);
 *     tape_data_u64(&data, "duration_ns", 5000000);       members in the order of their names
 *     tape_data_end(&data);
 *     tape_writer_record(tape, &(struct tape_record){.kind = TAPE_CLOCK_SLEEP, .process = "1.2",
 *                                                    .virtual_time_ns = now, .data =
 * data.text.data, .data_length = data.text.length}, err); tape_writer_close(tape, err);
 *
 * The file appears whole with its header or not at all. Records collect in a buffer and reach the
 * file in one write a batch; flush before waiting for long. Closing adds an end line with the
 * number of records and the SHA-256 of all before it. A writer that failed stays failed: the file
 * is cut back to the last whole batch and every later call returns the same error. While it is open
 * the writer holds an exclusive flock on the file. One thread at a time. */
#pragma once
#include "base/err.h"
#include "tape/secrets.h"
#include "tape/store.h"
#include "tape/tape_data.h"
#include "tape/tape_kinds.h"
#include <stdbool.h>
#include <stdint.h>

enum { TAPE_VERSION = 1, TAPE_LINE_BYTES_MAX = 16 << 20 };

enum tape_sync {
    TAPE_SYNC_CLOSE, /* fsync once, at the end */
    TAPE_SYNC_BATCH, /* after every batch */
    TAPE_SYNC_NEVER,
};

struct tape_writer_options {
    const char *path;
    bool replace;               /* an existing tape gives way; otherwise -EEXIST */
    const char *const *argv;    /* NULL-terminated; NULL for none */
    const char *script;         /* what was run, for people; NULL for none */
    int64_t started_at_unix_ms; /* virtual */
    const char *options;        /* resolved options, canonical JSON object; NULL for {} */
    const char *rules;          /* names of rule files to their hashes, the same; NULL for {} */
    const char *host;           /* facts of this machine, the same, never compared; NULL for none */
    enum tape_sync sync;
    size_t batch_bytes;             /* 0: 256 KiB */
    const char *store_url;          /* contents go there too; NULL for none */
    struct secrets *secrets;        /* borrowed until close; NULL for the built-in rules */
    const char *const *environment; /* whose secrets those hide; NULL: this process's */
};

struct tape_record {
    enum tape_kind kind;
    const char *kind_name; /* for TAPE_UNKNOWN; else ignored */
    enum tape_phase phase;
    int64_t virtual_time_ns; /* since 1970, on the virtual clock */
    uint64_t monotonic_ns;   /* since the start of the run, on the virtual clock */
    const char *process;     /* path of spawns: "1.2"; NULL reads as "" */
    const char *data;        /* canonical JSON object; NULL for {} */
    size_t data_length;
    const char *host; /* the same, never compared; NULL for none */
};

struct tape_writer;

int tape_writer_open(const struct tape_writer_options *options, struct tape_writer **ret,
                     struct err *err);
/* -EFBIG for a record longer than TAPE_LINE_BYTES_MAX: put what is large into the store. */
int tape_writer_record(struct tape_writer *writer, const struct tape_record *record,
                       struct err *err);
int tape_writer_flush(struct tape_writer *writer, struct err *err);
/* Writes the end line and syncs. The writer is done either way: tape_writer_free is left to do. */
int tape_writer_close(struct tape_writer *writer, struct err *err);
uint64_t tape_writer_count(const struct tape_writer *writer); /* records so far: the next seq */
/* Frees; a tape that was not closed keeps what was flushed and gets no end line. */
struct tape_writer *tape_writer_free(struct tape_writer *writer);
DEFINE_CLEANUP(struct tape_writer *, tape_writer_free)

/* Adds a member {"content_hash":...,"text":...} for up to 4096 bytes of UTF-8, else
 * {"content_hash":...,"len_bytes":...} with the bytes in the store. Scrubbed first. */
int tape_data_payload(struct tape_data *data, struct tape_writer *writer, const char *name,
                      const void *bytes, size_t length, struct err *err);
/* Puts bytes into the store of the tape, scrubbed; for members that hold only a hash. */
int tape_writer_put(struct tape_writer *writer, const void *bytes, size_t length, struct hash *ret,
                    struct err *err);
/* The same for what a file holds, as it is: whoever calls has hidden the secrets. */
int tape_writer_put_file(struct tape_writer *writer, int fd, struct hash *ret, struct err *err);
const struct secrets *tape_writer_secrets(const struct tape_writer *writer); /* borrowed */
struct store *tape_writer_store(struct tape_writer *writer);                 /* borrowed */
