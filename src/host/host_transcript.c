/* SPDX-License-Identifier: MIT */
/* The calls of a double as text, and that text against a golden with sentinels. Lines are aligned,
 * so that one call more is one difference and not one for each call behind it. */
#include "base/fd.h"
#include "base/hash.h"
#include "base/text.h"
#include "host/double.h"
#include "match/golden.h"
#include "tape/align.h"
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- the text */

static void add_note(struct buf *ret, const struct host_note *note)
{
    CLEANUP(json_free) json_t *line = json_object();
    json_t *args = json_array();
    const char *name = note->result < 0 ? strerrorname_np(-note->result) : NULL;

    for (size_t i = 0; i < note->arg_count; i++)
        json_array_append_new(args, double_bytes(note->args[i], strlen(note->args[i])));
    json_object_set_new(line, "sub_handle", json_string(note->sub_handle));
    json_object_set_new(line, "method", json_string(note->method));
    json_object_set_new(line, "args", args);
    if (note->denied)
        json_object_set_new(line, "denied", json_true());
    else if (note->result < 0)
        json_object_set_new(line, "error", json_string(name ? name : "?"));
    else if (note->given)
        json_object_set(line, "result", note->given);
    if (*note->worker)
        json_object_set_new(line, "worker", json_string(note->worker));
    json_add_canonical(ret, line);
    buf_addc(ret, '\n');
}

char *vitro_host_transcript(const struct vitro_host *host)
{
    struct host_double *d = host_double(host);
    CLEANUP(buf_done) struct buf text = {0};

    if (!d)
        return mem_dup("");
    (void)pthread_mutex_lock(&d->lock);
    for (size_t i = 0; i < d->note_count; i++)
        add_note(&text, d->notes[i]);
    (void)pthread_mutex_unlock(&d->lock);
    return text.data ? buf_take(&text) : mem_dup("");
}

/* ---- sentinels */

static size_t digits(const char *text)
{
    size_t sign = *text == '-';
    size_t count = strspn(text + sign, "0123456789");

    return count ? sign + count : 0;
}

static size_t uuid(const char *text)
{
    for (size_t i = 0; i < 36; i++)
        if (i == 8 || i == 13 || i == 18 || i == 23 ? text[i] != '-'
                                                    : !isxdigit((unsigned char)text[i]))
            return 0;
    return 36;
}

static const struct sentinel {
    const char *name;
    size_t (*take)(const char *text); /* how much it stands for; 0: not here. NULL: anything */
} sentinels[] = {{"<any>", NULL}, {"<ms>", digits}, {"<ns>", digits}, {"<uuid>", uuid}};

static const struct sentinel *sentinel_at(const char *text)
{
    for (size_t i = 0; i < ARRAY_LENGTH(sentinels); i++)
        if (text_starts(text, sentinels[i].name))
            return &sentinels[i];
    return NULL;
}

/* "<any>" takes as little as it can; one after the other, so that time stays bounded: the last one
 * decides, as with globs. */
static bool text_fits(const char *golden, const char *actual)
{
    const char *again_golden = NULL, *again_actual = NULL;

    while (*golden || *actual) {
        const struct sentinel *sentinel = sentinel_at(golden);
        size_t taken = sentinel && sentinel->take ? sentinel->take(actual) : 0;
        if (sentinel && !sentinel->take) {
            golden += strlen(sentinel->name);
            again_golden = golden;
            again_actual = actual;
        } else if (sentinel && taken) {
            golden += strlen(sentinel->name);
            actual += taken;
        } else if (!sentinel && *golden && *golden == *actual) {
            golden++;
            actual++;
        } else if (again_golden && *again_actual) {
            golden = again_golden;
            actual = ++again_actual;
        } else {
            return false;
        }
    }
    return true;
}

static bool differ(struct buf *why, const struct buf *path, const json_t *golden,
                   const json_t *actual)
{
    if (!why)
        return false;
    buf_addf(why, "%s: golden ", path->length ? buf_text(path) : "the call");
    golden ? json_add_canonical(why, golden) : buf_adds(why, "has none");
    buf_adds(why, ", seen ");
    actual ? json_add_canonical(why, actual) : buf_adds(why, "none");
    return false;
}

static bool value_fits(const json_t *golden, const json_t *actual, struct buf *path,
                       struct buf *why);

static bool object_fits(const json_t *golden, const json_t *actual, struct buf *path,
                        struct buf *why)
{
    size_t before = path->length;
    const char *name;
    json_t *inner;

