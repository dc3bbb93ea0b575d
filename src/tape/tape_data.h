/* SPDX-License-Identifier: MIT */
/* tape_data: builds the payload of a record, a canonical JSON object, without a tree. Members are
 * best added in the order of their names' bytes: the writer puts others in order, at a price. */
#pragma once
#include "base/buf.h"
#include "base/hash.h"
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct tape_data {
    struct buf text; /* zeroed memory is an empty one */
};

void tape_data_begin(struct tape_data *data); /* forgets what was there */
void tape_data_end(struct tape_data *data);
void tape_data_u64(struct tape_data *data, const char *name, uint64_t value); /* below 2^63 */
void tape_data_i64(struct tape_data *data, const char *name, int64_t value);
void tape_data_bool(struct tape_data *data, const char *name, bool value);
void tape_data_null(struct tape_data *data, const char *name);
/* Text that is not UTF-8 (a path may be any bytes) is written as {"base64":"..."}. NULL: null. */
void tape_data_text(struct tape_data *data, const char *name, const char *text);
void tape_data_bytes(struct tape_data *data, const char *name, const void *bytes, size_t length);
void tape_data_texts(struct tape_data *data, const char *name, const char *const *list);
void tape_data_hash(struct tape_data *data, const char *name, const struct hash *hash);
void tape_data_json(struct tape_data *data, const char *name, const json_t *value);
void tape_data_raw(struct tape_data *data, const char *name, const char *canonical); /* JSON text */
void tape_data_name(struct tape_data *data, const char *name); /* comma, name and colon */
void tape_data_done(struct tape_data *data);
static inline __attribute__((unused)) void tape_data_done_cleanup(struct tape_data *data)
{
    tape_data_done(data);
}
