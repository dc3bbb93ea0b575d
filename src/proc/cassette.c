/* SPDX-License-Identifier: MIT */
#include "proc/cassette.h"
#include "proc/cassette_internal.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/text.h"
#include "base/when.h"
#include "tape/tape.h"
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

struct cassette *cassette_new(const struct cassette_options *options)
{
    struct cassette *cassette = mem_alloc(sizeof *cassette);
    struct err err;

    cassette->options = *options;
    cassette->keys = call_table_new();
    cassette->names = call_table_new();
    (void)secrets_new(&(struct secrets_options){.environment = options->environment},
                      &cassette->secrets, &err);
    return cassette;
}

struct cassette *cassette_free(struct cassette *cassette)
{
    if (!cassette)
        return NULL;
    for (size_t i = 0; i < cassette->count; i++) {
        free(cassette->entries[i].data);
        free(cassette->entries[i].host);
    }
    for (size_t i = 0; i < cassette->group_count; i++)
        free(cassette->groups[i].ids);
    for (size_t i = 0; i < cassette->store_count; i++)
        store_free(cassette->stores[i]);
    call_table_free(cassette->keys);
    call_table_free(cassette->names);
    secrets_free(cassette->secrets);
    free(cassette->entries);
    free(cassette->groups);
    free(cassette->stores);
    free(cassette);
    return NULL;
}

size_t cassette_count(const struct cassette *cassette)
{
    return cassette->count;
}

struct cassette_entry *cassette_entry(struct cassette *cassette, size_t id)
{
    return &cassette->entries[id];
}

const struct secrets *cassette_secrets(const struct cassette *cassette)
{
    return cassette->secrets;
}

static const char *last_name(const char *program)
{
    const char *slash = strrchr(program, '/');

    return slash && slash[1] ? slash + 1 : program;
}

bool cassette_knows(const struct cassette *cassette, const char *program)
{
    const char *name = last_name(program);
    size_t id;

    return call_table_last(cassette->names, name, strlen(name), &id);
}

/* ---- forms --------------------------------------------------------------------------------- */

static bool ends_name(char c)
{
    return c == '\0' || c == '/' || c == ':' || c == ';' || c == ',' || c == '"' || c == '\'' ||
           c == ' ' || c == '\n' || c == ')' || c == '=';
}

static char *form_text(const struct cassette *cassette, const char *text)
{
    CLEANUP(buf_done) struct buf hidden = {0};
    CLEANUP(buf_done) struct buf ret = {0};
    const char *worktree = cassette->options.worktree;
    size_t length = worktree ? strlen(worktree) : 0;

    if (secrets_scrub_bytes(cassette->secrets, text, strlen(text), &hidden))
        text = buf_text(&hidden);
    if (length < 2)
        return mem_dup(text);
    for (const char *found; (found = strstr(text, worktree));) {
        buf_add(&ret, text, (size_t)(found - text));
        buf_adds(&ret, ends_name(found[length]) ? "<worktree>" : worktree);
        text = found + length;
    }
    buf_adds(&ret, text);
    return buf_take(&ret);
}

static char **form_texts(const struct cassette *cassette, const char *const *list)
{
    size_t count = 0;

    while (list && list[count])
        count++;
    char **forms = mem_alloc((count + 1) * sizeof *forms);
    for (size_t i = 0; i < count; i++)
        forms[i] = form_text(cassette, list[i]);
    return forms;
}

static char *form_directory(const struct cassette *cassette, const char *cwd)
{
    const char *worktree = cassette->options.worktree;
    size_t length = worktree ? strlen(worktree) : 0;

    if (!cwd || length < 2 || strncmp(cwd, worktree, length) != 0)
        return mem_dup(cwd);
    if (!cwd[length])
        return mem_dup(".");
    return mem_dup(cwd[length] == '/' ? cwd + length + 1 : cwd);
}

void cassette_form(const struct cassette *cassette, const struct call *call, struct call_forms *ret)
{
    ret->program = form_text(cassette, call->program);
    ret->cwd = form_directory(cassette, call->cwd);
    ret->argv = form_texts(cassette, call->argv);
    ret->env = form_texts(cassette, call->env);
}

struct call call_of_forms(const struct call_forms *forms)
{
    return (struct call){.program = forms->program,
                         .argv = (const char *const *)forms->argv,
                         .cwd = forms->cwd,
                         .env = (const char *const *)forms->env};
}

void call_forms_done(struct call_forms *forms)
{
    free(forms->program);
    free(forms->cwd);
    strings_free(forms->argv);
    strings_free(forms->env);
    *forms = (struct call_forms){0};
}

/* ---- entries ------------------------------------------------------------------------------- */

/* Standard input is looked at later. A recording from a form without directories (cwd null) fits
 * any. */
static struct call_view view_of(const struct cassette *cassette)
{
    struct call_view view = cassette->options.view;

    view.fields = (view.fields ? view.fields : CALL_FIELDS_DEFAULT) & ~(1u << CALL_STDIN);
    return view;
}

static void *grow(void *items, size_t count, size_t size)
{
    return (count & (count - 1)) == 0 ? mem_grow(items, (count ? 2 * count : 1) * size) : items;
}

static size_t group_of(struct cassette *cassette, const char *key, size_t length, bool make)
{
    size_t group;

    if (call_table_last(cassette->keys, key, length, &group))
        return group;
    if (!make)
        return SIZE_MAX;
    cassette->groups = grow(cassette->groups, cassette->group_count, sizeof *cassette->groups);
    cassette->groups[cassette->group_count] = (struct group){0};
    call_table_add(cassette->keys, key, length, cassette->group_count);
    return cassette->group_count++;
}

