/* SPDX-License-Identifier: MIT */
/* Reading mountinfo (proc(5)). Mounts form a tree by their ids; a mount is out of reach when
 * another one lies on the same point above it, or on a directory above it in the same parent. Only
 * what can be reached is kept, so the list can be used by path alone. */
#include "fs/fs_mounts.h"
#include "base/fd.h"
#include "base/text.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>

enum { MOUNTINFO_BYTES_MAX = 64 * 1024 * 1024 };

struct entry { /* one line of mountinfo */
    struct fs_mount mount;
    int id, parent;
    bool hidden;
};

bool fs_path_is_below(const char *path, const char *parent)
{
    size_t length = strcmp(parent, "/") == 0 ? 0 : strlen(parent);

    return strncmp(path, parent, length) == 0 && path[length] == '/' && path[length + 1];
}

static const char *unescape(struct arena *arena, const char *text, size_t length)
{
    char *copy = arena_dup(arena, text, length), *to = copy;

    for (const char *from = copy; *from; to++) {
        unsigned code;
        if (*from == '\\' && sscanf(from + 1, "%3o", &code) == 1) {
            *to = (char)code;
            from += 4;
        } else {
            *to = *from++;
        }
    }
    *to = '\0';
    return copy;
}

static unsigned long parse_flags(const char *text, size_t length)
{
    static const struct {
        const char *word;
        unsigned long flag;
    } words[] = {
        {"ro", MS_RDONLY}, {"nosuid", MS_NOSUID}, {"nodev", MS_NODEV}, {"noexec", MS_NOEXEC}};
    unsigned long flags = 0;

    for (const char *end = text + length; text < end;) {
        size_t word = strcspn(text, ", ");
        for (size_t i = 0; i < ARRAY_LENGTH(words); i++)
            if (strlen(words[i].word) == word && memcmp(words[i].word, text, word) == 0)
                flags |= words[i].flag;
        text += word + 1;
    }
    return flags;
}

static bool is_kernel_type(const char *type)
{
    static const char *const types[] = {
        "autofs",     "binfmt_misc", "bpf",      "cgroup",   "cgroup2", "configfs",
        "debugfs",    "devpts",      "devtmpfs", "efivarfs", "fusectl", "hugetlbfs",
        "mqueue",     "nsfs",        "nfsd",     "proc",     "pstore",  "rpc_pipefs",
        "securityfs", "selinuxfs",   "sysfs",    "tracefs",
    };

    for (size_t i = 0; i < ARRAY_LENGTH(types); i++)
        if (strcmp(types[i], type) == 0)
            return true;
    return false;
}

/* "36 35 98:0 /root /mnt/point rw,noatime shared:1 - ext3 /dev/root rw" */
static bool parse_line(struct arena *arena, const char *line, struct entry *ret)
{
    const char *fields[6];
    size_t lengths[6];

    if (sscanf(line, "%d %d", &ret->id, &ret->parent) != 2)
        return false;
    for (int i = 0; i < 6; i++) {
        fields[i] = line;
        lengths[i] = strcspn(line, " ");
        if (!line[lengths[i]])
            return false;
        line += lengths[i] + 1;
    }
    const char *dash = strncmp(line, "- ", 2) == 0 ? line : strstr(line, " - ");
    if (!dash)
        return false;
    const char *type = dash + (*dash == ' ' ? 3 : 2);
    ret->mount.path = unescape(arena, fields[4], lengths[4]);
    ret->mount.flags = parse_flags(fields[5], lengths[5]);
    ret->mount.type = arena_dup(arena, type, strcspn(type, " "));
    ret->mount.kernel = is_kernel_type(ret->mount.type);
    return true;
}

static int compare_ids(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;

    return x->id < y->id ? -1 : x->id > y->id;
}

static struct entry *find_id(struct entry *entries, size_t count, int id)
{
    struct entry key = {.id = id};

    return bsearch(&key, entries, count, sizeof *entries, compare_ids);
}

