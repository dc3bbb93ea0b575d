/* SPDX-License-Identifier: MIT */
/* fs_blobs: contents by the SHA-256 of their stored form, one behind the other in one file (a
 * pack), on disk or in memory. A file for each content would cost more than the run that wrote
 * them.
 *
 * A file is stored as it is, unless it is large and mostly holes: then its stored form is a sparse
 * image, "VSPARSE1", the size, and for each run of data its offset, its length and its bytes, all
 * numbers 64 bits little-endian. Which form a content gets depends on its bytes alone.
 * docs/formats/changes.md has the bytes of a pack. */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"
#include "fs/fs_changes.h"
#include <stdint.h>

/* A new pack at `path`, which is made with its directories when the first content is put, and is
 * whole after fs_blobs_finish. Contents are read from it by fs_blobs_open only. */
struct fs_blobs *fs_blobs_new(const char *path);
/* Writes what a reader needs to find the contents; without any content nothing is made. */
int fs_blobs_finish(struct fs_blobs *blobs, struct err *err);
/* The contents of a pack; none if there is no such file. -EBADMSG if it is no pack. */
int fs_blobs_open(const char *path, struct fs_blobs **ret, struct err *err);
struct fs_blobs *fs_blobs_in_memory(void);
struct fs_blobs *fs_blobs_nowhere(void); /* hashes what is put and keeps nothing */
struct fs_blobs *fs_blobs_free(struct fs_blobs *blobs);
DEFINE_CLEANUP(struct fs_blobs *, fs_blobs_free)

/* Pulls bytes: fills up to `length`, returns how many, 0 at the end, -errno. */
typedef ssize_t fs_blob_reader(void *arg, void *bytes, size_t length);
int fs_blobs_put(struct fs_blobs *blobs, fs_blob_reader *read, void *arg, struct hash *ret,
                 struct err *err);
bool fs_blobs_keep(const struct fs_blobs *blobs); /* false for fs_blobs_nowhere */

/* One content, being read. Borrows the blobs, until the next put. */
struct fs_blob {
    int fd;
    uint64_t next, end; /* in that file */
};
/* -ENOENT if the content is not here, -EBADMSG if what is here is not what the hash says. */
int fs_blobs_get(struct fs_blobs *blobs, const struct hash *hash, struct fs_blob *ret,
                 struct err *err);
ssize_t fs_blob_read(struct fs_blob *blob, void *bytes, size_t length); /* like read(2); -errno */

/* fs_content.c: files in their stored forms. */

/* Stores what `fd` holds; sets size, hash, sparse and has_blob of the node. */
int fs_content_put(struct fs_blobs *blobs, int fd, struct fs_node *node, struct err *err);
int fs_content_put_bytes(struct fs_blobs *blobs, const void *bytes, size_t length,
                         struct fs_node *node, struct err *err);
/* Writes the content of the node to an empty file, leaving holes where there were some. */
int fs_content_write(struct fs_blobs *blobs, const struct fs_node *node, int fd, struct err *err);
/* The whole content; -EFBIG beyond `limit`. */
int fs_content_load(struct fs_blobs *blobs, const struct fs_node *node, size_t limit,
                    struct buf *ret, struct err *err);
