/* SPDX-License-Identifier: MIT */
/* Tapes from C: write one, read one, compare two. The format is in docs/formats/tape.md.
 *
 *     struct vitro_tape_error error;
 *     vitro_tape_writer *tape = vitro_tape_create("run.tape", NULL, &error);
 *     vitro_tape_record(tape, &(struct vitro_tape_entry){.kind = "note",
 *                       .data = "{\"text\":\"hello\"}"}, &error);
 *     vitro_tape_close(tape, &error);
 *
 * Functions that can fail return -errno and fill `error`, which may be NULL. */
#ifndef VITRO_TAPE_H
#define VITRO_TAPE_H

#include "vitro/version.h"
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct vitro_tape_error {
    int code; /* -errno */
    char text[1024];
};

struct vitro_tape_options { /* all may be zero */
    const char *const *argv;
    const char *script;
    const char *options;   /* canonical JSON object */
    const char *store_url; /* contents go to this HTTP store, too */
    int64_t started_at_unix_ms;
    int replace; /* an existing tape gives way */
};

struct vitro_tape_entry {
    const char *kind;    /* "note", "file_write", or a name of your own */
    const char *process; /* "1.2"; NULL reads as "" */
    const char *data;    /* JSON object; NULL for {} */
    int64_t virtual_time_ns;
    uint64_t monotonic_ns;
    uint64_t seq; /* set by reading; ignored by writing */
    int is_final; /* phase runtime_finalize */
};

typedef struct vitro_tape_writer vitro_tape_writer;
typedef struct vitro_tape_reader vitro_tape_reader;

/* NULL on failure. */
VITRO_API vitro_tape_writer *vitro_tape_create(const char *path,
                                               const struct vitro_tape_options *options,
                                               struct vitro_tape_error *error);
VITRO_API int vitro_tape_record(vitro_tape_writer *tape, const struct vitro_tape_entry *entry,
                                struct vitro_tape_error *error);
/* Puts bytes of any kind into the store of the tape, secrets hidden. `ret_hash` is the SHA-256 as
 * text, for a member content_hash. */
VITRO_API int vitro_tape_put(vitro_tape_writer *tape, const void *bytes, size_t length,
                             char ret_hash[65], struct vitro_tape_error *error);
/* Writes what is left and the end line, and frees the writer, also on failure. */
VITRO_API int vitro_tape_close(vitro_tape_writer *tape, struct vitro_tape_error *error);

VITRO_API vitro_tape_reader *vitro_tape_open(const char *path, struct vitro_tape_error *error);
/* 1 with the next record, whose texts are valid until the next call; 0 at the end. */
VITRO_API int vitro_tape_next(vitro_tape_reader *tape, struct vitro_tape_entry *ret,
                              struct vitro_tape_error *error);
VITRO_API void vitro_tape_reader_free(vitro_tape_reader *tape);

/* The number of divergences in this mode ("byte", "semantic", "outcome", "phase"), or -errno.
 * *ret_report, if not NULL, is the report in words: free it with free(). */
VITRO_API int64_t vitro_tape_compare(const char *recorded, const char *replay, const char *mode,
                                     char **ret_report, struct vitro_tape_error *error);

#ifdef __cplusplus
}
#endif
#endif
