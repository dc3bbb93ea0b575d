/* SPDX-License-Identifier: MIT */
#include "fs/fs_changes.h"
#include "base/buf.h"
#include "fs/fs_xattrs.h"
#include <assert.h>
#include <string.h>
#include <unistd.h>

const char *fs_type_name(enum fs_type type)
{
    static const char *const names[] = {"none", "file",   "dir",   "symlink",
                                        "fifo", "socket", "device"};

    assert((size_t)type < ARRAY_LENGTH(names));
    return names[type];
}

struct fs_changes *fs_changes_new(const char *worktree)
{
    struct fs_changes *changes = mem_alloc(sizeof *changes);

    changes->worktree = arena_dup(&changes->arena, worktree, strlen(worktree));
    return changes;
}

struct fs_changes *fs_changes_free(struct fs_changes *changes)
{
    if (changes) {
        arena_done(&changes->arena);
        free(changes->items);
        free(changes->notes);
    }
    free(changes);
    return NULL;
}

struct fs_change *fs_changes_add(struct fs_changes *changes, const char *path)
{
    if (changes->count == changes->capacity) {
        changes->capacity = changes->capacity ? changes->capacity * 2 : 64;
        changes->items = mem_grow(changes->items, changes->capacity * sizeof *changes->items);
    }
    struct fs_change *change = &changes->items[changes->count++];
    *change = (struct fs_change){.path = arena_dup(&changes->arena, path, strlen(path))};
    return change;
}

void fs_changes_note(struct fs_changes *changes, const char *format, ...)
{
    CLEANUP(buf_done) struct buf text = {0};
    va_list args;

    va_start(args, format);
    buf_addv(&text, format, args);
    va_end(args);
    changes->notes = mem_grow(changes->notes, (changes->note_count + 1) * sizeof *changes->notes);
    changes->notes[changes->note_count++] = arena_dup(&changes->arena, text.data, text.length);
}

static int compare_paths(const void *a, const void *b)
{
    return strcmp(((const struct fs_change *)a)->path, ((const struct fs_change *)b)->path);
}

/* Renames: candidates sorted by content, then by whether they were deleted or added, then by path.
 * Within one content, a deleted file goes to the added one of the same base name if there is one,
 * else to the next in order. */

static bool is_candidate(const struct fs_change *change)
{
    const struct fs_node *node = &change->before;

    if (change->outside || change->from)
        return false;
    if (node->type == FS_NONE)
        node = &change->after;
    else if (change->after.type != FS_NONE)
        return false;
    return (node->type == FS_FILE || node->type == FS_SYMLINK) && node->size > 0;
}

static const struct fs_node *side(const struct fs_change *change)
{
    return change->before.type == FS_NONE ? &change->after : &change->before;
}

