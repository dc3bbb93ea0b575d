/* SPDX-License-Identifier: MIT */
/* tape_refs: the contents a tape speaks of, and what follows from that: collecting garbage, and
 * moving contents between the store's directory and its server. */
#pragma once
#include "base/err.h"
#include "base/hash.h"
#include "tape/store.h"
#include <stdbool.h>
#include <stdint.h>

/* Every quoted SHA-256 on the tape, in whatever member it stands: what gc must keep. */
typedef void tape_refs_fn(void *context, const struct hash *hash);
int tape_refs(const char *path, tape_refs_fn *fn, void *context, struct err *err);

struct tape_gc_result {
    uint64_t kept, removed, removed_bytes, strays;
};
/* Removes contents the tape does not speak of, and leftovers of killed writers. -EBUSY while a
 * writer holds the tape. With dry_run nothing is removed. */
int tape_gc(const char *path, struct store *store, bool dry_run, struct tape_gc_result *ret,
            struct err *err);

struct tape_move_result {
    uint64_t moved, present, absent; /* absent: fetch only, nowhere to be had */
};
int tape_push(const char *path, struct store *store, struct tape_move_result *ret, struct err *err);
int tape_fetch(const char *path, struct store *store, struct tape_move_result *ret,
               struct err *err);
