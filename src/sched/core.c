/* SPDX-License-Identifier: MIT */
#include "sched/core.h"
#include "sched/decider.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    STREAK_MAX = 64
}; /* a task that offers to give way this often in a row is taken at its word */

void core_init(struct core *core)
{
    *core = (struct core){0};
    core->fifo.next = core->fifo.prev = &core->fifo;
}

void core_done(struct core *core)
{
    free(core->ready);
    free(core->names);
    free(core->objects);
    free(core->task_objects_hash);
    free(core->decisions);
    free(core->log);
    core_init(core);
}

void core_begin(struct core *core, struct decider *decider)
{
    core->decider = decider;
    core->ready_count = 0;
    core->fifo.next = core->fifo.prev = &core->fifo;
    core->last = NULL;
    core->last_id = core->streak = 0;
    core->task_count = 0;
    core->object_count = 0;
    core->decision_count = 0;
    core->steps = core->preemptions = core->switches = 0;
    core->check = core->ended = 0;
    core->log_count = 0;
    core->cut = core->quiet = false;
    (void)core_object_add(core); /* CORE_MEMORY */
    if (decider->begin)
        decider->begin(decider, core);
}

static inline uint64_t mix(uint64_t a, uint64_t b)
{
    uint64_t z = (a ^ b * UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xff51afd7ed558ccd);

    return z ^ z >> 32;
}

void core_task_add(struct core *core, struct core_task *task, uint32_t parent, const char *label)
{
    uint32_t id = ++core->task_count;

    if (id >= core->names_capacity) {
        core->names_capacity = core->names_capacity ? core->names_capacity * 2 : 64;
        core->names = mem_grow(core->names, core->names_capacity * sizeof *core->names);
        core->task_objects_hash =
            mem_grow(core->task_objects_hash, core->names_capacity * sizeof(uint64_t));
    }
    if (id == 1)
        core->names[0] = (struct core_name){0};
    uint32_t ordinal = ++core->names[parent].children;
    core->names[id] = (struct core_name){.parent = parent, .label = label};
    core->task_objects_hash[id] = 0;
    task->id = id;
    task->ready_at = CORE_NOT_READY;
    task->memory = false;
    task->mark = 0;
    task->hash = mix(parent, ordinal);
    if (core->decider->spawned && !core->quiet)
        core->decider->spawned(core->decider, core, task);
}

void core_task_end(struct core *core, struct core_task *task)
{
    core->ended += mix(task->hash, task->hash >> 7);
    core_disable(core, task);
    if (core->last == task)
        core->last = NULL;
}

uint32_t core_object_add(struct core *core)
{
    if (core->object_count == core->object_capacity) {
        core->object_capacity = core->object_capacity ? core->object_capacity * 2 : 64;
        core->objects = mem_grow(core->objects, core->object_capacity * sizeof *core->objects);
    }
    /* All begin alike: numbers go by first use, which differs from schedule to schedule. */
    core->objects[core->object_count] = (struct core_object){1, 0};
    return core->object_count++;
}

void core_enable(struct core *core, struct core_task *task)
{
    if (task->ready_at != CORE_NOT_READY)
        return;
    if (core->ready_count == core->ready_capacity) {
        core->ready_capacity = core->ready_capacity ? core->ready_capacity * 2 : 64;
        core->ready = mem_grow(core->ready, core->ready_capacity * sizeof(struct core_task *));
    }
    task->ready_at = core->ready_count;
    core->ready[core->ready_count++] = task;
    task->prev = core->fifo.prev;
    task->next = &core->fifo;
    task->prev->next = task;
    core->fifo.prev = task;
}

void core_disable(struct core *core, struct core_task *task)
{
    if (task->ready_at == CORE_NOT_READY)
        return;
    struct core_task *last = core->ready[--core->ready_count];
    core->ready[task->ready_at] = last;
    last->ready_at = task->ready_at;
    task->ready_at = CORE_NOT_READY;
    task->prev->next = task->next;
    task->next->prev = task->prev;
}

struct core_task *core_dull(const struct core *core, struct core_task *current)
{
    struct core_task *oldest = core->fifo.next;

    if (!current || (core->streak >= STREAK_MAX && core->ready_count))
        return oldest;
    return current;
}

static void record(struct core *core, enum core_choice kind, uint32_t n, uint32_t value, bool dull)
{
    if (core->decision_count == core->decision_capacity) {
        core->decision_capacity = core->decision_capacity ? core->decision_capacity * 2 : 256;
        core->decisions =
            mem_grow(core->decisions, core->decision_capacity * sizeof *core->decisions);
    }
    core->decisions[core->decision_count++] =
        (struct core_decision){.value = value, .n = n & 0xffffff, .kind = kind & 127, .dull = dull};
}

/* One write orders a task behind everything that touched the object; reads are summed, so that
 * their order does not show. */
static inline void touch(struct core *core, struct core_task *task, uint32_t object, bool write)
{
    if (object & CORE_TASK_OBJECT) {
        uint64_t *hash = &core->task_objects_hash[object & ~CORE_TASK_OBJECT];
        task->hash = mix(task->hash, *hash + 1);
        if (write)
            *hash = task->hash;
        return;
    }
    struct core_object *o = &core->objects[object];
    if (write) {
        task->hash = mix(task->hash + o->reads, o->written);
        o->written = task->hash;
        o->reads = 0;
    } else {
        task->hash = mix(task->hash, o->written);
        o->reads += task->hash;
    }
}

