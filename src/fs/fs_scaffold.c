/* SPDX-License-Identifier: MIT */
/* Walking a scaffold: a plain directory that was filled with copies of the real one's files and
 * links, and with mount points for its directories. There are no marks for what was deleted, so
 * both sides are listed. */
#include "base/fd.h"
#include "fs/fs_names.h"
#include "fs/fs_walk_internal.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>

static int list(int root, const char *path, struct fs_names *names)
{
    CLEANUP(fd_close) int fd = fs_open_beneath(root, path, O_PATH | O_DIRECTORY);

    return fd < 0 ? fd : fs_names_add(names, fd);
}

static int walk_entry(struct fs_walk *walk, const char *relative, struct err *err)
{
    CLEANUP(mem_free) char *path = fs_walk_path(walk, relative);
    struct fs_side before, after;

    if (fs_walk_skips(walk, path))
        return 0;
    int r = fs_side_look(walk->lower, relative, &before);
    if (r == 0)
        r = fs_side_look(walk->upper, relative, &after);
    after.in_store = true;
    if (r < 0)
        return err_set(err, r, "look at '%s': %s", path, strerror(-r));
    if (before.type == FS_DIR) /* a mount point, which cannot be removed, or a scaffold again */
        return fs_walk_has_layers_below(walk, path) ? fs_walk_scaffold(walk, relative, err) : 0;
    if (after.type == FS_NONE && before.type != FS_FILE && before.type != FS_SYMLINK)
        return 0; /* sockets and the like were left out */
    r = fs_walk_copy(walk, path, &before, &after, err);
    if (r == 0 && after.type == FS_DIR)
        r = fs_walk_added(walk, relative, err);
    return r;
}

int fs_walk_scaffold(struct fs_walk *walk, const char *relative, struct err *err)
{
    CLEANUP(fs_names_done) struct fs_names names = {0};
    int r = list(walk->upper, relative, &names);

    if (r == 0)
        r = list(walk->lower, relative, &names);
    if (r < 0)
        return err_set(err, r, "list '%s/%s': %s", walk->layer->path, relative, strerror(-r));
    fs_names_sort(&names);
    for (size_t i = 0; r == 0 && i < names.count; i++) {
        CLEANUP(mem_free) char *child =
            *relative ? mem_format("%s/%s", relative, names.items[i]) : mem_dup(names.items[i]);
        r = walk_entry(walk, child, err);
    }
    return r;
}
