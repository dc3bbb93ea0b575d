/* SPDX-License-Identifier: MIT */
/* rename of the in-process overlay: a node moves with all it holds. A real directory becomes a node
 * with an origin, so that nothing is copied. */
#include "fs/fs_mounts.h"
#include "fs/overlay_internal.h"
#include <errno.h>
#include <string.h>

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static int parent_of(struct vitro_overlay *overlay, const char *path, struct overlay_node **ret)
{
    const char *slash = strrchr(path, '/');
    CLEANUP(mem_free) char *directory = mem_dupn(path, slash ? (size_t)(slash - path) : 0);

    return overlay_make_dir(overlay, directory, ret);
}

/* What rename(2) says about the two, before anything is done. */
static int check(struct vitro_overlay *overlay, const char *from, const struct overlay_spot *old,
                 const char *to, const struct overlay_spot *new)
{
    CLEANUP(fs_names_done) struct fs_names names = {0};
    CLEANUP(mem_free) char *rooted_from = mem_format("/%s", from);
    CLEANUP(mem_free) char *rooted_to = mem_format("/%s", to);

    if (!*from || !*to)
        return -EBUSY;
    if (fs_path_is_below(rooted_to, rooted_from))
        return -EINVAL;
    if (fs_path_is_below(rooted_from, rooted_to))
        return -ENOTEMPTY;
    if (new->type == FS_NONE)
        return 0;
    if (old->type == FS_DIR && new->type != FS_DIR)
        return -ENOTDIR;
    if (old->type != FS_DIR && new->type == FS_DIR)
        return -EISDIR;
    int r = new->type == FS_DIR ? overlay_list(overlay, new, &names) : 0;
    return r < 0 ? r : names.count ? -ENOTEMPTY : 0;
}

/* Every path that comes to be below `to` is remembered as not having been there. */
static int touch_targets(struct vitro_overlay *overlay, const char *from, const char *to)
{
    CLEANUP(overlay_spot_done) struct overlay_spot spot = {0};
    CLEANUP(fs_names_done) struct fs_names names = {0};
    int r = overlay_touch(overlay, to);

    if (r == 0)
        r = overlay_look(overlay, from, &spot);
    if (r == 0 && spot.type == FS_DIR)
        r = overlay_list(overlay, &spot, &names);
    for (size_t i = 0; r == 0 && i < names.count; i++) {
        CLEANUP(mem_free) char *below_from = mem_format("%s/%s", from, names.items[i]);
        CLEANUP(mem_free) char *below_to = mem_format("%s/%s", to, names.items[i]);
        r = touch_targets(overlay, below_from, below_to);
    }
    return r;
}

/* Cuts the node out of the tree, or makes one for what is real. Returns owned. */
static int detach(struct vitro_overlay *overlay, const char *path, struct overlay_spot *spot,
                  struct overlay_node *parent, struct overlay_node **ret)
{
    struct overlay_node *node = overlay_cut(parent, base_name(path));
    int r = 0;

    if (!node) {
        node = overlay_node_new(base_name(path), spot->type, spot->mode);
        if (spot->type == FS_FILE || spot->type == FS_SYMLINK)
            r = overlay_load(overlay, spot, &node->bytes);
    }
    if (r < 0) {
        overlay_node_free(node);
        return r;
    }
    if (node->type == FS_DIR && !node->opaque && !node->origin && spot->lower)
        node->origin = mem_dup(spot->lower);
    else if (node->type == FS_DIR && !spot->lower)
        node->opaque = true;
    *ret = node;
    return 0;
}

static int move(struct vitro_overlay *overlay, const char *from, struct overlay_spot *spot,
                const char *to)
{
    struct overlay_node *old_parent, *new_parent, *node = NULL;
    CLEANUP(overlay_spot_done) struct overlay_spot below = {0};
    int r = overlay_touch(overlay, from);

    if (r == 0)
        r = touch_targets(overlay, from, to);
    if (r == 0)
        r = parent_of(overlay, to, &new_parent);
    if (r == 0)
        r = parent_of(overlay, from, &old_parent);
    if (r == 0)
        r = detach(overlay, from, spot, old_parent, &node);
    if (r < 0)
        return r;
    r = overlay_look(overlay, from, &below); /* what the node had covered */
    if (r == 0 && below.type != FS_NONE)
        overlay_put(old_parent, overlay_node_new(base_name(from), FS_NONE, 0));
    free(node->name);
    node->name = mem_dup(base_name(to));
    overlay_put(new_parent, node);
    return r;
}

static int rename_path(struct vitro_overlay *overlay, const char *from, const char *to)
{
    CLEANUP(mem_free) char *old_path = NULL;
    CLEANUP(mem_free) char *new_path = NULL;
    CLEANUP(overlay_spot_done) struct overlay_spot old = {0};
    CLEANUP(overlay_spot_done) struct overlay_spot new = {0};
    int r = overlay_resolve(overlay, from, false, &old_path);

    if (r == 0)
        r = overlay_look(overlay, old_path, &old);
    if (r == 0)
        r = overlay_resolve(overlay, to, false, &new_path);
    if (r == 0)
        r = overlay_look(overlay, new_path, &new);
    if (r == 0 && old.type == FS_NONE)
        r = -ENOENT; /* the kernel looks for both directories first */
    if (r < 0)
        return r;
    if (strcmp(old_path, new_path) == 0)
        return 0;
    r = check(overlay, old_path, &old, new_path, &new);
    return r < 0 ? r : move(overlay, old_path, &old, new_path);
}

int vitro_overlay_rename(struct vitro_overlay *overlay, const char *from, const char *to)
{
    int r = rename_path(overlay, from, to);

    if (r < 0)
        return err_set(&overlay->err, r, "rename '%s' to '%s': %s", from, to, strerror(-r));
    return 0;
}
