/* SPDX-License-Identifier: MIT */
/* Payloads: the rules that need to know the member a string stands under. A payload is taken apart
 * only when a quick look says that it may hold something, or a field rule names its kind. */
#include "base/hash.h"
#include "base/json.h"
#include "base/text.h"
#include "tape/secrets.h"
#include "tape/secrets_internal.h"
#include "tape/secrets_shapes.h"
#include <string.h>

struct walk {
    const struct secrets *secrets;
    const char *kind;
    struct buf path;   /* of the value looked at, without the kind: "env.API_KEY" */
    struct buf where;  /* the first place found */
    const char *found; /* the first rule found */
    bool replace;
};

static const char *field_members(const struct walk *walk, const char *field)
{
    const char *dot = strchr(field, '.');
    size_t length = (size_t)(dot - field);

    if ((length == 1 && *field == '*') ||
        (strlen(walk->kind) == length && memcmp(walk->kind, field, length) == 0))
        return dot + 1;
    return NULL;
}

static bool is_named_field(const struct walk *walk)
{
    for (size_t i = 0; i < walk->secrets->field_count; i++) {
        const char *members = field_members(walk, walk->secrets->fields[i]);
        if (members && strcmp(members, buf_text(&walk->path)) == 0)
            return true;
    }
    return false;
}

static void found(struct walk *walk, const char *rule)
{
    if (walk->found)
        return;
    walk->found = rule;
    buf_add(&walk->where, buf_text(&walk->path), walk->path.length);
}

/* Returns owned replacement for a string, or NULL when it may stay. */
static json_t *scrub_string(struct walk *walk, const char *text, size_t length, bool named)
{
    CLEANUP(buf_done) struct buf out = {0};
    const char *equals = memchr(text, '=', length), *rule = NULL;

    if (!length || secrets_is_placeholder(text, length))
        return NULL;
    if (is_named_field(walk) || named) {
        rule = named ? "name" : "field";
        secrets_add_placeholder(walk->secrets, rule, text, length, &out);
    } else if (equals && equals + 1 < text + length && secret_name(text, (size_t)(equals - text)) &&
               !secrets_is_placeholder(equals + 1, (size_t)(text + length - equals - 1))) {
        rule = "name";
        buf_add(&out, text, (size_t)(equals + 1 - text));
        secrets_add_placeholder(walk->secrets, rule, equals + 1,
                                (size_t)(text + length - equals - 1), &out);
    } else {
        rule = secrets_scan(walk->secrets, text, length, &out);
    }
    if (!rule)
        return NULL;
    found(walk, rule);
    return walk->replace ? json_stringn(buf_text(&out), out.length) : NULL;
}

/* {"content_hash": H, "text": T}: bytes that somebody wrote, and no NAME=value. What is hidden in
 * them is hidden from their hash, too. False for other objects. */
static bool scrub_payload(struct walk *walk, json_t *object, bool named)
{
    const json_t *text = json_object_get(object, "text");
    CLEANUP(buf_done) struct buf out = {0};
    size_t length = walk->path.length;
    const char *rule = NULL;

    if (!json_is_string(text) || !json_is_string(json_object_get(object, "content_hash")))
        return false;
    const char *bytes = json_string_value(text);
    buf_adds(&walk->path, ".text");
    if (named || is_named_field(walk)) {
        if (json_string_length(text) && !secrets_is_placeholder(bytes, json_string_length(text))) {
            rule = named ? "name" : "field";
            secrets_add_placeholder(walk->secrets, rule, bytes, json_string_length(text), &out);
        }
    } else {
        rule = secrets_scan(walk->secrets, bytes, json_string_length(text), &out);
    }
    if (rule)
        found(walk, rule);
    buf_cut(&walk->path, length);
    if (rule && walk->replace) {
        struct hash hash = hash_of(out.data, out.length);
        json_object_set_new(object, "text", json_stringn(out.data, out.length));
        json_object_set_new(object, "content_hash", json_string(hash_to_text(&hash).text));
    }
    return true;
}

static json_t *scrub_value(struct walk *walk, json_t *value, bool named);

static void scrub_object(struct walk *walk, json_t *object, bool named)
{
    /* {"name": "API_KEY", "value": "..."}: the name stands beside the value. */
    json_t *name = json_object_get(object, "name");
    bool value_named =
        json_is_string(name) && secret_name(json_string_value(name), json_string_length(name));
    size_t length = walk->path.length;
    const char *key;
    json_t *value;
    void *next;

    json_object_foreach_safe(object, next, key, value)
    {
        buf_addf(&walk->path, "%s%s", length ? "." : "", key);
        bool hide =
            named || secret_name(key, strlen(key)) || (value_named && strcmp(key, "value") == 0);
        json_t *scrubbed = scrub_value(walk, value, hide);
        if (scrubbed)
            json_object_set_new(object, key, scrubbed);
        buf_cut(&walk->path, length);
    }
}

static json_t *scrub_value(struct walk *walk, json_t *value, bool named)
{
    size_t length = walk->path.length;

    if (json_is_string(value))
        return scrub_string(walk, json_string_value(value), json_string_length(value), named);
    if (json_is_object(value) && !scrub_payload(walk, value, named))
        scrub_object(walk, value, named);
    for (size_t i = 0; json_is_array(value) && i < json_array_size(value); i++) {
        buf_addf(&walk->path, "[%zu]", i);
        json_t *scrubbed = scrub_value(walk, json_array_get(value, i), named);
        if (scrubbed)
            json_array_set_new(value, i, scrubbed);
        buf_cut(&walk->path, length);
    }
    return NULL;
}

static bool worth_a_look(const struct walk *walk, const char *data, size_t length)
{
    if (walk->secrets->always_look || secrets_maybe(walk->secrets, data, length))
        return true;
    for (size_t i = 0; i < walk->secrets->field_count; i++)
        if (field_members(walk, walk->secrets->fields[i]))
            return true;
    return false;
}

static json_t *walk_data(struct walk *walk, const char *data, size_t length)
{
    json_t *object = NULL;

    if (!worth_a_look(walk, data, length) ||
        json_parse(data, length, "payload", &object, NULL) < 0 || !json_is_object(object))
        return json_free(object);
    buf_reserve(&walk->path, 64);
    buf_clear(&walk->path);
    scrub_object(walk, object, false);
    return object;
}

bool secrets_scrub_data(const struct secrets *secrets, const char *kind, const char *data,
                        size_t length, struct buf *ret)
{
    struct walk walk = {.secrets = secrets, .kind = kind, .replace = true};
    CLEANUP(json_free) json_t *object = walk_data(&walk, data, length);

    if (walk.found)
        json_add_canonical(ret, object);
    buf_done(&walk.path);
    buf_done(&walk.where);
    return walk.found != NULL;
}

const char *secrets_find_data(const struct secrets *secrets, const char *kind, const char *data,
                              size_t length, struct buf *where)
{
    struct walk walk = {.secrets = secrets, .kind = kind};

    json_free(walk_data(&walk, data, length));
    if (where) {
        buf_clear(where);
        buf_adds(where, buf_text(&walk.where));
    }
    buf_done(&walk.path);
    buf_done(&walk.where);
    return walk.found;
}
