/* SPDX-License-Identifier: MIT */
/* Goldens that no scenario compares with any more: screens of every form, what a comparison left
 * beside them, and cassettes, in directories of scenarios that were all loaded, and in those their
 * scenarios' goldens are in. A name that any word holds, or could be with the right variables, is
 * named. */
#include "script/script.h"
#include "script/vt.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/text.h"
#include <dirent.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

struct names {       /* owned texts */
    char **sources;  /* words as they are written */
    char **patterns; /* for fnmatch: variables are stars */
    size_t count;
};

static void add_name(struct names *names, const struct vt_token *token)
{
    CLEANUP(buf_done) struct buf pattern = {0};

    for (size_t i = 0; i < token->part_count; i++) {
        if (token->parts[i].variable)
            buf_addc(&pattern, '*');
        for (const char *p = token->parts[i].variable ? "" : token->parts[i].text; *p; p++) {
            if (strchr("*?[\\", *p))
                buf_addc(&pattern, '\\');
            buf_addc(&pattern, *p);
        }
    }
    names->sources = mem_grow(names->sources, (names->count + 1) * sizeof *names->sources);
    names->patterns = mem_grow(names->patterns, (names->count + 1) * sizeof *names->patterns);
    names->sources[names->count] = mem_dup(token->source);
    names->patterns[names->count++] = buf_take(&pattern);
}

static void collect_token(const struct vt_token *token, struct names *names)
{
    add_name(names, token);
    for (size_t i = 0; i < token->item_count; i++)
        collect_token(&token->items[i], names);
}

static void collect(const struct vt_line *lines, size_t count, struct names *names)
{
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < lines[i].count; k++)
            collect_token(&lines[i].words[k], names);
        collect(lines[i].lines, lines[i].line_count, names);
    }
}

static void names_done(struct names *names)
{
    for (size_t i = 0; i < names->count; i++) {
        free(names->sources[i]);
        free(names->patterns[i]);
    }
    free(names->sources);
    free(names->patterns);
}

/* A star alone, as in `copy $file to x`, could be anything and names nothing. */
static bool is_named(const struct names *names, const char *name)
{
    for (size_t i = 0; i < names->count; i++) {
        const char *pattern = names->patterns[i];
        if (strstr(names->sources[i], name))
            return true;
        pattern += text_starts(pattern, "*/") ? 2 : 0; /* $DIR/ */
        if (strspn(pattern, "*") < strlen(pattern) && fnmatch(pattern, name, FNM_PATHNAME) == 0)
            return true;
    }
    return false;
}

/* ---- what is a golden */

/* Other people's JSON is none of our business: a screen has rows, runs and a cursor. */
static bool is_screen_json(const char *path)
{
    CLEANUP(buf_done) struct buf bytes = {0};
    CLEANUP(json_free) json_t *value = NULL;
    struct err err = {0};

    return file_read(path, 8 << 20, &bytes, &err) == 0 &&
           json_parse(buf_text(&bytes), bytes.length, path, &value, &err) == 0 &&
           json_object_get(value, "cursor") && json_object_get(value, "rows") &&
           json_object_get(value, "cols");
}

static bool is_golden(const char *directory, const char *name)
{
    static const char *const endings[] = {".screen", ".svg", ".ansi", ".tape", ".actual"};
    CLEANUP(mem_free) char *path = mem_format("%s/%s", directory, name);

    for (size_t i = 0; i < ARRAY_LENGTH(endings); i++)
        if (text_ends(name, endings[i]))
            return true;
    return text_ends(name, ".json") && is_screen_json(path);
}

/* ---- where to look */

static size_t directory_length(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? (size_t)(slash - path) : 0;
}

static bool in_directory(const char *path, const char *directory, size_t length)
{
    return directory_length(path) == length && strncmp(path, directory, length) == 0;
}

static bool is_loaded(const struct script_set *set, const char *directory, size_t length,
                      const char *name)
{
    for (size_t i = 0; i < set->text_count; i++) {
        const char *path = set->texts[i]->path;
        if (in_directory(path, directory, length) &&
            strcmp(path + length + (length || *path == '/'), name) == 0)
            return true;
    }
    return false;
}

/* FILE.actual goes with FILE: it is left over when that is not named. */
static bool is_used(const struct names *names, const char *name)
{
    CLEANUP(mem_free) char *golden = mem_dup(name);

    if (text_ends(name, ".actual"))
        golden[strlen(name) - strlen(".actual")] = '\0';
    return is_named(names, golden);
}

/* `below`: a directory within it, as scenarios write it; "" for itself. */
static void look_in(const char *directory, const char *below, const struct names *names,
                    struct buf *ret)
{
    CLEANUP(mem_free) char *path = mem_format("%s%s%s", directory, *below ? "/" : "", below);
    struct dirent **entries;
    int count = scandir(path, &entries, NULL, alphasort);

    for (int i = 0; i < count; i++) {
        CLEANUP(mem_free)
        char *name = mem_format("%s%s%s", below, *below ? "/" : "", entries[i]->d_name);
        if (is_golden(directory, name) && !is_used(names, name))
            buf_addf(ret, "%s/%s\n", directory, name);
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
}

/* Directories that `screen is DIR/FILE` names. */
static void look_below(const char *directory, const struct names *names, struct buf *ret)
{
    CLEANUP(buf_done) struct buf seen = {0};

    for (size_t i = 0; i < names->count; i++) {
        const char *name = names->patterns[i];
        size_t length = directory_length(name);
        if (!length || *name == '/' || memchr(name, '*', length) || !text_ends(name, ".screen"))
            continue;
        CLEANUP(mem_free) char *below = mem_dupn(name, length);
        CLEANUP(mem_free) char *mark = mem_format("\n%s\n", below);
        if (strstr(below, "..") || strstr(buf_text(&seen), mark))
            continue;
        buf_adds(&seen, mark);
        look_in(directory, below, names, ret);
    }
}

static bool all_loaded(const struct script_set *set, const char *path, size_t length,
                       const char *directory)
{
    struct dirent **entries;
    int count = scandir(directory, &entries, NULL, alphasort);
    bool all = count >= 0;

    for (int i = 0; i < count; i++) {
        all &= !text_ends(entries[i]->d_name, ".vt") ||
               is_loaded(set, path, length, entries[i]->d_name);
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
    return all;
}

static void look(const struct script_set *set, const char *path, struct buf *ret)
{
    size_t length = directory_length(path);
    CLEANUP(mem_free) char *directory = length ? mem_dupn(path, length) : mem_dup(".");
    struct names names = {0};

    if (!all_loaded(set, path, length, directory))
        return;
    for (size_t i = 0; i < set->text_count; i++) /* others may share goldens */
        collect(set->texts[i]->lines, set->texts[i]->line_count, &names);
    look_in(directory, "", &names, ret);
    look_below(directory, &names, ret);
    names_done(&names);
}

void script_unused_goldens(const struct script_set *set, struct buf *ret)
{
    for (size_t i = 0; i < set->text_count; i++) {
        const char *path = set->texts[i]->path;
        bool seen = false;

        for (size_t k = 0; k < i; k++)
            seen |= in_directory(set->texts[k]->path, path, directory_length(path));
        if (!seen)
            look(set, path, ret);
    }
}
