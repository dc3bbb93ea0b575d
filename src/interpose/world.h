/* SPDX-License-Identifier: MIT */
/* world: what a bench has around its threads, besides the clock. Made by src/bench, asked by the
 * calls. Counted: the bench has it, and every thread that was started in it. */
#pragma once
#include "base/buf.h"
#include "base/rng.h"
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct net_rules;
struct files;
struct programs;
struct tape_notes;
struct vitro_frame;

enum { WORLD_STREAMS = 64, WORLD_NAME_MAX = 32 };
/* The chance of one lane, so that threads do not move each other's. */
struct world_stream {
    char name[WORLD_NAME_MAX];
    struct rng random, plain; /* getrandom; rand */
    uint64_t random_draws, random_bytes, plain_draws;
};

struct vitro_world {
    uint32_t refs;
    struct vitro_world *outer; /* a reference: answers for axes that this one does not have */
    struct vitro_frame *frame; /* the bench's own, which its threads do not keep from going */
    pthread_mutex_t lock;      /* of what follows */
    bool audit_real;           /* axes that are real count as leaks */

    bool seeded;
    uint64_t seed;
    struct world_stream streams[WORLD_STREAMS]; /* by lane; the last one for all who come late */
    size_t stream_count;

    char **env; /* owned, NULL-ended; NULL: the process's */
    size_t env_count;
    char **env_old; /* values that somebody may still hold */
    size_t env_old_count;

    struct net_rules *net; /* owned; NULL: real */
    struct buf denied;     /* what it refused, a line each, the same only once */
    uint64_t denied_count;

    struct files *files;       /* owned; NULL: real */
    struct programs *programs; /* the same */

    struct tape_notes *tape; /* borrowed from the bench; NULL: no tape */

    void (*free)(struct vitro_world *world); /* when the last one has gone */
};

struct vitro_world *world_ref(struct vitro_world *world);
void world_unref(struct vitro_world *world);
/* Notes something for the tape of the bench in force, if it has one. `data` is a canonical JSON
 * object. */
void world_note(struct vitro_world *world, const char *kind, const char *format, ...)
    PRINTF_LIKE(3, 4);
/* Threads of this world that still run are on their own from now on: they see the real one. How
 * many there were. */
size_t world_abandon(struct vitro_world *world);
