/* SPDX-License-Identifier: MIT */
/* libcrypto's SHA256 functions and not its EVP ones: the first digest through EVP reads the
 * library's configuration and builds its tables, 1.5 ms in which a whole box could have started. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "base/hash.h"
#include "base/buf.h"
#include <openssl/sha.h>
#include <string.h>

struct hash_state {
    SHA256_CTX context;
};

struct hash_state *hash_begin(void)
{
    struct hash_state *state = mem_alloc(sizeof *state);

    SHA256_Init(&state->context);
    return state;
}

void hash_add(struct hash_state *state, const void *bytes, size_t length)
{
    SHA256_Update(&state->context, bytes, length);
}

struct hash hash_end(struct hash_state *state)
{
    struct hash hash;

    SHA256_Final(hash.bytes, &state->context);
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
    SHA256_CTX context;

    SHA256_Init(&context);
    SHA256_Update(&context, bytes, length);
    SHA256_Final(hash.bytes, &context);
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
