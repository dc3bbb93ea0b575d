/* SPDX-License-Identifier: MIT */
/* The calls of vitro/overlay.h. Each resolves its paths, checks what the system call would check,
 * remembers what is about to change, and only then changes the tree. */
#include "base/fd.h"
#include "fs/overlay_internal.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

int vitro_overlay_open(const char *worktree, struct vitro_overlay **ret)
{
    char real[PATH_MAX];

    if (!realpath(worktree, real))
        return -errno;
    CLEANUP(fd_close) int root = open(real, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (root < 0)
        return -errno;
    struct vitro_overlay *overlay = mem_alloc(sizeof *overlay);
    overlay->worktree = mem_dup(real);
    overlay->root = take_fd(&root);
    overlay->top = overlay_node_new("", FS_DIR, 0755);
    overlay->blobs = fs_blobs_in_memory();
    *ret = overlay;
    return 0;
}

struct vitro_overlay *vitro_overlay_free(struct vitro_overlay *overlay)
{
    if (!overlay)
        return NULL;
    overlay_baselines_clear(overlay);
    overlay_node_free(overlay->top);
    fs_blobs_free(overlay->blobs);
    fd_close(overlay->root);
    free(overlay->worktree);
    free(overlay);
    return NULL;
}

const char *vitro_overlay_error(const struct vitro_overlay *overlay)
{
    return overlay->err.text;
}

int overlay_failed(struct vitro_overlay *overlay, int r, const char *verb, const char *path)
{
    return err_set(&overlay->err, r, "%s '%s': %s", verb, path, strerror(-r));
}

void overlay_target_done(struct overlay_target *target)
{
    free(target->path);
    overlay_spot_done(&target->spot);
}

int overlay_find(struct vitro_overlay *overlay, const char *path, bool follow,
                 struct overlay_target *ret)
{
    int r = overlay_resolve(overlay, path, follow, &ret->path);

    if (r == 0)
        r = overlay_look(overlay, ret->path, &ret->spot);
    return r;
}

int overlay_find_there(struct vitro_overlay *overlay, const char *path, bool follow,
                       struct overlay_target *ret)
{
    int r = overlay_find(overlay, path, follow, ret);

    return r < 0 ? r : ret->spot.type == FS_NONE ? -ENOENT : 0;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* The node of the directory a path is in. */
static int parent_of(struct vitro_overlay *overlay, const char *path, struct overlay_node **ret)
{
    const char *slash = strrchr(path, '/');
    CLEANUP(mem_free) char *directory = mem_dupn(path, slash ? (size_t)(slash - path) : 0);

    return overlay_make_dir(overlay, directory, ret);
}

bool overlay_ends_in_slash(const char *path)
{
    return *path && path[strlen(path) - 1] == '/';
}

int vitro_overlay_read(struct vitro_overlay *overlay, const char *path, char **ret_bytes,
                       size_t *ret_length)
{
    CLEANUP(overlay_target_done) struct overlay_target target = {0};
    CLEANUP(buf_done) struct buf bytes = {0};
    int r = overlay_find_there(overlay, path, true, &target);

    if (r == 0 && target.spot.type != FS_FILE)
        r = target.spot.type == FS_DIR ? -EISDIR : -EINVAL;
    if (r == 0 && overlay_ends_in_slash(path))
        r = -ENOTDIR;
    if (r == 0)
        r = overlay_load(overlay, &target.spot, &bytes);
    if (r < 0)
        return overlay_failed(overlay, r, "read", path);
    *ret_length = bytes.length;
    *ret_bytes = buf_take(&bytes);
    return 0;
}

/* Puts a new node at a resolved path, remembering what was there. Takes the node. */
static int place(struct vitro_overlay *overlay, const char *path, struct overlay_node *node)
{
    struct overlay_node *parent;
    int r = overlay_touch(overlay, path);

    if (r == 0)
        r = parent_of(overlay, path, &parent);
    if (r == 0)
        overlay_put(parent, node);
    else
        overlay_node_free(node);
    return r;
}

static int write_file(struct vitro_overlay *overlay, const char *path, const void *bytes,
                      size_t length, bool append)
{
    CLEANUP(overlay_target_done) struct overlay_target target = {0};
    CLEANUP(buf_done) struct buf content = {0};
    int r = overlay_find(overlay, path, true, &target);

    if (r < 0)
        return r;
    if (target.spot.type == FS_DIR || overlay_ends_in_slash(path))
        return target.spot.type == FS_FILE ? -ENOTDIR : -EISDIR;
    if (target.spot.type != FS_NONE && target.spot.type != FS_FILE)
        return -EINVAL;
    if (append && target.spot.type == FS_FILE)
        r = overlay_load(overlay, &target.spot, &content);
    if (r < 0)
        return r;
    buf_add(&content, bytes, length);
    mode_t mode = target.spot.type == FS_FILE ? target.spot.mode : 0644;
    struct overlay_node *node = overlay_node_new(base_name(target.path), FS_FILE, mode);
    node->bytes = content;
    content = (struct buf){0};
    return place(overlay, target.path, node);
}

int vitro_overlay_write(struct vitro_overlay *overlay, const char *path, const void *bytes,
                        size_t length)
{
    int r = write_file(overlay, path, bytes, length, false);

    return r < 0 ? overlay_failed(overlay, r, "write", path) : 0;
}

int vitro_overlay_append(struct vitro_overlay *overlay, const char *path, const void *bytes,
                         size_t length)
{
    int r = write_file(overlay, path, bytes, length, true);

    return r < 0 ? overlay_failed(overlay, r, "append to", path) : 0;
}

int vitro_overlay_copy(struct vitro_overlay *overlay, const char *from, const char *to,
                       uint64_t *ret_length)
{
    struct vitro_overlay_stat st;
    char *bytes = NULL;
    size_t length;
    int r = vitro_overlay_read(overlay, from, &bytes, &length);

    if (r == 0)
        r = vitro_overlay_stat(overlay, from, &st);
    if (r == 0)
        r = vitro_overlay_write(overlay, to, bytes, length);
    if (r == 0)
        r = vitro_overlay_chmod(overlay, to, st.mode);
    free(bytes);
    if (r == 0 && ret_length)
        *ret_length = length;
    return r;
}

int vitro_overlay_exists(struct vitro_overlay *overlay, const char *path)
{
    CLEANUP(overlay_target_done) struct overlay_target target = {0};
    int r = overlay_find_there(overlay, path, true, &target);

    if (r == -ENOENT || r == -ENOTDIR)
        return 0;
    return r < 0 ? overlay_failed(overlay, r, "look at", path) : 1;
}

/* Takes a path away: a whiteout where there is something real below, else nothing at all. */
static int take_away(struct vitro_overlay *overlay, const char *path)
{
    struct overlay_node *parent;
    CLEANUP(overlay_spot_done) struct overlay_spot below = {0};
    int r = parent_of(overlay, path, &parent);

    if (r < 0)
        return r;
    overlay_node_free(overlay_cut(parent, base_name(path)));
    r = overlay_look(overlay, path, &below);
    if (r == 0 && below.type != FS_NONE)
        overlay_put(parent, overlay_node_new(base_name(path), FS_NONE, 0));
    return r;
}

static int remove_path(struct vitro_overlay *overlay, const char *path, bool all)
{
    CLEANUP(overlay_target_done) struct overlay_target target = {0};
    CLEANUP(fs_names_done) struct fs_names names = {0};
    int r = overlay_find_there(overlay, path, false, &target);

    if (r < 0)
        return r;
    if (!*target.path)
        return -EBUSY;
    if (overlay_ends_in_slash(path) && target.spot.type != FS_DIR)
        return -ENOTDIR;
    if (target.spot.type == FS_DIR && !all)
        r = overlay_list(overlay, &target.spot, &names);
    if (r == 0 && names.count)
        r = -ENOTEMPTY;
    if (r == 0)
        r = overlay_touch(overlay, target.path);
    return r < 0 ? r : take_away(overlay, target.path);
}

int vitro_overlay_remove(struct vitro_overlay *overlay, const char *path)
{
    int r = remove_path(overlay, path, false);

    return r < 0 ? overlay_failed(overlay, r, "remove", path) : 0;
}

int vitro_overlay_remove_all(struct vitro_overlay *overlay, const char *path)
{
    int r = remove_path(overlay, path, true);

    return r < 0 ? overlay_failed(overlay, r, "remove", path) : 0;
}

static int make_directory(struct vitro_overlay *overlay, const char *path, unsigned mode)
{
    CLEANUP(overlay_target_done) struct overlay_target target = {0};
    int r = overlay_find(overlay, path, false, &target);

    if (r < 0)
        return r;
    if (target.spot.type != FS_NONE)
        return -EEXIST;
    struct overlay_node *node = overlay_node_new(base_name(target.path), FS_DIR, mode & 07777);
    node->opaque = true; /* a directory made anew shows nothing of one that was there before */
    return place(overlay, target.path, node);
}

int vitro_overlay_mkdir(struct vitro_overlay *overlay, const char *path, unsigned mode)
{
    int r = make_directory(overlay, path, mode);

    return r < 0 ? overlay_failed(overlay, r, "mkdir", path) : 0;
}

static int make_directories(struct vitro_overlay *overlay, const char *path, unsigned mode)
{
    if (!*path)
        return -ENOENT;
    for (const char *end = path + (*path == '/'); *end;) {
        end = strchrnul(end, '/');
        CLEANUP(mem_free) char *part = mem_dupn(path, (size_t)(end - path));
        CLEANUP(overlay_target_done) struct overlay_target target = {0};
        end += *end == '/';
        int r = overlay_find(overlay, part, true, &target);
        if (r == -EXDEV && *path == '/' && strncmp(overlay->worktree, part, strlen(part)) == 0)
            continue; /* still on the way to the worktree */
        if (r == 0 && target.spot.type == FS_NONE)
            r = make_directory(overlay, part, mode);
        else if (r == 0 && target.spot.type != FS_DIR)
            r = -ENOTDIR;
        if (r < 0)
            return r;
    }
    return 0;
}

int vitro_overlay_mkdir_all(struct vitro_overlay *overlay, const char *path, unsigned mode)
{
    int r = make_directories(overlay, path, mode);

    return r < 0 ? overlay_failed(overlay, r, "mkdir", path) : 0;
}

static int make_symlink(struct vitro_overlay *overlay, const char *link_target, const char *path)
{
    CLEANUP(overlay_target_done) struct overlay_target target = {0};
    int r = overlay_find(overlay, path, false, &target);

    if (r < 0)
        return r;
    if (!*link_target)
        return -ENOENT;
    if (target.spot.type != FS_NONE)
        return -EEXIST;
    struct overlay_node *node = overlay_node_new(base_name(target.path), FS_SYMLINK, 0777);
    buf_adds(&node->bytes, link_target);
    return place(overlay, target.path, node);
}

int vitro_overlay_symlink(struct vitro_overlay *overlay, const char *target, const char *path)
{
    int r = make_symlink(overlay, target, path);

    return r < 0 ? overlay_failed(overlay, r, "symlink", path) : 0;
}

static int change_mode(struct vitro_overlay *overlay, const char *path, unsigned mode)
{
    CLEANUP(overlay_target_done) struct overlay_target target = {0};
    struct overlay_node *node;
    int r = overlay_find_there(overlay, path, true, &target);

    if (r < 0)
        return r;
    if (!*target.path)
        return -EBUSY;
    if (target.spot.type == FS_DIR) {
        r = overlay_touch(overlay, target.path);
        if (r == 0)
            r = overlay_make_dir(overlay, target.path, &node);
        if (r == 0)
            node->mode = mode & 07777;
        return r;
    }
    node = overlay_node_new(base_name(target.path), target.spot.type, mode & 07777);
    r = overlay_load(overlay, &target.spot, &node->bytes);
    if (r < 0) {
        overlay_node_free(node);
        return r;
    }
    return place(overlay, target.path, node);
}

int vitro_overlay_chmod(struct vitro_overlay *overlay, const char *path, unsigned mode)
{
    int r = change_mode(overlay, path, mode);

    return r < 0 ? overlay_failed(overlay, r, "chmod", path) : 0;
}
