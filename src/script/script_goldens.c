/* SPDX-License-Identifier: MIT */
/* Goldens that no scenario compares with any more: files NAME.screen in a directory whose scenarios
 * were all loaded, and none of them names. */
#include "script/script.h"
#include "script/vt.h"
#include "base/text.h"
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

struct names {
    const char **items; /* owned list of borrowed texts */
    size_t count;
    bool uncertain; /* a name is made of variables */
};

static void collect(const struct vt_line *lines, size_t count, struct names *names)
{
    for (size_t i = 0; i < count; i++) {
        const struct vt_line *line = &lines[i];
        const struct vt_token *file = line->count > 2 ? &line->words[2] : NULL;

        if (file && text_equal(vt_keyword(&line->words[0]), "screen") &&
            text_equal(vt_keyword(&line->words[1]), "is")) {
            if (file->part_count != 1 || file->parts[0].variable) {
                names->uncertain = true;
            } else {
                names->items = mem_grow(names->items, (names->count + 1) * sizeof *names->items);
                names->items[names->count++] = file->parts[0].text;
            }
        }
        collect(line->lines, line->line_count, names);
    }
}

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

static bool is_named(const struct names *names, const char *name)
{
    for (size_t i = 0; i < names->count; i++)
        if (strcmp(names->items[i], name) == 0)
            return true;
    return false;
}

static void look(const struct script_set *set, const char *path, struct buf *ret)
{
    size_t length = directory_length(path);
    CLEANUP(mem_free) char *directory = length ? mem_dupn(path, length) : mem_dup(".");
    struct names names = {0};
    struct dirent **entries;
    int count = scandir(directory, &entries, NULL, alphasort);
    bool all = count >= 0;

    for (size_t i = 0; i < set->text_count; i++)
        if (in_directory(set->texts[i]->path, path, length))
            collect(set->texts[i]->lines, set->texts[i]->line_count, &names);
    for (int i = 0; i < count; i++)
        all &= !text_ends(entries[i]->d_name, ".vt") ||
               is_loaded(set, path, length, entries[i]->d_name);
    for (int i = 0; i < count; i++) {
        if (all && !names.uncertain && text_ends(entries[i]->d_name, ".screen") &&
            !is_named(&names, entries[i]->d_name))
            buf_addf(ret, "%s/%s\n", directory, entries[i]->d_name);
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
    free(names.items);
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
