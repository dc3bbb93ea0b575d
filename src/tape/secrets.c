/* SPDX-License-Identifier: MIT */
/* Bytes first: a table of the bytes a secret can start with says in one load a byte whether a
 * closer look is worth while, so that the usual record costs a scan and nothing else. */
#include "tape/secrets.h"
#include "base/hash.h"
#include "base/text.h"
#include "tape/secrets_internal.h"
#include "tape/secrets_shapes.h"
#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <nettle/hmac.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { LITERAL_MIN = 8 };

static const char default_key[] = "vitro tape, public scrub key 1";
static const char placeholder_start[] = "<secret:";

static void mark_start(struct secrets *secrets, const char *text)
{
    unsigned pair = (unsigned char)text[0] << 8 | (unsigned char)text[1];

    secrets->pairs[pair / 8] |= (unsigned char)(1u << pair % 8);
    secrets->thirds[text[0] & 31] |= 1u << (text[2] & 31);
}

/* Whether a secret, or the name of one, can start at `text`, which has three bytes at least. The
 * third byte is looked at without its case. */
static bool can_start(const struct secrets *secrets, const char *text)
{
    unsigned pair = (unsigned char)text[0] << 8 | (unsigned char)text[1];

    return secrets->pairs[pair / 8] >> pair % 8 & 1 &&
           secrets->thirds[text[0] & 31] >> (text[2] & 31) & 1;
}

/* Names are looked for in either case; both spellings of their first two letters are marked. */
static void mark_name(struct secrets *secrets, const char *name)
{
    for (int spelling = 0; spelling < 4; spelling++) {
        char start[3] = {(char)(spelling & 1 ? toupper(name[0]) : tolower(name[0])),
                         (char)(spelling & 2 ? toupper(name[1]) : tolower(name[1])), name[2]};
        mark_start(secrets, start);
    }
}

static size_t copy_list(const char *const *from, char ***ret)
{
    size_t count = 0;

    while (from && from[count])
        count++;
    *ret = mem_alloc((count + 1) * sizeof **ret);
    for (size_t i = 0; i < count; i++)
        (*ret)[i] = mem_dup(from[i]);
    return count;
}

static void add_literal(struct secrets *secrets, const char *text, const char *rule)
{
    size_t size = (secrets->literal_count + 1) * sizeof *secrets->literals;

    secrets->literals = mem_grow(secrets->literals, size);
    secrets->literals[secrets->literal_count++] =
        (struct secret_literal){mem_dup(text), rule, strlen(text)};
    mark_start(secrets, text);
    for (const char *c = text; *c; c++) /* escaped in JSON: look every time */
        secrets->always_look |= (unsigned char)*c < 0x20 || *c == '"' || *c == '\\';
}

/* A password may be "postgres", and a credential the path of a file: texts that stand for other
 * things, too. */
static bool stands_for_itself(const char *value)
{
    size_t length = strlen(value);

    return *value != '/' && !secrets_is_placeholder(value, length) &&
           (length >= 16 || (length >= LITERAL_MIN && strpbrk(value, "0123456789")));
}

static void add_environment(struct secrets *secrets, const char *const *environment)
{
    for (; environment && *environment; environment++) {
        const char *equals = strchr(*environment, '=');
        if (equals && secret_name(*environment, (size_t)(equals - *environment)) &&
            stands_for_itself(equals + 1))
            add_literal(secrets, equals + 1, "name");
    }
}

static int add_literals(struct secrets *secrets, const char *const *literals, struct err *err)
{
    for (size_t i = 0; literals && literals[i]; i++) {
        if (strlen(literals[i]) < LITERAL_MIN)
            return err_set(err, -EINVAL, "secret value number %zu: shorter than eight bytes",
                           i + 1);
        add_literal(secrets, literals[i], "value");
    }
    return 0;
}

static int check_fields(const struct secrets *secrets, struct err *err)
{
    for (size_t i = 0; i < secrets->field_count; i++) {
        const char *dot = strchr(secrets->fields[i], '.');
        if (!dot || dot == secrets->fields[i] || !dot[1]) {
            err_set(err, -EINVAL, "secret field '%s': not KIND.member", secrets->fields[i]);
            return err_hint(err, "'env_read.value', or '*.cookie' for every kind");
        }
    }
    return 0;
}

/* How the words begin that make a name the name of a secret (secret_name). "key" alone is none, so
 * what stands before it is here. */
static const char *const name_starts[] = {"token",   "secret", "pass",   "api",     "credential",
                                          "auth",    "cookie", "access", "private", "signing",
                                          "encrypt", "ssh",    "master", "deploy",  "account"};

int secrets_new(const struct secrets_options *given, struct secrets **ret, struct err *err)
{
    CLEANUP(secrets_free) struct secrets *secrets = mem_alloc(sizeof *secrets);
    struct secrets_options options = given ? *given : (struct secrets_options){0};

    secrets->key = mem_dup(options.key ? options.key : default_key);
    secrets->field_count = copy_list(options.fields, &secrets->fields);
    for (size_t i = 0; i < ARRAY_LENGTH(name_starts); i++)
        mark_name(secrets, name_starts[i]);
    for (const struct secret_shape *shape = secret_shapes; shape->prefix; shape++)
        mark_start(secrets, shape->prefix);
    int r = check_fields(secrets, err);
    if (r == 0)
        r = add_literals(secrets, options.literals, err);
    if (r < 0)
        return r;
    add_environment(secrets,
                    options.environment ? options.environment : (const char *const *)environ);
    *ret = take_ptr(&secrets);
    return 0;
}

