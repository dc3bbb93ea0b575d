/* SPDX-License-Identifier: MIT */
/* rng: reproducible chance. One seed names a run; from it come independent streams, one for each
 * purpose ("sched", "getrandom") and name (a process path, a task name), so that drawing more in
 * one place never moves another. The generator is xoshiro256** seeded through splitmix64. Not for
 * secrets. The sequences are part of the recorded formats: they never change. */
#pragma once
#include <stddef.h>
#include <stdint.h>

struct rng {
    uint64_t state[4];
};

uint64_t rng_mix(uint64_t *state); /* one splitmix64 step */
void rng_seed(struct rng *rng, uint64_t seed);
/* The stream of `seed` for this purpose and name; NULL reads as "". */
void rng_stream(struct rng *rng, uint64_t seed, const char *purpose, const char *name);
uint64_t rng_next(struct rng *rng);
uint64_t rng_below(struct rng *rng,
                   uint64_t bound); /* uniform in [0, bound), bound > 0, unbiased */
void rng_fill(struct rng *rng, void *bytes, size_t length);
