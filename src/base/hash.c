/* SPDX-License-Identifier: MIT */
/* Nettle and not libcrypto: one is a box of hashes, the other a world with tables, configuration
 * and constructors, which a command that starts in milliseconds would carry along (decision 0025).
 */
#include "base/hash.h"
#include "base/buf.h"
#include <nettle/sha2.h>
#include <string.h>

struct hash_state {
    struct sha256_ctx context;
};

struct hash_state *hash_begin(void)
{
    struct hash_state *state = mem_alloc(sizeof *state);

    sha256_init(&state->context);
    return state;
}

void hash_add(struct hash_state *state, const void *bytes, size_t length)
{
    sha256_update(&state->context, length, bytes);
}

struct hash hash_end(struct hash_state *state)
{
    struct hash hash;

    sha256_digest(&state->context, HASH_BYTES, hash.bytes);
    hash_free(state);
    return hash;
}

struct hash_state *hash_free(struct hash_state *state)
{
    free(state);
    return NULL;
}

struct hash hash_of(const void *bytes, size_t length)
{
    struct hash hash;
    struct sha256_ctx context;

    sha256_init(&context);
    sha256_update(&context, length, bytes);
    sha256_digest(&context, HASH_BYTES, hash.bytes);
    return hash;
}

struct hash_text hash_to_text(const struct hash *hash)
{
    static const char digits[] = "0123456789abcdef";
    struct hash_text text;

    for (int i = 0; i < HASH_BYTES; i++) {
        text.text[2 * i] = digits[hash->bytes[i] >> 4];
        text.text[2 * i + 1] = digits[hash->bytes[i] & 15];
    }
    text.text[HASH_TEXT_LENGTH] = '\0';
    return text;
}

static int digit_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return -1;
}

bool hash_from_text(const char *text, struct hash *ret)
{
    if (strlen(text) != HASH_TEXT_LENGTH)
        return false;
    for (int i = 0; i < HASH_BYTES; i++) {
        int high = digit_value(text[2 * i]), low = digit_value(text[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        ret->bytes[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}
