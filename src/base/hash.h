/* SPDX-License-Identifier: MIT */
/* hash: SHA-256, the name of every content we store. Text form is 64 lower-case hex digits. */
#pragma once
#include "base/cleanup.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HASH_BYTES = 32, HASH_TEXT_LENGTH = 64 };

struct hash {
    uint8_t bytes[HASH_BYTES];
};
struct hash_text {
    char text[HASH_TEXT_LENGTH + 1];
};

struct hash_state; /* a hash being computed piece by piece */
struct hash_state *hash_begin(void);
void hash_add(struct hash_state *state, const void *bytes, size_t length);
struct hash hash_end(struct hash_state *state); /* takes state */
struct hash_state *hash_free(struct hash_state *state);
DEFINE_CLEANUP(struct hash_state *, hash_free)

struct hash hash_of(const void *bytes, size_t length);
struct hash_text hash_to_text(const struct hash *hash);
bool hash_from_text(const char *text, struct hash *ret); /* exactly 64 hex digits */
