/* SPDX-License-Identifier: MIT */
/* Recordings by key: a hash table of queues. */
#include "match/call.h"
#include <string.h>

enum { TABLE_FIRST = 64 };
#define NONE SIZE_MAX

struct queue {
    char *key; /* owned; NULL: free slot */
    size_t key_length;
    uint64_t hash;
    size_t first, last, next; /* indices of items; `next` is the one to take */
};

struct item {
    size_t id, next;
};

struct call_table {
    struct queue *queues; /* open addressing, a power of two */
    size_t slots, used;
    struct item *items;
    size_t count, room;
};

static uint64_t key_hash(const char *key, size_t length)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)key[i]) * UINT64_C(0x100000001b3);
    return hash ^ hash >> 29;
}

struct call_table *call_table_new(void)
{
    struct call_table *table = mem_alloc(sizeof *table);
    table->slots = TABLE_FIRST;
    table->queues = mem_alloc(table->slots * sizeof *table->queues);
    return table;
}

static struct queue *find(const struct call_table *table, const char *key, size_t length,
                          uint64_t hash)
{
    for (size_t at = hash & (table->slots - 1);; at = (at + 1) & (table->slots - 1)) {
        struct queue *queue = &table->queues[at];
        if (!queue->key || (queue->hash == hash && queue->key_length == length &&
                            memcmp(queue->key, key, length) == 0))
            return queue;
    }
}

static void grow(struct call_table *table)
{
    struct queue *old = table->queues;
    size_t slots = table->slots;
    table->slots *= 2;
    table->queues = mem_alloc(table->slots * sizeof *table->queues);
    for (size_t i = 0; i < slots; i++)
        if (old[i].key)
            *find(table, old[i].key, old[i].key_length, old[i].hash) = old[i];
    free(old);
}

void call_table_add(struct call_table *table, const char *key, size_t length, size_t id)
{
    if (table->used * 2 >= table->slots)
        grow(table);
    if (table->count == table->room) {
        table->room = table->room ? 2 * table->room : TABLE_FIRST;
        table->items = mem_grow(table->items, table->room * sizeof *table->items);
    }
    size_t item = table->count++;
    table->items[item] = (struct item){id, NONE};
    uint64_t hash = key_hash(key, length);
    struct queue *queue = find(table, key, length, hash);
    if (!queue->key) {
        *queue = (struct queue){mem_dupn(key, length), length, hash, item, item, item};
        table->used++;
        return;
    }
    table->items[queue->last].next = item;
    queue->last = item;
    if (queue->next == NONE)
        queue->next = item;
}

bool call_table_take(struct call_table *table, const char *key, size_t length, size_t *ret_id)
{
    struct queue *queue = find(table, key, length, key_hash(key, length));
    if (!queue->key || queue->next == NONE)
        return false;
    *ret_id = table->items[queue->next].id;
    queue->next = table->items[queue->next].next;
    return true;
}

bool call_table_last(const struct call_table *table, const char *key, size_t length, size_t *ret_id)
{
    const struct queue *queue = find(table, key, length, key_hash(key, length));
    if (!queue->key)
        return false;
    *ret_id = table->items[queue->last].id;
    return true;
}

struct call_table *call_table_free(struct call_table *table)
{
    if (!table)
        return NULL;
    for (size_t i = 0; i < table->slots; i++)
        free(table->queues[i].key);
    free(table->queues);
    free(table->items);
    free(table);
    return NULL;
}