struct secrets *secrets_free(struct secrets *secrets)
{
    if (secrets) {
        for (size_t i = 0; i < secrets->field_count; i++)
            free(secrets->fields[i]);
        for (size_t i = 0; i < secrets->literal_count; i++)
            free(secrets->literals[i].text);
        free(secrets->fields);
        free(secrets->literals);
        free(secrets->key);
    }
    free(secrets);
    return NULL;
}

/* Whether one of the things the pairs stand for begins at `text`. */
static bool begins(const struct secrets *secrets, const char *text, size_t length)
{
    for (size_t i = 0; i < ARRAY_LENGTH(name_starts); i++) {
        if ((text[0] | 32) != name_starts[i][0] || (text[1] | 32) != name_starts[i][1])
            continue;
        size_t start = strlen(name_starts[i]);
        if (length >= start && strncasecmp(text, name_starts[i], start) == 0)
            return true;
    }
    for (const struct secret_shape *shape = secret_shapes; shape->prefix; shape++) {
        if (text[0] != shape->prefix[0])
            continue;
        size_t start = strlen(shape->prefix);
        if (length >= start && memcmp(text, shape->prefix, start) == 0)
            return true;
    }
    for (size_t i = 0; i < secrets->literal_count; i++)
        if (length >= 4 && memcmp(text, secrets->literals[i].text, 4) == 0)
            return true;
    return false;
}

bool secrets_maybe(const struct secrets *secrets, const char *text, size_t length)
{
    for (size_t i = 0; i + 2 < length; i++)
        if (can_start(secrets, text + i) && begins(secrets, text + i, length - i))
            return true;
    return false;
}

void secrets_add_placeholder(const struct secrets *secrets, const char *rule, const char *value,
                             size_t length, struct buf *ret)
{
    struct hmac_sha256_ctx context;
    uint8_t digest[HASH_BYTES];

    hmac_sha256_set_key(&context, strlen(secrets->key), (const uint8_t *)secrets->key);
    hmac_sha256_update(&context, length, (const uint8_t *)value);
    hmac_sha256_digest(&context, sizeof digest, digest);
    buf_addf(ret, "%s%s:%02x%02x%02x%02x>", placeholder_start, rule, digest[0], digest[1],
             digest[2], digest[3]);
}

bool secrets_is_placeholder(const char *text, size_t length)
{
    size_t start = sizeof placeholder_start - 1;

    return length > start && memcmp(text, placeholder_start, start) == 0 && text[length - 1] == '>';
}

/* A token starts where no word is going on: "task-..." holds no "sk-...". */
static bool starts_word(const char *bytes, size_t i)
{
    return i == 0 || !(isalnum((unsigned char)bytes[i - 1]) || bytes[i - 1] == '_');
}

/* The longest known value at the start of `text`, or NULL. */
static const struct secret_literal *literal_at(const struct secrets *secrets, const char *text,
                                               size_t length)
{
    const struct secret_literal *best = NULL;

    for (size_t i = 0; i < secrets->literal_count; i++) {
        const struct secret_literal *literal = &secrets->literals[i];
        if (length >= literal->length && memcmp(text, literal->text, literal->length) == 0 &&
            (!best || best->length < literal->length))
            best = literal;
    }
    return best;
}

/* The secret that starts at `bytes + i`: its rule, and how much of it to keep and to hide. */
static const char *match_at(const struct secrets *secrets, const char *bytes, size_t i,
                            size_t length, size_t *ret_keep, size_t *ret_hide)
{
    const char *text = bytes + i;
    const struct secret_literal *literal = literal_at(secrets, text, length);

    if (literal) {
        *ret_keep = 0;
        *ret_hide = literal->length;
        return literal->rule;
    }
    if (!starts_word(bytes, i))
        return NULL;
    for (const struct secret_shape *shape = secret_shapes; shape->prefix; shape++) {
        size_t matched = secret_shape_match(shape, text, length);
        if (matched) {
            *ret_keep = shape->keeps_prefix ? strlen(shape->prefix) : 0;
            *ret_hide = matched - *ret_keep;
            return shape->rule;
        }
    }
    return NULL;
}

const char *secrets_scan(const struct secrets *secrets, const char *bytes, size_t length,
                         struct buf *ret)
{
    const char *found = NULL;
    size_t copied = 0, keep = 0, hide = 0;

    for (size_t i = 0; i + 2 < length;) {
        const char *rule = NULL;
        if (can_start(secrets, bytes + i))
            rule = match_at(secrets, bytes, i, length - i, &keep, &hide);
        if (!rule) {
            i++;
            continue;
        }
        found = found ? found : rule;
        if (!ret)
            return found;
        buf_add(ret, bytes + copied, i + keep - copied);
        secrets_add_placeholder(secrets, rule, bytes + i + keep, hide, ret);
        i += keep + hide;
        copied = i;
    }
    if (found)
        buf_add(ret, bytes + copied, length - copied);
    return found;
}

bool secrets_scrub_bytes(const struct secrets *secrets, const char *bytes, size_t length,
                         struct buf *ret)
{
    return secrets_scan(secrets, bytes, length, ret) != NULL;
}

const char *secrets_find_bytes(const struct secrets *secrets, const char *bytes, size_t length)
{
    return secrets_scan(secrets, bytes, length, NULL);
}