/* Marks what other mounts cover: a child on its parent's own point covers the parent, and of two
 * children of one parent the one further up, mounted later, covers the one below it. */
static void hide_covered(struct entry *entries, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct entry *parent = find_id(entries, count, entries[i].parent);
        if (parent && parent != &entries[i] &&
            strcmp(parent->mount.path, entries[i].mount.path) == 0)
            parent->hidden = true;
    }
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < count; j++)
            if (entries[i].parent == entries[j].parent &&
                fs_path_is_below(entries[i].mount.path, entries[j].mount.path))
                entries[i].hidden = true;
}

/* What stands on a covered mount is covered too, but for the cover itself. */
static bool is_reachable(struct entry *entries, size_t count, const struct entry *entry)
{
    for (int depth = 0; entry && depth < 1000; depth++) {
        struct entry *parent = find_id(entries, count, entry->parent);
        if (!parent || parent == entry)
            return true;
        if (parent->hidden && strcmp(parent->mount.path, entry->mount.path) != 0)
            return false;
        entry = parent;
    }
    return true;
}

static int compare_paths(const void *a, const void *b)
{
    return strcmp(((const struct fs_mount *)a)->path, ((const struct fs_mount *)b)->path);
}

int fs_mounts_parse(const char *text, struct fs_mounts *ret, struct err *err)
{
    size_t count = 0, capacity = 1;

    for (const char *s = text; *s; s++)
        capacity += *s == '\n';
    CLEANUP(mem_free) struct entry *entries = mem_alloc(capacity * sizeof *entries);
    *ret = (struct fs_mounts){0};
    while (*text) {
        CLEANUP(mem_free) char *line = mem_dupn(text, strcspn(text, "\n"));
        text += strlen(line);
        text += *text == '\n';
        if (!parse_line(&ret->arena, line, &entries[count])) {
            fs_mounts_done(ret);
            return err_set(err, -EBADMSG, "read mountinfo: cannot understand '%s'", line);
        }
        count++;
    }
    qsort(entries, count, sizeof *entries, compare_ids);
    hide_covered(entries, count);
    ret->items = arena_alloc(&ret->arena, (count + 1) * sizeof *ret->items);
    for (size_t i = 0; i < count; i++)
        if (!entries[i].hidden && is_reachable(entries, count, &entries[i]))
            ret->items[ret->count++] = entries[i].mount;
    qsort(ret->items, ret->count, sizeof *ret->items, compare_paths);
    return 0;
}

int fs_mounts_read(const char *mountinfo, struct fs_mounts *ret, struct err *err)
{
    CLEANUP(buf_done) struct buf text = {0};
    int r = file_read(mountinfo, MOUNTINFO_BYTES_MAX, &text, err);

    return r < 0 ? r : fs_mounts_parse(buf_text(&text), ret, err);
}

void fs_mounts_done(struct fs_mounts *mounts)
{
    arena_done(&mounts->arena);
    *mounts = (struct fs_mounts){0};
}

const struct fs_mount *fs_mounts_at(const struct fs_mounts *mounts, const char *path)
{
    for (size_t i = 0; i < mounts->count; i++)
        if (strcmp(mounts->items[i].path, path) == 0)
            return &mounts->items[i];
    return NULL;
}

const struct fs_mount *fs_mounts_of(const struct fs_mounts *mounts, const char *path)
{
    const struct fs_mount *best = NULL;

    for (size_t i = 0; i < mounts->count; i++)
        if (strcmp(mounts->items[i].path, path) == 0 ||
            fs_path_is_below(path, mounts->items[i].path))
            best = &mounts->items[i]; /* sorted: a longer match comes later */
    return best;
}

size_t fs_mounts_below(const struct fs_mounts *mounts, const char *path, size_t *ret_end)
{
    size_t start = 0;

    while (start < mounts->count && !fs_path_is_below(mounts->items[start].path, path))
        start++;
    size_t end = start;
    while (end < mounts->count && fs_path_is_below(mounts->items[end].path, path))
        end++;
    *ret_end = end;
    return start;
}