static int compare_contents(const void *a, const void *b)
{
    const struct fs_change *x = *(struct fs_change *const *)a, *y = *(struct fs_change *const *)b;
    int order = memcmp(&side(x)->hash, &side(y)->hash, sizeof(struct hash));

    if (!order)
        order = (int)side(x)->type - (int)side(y)->type;
    return order ? order : strcmp(x->path, y->path);
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static void pair_up(struct fs_change **group, size_t count, bool same_name)
{
    for (size_t i = 0; i < count; i++) {
        struct fs_change *added = group[i];
        if (added->before.type != FS_NONE || added->after.type == FS_NONE || added->from)
            continue; /* there before, or paired, from either side */
        for (size_t j = 0; j < count; j++) {
            struct fs_change *gone = group[j];
            if (gone->after.type != FS_NONE || gone->before.type == FS_NONE)
                continue;
            if (same_name && strcmp(base_name(gone->path), base_name(added->path)) != 0)
                continue;
            added->from = gone->path;
            added->before = gone->before;
            gone->before.type = FS_NONE; /* now neither before nor after: dropped below */
            break;
        }
    }
}

static void find_renames(struct fs_changes *changes)
{
    CLEANUP(mem_free)
    struct fs_change **candidates = mem_alloc((changes->count + 1) * sizeof *candidates);
    size_t count = 0;

    for (size_t i = 0; i < changes->count; i++)
        if (is_candidate(&changes->items[i]))
            candidates[count++] = &changes->items[i];
    qsort(candidates, count, sizeof *candidates, compare_contents);
    for (size_t start = 0, end; start < count; start = end) {
        const struct fs_node *node = side(candidates[start]);
        for (end = start + 1; end < count; end++)
            if (memcmp(&side(candidates[end])->hash, &node->hash, sizeof node->hash) != 0 ||
                side(candidates[end])->type != node->type)
                break;
        if (end - start > 1 && end - start <= 1000) { /* more copies than that have no history */
            pair_up(candidates + start, end - start, true);
            pair_up(candidates + start, end - start, false);
        }
    }
    size_t kept = 0;
    for (size_t i = 0; i < changes->count; i++)
        if (changes->items[i].before.type != FS_NONE || changes->items[i].after.type != FS_NONE)
            changes->items[kept++] = changes->items[i];
    changes->count = kept;
}

void fs_changes_finish(struct fs_changes *changes)
{
    if (!changes->count)
        return;
    qsort(changes->items, changes->count, sizeof *changes->items, compare_paths);
    find_renames(changes);
}

bool fs_owners_differ(const struct fs_owner *a, const struct fs_owner *b)
{
    return a->is_told && b->is_told && (a->uid != b->uid || a->gid != b->gid);
}

/* By file, then by path. */
static int compare_names(const void *a, const void *b)
{
    const struct fs_name *x = a, *y = b;

    if (x->device != y->device)
        return x->device < y->device ? -1 : 1;
    if (x->inode != y->inode)
        return x->inode < y->inode ? -1 : 1;
    return strcmp(x->path, y->path);
}

size_t fs_changes_find(const struct fs_changes *changes, const char *path)
{
    struct fs_change wanted = {.path = (char *)path};
    struct fs_change *found = changes->count ? bsearch(&wanted, changes->items, changes->count,
                                                       sizeof wanted, compare_paths)
                                             : NULL;

    return found ? (size_t)(found - changes->items) : changes->count;
}

static bool has(const struct fs_changes *changes, const char *path)
{
    return fs_changes_find(changes, path) < changes->count;
}

void fs_changes_settle_links(struct fs_changes *changes, struct fs_name *names, size_t count)
{
    if (count)
        qsort(names, count, sizeof *names, compare_names);
    for (size_t start = 0, end; start < count; start = end) {
        size_t first = start; /* one that did not change is there already */
        for (end = start; end < count && names[end].inode == names[start].inode &&
                          names[end].device == names[start].device;
             end++)
            if (has(changes, names[first].path) && !has(changes, names[end].path))
                first = end;
        for (size_t i = start; i < end; i++) {
            size_t change = fs_changes_find(changes, names[i].path);
            if (i != first && change < changes->count)
                changes->items[change].link = (char *)names[first].path;
        }
    }
}

void fs_changes_settle_facts(struct fs_changes *changes)
{
    const struct fs_owner self = {true, geteuid(), getegid()};

    for (size_t i = 0; i < changes->count; i++) {
        struct fs_node *before = &changes->items[i].before, *after = &changes->items[i].after;
        bool is_new = before->type == FS_NONE;
        bool replaces = is_new || before->type != after->type; /* nothing is handed down */
        if (!after->xattrs ||
            (replaces ? !*after->xattrs : fs_xattrs_same(before->xattrs, after->xattrs)))
            before->xattrs = after->xattrs = NULL;
        if (fs_owners_differ(is_new ? &self : &before->owner, &after->owner))
            continue;
        before->owner = after->owner = (struct fs_owner){0};
    }
}
