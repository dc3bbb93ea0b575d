/* SPDX-License-Identifier: MIT */
/* The view, step by step. fs_view_internal.h draws the stage it is built on. */
#include "base/fd.h"
#include "base/trace.h"
#include "base/wall.h"
#include "base/when.h"
#include "fs/fs_view_internal.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void view_done(struct fs_view *view)
{
    fs_mounts_done(&view->mounts);
    arena_done(&view->arena);
    buf_done(&view->layers);
}
static void view_done_cleanup(struct fs_view *view)
{
    view_done(view);
}

static int resolve(struct fs_view *view, const char *path, char **ret, struct err *err)
{
    char real[PATH_MAX];

    if (!realpath(path, real))
        return err_set(err, -errno, "find '%s': %m", path);
    *ret = arena_dup(&view->arena, real, strlen(real));
    return 0;
}

/* Copies a NULL-ended list with every path made absolute and free of symlinks. What is not there
 * is an error, or left out when it need not be. */
static int resolve_list(struct fs_view *view, const char *const *list, bool needed, char ***ret,
                        struct err *err)
{
    size_t count = 0, kept = 0;

    while (list && list[count])
        count++;
    *ret = arena_alloc(&view->arena, (count + 1) * sizeof **ret);
    for (size_t i = 0; i < count; i++) {
        int r = resolve(view, list[i], &(*ret)[kept], err);
        if (r == 0)
            kept++;
        else if (needed)
            return r;
    }
    return 0;
}

static int resolve_options(struct fs_view *view, struct err *err)
{
    const struct fs_options *options = view->options;
    struct stat st;
    char here[PATH_MAX];
    int r = resolve(view, options->worktree ? options->worktree : ".", &view->worktree, err);

    if (r < 0)
        return err_wrap(err, "worktree");
    if (stat(view->worktree, &st) < 0 || !S_ISDIR(st.st_mode))
        return err_set(err, -ENOTDIR, "worktree '%s' is not a directory", view->worktree);
    view->cwd =
        getcwd(here, sizeof here) ? arena_dup(&view->arena, here, strlen(here)) : view->worktree;
    r = resolve_list(view, options->writable, true, &view->writable, err);
    if (r < 0)
        return err_wrap(err, "--writable");
    r = resolve_list(view, options->hide, false, &view->hide, err);
    if (r == 0 && options->upper_dir)
        r = resolve(view, options->upper_dir, &view->upper_dir, err);
    return r;
}

/* The tmpfs covers /proc for a moment: the one directory that is there for sure. */
static int enter_stage(const struct fs_view *view, struct err *err)
{
    char data[64] = "mode=0755";

    if (view->options->size_limit)
        (void)snprintf(data, sizeof data, "mode=0755,size=%llu",
                       (unsigned long long)view->options->size_limit);
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        return err_set(err, -errno, "keep mounts private: %m");
    if (mount("vitro", "/proc", "tmpfs", MS_NOSUID, data) < 0)
        return err_set(err, -errno, "mount the stage: %m");
    if (chdir("/proc") < 0 || mkdir("old", 0700) < 0 || mkdir("root", 0755) < 0 ||
        syscall(SYS_pivot_root, ".", "old") < 0 || chdir("/") < 0)
        return err_set(err, -errno, "enter the stage: %m");
    return 0;
}

static int use_upper_dir(struct fs_view *view, struct err *err)
{
    if (!view->upper_dir)
        return 0;
    CLEANUP(mem_free) char *source = mem_format("/old%s", view->upper_dir);
    DIR *dir = opendir(source);
    if (!dir)
        return err_set(err, -errno, "open the store '%s': %m", view->upper_dir);
    size_t entries = 0;
    while (readdir(dir))
        entries++;
    (void)closedir(dir);
    if (entries > 2) {
        err_set(err, -ENOTEMPTY, "the store '%s' is not empty", view->upper_dir);
        return err_hint(err, "--upper wants a new directory for each run");
    }
    if (mkdir("/disk", 0700) < 0)
        return err_set(err, -errno, "create '/disk' on the stage: %m");
    view->store = "/disk";
    return fs_bind(source, "/disk", false, false, err);
}

static int place_root(struct fs_view *view, struct err *err)
{
    if (view->options->mode == FS_OVERLAY)
        return fs_layer_place_tree(view, "/", err);
    return fs_bind("/old", "/root", true, view->options->mode == FS_RO, err);
}

static int write_layers(const struct fs_view *view, int *ret_store, struct err *err)
{
    CLEANUP(fd_close) int store =
        open(*view->store ? view->store : "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    CLEANUP(fd_close) int fd = -1;

    if (store >= 0)
        fd = openat(store, "layers", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return err_set(err, -errno, "write 'layers' to the store: %m");
    int r = fd_write_full(fd, view->layers.data, view->layers.length);
    if (r < 0)
        return err_set(err, r, "write 'layers' to the store: %s", strerror(-r));
    int64_t started = view->options->started_ns ? view->options->started_ns : wall_now_ns();
    struct timespec times[2] = {
        {.tv_nsec = UTIME_OMIT},
        {started / (int64_t)NS_PER_SEC, started % (int64_t)NS_PER_SEC},
    };
    if (futimens(fd, times) < 0)
        return err_set(err, -errno, "stamp the store: %m");
    *ret_store = take_fd(&store);
    return 0;
}

/* The view becomes the root, with the old one on top of it. */
static int leave_stage(const struct fs_view *view, struct err *err)
{
    if (chdir("/root") < 0 || syscall(SYS_pivot_root, ".", ".") < 0)
        return err_set(err, -errno, "make the view the root: %m");
    if (chdir(view->cwd) < 0 && chdir(view->worktree) < 0)
        return err_set(err, -errno, "enter '%s': %m", view->worktree);
    return 0;
}

int fs_view_let_go(struct err *err)
{
    return umount2("/", MNT_DETACH) < 0 ? err_set(err, -errno, "let go of the old root: %m") : 0;
}

int fs_view_enter(const struct fs_options *options, int *ret_store, struct err *err)
{
    CLEANUP(view_done) struct fs_view view = {
        .options = options, .store = "", .trusted = !options->userns};
    CLEANUP(fd_close) int store = -1;
    int r = resolve_options(&view, err);

    if (r == 0)
        r = fs_mounts_read("/proc/self/mountinfo", &view.mounts, err);
    if (r == 0 && options->mode != FS_REAL)
        r = fs_stdio_guard(err);
    if (r == 0)
        r = enter_stage(&view, err);
    if (r == 0)
        r = use_upper_dir(&view, err);
    if (r < 0)
        return r;
    mode_t mask = umask(0); /* modes on the stage are meant as they are written */
    fs_layers_begin(&view.layers, view.worktree);
    r = place_root(&view, err);
    if (r == 0)
        r = options->mode == FS_REAL ? fs_private_proc(&view, "/root/proc", err)
                                     : fs_private_mount(&view, err);
    if (r == 0)
        r = fs_private_extras(&view, err);
    if (r == 0)
        r = write_layers(&view, &store, err);
    if (r == 0)
        r = leave_stage(&view, err);
    (void)umask(mask);
    if (r < 0)
        return r;
    trace(TRACE_FS, "view of %u layers", view.layer_count);
    *ret_store = options->mode == FS_REAL ? -1 : take_fd(&store);
    return 0;
}
