/* SPDX-License-Identifier: MIT */
/* Depth-first search over all choices, in order of what they cost.
 *
 * A choice of a task costs 1 when it preempts one that could go on; with `delays`, as many as there
 * are tasks before it in the order of a round-robin scheduler. Choices other than of a task are
 * free (with delays: their number). A run may cost at most the bound. What would cost one more is
 * put aside as a prefix; when a bound is done the search goes on from those with the next bound, so
 * no schedule is tried twice. */
#include "sched/decider.h"
#include <stdlib.h>
#include <string.h>

struct prefix {
    struct prefix *next;
    uint32_t count;
    struct core_decision decisions[];
};

struct node {
    struct core_decision taken;
    uint32_t *options; /* task ids, cheapest first; NULL for other choices. Owned */
    uint32_t at;       /* which of them is taken */
    uint32_t cost;     /* before this choice */
    bool preempts;     /* every option but the first costs 1 */
    bool fixed;        /* part of a prefix that was put aside: not to be varied */
};

struct dfs {
    struct decider decider;
    struct node *nodes;
    uint32_t count, capacity, pos;
    uint32_t bound, last;
    bool delays;
    struct prefix **aside; /* what was put aside, by cost */
    uint32_t aside_count;
    size_t aside_bytes;
};

/* Prefixes of long runs are many and long; what would go beyond this is left out. */
enum { ASIDE_BYTES_MAX = 64 << 20 };

static uint32_t option_cost(const struct dfs *dfs, const struct node *node, uint32_t at)
{
    if (at == 0)
        return 0;
    if (dfs->delays)
        return at;
    return node->options && node->preempts;
}

static void put_aside(struct dfs *dfs, uint32_t depth, uint32_t at, uint32_t cost)
{
    size_t size = sizeof(struct prefix) + (depth + 1) * sizeof(struct core_decision);

    if (dfs->aside_bytes + size > ASIDE_BYTES_MAX) {
        dfs->decider.incomplete = true;
        return;
    }
    struct prefix *prefix = mem_alloc(size);
    dfs->aside_bytes += size;
    while (dfs->aside_count <= cost) {
        dfs->aside = mem_grow(dfs->aside, (dfs->aside_count + 1) * sizeof *dfs->aside);
        dfs->aside[dfs->aside_count++] = NULL;
    }
    prefix->count = depth + 1;
    for (uint32_t i = 0; i <= depth; i++)
        prefix->decisions[i] = dfs->nodes[i].taken;
    const struct node *node = &dfs->nodes[depth];
    prefix->decisions[depth].value = node->options ? node->options[at] : at;
    prefix->next = dfs->aside[cost];
    dfs->aside[cost] = prefix;
}

static struct node *push(struct dfs *dfs, enum core_choice kind, uint32_t n)
{
    if (dfs->count == dfs->capacity) {
        dfs->capacity = dfs->capacity ? dfs->capacity * 2 : 64;
        dfs->nodes = mem_grow(dfs->nodes, dfs->capacity * sizeof *dfs->nodes);
    }
    struct node *node = &dfs->nodes[dfs->count++];
    *node = (struct node){.taken = {.kind = kind & 127, .n = n & 0xffffff}};
    if (dfs->count > 1) {
        const struct node *before = node - 1;
        /* A prefix was put aside because it spends all of what is now the bound. */
        node->cost =
            before->fixed ? dfs->bound : before->cost + option_cost(dfs, before, before->at);
    }
    return node;
}

static void begin(struct decider *decider, struct core *core)
{
    (void)core;
    ((struct dfs *)decider)->pos = 0;
}

/* The dull task first, the others in the order they became ready. */
static void fill_options(struct node *node, const struct core *core, struct core_task *current)
{
    struct core_task *dull = core_dull(core, current);
    uint32_t n = 0;

    node->options = mem_alloc((core->ready_count + 1) * sizeof *node->options);
    node->options[n++] = dull->id;
    if (current && current != dull)
        node->options[n++] = current->id;
    for (struct core_task *t = core->fifo.next; t != &core->fifo; t = t->next)
        if (t != dull)
            node->options[n++] = t->id;
    node->preempts = current && dull == current;
}

