/* SPDX-License-Identifier: MIT */
/* store_stream: contents of a store that are too long to be held in memory. */
#pragma once
#include "tape/store.h"

/* Stores what a file holds, from its beginning. */
int store_put_file(struct store *store, int fd, struct hash *ret, struct err *err);

/* Reads a content piece by piece. Its hash is checked when it is opened. */
struct store_stream;
int store_stream_open(struct store *store, const struct hash *hash, struct store_stream **ret,
                      struct err *err);
/* Fills up to `length` bytes; how many, 0 at the end, -errno. */
ssize_t store_stream_read(struct store_stream *stream, void *bytes, size_t length);
struct store_stream *store_stream_free(struct store_stream *stream);
DEFINE_CLEANUP(struct store_stream *, store_stream_free)

/* Puts a content of one store into another, as it is there. */
int store_copy(struct store *from, struct store *to, const struct hash *hash, struct err *err);
