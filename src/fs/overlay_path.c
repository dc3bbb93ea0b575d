/* SPDX-License-Identifier: MIT */
/* Paths as callers write them, walked part by part the way the kernel would, but never out of the
 * worktree: RESOLVE_BENEATH for a tree that is half in memory. */
#include "base/text.h"
#include "fs/fs_mounts.h"
#include "fs/overlay_internal.h"
#include <errno.h>
#include <limits.h>
#include <string.h>

enum { SYMLINKS_MAX = 40 };

/* Puts `text` before what is left to walk. An absolute one must be below the worktree. */
static int put_before(const struct vitro_overlay *overlay, const char *text, struct buf *left)
{
    CLEANUP(buf_done) struct buf all = {0};

    if (*text == '/') {
        if (strcmp(text, overlay->worktree) == 0)
            text = "";
        else if (fs_path_is_below(text, overlay->worktree))
            text += strlen(overlay->worktree);
        else
            return -EXDEV;
        while (*text == '/')
            text++;
    }
    buf_adds(&all, text);
    if (left->length) {
        buf_addc(&all, '/');
        buf_add(&all, left->data, left->length);
    }
    buf_clear(left);
    buf_add(left, buf_text(&all), all.length);
    return 0;
}

static int go_up(struct buf *done)
{
    if (!done->length)
        return -EXDEV;
    const char *slash = strrchr(done->data, '/');
    buf_cut(done, slash ? (size_t)(slash - done->data) : 0);
    return 0;
}

/* Follows the symlink at `done`: its target is walked next, from the directory it is in. */
static int follow_link(struct vitro_overlay *overlay, const struct overlay_spot *spot,
                       struct buf *done, struct buf *left, unsigned *links)
{
    CLEANUP(buf_done) struct buf target = {0};
    int r = overlay_load(overlay, spot, &target);

    if (r < 0)
        return r;
    if (++*links > SYMLINKS_MAX)
        return -ELOOP;
    if (buf_text(&target)[0] == '/')
        buf_cut(done, 0);
    else
        r = go_up(done);
    return r < 0 ? r : put_before(overlay, buf_text(&target), left);
}

int overlay_resolve(struct vitro_overlay *overlay, const char *path, bool follow, char **ret)
{
    CLEANUP(buf_done) struct buf done = {0};
    CLEANUP(buf_done) struct buf left = {0};
    unsigned links = 0;

    if (!*path)
        return -ENOENT;
    if (strlen(path) >= PATH_MAX)
        return -ENAMETOOLONG;
    int r = put_before(overlay, path, &left);
    while (r == 0 && left.length) {
        size_t length = strcspn(left.data, "/");
        CLEANUP(mem_free) char *name = mem_dupn(left.data, length);
        bool last = left.data[length + strspn(left.data + length, "/")] == '\0';
        buf_drop(&left, length + strspn(left.data + length, "/"));
        if (!*name || strcmp(name, ".") == 0)
            continue;
        if (strcmp(name, "..") == 0) {
            r = go_up(&done);
            continue;
        }
        CLEANUP(overlay_spot_done) struct overlay_spot spot = {0};
        if (done.length)
            buf_addc(&done, '/');
        buf_adds(&done, name);
        r = overlay_look(overlay, buf_text(&done), &spot);
        if (r == 0 && spot.type == FS_SYMLINK && (!last || follow))
            r = follow_link(overlay, &spot, &done, &left, &links);
        else if (r == -ENOENT && last)
            r = 0; /* the caller finds out that its directory is not there */
    }
    if (r < 0)
        return r;
    *ret = mem_dup(buf_text(&done));
    return 0;
}
