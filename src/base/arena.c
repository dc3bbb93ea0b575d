/* SPDX-License-Identifier: MIT */
#include "base/arena.h"
#include "base/buf.h"
#include <assert.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, size)   ((void)(address), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#endif

enum { BLOCK_BYTES_MIN = 16 * 1024, ALIGNMENT = 16 };

struct arena_block {
    struct arena_block *previous;
    size_t size, used;
    _Alignas(ALIGNMENT) char bytes[];
};

static struct arena_block *block_new(struct arena_block *previous, size_t size)
{
    size_t bytes = size > BLOCK_BYTES_MIN ? size : BLOCK_BYTES_MIN;
    struct arena_block *block = mem_alloc(sizeof *block + bytes);

    block->previous = previous;
    block->size = bytes;
    ASAN_POISON_MEMORY_REGION(block->bytes, bytes);
    return block;
}

static struct arena_block *block_free(struct arena_block *block)
{
    struct arena_block *previous = block->previous;

    ASAN_UNPOISON_MEMORY_REGION(block->bytes, block->size);
    free(block);
    return previous;
}

void *arena_alloc(struct arena *arena, size_t size)
{
    size_t rounded = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;

    assert(rounded >= size);
    if (!arena->last || arena->last->size - arena->last->used < rounded)
        arena->last = block_new(arena->last, rounded);
    void *memory = arena->last->bytes + arena->last->used;
    arena->last->used += rounded;
    ASAN_UNPOISON_MEMORY_REGION(memory, size);
    memset(memory, 0, size);
    return memory;
}

char *arena_dup(struct arena *arena, const void *bytes, size_t length)
{
    char *copy = arena_alloc(arena, length + 1);

    if (length)
        memcpy(copy, bytes, length);
    return copy;
}

struct arena_mark arena_save(const struct arena *arena)
{
    return (struct arena_mark){arena->last, arena->last ? arena->last->used : 0};
}

void arena_rewind(struct arena *arena, struct arena_mark mark)
{
    while (arena->last != mark.block) {
        assert(arena->last);
        arena->last = block_free(arena->last);
    }
    if (mark.block) {
        assert(mark.used <= mark.block->used);
        mark.block->used = mark.used;
        ASAN_POISON_MEMORY_REGION(mark.block->bytes + mark.used, mark.block->size - mark.used);
    }
}

void arena_done(struct arena *arena)
{
    arena_rewind(arena, (struct arena_mark){0});
}