void core_access(struct core *core, struct core_task *task, uint32_t object, bool write)
{
    if (core->quiet)
        return;
    if (object == CORE_MEMORY) {
        if (task->memory)
            return;
        task->memory = true;
    }
    touch(core, task, object, write);
    if (core->decider->flags & DECIDER_ACCESSES)
        core->decider->accessed(core->decider, core, task, object, write);
}

static void log_step(struct core *core, struct core_task *task)
{
    if (core->log_count == core->log_capacity) {
        core->log_capacity = core->log_capacity ? core->log_capacity * 2 : 256;
        core->log = mem_grow(core->log, core->log_capacity * sizeof *core->log);
    }
    core->log[core->log_count++] = (struct core_step){task->id, task->op};
}

static inline void begin_step(struct core *core, struct core_task *task)
{
    struct op *op = &task->op;

    core->streak =
        core->last_id == task->id ? core->streak + (op->flags & OP_GIVES_WAY ? 1 : 0) : 0;
    core->switches += core->last_id != task->id;
    core->last = task;
    core->last_id = task->id;
    if (core->quiet)
        return;
    core->ring[core->steps++ % CORE_RING] = (struct core_step){task->id, *op};
    core->check =
        (core->check ^ ((uint64_t)task->id << 40 ^ (uint64_t)op->kind << 32 ^ op->object)) *
        UINT64_C(0x9e3779b97f4a7c15);
    core->check ^= core->check >> 29;
    task->memory = false;
    if (core->logging)
        log_step(core, task);
    if (core->decider->executed)
        core->decider->executed(core->decider, core, task);
    task->hash += op->kind;
    if (op->object != CORE_MEMORY)
        touch(core, task, op->object, !(op->flags & OP_READS));
    if (op->flags & OP_OPAQUE) {
        task->memory = true;
        touch(core, task, CORE_MEMORY, true);
        if (__builtin_expect(core->decider->flags & DECIDER_ACCESSES, 0))
            core->decider->accessed(core->decider, core, task, CORE_MEMORY, true);
    }
}

struct core_task *core_choose(struct core *core, struct core_task *current)
{
    uint32_t n = core->ready_count + (current != NULL);
    struct core_task *chosen;

    /* The code that led to an opaque point may have touched memory as well as what follows it. */
    if (core->last && core->last->op.flags & OP_OPAQUE && !core->last->memory)
        core_access(core, core->last, CORE_MEMORY, true);
    if (n == 0 || (core->cut && !core->quiet))
        return NULL;
    if (core->quiet) {
        chosen = core_dull(core, current);
    } else if (n == 1 && !(core->decider->flags & DECIDER_EVERY_STEP)) {
        chosen = current ? current : core->ready[0];
    } else {
        chosen = core->decider->pick(core->decider, core, current);
        if (!chosen) {
            core->cut = true;
            return NULL;
        }
        if (n > 1) {
            bool dull = chosen == core_dull(core, current);
            record(core, CORE_TASK, n, chosen->id, dull);
            core->preemptions += current && chosen != current && !dull;
        }
    }
    if (chosen != current) {
        core_disable(core, chosen);
        if (current)
            core_enable(core, current);
    }
    begin_step(core, chosen);
    return chosen;
}

uint32_t core_draw(struct core *core, enum core_choice kind, uint32_t n)
{
    if (n < 2 || core->quiet)
        return 0;
    uint32_t value = core->decider->draw(core->decider, core, kind, n);
    assert(value < n);
    record(core, kind, n, value, value == 0);
    return value;
}

uint64_t core_fingerprint(const struct core *core)
{
    return core->ended;
}

/* How many earlier siblings carry the same label. */
static uint32_t namesakes(const struct core *core, uint32_t task)
{
    const struct core_name *name = &core->names[task];
    uint32_t count = 0;

    for (uint32_t i = 1; i < task; i++)
        if (core->names[i].parent == name->parent && core->names[i].label &&
            strcmp(core->names[i].label, name->label) == 0)
            count++;
    return count;
}

void core_add_name(const struct core *core, uint32_t task, struct buf *buf)
{
    if (task == 0 || task > core->task_count) {
        buf_adds(buf, "?");
        return;
    }
    const struct core_name *name = &core->names[task];
    if (name->parent) {
        core_add_name(core, name->parent, buf);
        buf_addc(buf, '/');
    }
    if (name->label) {
        buf_adds(buf, name->label);
        uint32_t count = namesakes(core, task);
        if (count)
            buf_addf(buf, "#%u", count + 1);
        return;
    }
    uint32_t ordinal = 0;
    for (uint32_t i = 1; i <= task; i++)
        ordinal += core->names[i].parent == name->parent;
    if (name->parent)
        buf_addf(buf, "%u", ordinal);
    else if (task == 1)
        buf_adds(buf, "main");
    else
        buf_addf(buf, "main#%u", ordinal);
}

void core_take(struct core *core, struct core_task *task)
{
    assert(task->ready_at != CORE_NOT_READY);
    if (core->ready_count > 1)
        record(core, CORE_TASK, core->ready_count, task->id, task == core_dull(core, NULL));
    core_disable(core, task);
    begin_step(core, task);
}