    json_object_foreach((json_t *)golden, name, inner)
    {
        buf_addf(path, "%s%s", before ? "." : "", name);
        if (!value_fits(inner, json_object_get(actual, name), path, why))
            return false;
        buf_cut(path, before);
    }
    json_object_foreach((json_t *)actual, name, inner)
    {
        if (json_object_get(golden, name))
            continue;
        buf_addf(path, "%s%s", before ? "." : "", name);
        return differ(why, path, NULL, inner);
    }
    return true;
}

static bool array_fits(const json_t *golden, const json_t *actual, struct buf *path,
                       struct buf *why)
{
    size_t before = path->length, a = json_array_size(golden), b = json_array_size(actual);

    for (size_t i = 0; i < a || i < b; i++) {
        buf_addf(path, "[%zu]", i);
        if (!value_fits(json_array_get(golden, i), json_array_get(actual, i), path, why))
            return false;
        buf_cut(path, before);
    }
    return true;
}

static bool value_fits(const json_t *golden, const json_t *actual, struct buf *path,
                       struct buf *why)
{
    const char *text = json_string_value(golden);

    if (!golden || !actual)
        return differ(why, path, golden, actual);
    if (text_equal(text, "<any>") ||
        (json_is_integer(actual) && (text_equal(text, "<ms>") || text_equal(text, "<ns>"))))
        return true;
    if (json_is_object(golden) && json_is_object(actual))
        return object_fits(golden, actual, path, why);
    if (json_is_array(golden) && json_is_array(actual))
        return array_fits(golden, actual, path, why);
    bool same = text && json_is_string(actual) ? text_fits(text, json_string_value(actual))
                                               : json_equal(golden, actual);
    return same ? true : differ(why, path, golden, actual);
}

/* ---- two transcripts */

struct line {
    const char *text; /* borrowed */
    size_t length;
    json_t *value; /* owned */
    uint64_t key;
};
struct lines {
    struct line *items; /* owned */
    size_t count;
};

static void lines_done(struct lines *lines)
{
    for (size_t i = 0; i < lines->count; i++)
        json_decref(lines->items[i].value);
    free(lines->items);
}

static int lines_read(const char *text, const char *where, struct lines *ret, struct err *err)
{
    size_t number = 0;

    for (const char *at = text; *at;
         at += at[strcspn(at, "\n")] ? strcspn(at, "\n") + 1 : strcspn(at, "\n")) {
        struct line line = {.text = at, .length = strcspn(at, "\n")};
        CLEANUP(mem_free) char *place = mem_format("%s line %zu", where, ++number);
        if (!line.length)
            continue;
        int r = json_parse(at, line.length, place, &line.value, err);
        if (r < 0)
            return r;
        struct hash hash = hash_of(at, line.length);
        memcpy(&line.key, hash.bytes, sizeof line.key);
        ret->items = mem_grow(ret->items, (ret->count + 1) * sizeof *ret->items);
        ret->items[ret->count++] = line;
    }
    return 0;
}

static bool line_fits(const struct line *golden, const struct line *actual, struct buf *why)
{
    CLEANUP(buf_done) struct buf path = {0};

    return value_fits(golden->value, actual->value, &path, why);
}

/* A golden line with sentinels is the same as the actual lines it fits. */
static void give_keys(struct lines *golden, const struct lines *actual)
{
    for (size_t i = 0; i < golden->count; i++) {
        if (!memchr(golden->items[i].text, '<', golden->items[i].length))
            continue;
        for (size_t k = 0; k < actual->count; k++) /* the nearest place first */
            if (line_fits(&golden->items[i], &actual->items[(i + k) % actual->count], NULL)) {
                golden->items[i].key = actual->items[(i + k) % actual->count].key;
                break;
            }
    }
}

static size_t *match_lines(const struct lines *golden, const struct lines *actual)
{
    uint64_t *a = mem_alloc((golden->count + 1) * sizeof *a);
    uint64_t *b = mem_alloc((actual->count + 1) * sizeof *b);
    size_t *match = mem_alloc((golden->count + 1) * sizeof *match);

    for (size_t i = 0; i < golden->count; i++)
        a[i] = golden->items[i].key;
    for (size_t i = 0; i < actual->count; i++)
        b[i] = actual->items[i].key;
    align(a, golden->count, b, actual->count, match);
    free(a);
    free(b);
    return match;
}

static void add_line(struct buf *buf, char mark, const struct line *line)
{
    buf_addc(buf, mark);
    buf_add(buf, line->text, line->length < 200 ? line->length : 200);
    buf_addc(buf, '\n');
}

