/* SPDX-License-Identifier: MIT */
/* store_http: the server side of a store, over libcurl. Three requests on URL/cas/<hash>: HEAD, GET
 * and PUT. Hashes are checked by the caller. Every request has a ceiling: ten seconds to connect,
 * and thirty without a byte. Redirects are not followed. */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"

struct store_http;

int store_http_open(const char *url, struct store_http **ret, struct err *err);
struct store_http *store_http_free(struct store_http *http);
DEFINE_CLEANUP(struct store_http *, store_http_free)

int store_http_has(struct store_http *http, const struct hash *hash, struct err *err); /* 1 or 0 */
/* -ENOENT if the server has none, -EFBIG beyond limit. */
int store_http_get(struct store_http *http, const struct hash *hash, size_t limit, struct buf *ret,
                   struct err *err);
int store_http_put(struct store_http *http, const struct hash *hash, const void *bytes,
                   size_t length, struct err *err);
