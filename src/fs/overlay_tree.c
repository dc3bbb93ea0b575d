/* SPDX-License-Identifier: MIT */
#include "base/fd.h"
#include "fs/fs_walk_internal.h"
#include "fs/overlay_internal.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#define CONTENT_BYTES_MAX ((size_t)4 << 30)

struct overlay_node *overlay_node_new(const char *name, enum fs_type type, mode_t mode)
{
    struct overlay_node *node = mem_alloc(sizeof *node);

    node->name = mem_dup(name);
    node->type = type;
    node->mode = mode;
    return node;
}

struct overlay_node *overlay_node_free(struct overlay_node *node)
{
    if (!node)
        return NULL;
    for (size_t i = 0; i < node->count; i++)
        overlay_node_free(node->children[i]);
    buf_done(&node->bytes);
    free(node->children);
    free(node->origin);
    free(node->name);
    free(node);
    return NULL;
}

/* Where a name is, or would be. */
static size_t find_slot(const struct overlay_node *dir, const char *name, bool *ret_found)
{
    size_t low = 0, high = dir->count;

    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = strcmp(dir->children[middle]->name, name);
        if (order == 0) {
            *ret_found = true;
            return middle;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    *ret_found = false;
    return low;
}

struct overlay_node *overlay_child(const struct overlay_node *dir, const char *name)
{
    bool found;
    size_t slot = find_slot(dir, name, &found);

    return found ? dir->children[slot] : NULL;
}

void overlay_put(struct overlay_node *dir, struct overlay_node *child)
{
    bool found;
    size_t slot = find_slot(dir, child->name, &found);

    if (found) {
        overlay_node_free(dir->children[slot]);
        dir->children[slot] = child;
        return;
    }
    if (dir->count == dir->capacity) {
        dir->capacity = dir->capacity ? dir->capacity * 2 : 8;
        dir->children = mem_grow(dir->children, dir->capacity * sizeof *dir->children);
    }
    memmove(dir->children + slot + 1, dir->children + slot,
            (dir->count - slot) * sizeof *dir->children);
    dir->children[slot] = child;
    dir->count++;
}

struct overlay_node *overlay_cut(struct overlay_node *dir, const char *name)
{
    bool found;
    size_t slot = find_slot(dir, name, &found);

    if (!found)
        return NULL;
    struct overlay_node *child = dir->children[slot];
    dir->count--;
    memmove(dir->children + slot, dir->children + slot + 1,
            (dir->count - slot) * sizeof *dir->children);
    return child;
}

void overlay_spot_done(struct overlay_spot *spot)
{
    free(spot->lower);
    *spot = (struct overlay_spot){0};
}

static char *join(const char *directory, const char *name)
{
    return *directory ? mem_format("%s/%s", directory, name) : mem_dup(name);
}

/* Sets what is seen at a spot whose node and lower path are known. */
static int see(const struct vitro_overlay *overlay, struct overlay_spot *spot)
{
    struct fs_side side;

    if (spot->node) {
        spot->type = spot->node->type;
        spot->mode = spot->node->mode;
        spot->size = spot->node->bytes.length;
        return 0;
    }
    spot->type = FS_NONE;
    if (!spot->lower)
        return 0;
    int r = fs_side_look(overlay->root, spot->lower, &side);
    if (r < 0)
        return r;
    spot->type = side.type;
    spot->mode = side.st.st_mode & 07777;
    spot->size = (uint64_t)side.st.st_size;
    return 0;
}

static void step(struct overlay_spot *spot, const char *name)
{
    struct overlay_node *node = spot->node ? overlay_child(spot->node, name) : NULL;
    CLEANUP(mem_free) char *lower = take_ptr(&spot->lower);

    spot->node = node;
    if (node && (node->type != FS_DIR || node->opaque))
        return;
    if (node && node->origin)
        spot->lower = mem_dup(node->origin);
    else if (lower)
        spot->lower = join(lower, name);
}

int overlay_look(struct vitro_overlay *overlay, const char *path, struct overlay_spot *ret)
{
    CLEANUP(overlay_spot_done) struct overlay_spot spot = {.node = overlay->top,
                                                           .lower = mem_dup("")};
    int r = see(overlay, &spot);

    while (r == 0 && *path) {
        size_t length = strcspn(path, "/");
        CLEANUP(mem_free) char *name = mem_dupn(path, length);
        if (spot.type == FS_NONE)
            break;
        if (spot.type != FS_DIR)
            return -ENOTDIR;
        if (length > NAME_MAX)
            return -ENAMETOOLONG;
        step(&spot, name);
        r = see(overlay, &spot);
        path += length;
        path += *path == '/';
    }
    if (r < 0)
        return r;
    if (*path) /* a directory on the way is not there */
        return -ENOENT;
    *ret = spot;
    spot = (struct overlay_spot){0};
    return 0;
}

int overlay_make_dir(struct vitro_overlay *overlay, const char *path, struct overlay_node **ret)
{
    struct overlay_node *node = overlay->top;

    for (size_t at = 0; path[at];) {
        size_t length = strcspn(path + at, "/");
        CLEANUP(mem_free) char *name = mem_dupn(path + at, length);
        CLEANUP(mem_free) char *so_far = mem_dupn(path, at + length);
        struct overlay_node *child = overlay_child(node, name);
        if (!child) {
            CLEANUP(overlay_spot_done) struct overlay_spot spot = {0};
            int r = overlay_look(overlay, so_far, &spot);
            if (r < 0 || spot.type != FS_DIR)
                return r < 0 ? r : spot.type == FS_NONE ? -ENOENT : -ENOTDIR;
            child = overlay_node_new(name, FS_DIR, spot.mode);
            overlay_put(node, child);
        } else if (child->type != FS_DIR) {
            return child->type == FS_NONE ? -ENOENT : -ENOTDIR;
        }
        node = child;
        at += length;
        at += path[at] == '/';
    }
    *ret = node;
    return 0;
}

int overlay_list(struct vitro_overlay *overlay, const struct overlay_spot *spot,
                 struct fs_names *ret)
{
    CLEANUP(fs_names_done) struct fs_names lower = {0};

    if (spot->lower) {
        CLEANUP(fd_close) int fd =
            fs_open_beneath(overlay->root, spot->lower, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
        int r = fd < 0 ? fd : fs_names_add(&lower, fd);
        if (r < 0 && !(spot->node && (r == -ENOENT || r == -ENOTDIR)))
            return r;
    }
    for (size_t i = 0; i < lower.count; i++)
        if (!spot->node || !overlay_child(spot->node, lower.items[i]))
            fs_names_put(ret, lower.items[i]);
    for (size_t i = 0; spot->node && i < spot->node->count; i++)
        if (spot->node->children[i]->type != FS_NONE)
            fs_names_put(ret, spot->node->children[i]->name);
    fs_names_sort(ret);
    return 0;
}

int overlay_load(struct vitro_overlay *overlay, const struct overlay_spot *spot, struct buf *ret)
{
    char target[PATH_MAX];

    if (spot->node) {
        buf_add(ret, buf_text(&spot->node->bytes), spot->node->bytes.length);
        return 0;
    }
    int flags = spot->type == FS_SYMLINK ? O_PATH : O_RDONLY | O_NONBLOCK;
    CLEANUP(fd_close) int fd = fs_open_beneath(overlay->root, spot->lower, flags | O_NOFOLLOW);
    if (fd < 0)
        return fd;
    if (spot->type != FS_SYMLINK)
        return fd_read_all(fd, ret, CONTENT_BYTES_MAX);
    ssize_t length = readlinkat(fd, "", target, sizeof target);
    if (length < 0)
        return -errno;
    buf_add(ret, target, (size_t)length);
    return 0;
}
