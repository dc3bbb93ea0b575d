/* SPDX-License-Identifier: MIT */
/* json: glue over jansson. Reading names the place that is wrong and bounds size and depth;
 * writing is canonical: members sorted by their bytes, no spaces, shortest numbers, only what must
 * be escaped is escaped. Equal values give equal bytes, which is what digests are taken of. */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include <jansson.h>
#include <stdbool.h>

static inline json_t *json_free(json_t *value)
{
    json_decref(value);
    return NULL;
}
DEFINE_CLEANUP(json_t *, json_free)

/* Parses one whole text; returns owned. NUL in strings is kept, duplicate members are refused, and
 * so is depth beyond JSON_PARSER_MAX_DEPTH (2048). -EBADMSG with line and column; `where` names the
 * source. */
int json_parse(const char *text, size_t length, const char *where, json_t **ret, struct err *err);

void json_add_canonical(struct buf *buf, const json_t *value);
void json_add_string(struct buf *buf, const char *text, size_t length); /* quoted and escaped */
void json_add_real(struct buf *buf, double number); /* shortest text that reads back the same */
