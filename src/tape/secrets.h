/* SPDX-License-Identifier: MIT */
/* secrets: what must not reach the disk. Four kinds of rule, applied to payloads and contents
 * before they are written:
 *
 *     shape     tokens that can be told by their look (ghp_..., AKIA..., private key blocks)
 *     name      strings under a name like API_KEY or password, and NAME=value strings
 *     field     a path in a kind: "http_exchange.headers.cookie"
 *     literal   a value the caller knows
 *
 * Shapes and names are always on, and so are the values of variables of the environment that have
 * such a name, wherever they stand, if they are likely to stand for nothing else: sixteen bytes, or
 * eight with a digit, and no path. A secret becomes "<secret:RULE:xxxxxxxx>", where x is taken from
 * a keyed hash (HMAC-SHA256) of its value: equal secrets stay equal, so tapes can be compared, and
 * the value cannot be told from it without the key. The default key is fixed, so that equal runs
 * give equal bytes; a guess can then be confirmed, which a private key prevents.
 *
 * Not seen: a secret cut in two by a write boundary, or encoded (base64, compression). */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "tape/tape_kinds.h"
#include <stdbool.h>
#include <stddef.h>

struct secrets;

struct secrets_options {
    const char *key;                /* of the keyed hash; NULL for the fixed one */
    const char *const *fields;      /* "KIND.member.member", "*.member"; NULL-terminated or NULL */
    const char *const *literals;    /* values, eight bytes and more; NULL-terminated or NULL */
    const char *const *environment; /* "NAME=value", the same; NULL for that of this process */
};

/* Copies the options. -EINVAL for a field rule without a kind or a literal too short to be one. */
int secrets_new(const struct secrets_options *options, struct secrets **ret, struct err *err);
struct secrets *secrets_free(struct secrets *secrets);
DEFINE_CLEANUP(struct secrets *, secrets_free)

/* Both append the scrubbed text and return true, or append nothing and return false when there is
 * nothing to hide. The first takes any bytes; the second a canonical JSON object, the payload of a
 * record of that kind, and appends one. */
bool secrets_scrub_bytes(const struct secrets *secrets, const char *bytes, size_t length,
                         struct buf *ret);
bool secrets_scrub_data(const struct secrets *secrets, const char *kind, const char *data,
                        size_t length, struct buf *ret);

/* The rule that finds a secret in a payload or in bytes ("github", "name"), or NULL. What is left
 * by scrubbing is never found again. `where` is cleared and gets the path, if not NULL. */
const char *secrets_find_data(const struct secrets *secrets, const char *kind, const char *data,
                              size_t length, struct buf *where);
const char *secrets_find_bytes(const struct secrets *secrets, const char *bytes, size_t length);
