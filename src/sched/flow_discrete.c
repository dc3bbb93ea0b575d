/* SPDX-License-Identifier: MIT */
/* Discrete flows that need no task of their own, and how flows are consumed. */
#include "sched/flow.h"
#include <stdlib.h>
#include <string.h>

int vitro_flow_next_at(vitro_flow *flow, vitro_value *ret, const char *where)
{
    return flow->next(flow, ret, where);
}

vitro_flow *vitro_flow_free(vitro_flow *flow)
{
    if (!flow)
        return NULL;
    if (flow->free)
        flow->free(flow);
    if (!flow->lost)
        free(flow);
    return NULL;
}

/* ---- seed */

struct seed {
    vitro_flow flow;
    size_t at, n;
    vitro_value values[];
};

static int seed_next(vitro_flow *flow, vitro_value *ret, const char *where)
{
    struct seed *seed = (struct seed *)flow;

    (void)where;
    if (seed->at == seed->n)
        return 0;
    *ret = seed->values[seed->at++];
    return 1;
}

vitro_flow *vitro_flow_seed(const vitro_value *values, size_t n)
{
    struct seed *seed = mem_alloc(sizeof *seed + n * sizeof seed->values[0]);

    seed->flow.next = seed_next;
    seed->n = n;
    if (n)
        memcpy(seed->values, values, n * sizeof *values);
    return &seed->flow;
}

/* ---- observe: the emitter hands values over at a rendezvous. It stays until the last call of
 * vitro_emit is over, which may be after the flow is gone. */

struct vitro_emitter {
    struct vitro_chan chan;
    unsigned users;
    bool gone;
};

struct observe {
    vitro_flow flow;
    vitro_emitter *emitter;
    void (*subscribe)(void *arg, vitro_emitter *emitter);
    void (*unsubscribe)(void *arg);
    void *arg;
    bool subscribed;
};

static int observe_next(vitro_flow *flow, vitro_value *ret, const char *where)
{
    struct observe *o = (struct observe *)flow;

    if (!o->subscribed) {
        o->subscribed = true;
        o->subscribe(o->arg, o->emitter);
    }
    int r = vitro_receive_at(&o->emitter->chan, ret, VITRO_FOREVER, where);
    if (r == -EPIPE)
        return 0;
    return r < 0 ? r : 1;
}

static void observe_free(vitro_flow *flow)
{
    struct observe *o = (struct observe *)flow;

    if (o->subscribed && o->unsubscribe)
        o->unsubscribe(o->arg);
    o->emitter->gone = true;
    vitro_chan_done(&o->emitter->chan);
    if (!o->emitter->users)
        free(o->emitter);
}

vitro_flow *vitro_flow_observe(void (*subscribe)(void *, vitro_emitter *),
                               void (*unsubscribe)(void *), void *arg)
{
    struct observe *o = mem_alloc(sizeof *o);

    *o = (struct observe){.flow = {.next = observe_next, .free = observe_free},
                          .emitter = mem_alloc(sizeof(vitro_emitter)),
                          .subscribe = subscribe,
                          .unsubscribe = unsubscribe,
                          .arg = arg};
    o->emitter->chan = (struct vitro_chan)VITRO_RENDEZVOUS("observe");
    return &o->flow;
}

int vitro_emit_at(vitro_emitter *emitter, vitro_value value, const char *where)
{
    if (emitter->gone)
        return -EPIPE;
    emitter->users++;
    int r = vitro_send_at(&emitter->chan, value, VITRO_FOREVER, where);
    emitter->users--;
    if (emitter->gone && !emitter->users)
        free(emitter);
    return r;
}

/* ---- map and sample */

struct map {
    vitro_flow flow;
    vitro_flow *in;
    vitro_value (*fn)(void *, vitro_value);
    vitro_value (*sample)(void *, vitro_value, vitro_value);
    vitro_signal *signal;
    void *arg;
};

static int map_next(vitro_flow *flow, vitro_value *ret, const char *where)
{
    struct map *map = (struct map *)flow;
    vitro_value value;
    int r = map->in->next(map->in, &value, where);

    if (r == 1)
        *ret = map->signal ? map->sample(map->arg, vitro_signal_get(map->signal), value)
                           : map->fn(map->arg, value);
    return r;
}

static void map_free(vitro_flow *flow)
{
    struct map *map = (struct map *)flow;

    vitro_flow_free(map->in);
    vitro_signal_unref(map->signal);
}

vitro_flow *vitro_flow_map(vitro_value (*fn)(void *, vitro_value), void *arg, vitro_flow *in)
{
    struct map *map = mem_alloc(sizeof *map);

    *map =
        (struct map){.flow = {.next = map_next, .free = map_free}, .in = in, .fn = fn, .arg = arg};
    return &map->flow;
}

vitro_flow *vitro_flow_sample(vitro_value (*fn)(void *, vitro_value, vitro_value), void *arg,
                              vitro_signal *sampled, vitro_flow *sampler)
{
    struct map *map = mem_alloc(sizeof *map);

    *map = (struct map){.flow = {.next = map_next, .free = map_free},
                        .in = sampler,
                        .sample = fn,
                        .signal = vitro_signal_ref(sampled),
                        .arg = arg};
    return &map->flow;
}

/* ---- one after the other */

struct amb {
    vitro_flow flow;
    size_t at, n;
    vitro_flow *in[];
};

static int amb_next(vitro_flow *flow, vitro_value *ret, const char *where)
{
    struct amb *amb = (struct amb *)flow;

    while (amb->at < amb->n) {
        int r = amb->in[amb->at]->next(amb->in[amb->at], ret, where);
        if (r != 0)
            return r;
        amb->at++;
    }
    return 0;
}

static void amb_free(vitro_flow *flow)
{
    struct amb *amb = (struct amb *)flow;

    for (size_t i = 0; i < amb->n; i++)
        vitro_flow_free(amb->in[i]);
}

vitro_flow *vitro_flow_amb(vitro_flow *const *flows, size_t n)
{
    struct amb *amb = mem_alloc(sizeof *amb + n * sizeof amb->in[0]);

    amb->flow = (vitro_flow){.next = amb_next, .free = amb_free};
    amb->n = n;
    memcpy(amb->in, flows, n * sizeof amb->in[0]);
    return &amb->flow;
}

/* ---- consuming */

int vitro_reduce(vitro_flow *flow, int (*step)(void *, vitro_value), void *so_far)
{
    vitro_value value;
    int r;

    while ((r = flow->next(flow, &value, VITRO_HERE)) == 1) {
        r = step(so_far, value);
        if (r != 0)
            break;
    }
    vitro_flow_free(flow);
    return r;
}

struct collecting {
    vitro_flow *flow;
    vitro_value *values;
    size_t count, max;
    bool stop;
};

static int collect_step(void *arg, vitro_value value)
{
    struct collecting *c = arg;

    if (c->count == c->max)
        return -E2BIG;
    c->values[c->count++] = value;
    return c->stop && c->count == c->max;
}

static int collect_run(void *arg)
{
    struct collecting *c = arg;
    int r = vitro_reduce(c->flow, collect_step, c);

    return r < 0 ? r : 0;
}

int64_t vitro_collect_with(vitro_flow *flow, vitro_value *ret, size_t max,
                           const struct vitro_collect_options *options)
{
    struct collecting c = {.flow = flow, .values = ret, .max = max, .stop = options->stop_at_max};
    int r = options->timeout_ns ? vitro_timeout(collect_run, &c, options->timeout_ns, -ETIMEDOUT)
                                : collect_run(&c);

    return r < 0 ? r : (int64_t)c.count;
}
