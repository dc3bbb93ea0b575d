/* SPDX-License-Identifier: MIT */
/* annotations: what people and programs say about the records of a tape, in the sidecar
 * TAPE.annotations.jsonl. The first object is a header, each further one an annotation; blank lines
 * and lines that start with # are skipped. Format: docs/formats/tape.md.
 *
 * Loading fails for a file that is empty, has no header or two, or comes from a newer version; what
 * is wrong with single annotations is for validation to say, with a code each. */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"
#include <jansson.h>
#include <stdint.h>

enum { ANNOTATIONS_VERSION = 1, ANNOTATIONS_BYTES_MAX = 64 << 20 };

extern const char *const annotation_kinds[];     /* NULL at the end, as are the others */
extern const char *const annotation_statuses[];  /* of a hypothesis */
extern const char *const annotation_frictions[]; /* kinds of friction */
extern const char *const annotation_authors[];   /* kinds of author */

struct annotations {
    json_t *header; /* owned */
    json_t *list;   /* owned: the objects, in order */
    json_t *lines;  /* owned: their line numbers */
};

char *annotations_path_of(const char *tape_path); /* returns owned */
int annotations_read(const char *path, struct annotations *ret, struct err *err);
int annotations_parse(const char *text, size_t length, const char *where, struct annotations *ret,
                      struct err *err);
void annotations_done(struct annotations *annotations);
static inline __attribute__((unused)) void annotations_done_cleanup(struct annotations *a)
{
    annotations_done(a);
}

/* Adds one, with type and, where absent, an id made from its place; creates the sidecar with the
 * digest of the tape. The annotation is changed, not taken. -EINVAL with the first problem if it
 * is not valid for this tape. */
int annotations_add(const char *tape_path, json_t *annotation, struct err *err);

struct tape_extent { /* what validation needs to know of a tape */
    uint64_t records;
    int64_t last_seq;
    struct hash digest; /* SHA-256 over each record's line and its newline */
};
int tape_extent_read(const char *tape_path, struct tape_extent *ret, struct err *err);

/* {"annotations_checked":N,"kind_counts":{},"problems":[{"code","id","line","message"}]}; returns
 * owned. Codes: schema, unknown_event_id, hypothesis_status_missing, hypothesis_status_unexpected,
 * friction_kind_missing, friction_kind_unexpected, friction_kind_unknown, invalid_span,
 * duplicate_id, tape_digest_mismatch, unknown_kind. */
json_t *annotations_validate(const struct annotations *annotations,
                             const struct tape_extent *extent);
