/* SPDX-License-Identifier: MIT */
/* spool: the bytes of a stream while they come in. The first of them are kept in memory, more than
 * that goes to a file without a name, so that a stream of any length takes the same memory. */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "proc/recording.h"
#include "tape/tape_writer.h"
#include <stdint.h>

struct spool { /* zeroed memory is an empty one */
    struct buf memory;
    int file; /* fd + 1; 0 while there is none */
    uint64_t length;
};

/* `directory` is where a file would be made. -errno of that file. */
int spool_add(struct spool *spool, const char *directory, const void *bytes, size_t length);
/* Hands all bytes over, in pieces; stops when `take` returns less than 0. */
typedef int spool_taker(void *context, const void *bytes, size_t length);
int spool_each(const struct spool *spool, spool_taker *take, void *context);
/* The SHA-256 of all bytes with secrets hidden, as a tape would have it. */
struct hash spool_digest(const struct spool *spool, const struct secrets *secrets);
/* Puts the bytes into the tape's store, or into *ret itself where they are short text. */
int spool_put(struct spool *spool, struct tape_writer *writer, const char *directory,
              struct recording_bytes *ret, struct err *err);
/* Writes the bytes to a file, with secrets hidden. */
int spool_save(const struct spool *spool, const struct secrets *secrets, int fd);
void spool_done(struct spool *spool);
static inline __attribute__((unused)) void spool_done_cleanup(struct spool *spool)
{
    spool_done(spool);
}