/* The difference in words, and what an update would write: golden lines that fit, as they are. */
static bool compare_lines(const struct lines *golden, const struct lines *actual, struct buf *why,
                          struct buf *fresh)
{
    CLEANUP(mem_free) size_t *match = match_lines(golden, actual);
    size_t at = 0, next = 0;
    bool same = true;

    while (at < golden->count || next < actual->count) {
        if (at < golden->count && match[at] == next) {
            buf_add(fresh, golden->items[at].text, golden->items[at].length);
            buf_addc(fresh, '\n');
            at++;
            next++;
            continue;
        }
        bool missing = at < golden->count && match[at] == ALIGN_NONE;
        bool extra = next < actual->count && (at == golden->count || match[at] != next);
        if (missing && extra) {
            buf_addf(why, "call %zu: ", next + 1);
            (void)line_fits(&golden->items[at], &actual->items[next], why);
            buf_addc(why, '\n');
        }
        if (missing)
            add_line(why, '-', &golden->items[at++]);
        if (extra) {
            buf_add(fresh, actual->items[next].text, actual->items[next].length);
            buf_addc(fresh, '\n');
            add_line(why, '+', &actual->items[next++]);
        }
        same = false;
    }
    return same;
}

/* ---- goldens */

static bool wants_update(const struct vitro_golden *how)
{
    const char *asked = getenv("VITRO_UPDATE");

    return how->update || (asked && *asked && strcmp(asked, "0") != 0);
}

static int read_mask(const struct vitro_golden *how, struct match_rules *rules, struct err *err)
{
    int r = 0;

    for (const char *const *mask = how->mask; r == 0 && mask && *mask; mask++)
        r = match_rules_add(rules, *mask, err);
    return r;
}

static const struct vitro_golden defaults;

int vitro_golden_text(const char *path, const void *text, size_t length,
                      const struct vitro_golden *how, struct vitro_host_error *error)
{
    CLEANUP(match_rules_done) struct match_rules rules = {0};
    CLEANUP(buf_done) struct buf difference = {0};
    struct err *err = host_err(error), own = {0};

    how = how ? how : &defaults;
    if (!path || !*path)
        return err_set(err, -EINVAL, "compare with a golden: no path was given");
    int r = read_mask(how, &rules, err);
    if (r < 0)
        return r;
    r = golden_compare(path, "the text", length ? text : "", length, wants_update(how), &rules,
                       &difference, &own);
    if (r < 0)
        (void)err_set(err, r, "%s%s%s", own.text, difference.length ? "\n" : "",
                      buf_text(&difference));
    return r;
}

static int compare_transcript(const char *path, const char *actual, bool update,
                              const struct match_rules *rules, struct err *err)
{
    CLEANUP(buf_done) struct buf golden = {0}, masked_golden = {0}, masked = {0}, why = {0},
                                 fresh = {0};
    struct lines lines[2] = {{0}};
    struct err own = {0};
    bool there;
    int r = golden_read(path, &golden, &there, err);

    if (r < 0)
        return r;
    match_rules_apply(rules, actual, strlen(actual), &masked);
    match_rules_apply(rules, buf_text(&golden), golden.length, &masked_golden);
    r = lines_read(buf_text(&masked_golden), path, &lines[0], err);
    if (r == 0)
        r = lines_read(buf_text(&masked), "the transcript", &lines[1], err);
    if (r == 0) {
        give_keys(&lines[0], &lines[1]);
        bool same = compare_lines(&lines[0], &lines[1], &why, &fresh) && there;
        if (same)
            golden_same(path);
        else
            r = golden_differs(path, "the transcript", buf_text(update ? &fresh : &masked),
                               update ? fresh.length : masked.length, there, update, &own);
        if (r < 0)
            (void)err_set(err, r, "%s%s%s", own.text, r == -EPROTO ? "\n" : "",
                          r == -EPROTO ? buf_text(&why) : "");
    }
    lines_done(&lines[0]);
    lines_done(&lines[1]);
    return r;
}

int vitro_host_golden(const struct vitro_host *host, const char *path,
                      const struct vitro_golden *how, struct vitro_host_error *error)
{
    CLEANUP(match_rules_done) struct match_rules rules = {0};
    struct err *err = host_err(error);

    how = how ? how : &defaults;
    if (!host_double(host))
        return err_set(err, -EINVAL, "a golden transcript: only null and mock hosts have one");
    if (!path || !*path)
        return err_set(err, -EINVAL, "compare with a golden: no path was given");
    int r = read_mask(how, &rules, err);
    if (r < 0)
        return r;
    CLEANUP(mem_free) char *actual = vitro_host_transcript(host);
    return compare_transcript(path, actual, wants_update(how), &rules, err);
}
