/* SPDX-License-Identifier: MIT */
#include "tape/secrets_shapes.h"
#include "base/cleanup.h"
#include <ctype.h>
#include <string.h>

#define DIGITS "0123456789"
#define UPPER  "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define LOWER  "abcdefghijklmnopqrstuvwxyz"
#define WORD   DIGITS UPPER LOWER "_-"

const struct secret_shape secret_shapes[] = {
    {"github", "ghp_", WORD, 30, false},
    {"github", "gho_", WORD, 30, false},
    {"github", "ghu_", WORD, 30, false},
    {"github", "ghs_", WORD, 30, false},
    {"github", "ghr_", WORD, 30, false},
    {"github", "github_pat_", WORD, 40, false},
    {"gitlab", "glpat-", WORD, 16, false},
    {"aws", "AKIA", DIGITS UPPER, 16, false},
    {"aws", "ASIA", DIGITS UPPER, 16, false},
    {"google", "AIza", WORD, 30, false},
    {"slack", "xoxb-", WORD, 16, false},
    {"slack", "xoxp-", WORD, 16, false},
    {"slack", "xoxa-", WORD, 16, false},
    {"slack", "xoxs-", WORD, 16, false},
    {"stripe", "sk_live_", WORD, 16, false},
    {"stripe", "rk_live_", WORD, 16, false},
    {"sk", "sk-", WORD, 20, false},
    {"npm", "npm_", WORD, 30, false},
    {"huggingface", "hf_", WORD, 30, false},
    {"sendgrid", "SG.", WORD ".", 40, false},
    {"jwt", "eyJ", WORD ".", 40, false},
    {"bearer", "Bearer ", WORD ".~+/=", 16, true},
    {"basic", "Basic ", WORD "+/=", 16, true},
    {"private-key", "-----BEGIN ", NULL, 0, false},
    {0},
};

/* -----BEGIN [A-Z ]*PRIVATE KEY----- up to the end of the END line, or to the end of the text. */
static size_t key_block_match(const char *text, size_t length)
{
    static const char mark[] = "PRIVATE KEY", end_mark[] = "-----END ";
    const char *line_end = memchr(text, '\n', length);
    size_t first = line_end ? (size_t)(line_end - text) : length;

    if (!memmem(text, first < 80 ? first : 80, mark, sizeof mark - 1))
        return 0;
    const char *end = memmem(text, length, end_mark, sizeof end_mark - 1);
    if (!end)
        return length;
    end += sizeof end_mark - 1;
    while (end < text + length && (isupper((unsigned char)*end) || *end == ' ' || *end == '-'))
        end++;
    return (size_t)(end - text);
}

size_t secret_shape_match(const struct secret_shape *shape, const char *text, size_t length)
{
    size_t prefix = strlen(shape->prefix), end = prefix;

    if (length < prefix || memcmp(text, shape->prefix, prefix) != 0)
        return 0;
    if (!shape->alphabet)
        return key_block_match(text, length);
    while (end < length && text[end] && strchr(shape->alphabet, text[end]))
        end++;
    return end - prefix >= shape->length_min ? end : 0;
}

/* Copies the next word of a name in upper case: words end at anything that is neither a letter nor
 * a digit, and where a small letter meets a capital. */
static const char *next_word(const char *name, const char *end, char *word, size_t size)
{
    size_t length = 0;

    while (name < end && !isalnum((unsigned char)*name))
        name++;
    while (name < end && isalnum((unsigned char)*name)) {
        if (length + 1 < size)
            word[length++] = (char)toupper((unsigned char)*name);
        name++;
        if (name < end && islower((unsigned char)name[-1]) && isupper((unsigned char)*name))
            break;
    }
    word[length] = '\0';
    return name;
}

static bool is_one_of(const char *word, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(word, list[i]) == 0)
            return true;
    return false;
}

bool secret_name(const char *name, size_t length)
{
    static const char *const alone[] = {"TOKEN",         "SECRET", "PASSWORD",   "PASSWD",
                                        "PASSPHRASE",    "APIKEY", "CREDENTIAL", "CREDENTIALS",
                                        "AUTHORIZATION", "COOKIE", "SECRETS"};
    static const char *const before_key[] = {"API",     "ACCESS",     "SECRET", "PRIVATE",
                                             "SIGNING", "ENCRYPTION", "AUTH",   "SSH",
                                             "MASTER",  "DEPLOY",     "ACCOUNT"};
    const char *end = name + length;
    char word[32], before[32] = "";

    if (length > 128)
        return false;
    while (name < end) {
        name = next_word(name, end, word, sizeof word);
        if (is_one_of(word, alone, ARRAY_LENGTH(alone)))
            return true;
        if (strcmp(word, "KEY") == 0 && is_one_of(before, before_key, ARRAY_LENGTH(before_key)))
            return true;
        memcpy(before, word, sizeof before);
    }
    return false;
}
