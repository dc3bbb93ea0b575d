/* SPDX-License-Identifier: MIT */
/* Objects of a run: their numbers, types and names; and the numbers of declared memory. */
#include "sched/sched.h"
#include <string.h>

struct address {
    const void *address;
    uint64_t run;
    uint32_t id;
};

static const char *const type_names[OBJECT_TYPES] = {
    [OBJECT_NONE] = "object",   [OBJECT_TASK] = "task",       [OBJECT_MUTEX] = "mutex",
    [OBJECT_RWLOCK] = "rwlock", [OBJECT_COND] = "cond",       [OBJECT_SEM] = "sem",
    [OBJECT_EVENT] = "event",   [OBJECT_BARRIER] = "barrier", [OBJECT_ONCE] = "once",
    [OBJECT_CHAN] = "chan",     [OBJECT_SINGLE] = "single",   [OBJECT_LANE] = "lane",
    [OBJECT_MEMORY] = "memory", [OBJECT_FLOW] = "flow",       [OBJECT_FD] = "fd",
};

const char *object_type_name(unsigned type)
{
    return type < OBJECT_TYPES ? type_names[type] : "object";
}

static uint32_t add(vitro_sched *sched, const char *name, enum object_type type)
{
    uint32_t id = core_object_add(&sched->core);

    if (id >= sched->info_capacity) {
        sched->info_capacity = sched->core.object_capacity;
        sched->infos = mem_grow(sched->infos, sched->info_capacity * sizeof *sched->infos);
    }
    sched->infos[id] = (struct object_info){name, (uint8_t)type};
    return id;
}

bool object_bind(vitro_sched *sched, struct vitro_object *object, enum object_type type)
{
    if (__builtin_expect(object->run == sched->run, 1))
        return false;
    object->run = sched->run;
    object->type = (uint8_t)type;
    object->first = object->last = NULL;
    object->id = add(sched, object->name, type);
    return true;
}

static void grow_addresses(vitro_sched *sched)
{
    uint32_t old = sched->address_capacity, capacity = old ? old * 2 : 64;
    struct address *from = sched->addresses;
    struct address *to = mem_alloc(capacity * sizeof *to);

    for (uint32_t i = 0; i < old; i++) {
        if (from[i].run != sched->run)
            continue;
        uint32_t at = (uint32_t)((uintptr_t)from[i].address * UINT64_C(0x9e3779b97f4a7c15) >> 32);
        while (to[at &= capacity - 1].run)
            at++;
        to[at] = from[i];
    }
    free(from);
    sched->addresses = to;
    sched->address_capacity = capacity;
}

/* Entries of earlier runs count as empty. */
uint32_t object_of_address(vitro_sched *sched, const void *address)
{
    if (sched->address_count * 2 >= sched->address_capacity)
        grow_addresses(sched);
    uint32_t mask = sched->address_capacity - 1;
    uint32_t at = (uint32_t)((uintptr_t)address * UINT64_C(0x9e3779b97f4a7c15) >> 32) & mask;
    for (;; at = (at + 1) & mask) {
        struct address *entry = &sched->addresses[at];
        if (entry->run != sched->run) {
            *entry = (struct address){address, sched->run, add(sched, NULL, OBJECT_MEMORY)};
            sched->address_count++;
            return entry->id;
        }
        if (entry->address == address)
            return entry->id;
    }
}

/* Unnamed ones are counted within their type, in the order they were first used. */
void object_add_name(const vitro_sched *sched, uint32_t object, struct buf *buf)
{
    if (object & CORE_TASK_OBJECT) {
        core_add_name(&sched->core, object & ~CORE_TASK_OBJECT, buf);
        return;
    }
    if (object == CORE_MEMORY || object >= sched->core.object_count)
        return;
    const struct object_info *info = &sched->infos[object];
    buf_adds(buf, object_type_name(info->type));
    if (info->name) {
        buf_addf(buf, " '%s'", info->name);
        return;
    }
    uint32_t number = 0;
    for (uint32_t i = 1; i <= object; i++)
        number += sched->infos[i].type == info->type;
    buf_addf(buf, " %u", number);
}