static void group_add(struct group *group, size_t id)
{
    group->ids = grow(group->ids, group->count, sizeof *group->ids);
    group->ids[group->count++] = id;
}

void cassette_keep(struct cassette *cassette, const struct recording *recording, const char *data,
                   const char *host, struct store *store)
{
    CLEANUP(buf_done) struct buf key = {0};
    struct call_view view = view_of(cassette);
    struct hash_text digest;
    struct call call = recording_call(recording, &digest);
    const char *name = last_name(recording->program);
    size_t id = cassette->count;

    call_key(&call, &view, &key);
    if (!recording->cwd)
        cassette->any_directory = true;
    cassette->entries = grow(cassette->entries, id, sizeof *cassette->entries);
    cassette->count++;
    struct cassette_entry *entry = &cassette->entries[id];
    *entry = (struct cassette_entry){
        .data = mem_dup(data),
        .host = mem_dup(host),
        .store = store,
        .input_bytes = recording_input_bytes(recording),
        .kept_bytes = recording->streams[0].length,
        .input_hash = recording->streams[0].hash,
        .reads_end = recording_reads_end(recording),
        .converses = recording_converses(recording),
    };
    entry->reads_input = entry->input_bytes || entry->reads_end;
    (void)snprintf(entry->name, sizeof entry->name, "%s", name);
    call_table_add(cassette->names, name, strlen(name), id);
    entry->group = group_of(cassette, buf_text(&key), key.length, true);
    group_add(&cassette->groups[entry->group], id);
}

int cassette_add(struct cassette *cassette, const char *data, const char *host, struct store *store,
                 const char *where, struct err *err)
{
    CLEANUP(json_free) json_t *tree = NULL;
    CLEANUP(json_free) json_t *host_tree = NULL;
    CLEANUP(recording_done) struct recording recording = {0};
    int r = json_parse(data, strlen(data), where, &tree, err);

    if (r == 0 && host)
        r = json_parse(host, strlen(host), where, &host_tree, err);
    if (r == 0)
        r = recording_from_json(tree, host_tree, where, &recording, err);
    if (r < 0)
        return r;
    const struct cassette_options *options = &cassette->options;
    if (options->max_age_ns && recording.recorded_at_ns &&
        options->now_ns - recording.recorded_at_ns > (int64_t)options->max_age_ns) {
        CLEANUP(buf_done) struct buf when = {0};
        when_add(&when, recording.recorded_at_ns / (int64_t)NS_PER_SEC * (int64_t)NS_PER_SEC);
        err_set(err, -ESTALE, "%s: the recording of '%s' is from %s, older than --max-age allows",
                where, recording.program, buf_text(&when));
        return err_hint(err, "record it again with --proc refresh");
    }
    cassette_keep(cassette, &recording, data, host, store);
    return 0;
}

int cassette_recording(struct cassette *cassette, size_t id, struct recording *ret, struct err *err)
{
    const struct cassette_entry *entry = &cassette->entries[id];
    CLEANUP(json_free) json_t *tree = NULL;
    CLEANUP(json_free) json_t *host = NULL;
    int r = json_parse(entry->data, strlen(entry->data), "recording", &tree, err);

    if (r == 0 && entry->host)
        r = json_parse(entry->host, strlen(entry->host), "recording", &host, err);
    return r < 0 ? r : recording_from_json(tree, host, "recording", ret, err);
}

/* ---- finding ------------------------------------------------------------------------------- */

static size_t find_in_group(struct cassette *cassette, size_t group_id, size_t *ret_ids, size_t max)
{
    struct group *group = &cassette->groups[group_id];
    size_t count = 0;

    while (group->first < group->count && cassette->entries[group->ids[group->first]].used)
        group->first++;
    for (size_t i = group->first; i < group->count && count < max; i++)
        if (!cassette->entries[group->ids[i]].used)
            ret_ids[count++] = group->ids[i];
    return count;
}

static size_t find_next(struct cassette *cassette, const char *key, size_t length, size_t *ret_id)
{
    size_t group = group_of(cassette, key, length, false);

    *ret_id = cassette->next;
    return cassette->next < cassette->count && cassette->entries[cassette->next].group == group;
}

size_t cassette_find(struct cassette *cassette, const struct call *call, size_t *ret_ids,
                     size_t max)
{
    CLEANUP(buf_done) struct buf key = {0};
    struct call_view view = view_of(cassette);
    struct call anywhere = *call;

    call_key(call, &view, &key);
    for (int attempt = 0; attempt < 2; attempt++) {
        size_t count = 0, group = group_of(cassette, buf_text(&key), key.length, false);
        if (cassette->options.strict_order)
            count = find_next(cassette, buf_text(&key), key.length, ret_ids);
        else if (group != SIZE_MAX)
            count = find_in_group(cassette, group, ret_ids, max);
        if (count || !cassette->any_directory)
            return count;
        anywhere.cwd = NULL;
        buf_clear(&key);
        call_key(&anywhere, &view, &key);
    }
    return 0;
}

void cassette_use(struct cassette *cassette, size_t id)
{
    cassette->entries[id].used = true;
    if (cassette->options.strict_order && id >= cassette->next)
        cassette->next = id + 1;
}
