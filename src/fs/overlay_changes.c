/* SPDX-License-Identifier: MIT */
/* What the overlay changed. Every path is remembered as it was when it was first touched; the list
 * of changes compares that with what is seen now. */
#include "base/fd.h"
#include "fs/fs_apply.h"
#include "fs/fs_diff.h"
#include "fs/fs_walk_internal.h"
#include "fs/overlay_internal.h"
#include <errno.h>
#include <fcntl.h>
#include <search.h>
#include <string.h>

static int compare_baselines(const void *a, const void *b)
{
    return strcmp(((const struct baseline *)a)->path, ((const struct baseline *)b)->path);
}

static bool has_baseline(const struct vitro_overlay *overlay, const char *path)
{
    struct baseline wanted = {.path = (char *)path};

    return tfind(&wanted, &overlay->baseline_tree, compare_baselines);
}

static void add_baseline(struct vitro_overlay *overlay, const char *path,
                         const struct fs_node *node)
{
    struct baseline *baseline = mem_alloc(sizeof *baseline);

    *baseline = (struct baseline){mem_dup(path), *node};
    if (!tsearch(baseline, &overlay->baseline_tree, compare_baselines))
        abort(); /* no memory, as in mem_alloc */
    if (overlay->baseline_count == overlay->baseline_capacity) {
        overlay->baseline_capacity =
            overlay->baseline_capacity ? overlay->baseline_capacity * 2 : 16;
        overlay->baselines =
            mem_grow(overlay->baselines, overlay->baseline_capacity * sizeof *overlay->baselines);
    }
    overlay->baselines[overlay->baseline_count++] = baseline;
}

static void keep_node(void *node)
{
    (void)node; /* owned by the array */
}

void overlay_baselines_clear(struct vitro_overlay *overlay)
{
    tdestroy(overlay->baseline_tree, keep_node);
    overlay->baseline_tree = NULL;
    for (size_t i = 0; i < overlay->baseline_count; i++) {
        free(overlay->baselines[i]->path);
        free(overlay->baselines[i]);
    }
    free(overlay->baselines);
    overlay->baselines = NULL;
    overlay->baseline_count = overlay->baseline_capacity = 0;
}

static int make_node(struct vitro_overlay *overlay, const struct overlay_spot *spot,
                     struct fs_node *ret)
{
    *ret = (struct fs_node){.type = spot->type};
    if (spot->type == FS_NONE)
        return 0;
    ret->mode = spot->type == FS_SYMLINK ? 0777 : spot->mode;
    if (spot->type != FS_FILE && spot->type != FS_SYMLINK)
        return 0;
    if (spot->type == FS_FILE && !spot->node) {
        CLEANUP(fd_close) int fd =
            fs_open_beneath(overlay->root, spot->lower, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
        return fd < 0 ? fd : fs_content_put(overlay->blobs, fd, ret, &overlay->err);
    }
    CLEANUP(buf_done) struct buf bytes = {0};
    int r = overlay_load(overlay, spot, &bytes);
    return r < 0 ? r
                 : fs_content_put_bytes(overlay->blobs, buf_text(&bytes), bytes.length, ret,
                                        &overlay->err);
}

int overlay_touch(struct vitro_overlay *overlay, const char *path)
{
    CLEANUP(overlay_spot_done) struct overlay_spot spot = {0};
    CLEANUP(fs_names_done) struct fs_names names = {0};
    struct fs_node node = {0};
    int r = overlay_look(overlay, path, &spot);

    if (r == -ENOENT || r == -ENOTDIR)
        r = 0; /* a path that comes to be with its directory */
    if (r == 0 && !has_baseline(overlay, path)) {
        r = make_node(overlay, &spot, &node);
        if (r == 0)
            add_baseline(overlay, path, &node);
    }
    if (r == 0 && spot.type == FS_DIR)
        r = overlay_list(overlay, &spot, &names);
    for (size_t i = 0; r == 0 && i < names.count; i++) {
        CLEANUP(mem_free) char *child = mem_format("%s/%s", path, names.items[i]);
        r = overlay_touch(overlay, child);
    }
    return r;
}

static bool differ(const struct fs_node *a, const struct fs_node *b)
{
    if (a->type != b->type || a->mode != b->mode)
        return true;
    return (a->type == FS_FILE || a->type == FS_SYMLINK) &&
           (a->size != b->size || memcmp(&a->hash, &b->hash, sizeof a->hash) != 0);
}

int overlay_changes(struct vitro_overlay *overlay, struct fs_changes **ret)
{
    CLEANUP(fs_changes_free) struct fs_changes *changes = fs_changes_new(overlay->worktree);

    for (size_t i = 0; i < overlay->baseline_count; i++) {
        const struct baseline *baseline = overlay->baselines[i];
        CLEANUP(overlay_spot_done) struct overlay_spot spot = {0};
        struct fs_node now;
        int r = overlay_look(overlay, baseline->path, &spot);
        if (r == -ENOENT || r == -ENOTDIR)
            r = 0;
        if (r == 0)
            r = make_node(overlay, &spot, &now);
        if (r < 0)
            return err_set(&overlay->err, r, "look at '%s': %s", baseline->path, strerror(-r));
        if (!differ(&baseline->node, &now))
            continue;
        struct fs_change *change = fs_changes_add(changes, baseline->path);
        change->before = baseline->node;
        change->after = now;
    }
    fs_changes_finish(changes);
    *ret = take_ptr(&changes);
    return 0;
}

int vitro_overlay_diff(struct vitro_overlay *overlay, char **ret_text, size_t *ret_length)
{
    CLEANUP(fs_changes_free) struct fs_changes *changes = NULL;
    CLEANUP(buf_done) struct buf text = {0};
    struct fs_diff_counts counts = {0};
    int r = overlay_changes(overlay, &changes);

    for (size_t i = 0; r == 0 && i < changes->count; i++)
        r = fs_diff_add(&text, &changes->items[i], overlay->blobs, false, &counts, &overlay->err);
    if (r < 0)
        return r;
    *ret_length = text.length;
    *ret_text = buf_take(&text);
    return 0;
}

static void forget(struct vitro_overlay *overlay)
{
    overlay_baselines_clear(overlay);
    overlay_node_free(overlay->top);
    overlay->top = overlay_node_new("", FS_DIR, 0755);
    fs_blobs_free(overlay->blobs);
    overlay->blobs = fs_blobs_in_memory();
}

int vitro_overlay_apply(struct vitro_overlay *overlay)
{
    CLEANUP(fs_changes_free) struct fs_changes *changes = NULL;
    struct fs_apply_report report;
    int r = overlay_changes(overlay, &changes);

    if (r == 0)
        r = fs_apply(changes, overlay->blobs, &(struct fs_apply_options){0}, &report,
                     &overlay->err);
    if (r == 0)
        forget(overlay);
    return r;
}
