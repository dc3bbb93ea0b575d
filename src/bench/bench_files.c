/* SPDX-License-Identifier: MIT */
/* Files that a bench changed, for its tape: what each path was when it was first touched, beside
 * what is seen now. */
#include "base/fd.h"
#include "bench/bench.h"
#include "fs/overlay_internal.h"
#include <errno.h>
#include <string.h>

static int node_now(struct vitro_overlay *overlay, const char *path, struct fs_node *ret,
                    struct err *err)
{
    CLEANUP(overlay_spot_done) struct overlay_spot spot = {0};
    CLEANUP(buf_done) struct buf bytes = {0};
    int r = overlay_look(overlay, path, &spot);

    *ret = (struct fs_node){0};
    if (r == -ENOENT || r == -ENOTDIR)
        return 0;
    if (r == 0 && (spot.type == FS_FILE || spot.type == FS_SYMLINK))
        r = overlay_load(overlay, &spot, &bytes);
    if (r < 0)
        return err_set(err, r, "look at '%s': %s", path, strerror(-r));
    ret->type = spot.type;
    ret->mode = spot.type == FS_SYMLINK ? 0777 : spot.mode;
    return spot.type == FS_FILE || spot.type == FS_SYMLINK
               ? fs_content_put_bytes(overlay->blobs, buf_text(&bytes), bytes.length, ret, err)
               : 0;
}

static bool differ(const struct fs_node *a, const struct fs_node *b)
{
    return a->type != b->type || (a->type != FS_NONE && a->mode != b->mode) || a->size != b->size ||
           memcmp(&a->hash, &b->hash, sizeof a->hash) != 0;
}

int bench_files_changed(struct vitro_overlay *overlay, struct fs_changes **ret, struct err *err)
{
    CLEANUP(fs_changes_free) struct fs_changes *changes = fs_changes_new(overlay->worktree);

    for (size_t i = 0; i < overlay->baseline_count; i++) {
        const struct baseline *baseline = &overlay->baselines[i];
        struct fs_node now;
        int r = node_now(overlay, baseline->path, &now, err);
        if (r < 0)
            return r;
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
