/* SPDX-License-Identifier: MIT */
#include "base/buf.h"
#include "tape/fidelity_internal.h"
#include <string.h>

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

size_t json_keys_of_both(const json_t *a, const json_t *b, const char ***ret)
{
    const char **keys = mem_alloc((json_object_size(a) + json_object_size(b) + 1) * sizeof *keys);
    size_t count = 0;
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)a, key, value) keys[count++] = key;
    json_object_foreach((json_t *)b, key, value)
    {
        if (!json_object_get(a, key))
            keys[count++] = key;
    }
    qsort(keys, count, sizeof *keys, compare_names);
    *ret = keys;
    return count;
}

static void leaf(struct value_diff *diff, const json_t *a, const json_t *b)
{
    if (noise_covers(diff->noise, diff->kind, diff->subject, buf_text(diff->path)))
        return;
    if (!diff->count++) {
        diff->first_path = mem_dup(buf_text(diff->path));
        diff->first_a = (json_t *)a;
        diff->first_b = (json_t *)b;
    }
}

static void diff_objects(struct value_diff *diff, const json_t *a, const json_t *b)
{
    CLEANUP(mem_free) const char **keys = NULL;
    size_t count = json_keys_of_both(a, b, &keys), length = diff->path->length;
    json_t *a_hash = json_object_get(a, "content_hash"),
           *b_hash = json_object_get(b, "content_hash");

    /* A payload is its hash: the same bytes may stand inline on one side, in the store on the
     * other. */
    if (json_is_string(a_hash) && json_is_string(b_hash) && json_equal(a_hash, b_hash))
        return;
    for (size_t i = 0; i < count; i++) {
        buf_addf(diff->path, ".%s", keys[i]);
        value_diff(diff, json_object_get(a, keys[i]), json_object_get(b, keys[i]));
        buf_cut(diff->path, length);
    }
}

static void diff_arrays(struct value_diff *diff, const json_t *a, const json_t *b)
{
    size_t a_count = json_array_size(a), b_count = json_array_size(b);
    size_t length = diff->path->length;

    for (size_t i = 0; i < a_count || i < b_count; i++) {
        buf_addf(diff->path, "[%zu]", i);
        value_diff(diff, json_array_get(a, i), json_array_get(b, i));
        buf_cut(diff->path, length);
    }
}

void value_diff(struct value_diff *diff, const json_t *a, const json_t *b)
{
    if (a == b || json_equal(a, b))
        return;
    if (json_is_object(a) && json_is_object(b))
        diff_objects(diff, a, b);
    else if (json_is_array(a) && json_is_array(b))
        diff_arrays(diff, a, b);
    else
        leaf(diff, a, b);
}
