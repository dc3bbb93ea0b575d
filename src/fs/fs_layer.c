/* SPDX-License-Identifier: MIT */
/* Layers: the kernel's overlay over one real directory, with an upper of ours.
 *
 * As real root, a mount can be the lower of an overlay whatever is mounted inside it. In a user
 * namespace it cannot: the mounts inside are locked to it, for they might cover a secret. There a
 * directory with mounts below becomes a "scaffold": a plain directory of the store with a mount
 * point for each entry, and an overlay for each entry that has no mount below. */
#include "base/fd.h"
#include "base/trace.h"
#include "fs/fs_names.h"
#include "fs/fs_view_internal.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

enum { COPY_BYTES_MAX = 1024 * 1024 }; /* larger single files are bound read-only instead */

static int scaffold(struct fs_view *view, const char *path, const char *target, struct err *err);
static int place_mount(struct fs_view *view, const struct fs_mount *mount, struct err *err);

/* The root of an overlay takes its owner, mode and times from the upper directory. Where the owner
 * cannot be had, write permission we do not have is not given either. */
static int copy_directory_facts(int lower, const char *upper, struct err *err)
{
    struct stat st;

    if (fstat(lower, &st) < 0)
        return err_set(err, -errno, "stat the directory below '%s': %m", upper);
    mode_t mode = st.st_mode & 07777;
    if (chown(upper, st.st_uid, st.st_gid) < 0 && faccessat(lower, ".", W_OK, AT_EACCESS) < 0)
        mode &= ~(mode_t)0222;
    if (chmod(upper, mode) < 0)
        return err_set(err, -errno, "chmod '%s': %m", upper);
    struct timespec times[2] = {st.st_atim, st.st_mtim};
    (void)utimensat(AT_FDCWD, upper, times, 0);
    return 0;
}

static int make_upper(struct fs_view *view, unsigned number, char **ret, struct err *err)
{
    CLEANUP(mem_free) char *base = mem_format("%s/%u", view->store, number);
    CLEANUP(mem_free) char *upper = mem_format("%s/u", base);
    CLEANUP(mem_free) char *work = mem_format("%s/w", base);

    if (mkdir(base, 0700) < 0 || mkdir(upper, 0755) < 0 || mkdir(work, 0700) < 0)
        return err_set(err, -errno, "create layer %u in the store: %m", number);
    *ret = take_ptr(&upper);
    return 0;
}

/* Copying a directory up needs its owner, which a user namespace may not have: writing below
 * somebody else's directory would fail with EOVERFLOW. So the way to a place the guest will surely
 * write to is made beforehand, in our name. */
