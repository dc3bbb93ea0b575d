/* SPDX-License-Identifier: MIT */
/* Chance, from the bench's seed. getrandom and its kin draw from one stream, rand and random from
 * one that srand starts anew. */
#include "interpose/calls.h"
#include <string.h>

static struct vitro_world *random_here(const void *caller, const char *capability)
{
    struct lane *lane = lane_here(caller);
    struct vitro_world *world = lane ? lane_world(lane) : NULL;

    bool audited = world && world->audit_real;
    while (world && !world->seeded)
        world = world->outer;
    if (!world && audited)
        leak_here(capability, caller);
    return world;
}

/* With the world's lock held. */
static struct world_stream *stream_of(struct vitro_world *world, const struct lane *lane)
{
    const char *name = lane_name(lane);

    for (size_t i = 0; i < world->stream_count; i++)
        if (strncmp(world->streams[i].name, name, WORLD_NAME_MAX - 1) == 0)
            return &world->streams[i];
    if (world->stream_count == WORLD_STREAMS)
        return &world->streams[WORLD_STREAMS - 1];
    struct world_stream *stream = &world->streams[world->stream_count++];
    (void)strncpy(stream->name, name, WORLD_NAME_MAX - 1);
    rng_stream(&stream->random, world->seed, "getrandom", stream->name);
    rng_stream(&stream->plain, world->seed, "rand", stream->name);
    return stream;
}

static void fill(struct vitro_world *world, void *bytes, size_t size)
{
    struct lane *lane = lane_self();

    inside_begin(lane);
    (void)pthread_mutex_lock(&world->lock);
    struct world_stream *stream = stream_of(world, lane);
    rng_fill(&stream->random, bytes, size);
    stream->random_draws++;
    stream->random_bytes += size;
    (void)pthread_mutex_unlock(&world->lock);
    inside_end(lane);
}

ssize_t call_getrandom(const void *caller, void *bytes, size_t size, unsigned flags)
{
    struct vitro_world *world = random_here(caller, "random/getrandom");

    if (!world || (flags & ~(GRND_NONBLOCK | GRND_RANDOM)))
        return REAL.getrandom(bytes, size, flags);
    fill(world, bytes, size);
    return (ssize_t)size;
}

int call_getentropy(const void *caller, void *bytes, size_t size)
{
    struct vitro_world *world = random_here(caller, "random/getentropy");

    if (!world || size > 256)
        return REAL.getentropy(bytes, size);
    fill(world, bytes, size);
    return 0;
}

uint32_t call_arc4random(const void *caller)
{
    struct vitro_world *world = random_here(caller, "random/arc4random");
    uint32_t number;

    if (!world)
        return REAL.arc4random();
    fill(world, &number, sizeof number);
    return number;
}

void call_arc4random_buf(const void *caller, void *bytes, size_t size)
{
    struct vitro_world *world = random_here(caller, "random/arc4random_buf");

    if (world)
        fill(world, bytes, size);
    else
        REAL.arc4random_buf(bytes, size);
}

uint32_t call_arc4random_uniform(const void *caller, uint32_t below)
{
    struct vitro_world *world = random_here(caller, "random/arc4random_uniform");
    struct lane *lane = lane_self();

    if (!world || below < 2)
        return world ? 0 : REAL.arc4random_uniform(below);
    inside_begin(lane);
    (void)pthread_mutex_lock(&world->lock);
    struct world_stream *stream = stream_of(world, lane);
    uint64_t number = rng_below(&stream->random, below);
    stream->random_draws++;
    stream->random_bytes += sizeof below;
    (void)pthread_mutex_unlock(&world->lock);
    inside_end(lane);
    return (uint32_t)number;
}

/* ---- rand, random */

static long draw(struct vitro_world *world)
{
    struct lane *lane = lane_self();

    inside_begin(lane);
    (void)pthread_mutex_lock(&world->lock);
    struct world_stream *stream = stream_of(world, lane);
    uint64_t number = rng_next(&stream->plain);
    stream->plain_draws++;
    (void)pthread_mutex_unlock(&world->lock);
    inside_end(lane);
    return (long)(number >> 33); /* 31 bits, as RAND_MAX */
}

static void start(struct vitro_world *world, unsigned seed)
{
    struct lane *lane = lane_self();

    inside_begin(lane);
    (void)pthread_mutex_lock(&world->lock);
    rng_seed(&stream_of(world, lane)->plain, world->seed ^ (uint64_t)seed << 32);
    (void)pthread_mutex_unlock(&world->lock);
    inside_end(lane);
}

int call_rand(const void *caller)
{
    struct vitro_world *world = random_here(caller, "random/rand");

    return world ? (int)draw(world) : REAL.rand();
}

long call_random(const void *caller)
{
    struct vitro_world *world = random_here(caller, "random/random");

    return world ? draw(world) : REAL.random();
}

void call_srand(const void *caller, unsigned seed)
{
    struct vitro_world *world = random_here(caller, "random/srand");

    if (world)
        start(world, seed);
    else
        REAL.srand(seed);
}

void call_srandom(const void *caller, unsigned seed)
{
    struct vitro_world *world = random_here(caller, "random/srandom");

    if (world)
        start(world, seed);
    else
        REAL.srandom(seed);
}
