/* SPDX-License-Identifier: MIT */
/* The calls of vitro/overlay.h that only look. */
#include "fs/overlay_internal.h"
#include <errno.h>
#include <string.h>

static enum vitro_file_type public_type(enum fs_type type)
{
    switch (type) {
    case FS_FILE:
        return VITRO_FILE;
    case FS_DIR:
        return VITRO_DIR;
    case FS_SYMLINK:
        return VITRO_SYMLINK;
    case FS_NONE:
    case FS_FIFO:
    case FS_SOCKET:
    case FS_DEVICE:
        break;
    }
    return VITRO_OTHER;
}

static int stat_path(struct vitro_overlay *overlay, const char *path, bool follow,
                     struct vitro_overlay_stat *ret)
{
    CLEANUP(overlay_target_done) struct overlay_target target = {0};
    int r = overlay_find_there(overlay, path, follow, &target);

    if (r == 0 && overlay_ends_in_slash(path) && target.spot.type != FS_DIR)
        r = -ENOTDIR;
    if (r < 0)
        return overlay_failed(overlay, r, "stat", path);
    *ret = (struct vitro_overlay_stat){public_type(target.spot.type), target.spot.mode,
                                       target.spot.size, target.spot.node && *target.path};
    return 0;
}

int vitro_overlay_stat(struct vitro_overlay *overlay, const char *path,
                       struct vitro_overlay_stat *ret)
{
    return stat_path(overlay, path, true, ret);
}

int vitro_overlay_lstat(struct vitro_overlay *overlay, const char *path,
                        struct vitro_overlay_stat *ret)
{
    return stat_path(overlay, path, false, ret);
}

void vitro_overlay_entries_free(struct vitro_overlay_entry *entries, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(entries[i].name);
    free(entries);
}

int vitro_overlay_read_dir(struct vitro_overlay *overlay, const char *path,
                           struct vitro_overlay_entry **ret, size_t *ret_count)
{
    CLEANUP(overlay_target_done) struct overlay_target target = {0};
    CLEANUP(fs_names_done) struct fs_names names = {0};
    int r = overlay_find_there(overlay, path, true, &target);

    if (r == 0 && target.spot.type != FS_DIR)
        r = -ENOTDIR;
    if (r == 0)
        r = overlay_list(overlay, &target.spot, &names);
    if (r < 0)
        return overlay_failed(overlay, r, "list", path);
    struct vitro_overlay_entry *entries = mem_alloc((names.count + 1) * sizeof *entries);
    for (size_t i = 0; i < names.count; i++) {
        CLEANUP(mem_free) char *child = *target.path
                                            ? mem_format("%s/%s", target.path, names.items[i])
                                            : mem_dup(names.items[i]);
        CLEANUP(overlay_spot_done) struct overlay_spot spot = {0};
        (void)overlay_look(overlay, child, &spot);
        entries[i] = (struct vitro_overlay_entry){mem_dup(names.items[i]), public_type(spot.type)};
    }
    *ret = entries;
    *ret_count = names.count;
    return 0;
}