static int make_way(const char *layer, const char *upper, const char *place, struct err *err)
{
    size_t skip = strcmp(layer, "/") == 0 ? 0 : strlen(layer);
    int r = 0;

    if (!place || (strcmp(place, layer) != 0 && !fs_path_is_below(place, layer)))
        return 0;
    for (const char *end = place + skip; r == 0 && *end;) {
        end = strchrnul(end + 1, '/');
        CLEANUP(mem_free) char *lower_path = mem_format("/old%.*s", (int)(end - place), place);
        CLEANUP(mem_free)
        char *target =
            mem_format("%s%.*s", upper, (int)(end - place - (ptrdiff_t)skip), place + skip);
        CLEANUP(fd_close) int lower =
            open(lower_path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (lower < 0)
            return 0; /* not there or no directory: then there is no way */
        if (mkdir(target, 0755) == 0)
            r = copy_directory_facts(lower, target, err);
        else if (errno != EEXIST)
            r = err_set(err, -errno, "create '%s' in the store: %m", place);
    }
    return r;
}

/* A directory that cannot be overlaid stays visible, read-only, and the report says so. */
static int read_only_instead(struct fs_view *view, const char *path, const char *target,
                             int overlay_errno, struct err *err)
{
    CLEANUP(mem_free) char *source = mem_format("/old%s", path);
    CLEANUP(mem_free) char *note = mem_format("'%s' is read-only in the box: it cannot be overlaid"
                                              " (%s)",
                                              path, strerror(overlay_errno));

    trace(TRACE_FS, "%s", note);
    if (strcmp(path, "/") == 0 || strcmp(path, view->worktree) == 0) {
        err_set(err, -overlay_errno, "overlay '%s': %s", path, strerror(overlay_errno));
        return err_hint(err, "vitro doctor says what this machine permits; --fs real runs without");
    }
    int r = fs_bind(source, target, true, true, err);
    if (r == 0)
        fs_layers_add(&view->layers, FS_LAYER_NOTE, 0, note);
    return r;
}

/* A directory that we may not enter (another user's): closed in the view as well. */
static int closed_directory(const char *path, const char *target, struct err *err)
{
    if (errno != EACCES || chmod(target, 0) < 0)
        return err_set(err, -errno, "enter '%s': %m", path);
    return 0;
}

static int overlay(struct fs_view *view, const char *path, const char *target, unsigned long flags,
                   struct err *err)
{
    CLEANUP(mem_free) char *lower_path = mem_format("/old%s", path);
    CLEANUP(fd_close) int lower = open(lower_path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    CLEANUP(mem_free) char *upper = NULL;
    unsigned number = view->layer_count;

    if (lower < 0 && errno == ENOENT)
        return 0; /* a mount that was taken away meanwhile */
    if (lower < 0)
        return err_set(err, -errno, "open '%s': %m", path);
    /* "." keeps colons, commas and long paths out of the options, and host paths out of sight. */
    if (fchdir(lower) < 0)
        return closed_directory(path, target, err);
    view->layer_count++;
    int r = make_upper(view, number, &upper, err);
    if (r < 0)
        return r;
    r = copy_directory_facts(lower, upper, err);
    const char *const places[] = {view->worktree, view->cwd, getenv("HOME")};
    for (size_t i = 0; r == 0 && view->options->userns && i < ARRAY_LENGTH(places); i++)
        r = make_way(path, upper, places[i], err);
    if (r < 0)
        return r;
    CLEANUP(mem_free) char *data =
        mem_format("lowerdir=.,upperdir=%s,workdir=%s/%u/w,xino=on%s%s", upper, view->store, number,
                   view->trusted ? ",redirect_dir=on,metacopy=on,index=on" : ",userxattr",
                   *view->store ? ",volatile" : "");
    if (mount("overlay", target, "overlay", flags, data) < 0)
        return read_only_instead(view, path, target, errno, err);
    fs_layers_add(&view->layers, view->trusted ? FS_LAYER_TRUSTED : FS_LAYER_USER, number, path);
    return 0;
}

static int copy_file(const char *source, const char *target, const struct stat *st)
{
    CLEANUP(fd_close) int from = open(source, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    CLEANUP(fd_close) int to = -1;

    if (from < 0)
        return -errno;
    to = open(target, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (to < 0)
        return -errno;
    for (ssize_t sent = 1; sent > 0;) {
        sent = sendfile(to, from, NULL, COPY_BYTES_MAX);
        if (sent < 0)
            return -errno;
    }
    struct timespec times[2] = {st->st_atim, st->st_mtim};
    if (fchown(to, st->st_uid, st->st_gid) < 0 || fchmod(to, st->st_mode & 07777) < 0 ||
        futimens(to, times) < 0)
        return -errno;
    return 0;
}

/* A single file as it would be in a layer: a copy of ours if it is small and ours, else the real
 * one, read-only. `target` is a place in a scaffold. */
static int copy_or_bind(struct fs_view *view, const char *path, const char *target,
                        const struct stat *st, struct err *err)
{
    CLEANUP(mem_free) char *source = mem_format("/old%s", path);

    if (st->st_size <= COPY_BYTES_MAX && (st->st_uid == geteuid() || geteuid() == 0) &&
        copy_file(source, target, st) == 0)
        return 0;
    int r = fs_make_point(target, false, 0600, err);
    bool could_change = st->st_uid == geteuid() || access(source, W_OK) == 0;
    fs_layers_add(&view->layers, FS_LAYER_OURS, 0, path);
    return r < 0 ? r : fs_bind(source, target, false, could_change, err);
}

int fs_layer_place_file(struct fs_view *view, const char *path, struct err *err)
{
    CLEANUP(mem_free) char *source = mem_format("/old%s", path);
    CLEANUP(mem_free) char *target = mem_format("/root%s", path);
    CLEANUP(mem_free) char *base = mem_format("%s/%u", view->store, view->layer_count);
    CLEANUP(mem_free) char *copy = mem_format("%s/u", base);
    struct stat st;

    if (stat(source, &st) < 0)
        return err_set(err, -errno, "stat '%s': %m", path);
    if (!S_ISREG(st.st_mode) || st.st_size > COPY_BYTES_MAX)
        return fs_bind(source, target, false, true, err);
    if (mkdir(base, 0700) < 0)
        return err_set(err, -errno, "create '%s': %m", base);
    if (copy_file(source, copy, &st) < 0) {
        (void)unlink(copy);
        return fs_bind(source, target, false, true, err);
    }
    fs_layers_add(&view->layers, FS_LAYER_FILE, view->layer_count++, path);
    return fs_bind(copy, target, false, false, err);
}

static bool has_mounts_below(const struct fs_view *view, const char *path)
{
    size_t end;

    return fs_mounts_below(&view->mounts, path, &end) < end || fs_private_below(view, path);
}

/* Empty, and not for us to fill. */
static bool is_bare(const char *path)
{
    CLEANUP(mem_free) char *source = mem_format("/old%s", path);
    DIR *dir = opendir(source);
    size_t entries = 0;

    if (!dir)
        return false;
    while (entries < 3 && readdir(dir))
        entries++;
    bool bare = entries < 3 && faccessat(dirfd(dir), ".", W_OK, AT_EACCESS) < 0;
    (void)closedir(dir);
    return bare;
}

static int scaffold_directory(struct fs_view *view, const char *path, const char *target,
                              struct err *err)
{
    const struct fs_mount *mount = fs_mounts_at(&view->mounts, path);
    int r = fs_make_point(target, true, 0755, err);

    if (r < 0 || fs_private_is(view, path))
        return r;
    if (mount)
        return place_mount(view, mount, err);
    if (has_mounts_below(view, path))
        return scaffold(view, path, target, err);
    if (is_bare(path)) /* an overlay would cost a mount and show the same */
        return chmod(target, 0555) < 0 ? err_set(err, -errno, "chmod '%s': %m", path) : 0;
    return overlay(view, path, target, fs_mounts_of(&view->mounts, path)->flags, err);
}

static int scaffold_entry(struct fs_view *view, const char *path, struct err *err)
{
    CLEANUP(mem_free) char *source = mem_format("/old%s", path);
    CLEANUP(mem_free) char *target = mem_format("/root%s", path);
    char link[4096];
    struct stat st;

    if (lstat(source, &st) < 0)
        return 0; /* gone meanwhile, or not for us to see */
    if (S_ISDIR(st.st_mode))
        return scaffold_directory(view, path, target, err);
    if (S_ISREG(st.st_mode))
        return copy_or_bind(view, path, target, &st, err);
    if (!S_ISLNK(st.st_mode))
        return 0;
    ssize_t length = readlink(source, link, sizeof link - 1);
    if (length < 0)
        return 0;
    link[length] = '\0';
    if (symlink(link, target) < 0)
        return err_set(err, -errno, "create symlink '%s': %m", path);
    return 0;
}

static int scaffold(struct fs_view *view, const char *path, const char *target, struct err *err)
{
    CLEANUP(mem_free) char *source = mem_format("/old%s", path);
    CLEANUP(fs_names_done) struct fs_names names = {0};
    CLEANUP(fd_close) int dir = open(source, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int r = dir < 0 ? -errno : fs_names_add(&names, dir);

    if (r < 0)
        return r == -EACCES ? 0 : err_set(err, r, "list '%s': %s", path, strerror(-r));
    fs_names_sort(&names);
    for (size_t i = 0; r == 0 && i < names.count; i++) {
        CLEANUP(mem_free) char *child =
            mem_format("%s/%s", strcmp(path, "/") == 0 ? "" : path, names.items[i]);
        r = scaffold_entry(view, child, err);
    }
    return r < 0 ? r : copy_directory_facts(dir, target, err);
}

/* A scaffold of its own: a plain directory of the store, bound to its place. */
static int place_scaffold(struct fs_view *view, const char *path, const char *target,
                          struct err *err)
{
    CLEANUP(mem_free) char *upper = NULL;
    unsigned number = view->layer_count++;
    int r = make_upper(view, number, &upper, err);

    if (r == 0)
        r = fs_bind(upper, target, false, false, err);
    if (r == 0)
        r = scaffold(view, path, target, err);
    fs_layers_add(&view->layers, FS_LAYER_SCAFFOLD, number, path);
    return r;
}

static int place_mounts_below(struct fs_view *view, const char *path, struct err *err)
{
    size_t end, i = fs_mounts_below(&view->mounts, path, &end);
    int r = 0;

    while (r == 0 && i < end) {
        const struct fs_mount *mount = &view->mounts.items[i];
        if (fs_private_holds(view, mount->path) && !fs_private_holds(view, path)) {
            i++;
            continue;
        }
        r = place_mount(view, mount, err);
        for (i++; i < end && fs_path_is_below(view->mounts.items[i].path, mount->path);)
            i++; /* placed with it */
    }
    return r;
}

int fs_layer_place_tree(struct fs_view *view, const char *path, struct err *err)
{
    CLEANUP(mem_free) char *target = mem_format("/root%s", strcmp(path, "/") == 0 ? "" : path);

    if (view->options->userns && has_mounts_below(view, path))
        return place_scaffold(view, path, target, err);
    int r = overlay(view, path, target, fs_mounts_of(&view->mounts, path)->flags, err);
    return r < 0 ? r : place_mounts_below(view, path, err);
}

static int place_mount(struct fs_view *view, const struct fs_mount *mount, struct err *err)
{
    CLEANUP(mem_free) char *source = mem_format("/old%s", mount->path);
    CLEANUP(mem_free) char *target = mem_format("/root%s", mount->path);
    struct stat st;

    if (strcmp(mount->type, "autofs") == 0)
        return 0; /* looking at it would mount something */
    if (stat(source, &st) < 0)
        return 0;
    if (!S_ISDIR(st.st_mode))
        return fs_layer_place_file(view, mount->path, err);
    if (mount->kernel)
        return fs_bind(source, target, true, true, err);
    if (mount->flags & MS_RDONLY && !has_mounts_below(view, mount->path))
        return fs_bind(source, target, false, true, err);
    return fs_layer_place_tree(view, mount->path, err);
}
