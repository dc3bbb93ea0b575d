/* SPDX-License-Identifier: MIT */
/* arena: many small objects that die together.
 *
 * Memory is handed out zeroed and 16-byte aligned, and lives until arena_done or until an
 * arena_rewind to a savepoint taken before it. Under AddressSanitizer, memory that was rewound is
 * poisoned, so a use after rewind is reported like a use after free. */
#pragma once
#include "base/cleanup.h"
#include <stddef.h>

struct arena_block;

struct arena {
    struct arena_block *last; /* owned chain, newest first; zeroed memory is an empty arena */
};

struct arena_mark {
    struct arena_block *block;
    size_t used;
};

void *arena_alloc(struct arena *arena, size_t size);
char *arena_dup(struct arena *arena, const void *bytes, size_t length); /* adds a NUL */
struct arena_mark arena_save(const struct arena *arena);
void arena_rewind(struct arena *arena, struct arena_mark mark);
void arena_done(struct arena *arena);
static inline __attribute__((unused)) void arena_done_cleanup(struct arena *arena)
{
    arena_done(arena);
}
