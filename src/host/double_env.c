/* SPDX-License-Identifier: MIT */
/* Variables and chance of null and mock hosts. All chance comes from one queue of numbers: eight
 * bytes a number, little end first, and a uuid is two of them. */
#include "host/double.h"
#include "host/random.h"
#include "proc/recording.h"
#include <endian.h>
#include <errno.h>
#include <string.h>

/* ---- env */

static int env_get(struct vitro_env *env, const char *name, const char **ret,
                   struct vitro_host_error *error)
{
    struct host_double *d = DOUBLE_OF(env, env);
    struct ask ask;
    int r = double_begin(d, ENV_GET, json_pack("{s:s}", "name", name), &ask, host_err(error));

    if (r < 0)
        return r;
    if (r == 1 && !json_is_string(ask.answer) && !json_is_null(ask.answer))
        return double_wrong(&ask, host_err(error));
    (void)pthread_mutex_lock(&d->lock);
    if (r == 1 && json_is_string(ask.answer)) {
        *ret = arena_dup(&d->arena, json_string_value(ask.answer), json_string_length(ask.answer));
    } else if (r == 0) {
        const struct host_entry *entry = entries_find(&d->variables, name);
        *ret = entry ? entry->bytes : NULL;
    }
    (void)pthread_mutex_unlock(&d->lock);
    return double_end(&ask, *ret != NULL, *ret ? double_bytes(*ret, strlen(*ret)) : json_null());
}

static int env_set(struct vitro_env *env, const char *name, const char *value,
                   struct vitro_host_error *error)
{
    struct host_double *d = DOUBLE_OF(env, env);
    json_t *args = json_pack("{s:s}", "name", name);
    struct ask ask;

    json_object_set_new(args, "value", value ? double_bytes(value, strlen(value)) : json_null());
    int r = double_begin(d, ENV_SET, args, &ask, host_err(error));
    if (r < 0)
        return r;
    (void)pthread_mutex_lock(&d->lock);
    if (value)
        entries_put(d, &d->variables, name, value, strlen(value), false);
    else
        (void)entries_remove(&d->variables, name);
    (void)pthread_mutex_unlock(&d->lock);
    return double_end(&ask, 0, NULL);
}

/* A list of texts from a response. false: it is none. */
static bool strings_of(const json_t *list, char ***ret)
{
    if (!json_is_array(list))
        return false;
    char **strings = mem_alloc((json_array_size(list) + 1) * sizeof *strings);
    for (size_t i = 0; i < json_array_size(list); i++) {
        strings[i] = mem_dup(json_string_value(json_array_get(list, i)));
        if (!strings[i]) {
            strings_free(strings);
            return false;
        }
    }
    *ret = strings;
    return true;
}

static json_t *json_of(char *const *strings)
{
    json_t *list = json_array();

    for (; *strings; strings++)
        json_array_append_new(list, double_bytes(*strings, strlen(*strings)));
    return list;
}

static int env_list(struct vitro_env *env, char ***ret, struct vitro_host_error *error)
{
    struct host_double *d = DOUBLE_OF(env, env);
    struct ask ask;
    int r = double_begin(d, ENV_LIST, json_object(), &ask, host_err(error));

    if (r < 0)
        return r;
    if (r == 1 && !strings_of(ask.answer, ret))
        return double_wrong(&ask, host_err(error));
    if (r == 0) {
        (void)pthread_mutex_lock(&d->lock);
        *ret = mem_alloc((d->variables.count + 1) * sizeof **ret);
        for (size_t i = 0; i < d->variables.count; i++)
            (*ret)[i] = mem_format("%s=%s", d->variables.items[i].key, d->variables.items[i].bytes);
        (void)pthread_mutex_unlock(&d->lock);
    }
    return double_end(&ask, 0, json_of(*ret));
}

/* ---- random */

/* All that is wanted, or none of it. */
static bool draw(struct host_double *d, uint64_t *ret, size_t count)
{
    (void)pthread_mutex_lock(&d->lock);
    bool enough = d->number_count - d->number_next >= count;
    for (size_t i = 0; enough && i < count; i++)
        ret[i] = d->numbers[d->number_next++];
    (void)pthread_mutex_unlock(&d->lock);
    return enough;
}

static int random_u64(struct vitro_random *random, uint64_t *ret, struct vitro_host_error *error)
{
    struct host_double *d = DOUBLE_OF(random, random);
    struct ask ask;
    int r = double_begin(d, RANDOM_U64, json_object(), &ask, host_err(error));

    if (r < 0)
        return r;
    if (r == 1 && !json_is_integer(ask.answer))
        return double_wrong(&ask, host_err(error));
    if (r == 1)
        *ret = (uint64_t)json_integer_value(ask.answer);
    else if (!draw(d, ret, 1))
        return double_missing(&ask, NULL, host_err(error));
    return double_end(&ask, 0, json_integer((json_int_t)*ret));
}

static int random_bytes(struct vitro_random *random, void *ret, size_t length,
                        struct vitro_host_error *error)
{
    struct host_double *d = DOUBLE_OF(random, random);
    size_t count = length / 8 + (length % 8 != 0), got = 0;
    CLEANUP(mem_free) char *given = NULL;
    CLEANUP(mem_free) uint64_t *numbers = NULL;
    struct ask ask;
    int r = double_begin(d, RANDOM_BYTES, json_pack("{s:I}", "length", (json_int_t)length), &ask,
                         host_err(error));

    if (r < 0)
        return r;
    if (r == 1 && (!double_bytes_of(ask.answer, &given, &got) || got != length))
        return double_wrong(&ask, host_err(error));
    if (r == 0) {
        (void)pthread_mutex_lock(&d->lock);
        bool enough = d->number_count - d->number_next >= count;
        (void)pthread_mutex_unlock(&d->lock);
        numbers = enough ? mem_alloc((count + 1) * sizeof *numbers) : NULL;
        if (!enough || !draw(d, numbers, count))
            return double_missing(&ask, NULL, host_err(error));
        for (size_t i = 0; i < count; i++)
            numbers[i] = htole64(numbers[i]);
    }
    if (length)
        memcpy(ret, r == 1 ? given : (const char *)numbers, length);
    return double_end(&ask, 0, double_bytes(ret, length));
}

static int random_uuid(struct vitro_random *random, char ret[37], struct vitro_host_error *error)
{
    struct host_double *d = DOUBLE_OF(random, random);
    uint64_t numbers[2] = {0};
    struct ask ask;
    int r = double_begin(d, RANDOM_UUID, json_object(), &ask, host_err(error));

    if (r < 0)
        return r;
    if (r == 1 && json_string_length(ask.answer) != 36)
        return double_wrong(&ask, host_err(error));
    if (r == 1) {
        memcpy(ret, json_string_value(ask.answer), 37);
    } else {
        if (!draw(d, numbers, 2))
            return double_missing(&ask, NULL, host_err(error));
        numbers[0] = htole64(numbers[0]);
        numbers[1] = htole64(numbers[1]);
        random_uuid_text((const unsigned char *)numbers, ret);
    }
    return double_end(&ask, 0, json_string(ret));
}

void double_env_init(struct host_double *d)
{
    static const struct vitro_env_ops env = {.get = env_get, .set = env_set, .list = env_list};
    static const struct vitro_random_ops random = {
        .u64 = random_u64, .bytes = random_bytes, .uuid = random_uuid};

    d->env.ops = &env;
    d->random.ops = &random;
}
