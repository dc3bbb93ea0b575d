/* SPDX-License-Identifier: MIT */
#include "base/rng.h"
#include <assert.h>
#include <string.h>

uint64_t rng_mix(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

void rng_seed(struct rng *rng, uint64_t seed)
{
    for (int i = 0; i < 4; i++)
        rng->state[i] = rng_mix(&seed);
}

/* FNV-1a over the text and its NUL, so that ("ab", "c") and ("a", "bc") differ. */
static uint64_t fold(uint64_t hash, const char *text)
{
    do {
        hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    } while (*text++);
    return hash;
}

void rng_stream(struct rng *rng, uint64_t seed, const char *purpose, const char *name)
{
    uint64_t hash = fold(UINT64_C(0xcbf29ce484222325), purpose ? purpose : "");

    hash = fold(hash, name ? name : "");
    uint64_t mixed = seed;
    rng_seed(rng, rng_mix(&mixed) ^ hash);
}

static uint64_t rotate(uint64_t x, int by)
{
    return x << by | x >> (64 - by);
}

uint64_t rng_next(struct rng *rng)
{
    uint64_t *s = rng->state;
    uint64_t result = rotate(s[1] * 5, 7) * 9, t = s[1] << 17;

    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate(s[3], 45);
    return result;
}

uint64_t rng_below(struct rng *rng, uint64_t bound)
{
    assert(bound > 0);
    /* Lemire's multiply-and-shift; the loop runs again with probability bound / 2^64. */
    for (;;) {
        __uint128_t product = (__uint128_t)rng_next(rng) * bound;
        if ((uint64_t)product >= bound || (uint64_t)product >= -bound % bound)
            return (uint64_t)(product >> 64);
    }
}

void rng_fill(struct rng *rng, void *bytes, size_t length)
{
    char *next = bytes;

    while (length) {
        uint64_t value = rng_next(rng);
        size_t count = length < sizeof value ? length : sizeof value;
        memcpy(next, &value, count);
        next += count;
        length -= count;
    }
}
