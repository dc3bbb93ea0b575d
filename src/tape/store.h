/* SPDX-License-Identifier: MIT */
/* store: contents by their SHA-256. A tape at PATH keeps what is large in the directory PATH.cas/:
 *
 *     <64 hex digits>        the bytes themselves
 *     <64 hex digits>.zst    the same, compressed (from 512 bytes on, where it helps)
 *
 * A content is written under a temporary name and renamed, so a name always stands for whole bytes;
 * it is written once however often it is put; what is read is hashed again before it is handed out.
 * The directory appears with the first content. A store that is a symbolic link, or a content that
 * is one, is refused: a tape from somewhere else must not read or write outside its own directory.
 *
 * With a URL, contents also live on an HTTP cache server at URL/cas/<hash>, as build caches do:
 * put sends what the server lacks, get asks it for what the directory lacks and keeps a copy. */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"
#include <stdbool.h>
#include <stdint.h>

struct store;

struct store_options {
    const char *path; /* the directory; copied */
    const char *url;  /* http(s)://host[:port][/prefix]; NULL for none; copied */
    bool sync;        /* fsync each content before it gets its name */
    bool read_only;   /* contents from the URL are not kept */
};

enum { STORE_CONTENT_MAX = 1 << 30 }; /* bytes of one content; more is refused */

/* Opens without touching the disk or the network. -EINVAL for a URL that is none. */
int store_open(const struct store_options *options, struct store **ret, struct err *err);
struct store *store_free(struct store *store);
DEFINE_CLEANUP(struct store *, store_free)

int store_put(struct store *store, const void *bytes, size_t length, struct hash *ret,
              struct err *err);
/* Appends the content. -ENOENT if it is nowhere, -EBADMSG if its bytes have another hash, -EFBIG
 * beyond `limit` (0: STORE_CONTENT_MAX). */
int store_get(struct store *store, const struct hash *hash, size_t limit, struct buf *ret,
              struct err *err);

/* One content between the directory and the server; both ways check the hash. 1 if it was moved, 0
 * if it was there already. */
int store_push(struct store *store, const struct hash *hash, struct err *err);
int store_fetch(struct store *store, const struct hash *hash, struct err *err);

/* The names in the directory, sorted by hash; none when there is no directory. */
struct store_entry {
    struct hash hash;
    uint64_t disk_bytes;
    bool compressed;
};
struct store_list {
    struct store_entry *entries; /* owned */
    size_t count;
    size_t stray_count; /* other files: leftovers of a writer that was killed */
};
int store_list(struct store *store, struct store_list *ret, struct err *err);
void store_list_done(struct store_list *list);
static inline __attribute__((unused)) void store_list_done_cleanup(struct store_list *list)
{
    store_list_done(list);
}
struct store_entry *store_list_find(const struct store_list *list, const struct hash *hash);
int store_remove(struct store *store, const struct store_entry *entry, struct err *err);
int store_remove_strays(struct store *store, struct err *err); /* their number */

char *store_path_of(const char *tape_path); /* returns owned "PATH.cas" */