static struct core_task *find(const struct core *core, struct core_task *current, uint32_t id)
{
    if (current && current->id == id)
        return current;
    for (uint32_t i = 0; i < core->ready_count; i++)
        if (core->ready[i]->id == id)
            return core->ready[i];
    return NULL;
}

static struct core_task *pick(struct decider *decider, struct core *core, struct core_task *current)
{
    struct dfs *dfs = (struct dfs *)decider;
    uint32_t n = core->ready_count + (current != NULL);

    if (dfs->pos == dfs->count)
        push(dfs, CORE_TASK, n);
    struct node *node = &dfs->nodes[dfs->pos++];
    if (!node->options) {
        fill_options(node, core, current);
        if (node->fixed)
            while (node->options[node->at] != node->taken.value && node->at + 1 < n)
                node->at++;
        node->taken.value = node->options[node->at];
    }
    struct core_task *task = find(core, current, node->taken.value);
    return task ? task : core_dull(core, current); /* the program does not repeat itself */
}

static uint32_t draw(struct decider *decider, struct core *core, enum core_choice kind, uint32_t n)
{
    struct dfs *dfs = (struct dfs *)decider;

    (void)core;
    if (dfs->pos == dfs->count)
        push(dfs, kind, n);
    struct node *node = &dfs->nodes[dfs->pos++];
    node->at = node->taken.value < n ? node->taken.value : 0;
    return node->at;
}

static void drop_to(struct dfs *dfs, uint32_t count)
{
    while (dfs->count > count)
        free(dfs->nodes[--dfs->count].options);
}

/* The next prefix that was put aside, as nodes that are not varied. */
static bool take_prefix(struct dfs *dfs)
{
    while (dfs->bound >= dfs->aside_count || !dfs->aside[dfs->bound]) {
        if (dfs->bound >= dfs->last || dfs->bound + 1 >= dfs->aside_count)
            return false;
        dfs->bound++;
    }
    struct prefix *prefix = dfs->aside[dfs->bound];
    dfs->aside[dfs->bound] = prefix->next;
    for (uint32_t i = 0; i < prefix->count; i++) {
        struct node *node = push(dfs, prefix->decisions[i].kind, prefix->decisions[i].n);
        node->taken = prefix->decisions[i];
        node->fixed = true;
    }
    dfs->aside_bytes -= sizeof *prefix + prefix->count * sizeof prefix->decisions[0];
    free(prefix);
    return true;
}

static bool next(struct decider *decider, struct core *core)
{
    struct dfs *dfs = (struct dfs *)decider;

    (void)core;
    drop_to(dfs, dfs->pos); /* a run that diverged may have been shorter */
    while (dfs->count) {
        uint32_t depth = dfs->count - 1;
        struct node *node = &dfs->nodes[depth];
        while (!node->fixed && node->at + 1 < node->taken.n) {
            node->at++;
            uint32_t cost = node->cost + option_cost(dfs, node, node->at);
            if (cost > dfs->bound) {
                if (cost <= dfs->last)
                    put_aside(dfs, depth, node->at, cost);
                continue;
            }
            node->taken.value = node->options ? node->options[node->at] : node->at;
            return true;
        }
        drop_to(dfs, depth);
    }
    return take_prefix(dfs);
}

static void done(struct decider *decider)
{
    struct dfs *dfs = (struct dfs *)decider;

    drop_to(dfs, 0);
    for (uint32_t i = 0; i < dfs->aside_count; i++)
        while (dfs->aside[i]) {
            struct prefix *prefix = dfs->aside[i];
            dfs->aside[i] = prefix->next;
            free(prefix);
        }
    free(dfs->nodes);
    free(dfs->aside);
}

uint32_t decider_dfs_bound(const struct decider *decider)
{
    return ((const struct dfs *)decider)->bound;
}

struct decider *decider_dfs_new(uint32_t bound_first, uint32_t bound_last, bool delays)
{
    struct dfs *dfs = mem_alloc(sizeof *dfs);

    *dfs = (struct dfs){.decider = {.name = delays ? "delays" : "dfs",
                                    .pick = pick,
                                    .draw = draw,
                                    .begin = begin,
                                    .next = next,
                                    .free = done},
                        .bound = bound_first,
                        .last = bound_last,
                        .delays = delays};
    return &dfs->decider;
}
