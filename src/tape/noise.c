/* SPDX-License-Identifier: MIT */
#include "tape/noise.h"
#include "base/buf.h"
#include "base/fd.h"
#include "base/text.h"
#include <errno.h>
#include <string.h>

struct rule {
    char *kind;    /* "*" for any */
    char *subject; /* NULL for any */
    char *path;    /* NULL for the whole record */
};

struct noise {
    struct rule *rules; /* owned */
    size_t count;
};

struct noise *noise_new(void)
{
    return mem_alloc(sizeof(struct noise));
}

struct noise *noise_free(struct noise *noise)
{
    for (size_t i = 0; noise && i < noise->count; i++) {
        free(noise->rules[i].kind);
        free(noise->rules[i].subject);
        free(noise->rules[i].path);
    }
    if (noise)
        free(noise->rules);
    free(noise);
    return NULL;
}

bool noise_is_empty(const struct noise *noise)
{
    return !noise || !noise->count;
}

static int bad_rule(const char *rule, const char *why, struct err *err)
{
    err_set(err, -EINVAL, "noise rule '%s': %s", rule, why);
    return err_hint(err, "KIND, KIND.member[0].member, KIND[subject].member; * stands for any");
}

int noise_add(struct noise *noise, const char *text, struct err *err)
{
    size_t kind = strcspn(text, ".[");
    const char *rest = text + kind, *close;
    struct rule rule = {0};

    if (!kind)
        return bad_rule(text, "it names no kind", err);
    if (*rest == '[') {
        close = strstr(rest, "]");
        if (!close || close == rest + 1)
            return bad_rule(text, "']' is missing behind the subject", err);
        rule.subject = mem_dupn(rest + 1, (size_t)(close - rest - 1));
        rest = close + 1;
    }
    if ((*rest == '.' && !rest[1]) || (*rest && *rest != '.')) {
        free(rule.subject);
        return bad_rule(text, "a member is missing behind the kind", err);
    }
    rule.kind = mem_dupn(text, kind);
    rule.path = *rest ? mem_dup(rest + 1) : NULL;
    noise->rules = mem_grow(noise->rules, (noise->count + 1) * sizeof *noise->rules);
    noise->rules[noise->count++] = rule;
    return 0;
}

int noise_add_file(struct noise *noise, const char *path, struct err *err)
{
    CLEANUP(buf_done) struct buf text = {0};
    int r = file_read(path, 1 << 20, &text, err);
    unsigned number = 0;
    char *rest = text.data;

    while (r == 0 && rest && *rest) {
        char *line = strsep(&rest, "\n");
        number++;
        line += strspn(line, " \t");
        line[strcspn(line, "\r")] = '\0';
        if (*line && *line != '#')
            r = noise_add(noise, line, err);
        if (r < 0)
            err_wrap(err, "%s:%u", path, number);
    }
    return r;
}

static bool kind_fits(const struct rule *rule, const char *kind)
{
    return strcmp(rule->kind, "*") == 0 || strcmp(rule->kind, kind) == 0;
}

static bool subject_fits(const struct rule *rule, const char *subject)
{
    if (!rule->subject)
        return true;
    if (!subject)
        return false;
    const char *slash = strrchr(subject, '/');
    return strcmp(rule->subject, subject) == 0 || (slash && strcmp(rule->subject, slash + 1) == 0);
}

/* Whether the rule's path is the path or leads to it. "*" stands for one member or index. */
static bool path_fits(const char *rule, const char *path)
{
    while (*rule) {
        if (*rule == '*') {
            size_t length = strcspn(path, ".[]");
            if (!length)
                return false;
            rule++;
            path += length;
        } else if (*rule++ != *path++) {
            return false;
        }
    }
    return *path == '\0' || *path == '.' || *path == '[';
}

bool noise_drops(const struct noise *noise, const char *kind)
{
    for (size_t i = 0; noise && i < noise->count; i++)
        if (!noise->rules[i].path && !noise->rules[i].subject && kind_fits(&noise->rules[i], kind))
            return true;
    return false;
}

bool noise_touches(const struct noise *noise, const char *kind)
{
    for (size_t i = 0; noise && i < noise->count; i++)
        if (kind_fits(&noise->rules[i], kind))
            return true;
    return false;
}

bool noise_covers(const struct noise *noise, const char *kind, const char *subject,
                  const char *path)
{
    for (size_t i = 0; noise && i < noise->count; i++) {
        const struct rule *rule = &noise->rules[i];
        if (kind_fits(rule, kind) && subject_fits(rule, subject) &&
            (!rule->path || path_fits(rule->path, path)))
            return true;
    }
    return false;
}

struct strip {
    const struct noise *noise;
    const char *kind, *subject;
    struct buf path;
};

static void strip_value(struct strip *strip, json_t *value)
{
    size_t length = strip->path.length, index;
    const char *key;
    json_t *child;
    void *next;

    if (json_is_object(value)) {
        json_object_foreach_safe(value, next, key, child)
        {
            buf_addf(&strip->path, "%s%s", length ? "." : "", key);
            if (noise_covers(strip->noise, strip->kind, strip->subject, strip->path.data))
                json_object_del(value, key);
            else
                strip_value(strip, child);
            buf_cut(&strip->path, length);
        }
    } else if (json_is_array(value)) {
        json_array_foreach(value, index, child)
        {
            buf_addf(&strip->path, "[%zu]", index);
            if (noise_covers(strip->noise, strip->kind, strip->subject, strip->path.data))
                json_array_set_new(value, index, json_null());
            else
                strip_value(strip, child);
            buf_cut(&strip->path, length);
        }
    }
}

void noise_strip(const struct noise *noise, const char *kind, const char *subject, json_t *data)
{
    struct strip strip = {.noise = noise, .kind = kind};
    CLEANUP(mem_free) char *kept = mem_dup(subject); /* it may be a member that goes */

    strip.subject = kept;
    strip_value(&strip, data);
    buf_done(&strip.path);
}
