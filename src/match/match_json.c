/* SPDX-License-Identifier: MIT */
/* Is one JSON value contained in another. */
#include "match/match.h"

static bool differ(struct buf *why, const struct buf *path, const char *words)
{
    if (why)
        buf_addf(why, "%s: %s", path->length ? buf_text(path) : "value", words);
    return false;
}

static bool differ_values(struct buf *why, const struct buf *path, const json_t *pattern,
                          const json_t *value)
{
    CLEANUP(buf_done) struct buf words = {0};
    buf_adds(&words, "expected ");
    json_add_canonical(&words, pattern);
    buf_adds(&words, ", got ");
    json_add_canonical(&words, value);
    return differ(why, path, buf_text(&words));
}

static bool subset(const json_t *pattern, const json_t *value, struct buf *path, struct buf *why)
{
    size_t before = path->length;
    if (json_is_object(pattern) && json_is_object(value)) {
        const char *name;
        json_t *inner;
        json_object_foreach((json_t *)pattern, name, inner)
        {
            const json_t *other = json_object_get(value, name);
            buf_addf(path, "%s%s", path->length ? "." : "", name);
            bool fits = other ? subset(inner, other, path, why) : differ(why, path, "is missing");
            buf_cut(path, before);
            if (!fits)
                return false;
        }
        return true;
    }
    if (json_is_array(pattern) && json_is_array(value) &&
        json_array_size(pattern) == json_array_size(value)) {
        for (size_t i = 0; i < json_array_size(pattern); i++) {
            buf_addf(path, "[%zu]", i);
            bool fits = subset(json_array_get(pattern, i), json_array_get(value, i), path, why);
            buf_cut(path, before);
            if (!fits)
                return false;
        }
        return true;
    }
    /* 1 and 1.0 are the same number, whoever wrote them. */
    bool numbers = json_is_number(pattern) && json_is_number(value);
    bool same = numbers ? json_number_value(pattern) == json_number_value(value)
                        : json_equal(pattern, value);
    return same ? true : differ_values(why, path, pattern, value);
}

bool match_json_subset(const json_t *pattern, const json_t *value, struct buf *why)
{
    CLEANUP(buf_done) struct buf path = {0};
    return subset(pattern, value, &path, why);
}
