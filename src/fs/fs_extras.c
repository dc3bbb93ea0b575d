/* SPDX-License-Identifier: MIT */
/* What the user asked to pass through or to hide, and the files the box lays over the view. These
 * come last, so they win over everything else. */
#include "base/fd.h"
#include "fs/fs_view_internal.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Options were resolved before the pivot: absolute and free of symlinks (fs_view.c). Directories on
 * the way to a place below a private directory are made with the modes of the real ones. */
static int make_way(const char *path, struct err *err)
{
    for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        CLEANUP(mem_free) char *part = mem_dupn(path, (size_t)(slash - path));
        CLEANUP(mem_free) char *real = mem_format("/old%s", part);
        CLEANUP(mem_free) char *target = mem_format("/root%s", part);
        struct stat st;
        if (access(target, F_OK) == 0)
            continue;
        mode_t mode = stat(real, &st) == 0 ? st.st_mode & 07777 : 0755;
        int r = fs_make_point(target, true, mode, err);
        if (r < 0)
            return r;
    }
    return 0;
}

static int place_worktree(struct fs_view *view, struct err *err)
{
    CLEANUP(mem_free) char *target = mem_format("/root%s", view->worktree);

    if (!fs_private_holds(view, view->worktree))
        return 0; /* a part of the layers already */
    int r = make_way(view->worktree, err);
    if (r == 0)
        r = fs_make_point(target, true, 0755, err);
    if (r == 0 && view->options->mode == FS_RO) {
        CLEANUP(mem_free) char *source = mem_format("/old%s", view->worktree);
        return fs_bind(source, target, true, true, err);
    }
    return r < 0 ? r : fs_layer_place_tree(view, view->worktree, err);
}

static int pass_through(struct fs_view *view, const char *given, struct err *err)
{
    CLEANUP(mem_free) char *path = mem_format("/root%s", given);
    CLEANUP(mem_free) char *in_old = mem_format("/old%s", given);
    struct stat st;

    if (stat(in_old, &st) < 0)
        return err_set(err, -errno, "pass '%s' through: %m", given);
    int r = make_way(given, err);
    if (r == 0 && access(path, F_OK) < 0)
        r = fs_make_point(path, S_ISDIR(st.st_mode), 0755, err);
    if (r == 0)
        r = fs_bind(in_old, path, true, false, err);
    if (r == 0)
        fs_layers_add(&view->layers, FS_LAYER_WRITABLE, 0, given);
    return r;
}

static int hide(struct fs_view *view, const char *path, struct err *err)
{
    CLEANUP(mem_free) char *target = mem_format("/root%s", path);
    struct stat st;

    if (lstat(target, &st) < 0)
        return 0; /* already not there */
    fs_layers_add(&view->layers, FS_LAYER_OURS, 0, path);
    if (S_ISDIR(st.st_mode)) {
        if (mkdir("/p/nothing", 0555) < 0 && errno != EEXIST)
            return err_set(err, -errno, "hide '%s': %m", path);
        return fs_bind("/p/nothing", target, false, true, err);
    }
    int r = fs_make_point("/p/nil", false, 0444, err);
    return r < 0 ? r : fs_bind("/p/nil", target, false, true, err);
}

static int lay_file(struct fs_view *view, const struct fs_file *file, size_t index, struct err *err)
{
    CLEANUP(mem_free) char *source = mem_format("/p/file%zu", index);
    CLEANUP(mem_free) char *target = mem_format("/root%s", file->path);
    CLEANUP(fd_close) int fd = open(source, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

    if (fd < 0)
        return err_set(err, -errno, "lay '%s' over: %m", file->path);
    int r = fd_write_full(fd, file->bytes, file->length);
    if (r < 0)
        return err_set(err, r, "lay '%s' over: %s", file->path, strerror(-r));
    struct stat st;
    if (lstat(target, &st) == 0 && S_ISLNK(st.st_mode) && unlink(target) < 0)
        return err_set(err, -errno, "lay '%s' over a symlink: %m", file->path);
    fs_layers_add(&view->layers, FS_LAYER_OURS, 0, file->path);
    r = make_way(file->path, err);
    if (r == 0 && access(target, F_OK) < 0)
        r = fs_make_point(target, false, 0644, err);
    return r < 0 ? r : fs_bind(source, target, false, false, err);
}

int fs_private_extras(struct fs_view *view, struct err *err)
{
    const struct fs_options *options = view->options;
    int r = options->mode == FS_REAL ? 0 : place_worktree(view, err);

    for (char *const *path = view->writable; r == 0 && *path; path++)
        r = pass_through(view, *path, err);
    for (char *const *path = view->hide; r == 0 && *path; path++)
        r = hide(view, *path, err);
    for (size_t i = 0; r == 0 && i < options->file_count; i++)
        r = lay_file(view, &options->files[i], i, err);
    return r;
}
