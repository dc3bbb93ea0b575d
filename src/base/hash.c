/* SPDX-License-Identifier: MIT */
#include "base/hash.h"
#include "base/buf.h"
#include <assert.h>
#include <openssl/evp.h>
#include <string.h>

struct hash_state {
    EVP_MD_CTX *context;
};

/* Fetched once: looking the algorithm up on every use costs more than hashing a short text. */
static const EVP_MD *sha256(void)
{
    static const EVP_MD *md;
    const EVP_MD *known = __atomic_load_n(&md, __ATOMIC_ACQUIRE);

    if (!known) {
        known = EVP_MD_fetch(NULL, "SHA256", NULL);
        assert(known);
        __atomic_store_n(&md, known, __ATOMIC_RELEASE);
    }
    return known;
}

struct hash_state *hash_begin(void)
{
    struct hash_state *state = mem_alloc(sizeof *state);

    state->context = EVP_MD_CTX_new();
    int ok = state->context && EVP_DigestInit_ex2(state->context, sha256(), NULL);
    assert(ok);
    return state;
}

void hash_add(struct hash_state *state, const void *bytes, size_t length)
{
    int ok = EVP_DigestUpdate(state->context, bytes, length);
    assert(ok);
}

struct hash hash_end(struct hash_state *state)
{
    struct hash hash;
    int ok = EVP_DigestFinal_ex(state->context, hash.bytes, NULL);

    assert(ok);
    hash_free(state);
    return hash;
}

struct hash_state *hash_free(struct hash_state *state)
{
    if (state)
        EVP_MD_CTX_free(state->context);
    free(state);
    return NULL;
}

struct hash hash_of(const void *bytes, size_t length)
{
    struct hash hash;
    int ok = EVP_Digest(bytes, length, hash.bytes, NULL, sha256(), NULL);

    assert(ok);
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
