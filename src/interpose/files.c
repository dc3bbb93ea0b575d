/* SPDX-License-Identifier: MIT */
/* Paths, the memfds of changed files, and opening. */
#include "interpose/files_internal.h"
#include "base/fd.h"
#include "fs/fs_mounts.h"
#include "vitro/clock.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct files_dir {
    struct files_dir *next;
    char *path; /* owned, absolute */
    int fd;
};

void files_init(struct files *files, struct vitro_overlay *overlay)
{
    struct stat st;

    *files = (struct files){.overlay = overlay};
    if (fstat(overlay->root, &st) == 0)
        files->device = st.st_dev;
}

static void live_free(struct live *live)
{
    fd_close(live->fd);
    free(live->path);
    free(live);
}

void files_done(struct files *files)
{
    while (files->first) {
        struct live *next = files->first->next;
        live_free(files->first);
        files->first = next;
    }
    while (files->dirs) {
        struct files_dir *next = files->dirs->next;
        free(files->dirs->path);
        free(files->dirs);
        files->dirs = next;
    }
}

/* ---- paths */

void files_closed(struct files *files, int fd)
{
    for (struct files_dir **place = &files->dirs; *place; place = &(*place)->next)
        if ((*place)->fd == fd) {
            struct files_dir *dir = *place;
            *place = dir->next;
            free(dir->path);
            free(dir);
            return;
        }
}

static int base_of(struct files *files, int dirfd, char ret[PATH_MAX])
{
    char link[64];

    if (dirfd == AT_FDCWD)
        return getcwd(ret, PATH_MAX) ? 0 : -errno;
    for (struct files_dir *dir = files->dirs; dir; dir = dir->next)
        if (dir->fd == dirfd)
            return snprintf(ret, PATH_MAX, "%s", dir->path) < PATH_MAX ? 0 : -ENAMETOOLONG;
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", dirfd);
    ssize_t length = readlink(link, ret, PATH_MAX - 1);
    if (length < 0)
        return -EBADF;
    ret[length] = '\0';
    return 0;
}

static bool is_inside(const struct files *files, const char *path)
{
    const char *worktree = files->overlay->worktree;

    return strcmp(path, worktree) == 0 || fs_path_is_below(path, worktree);
}

/* "/a/../worktree/x": walked by the kernel up to the directory that is there. */
static bool by_kernel(const char *path, char ret[PATH_MAX])
{
    CLEANUP(mem_free) char *directory = mem_dup(path);

    for (;;) {
        char *slash = strrchr(directory, '/');
        if (!slash)
            return false;
        *slash = '\0';
        if (realpath(*directory ? directory : "/", ret))
            break;
        if (!*directory)
            return false;
    }
    size_t length = strlen(ret), rest = strlen(path + strlen(directory));
    if (length + rest >= PATH_MAX)
        return false;
    memcpy(ret + (length == 1 ? 0 : length), path + strlen(directory), rest + 1);
    return true;
}

int files_path(struct files *files, int dirfd, const char *path, char **ret)
{
    char base[PATH_MAX] = "", real[PATH_MAX];

    if (!path || !*path)
        return 0; /* the real call knows what to say */
    if (*path != '/' && base_of(files, dirfd, base) < 0)
        return 0;
    char *all = *path == '/' ? mem_dup(path)
                             : mem_format("%s/%s", strcmp(base, "/") == 0 ? "" : base, path);
    if (!is_inside(files, all) || strstr(all, "/..")) {
        if (!by_kernel(all, real) || !is_inside(files, real)) {
            free(all);
            return 0;
        }
        free(all);
        all = mem_dup(real);
    }
    *ret = all;
    return 1;
}

int files_real(struct files *files, const char *path, char **ret)
{
    CLEANUP(overlay_target_done) struct overlay_target target = {0};
    int r = overlay_find_there(files->overlay, path, true, &target);

    if (r < 0)
        return r;
    *ret = *target.path ? mem_format("%s/%s", files->overlay->worktree, target.path)
                        : mem_dup(files->overlay->worktree);
    return 0;
}

/* ---- files in memory */

struct live *live_find(struct files *files, const char *path)
{
    struct live *live = files->first;

    while (live && strcmp(live->path, path) != 0)
        live = live->next;
    return live;
}

void live_drop(struct files *files, const char *path)
{
    for (struct live **place = &files->first; *place; place = &(*place)->next)
        if (strcmp((*place)->path, path) == 0) {
            struct live *live = *place;
            *place = live->next;
            live_free(live);
            return;
        }
}

static int write_all(int fd, const void *bytes, size_t length)
{
    for (size_t done = 0; done < length;) {
        ssize_t n = pwrite(fd, (const char *)bytes + done, length - done, (off_t)done);
        if (n < 0)
            return -errno;
        done += (size_t)n;
    }
    return 0;
}

int live_make(struct files *files, const struct overlay_target *target, struct live **ret)
{
    CLEANUP(buf_done) struct buf bytes = {0};
    int r = overlay_load(files->overlay, &target->spot, &bytes);
    struct stat st;

    if (r < 0)
        return r;
    CLEANUP(fd_close) int low = memfd_create("vitro", MFD_CLOEXEC);
    CLEANUP(fd_close) int fd = low < 0 ? -1 : fcntl(low, F_DUPFD_CLOEXEC, 500);
    if (fd < 0)
        fd = take_fd(&low);
    if (fd < 0)
        return -errno;
    r = write_all(fd, buf_text(&bytes), bytes.length);
    if (r < 0)
        return r;
    (void)fchmod(fd, target->spot.mode);
    (void)fstat(fd, &st);
    struct live *live = mem_alloc(sizeof *live);
    *live = (struct live){.next = files->first,
                          .path = mem_dup(target->path),
                          .fd = take_fd(&fd),
                          .inode = st.st_ino,
                          .modified_ns = vitro_clock_now(NULL),
                          .seen = st.st_mtim};
    *ret = files->first = live;
    return 0;
}

int live_sync(struct files *files, struct live *live)
{
    struct stat st;
    CLEANUP(mem_free) char *bytes = NULL;

    if (fstat(live->fd, &st) < 0)
        return -errno;
    size_t length = (size_t)st.st_size, done = 0;
    bytes = mem_alloc(length + 1);
    while (done < length) {
        ssize_t n = pread(live->fd, bytes + done, length - done, (off_t)done);
        if (n <= 0)
            return n < 0 ? -errno : -EIO;
        done += (size_t)n;
    }
    int r = vitro_overlay_write(files->overlay, live->path, bytes, length);
    return r < 0 ? r : vitro_overlay_chmod(files->overlay, live->path, st.st_mode & 07777);
}

int files_sync(struct files *files)
{
    int r = 0;

    for (struct live *live = files->first; r == 0 && live; live = live->next)
        r = live_sync(files, live);
    return r;
}

/* ---- open */

static int open_real(struct files *files, const struct overlay_target *target, int flags)
{
    int fd = openat(files->overlay->root, *target->spot.lower ? target->spot.lower : ".",
                    flags & ~(O_CREAT | O_EXCL | O_TRUNC));

    return fd < 0 ? -errno : fd;
}

static int open_dir(struct files *files, const struct overlay_target *target, int flags)
{
    int fd = target->spot.lower ? open_real(files, target, flags)
                                : openat(files->overlay->root, ".", flags);

    if (fd < 0)
        return fd;
    struct files_dir *dir = mem_alloc(sizeof *dir);
    *dir = (struct files_dir){.next = files->dirs,
                              .path = mem_format("%s/%s", files->overlay->worktree, target->path),
                              .fd = fd};
    files->dirs = dir;
    return fd;
}

static int open_live(const struct live *live, int flags)
{
    char link[64];

    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", live->fd);
    int fd = open(link, flags & ~(O_CREAT | O_EXCL | O_NOFOLLOW));
    return fd < 0 ? -errno : fd;
}

static int create(struct files *files, const char *path, mode_t mode, struct overlay_target *target)
{
    mode_t mask = umask(0);
    (void)umask(mask);
    int r = vitro_overlay_write(files->overlay, path, "", 0);

    if (r == 0)
        r = vitro_overlay_chmod(files->overlay, path, mode & ~mask & 07777);
    if (r < 0)
        return r;
    overlay_target_done(target);
    *target = (struct overlay_target){0};
    return overlay_find_there(files->overlay, path, true, target);
}

int files_open(struct files *files, const char *path, int flags, mode_t mode)
{
    CLEANUP(overlay_target_done) struct overlay_target target = {0};
    bool writes = (flags & O_ACCMODE) != O_RDONLY || flags & O_TRUNC;
    int r = overlay_find(files->overlay, path, !(flags & O_NOFOLLOW) && !(flags & O_EXCL), &target);

    if (r < 0)
        return r;
    if ((flags & O_TMPFILE) == O_TMPFILE)
        return -EOPNOTSUPP;
    if (target.spot.type == FS_NONE && !(flags & O_CREAT))
        return -ENOENT;
    if (target.spot.type != FS_NONE && flags & O_CREAT && flags & O_EXCL)
        return -EEXIST;
    if (target.spot.type == FS_SYMLINK)
        return -ELOOP;
    if (target.spot.type == FS_NONE && (r = create(files, path, mode, &target)) < 0)
        return r;
    if (target.spot.type == FS_DIR)
        return writes || flags & O_CREAT ? -EISDIR : open_dir(files, &target, flags);
    if (flags & O_DIRECTORY || overlay_ends_in_slash(path))
        return -ENOTDIR;
    struct live *live = live_find(files, target.path);
    if (!live && !writes && !target.spot.node)
        return open_real(files, &target, flags);
    if (target.spot.type != FS_FILE)
        return target.spot.lower ? open_real(files, &target, flags) : -ENXIO;
    if (!live && writes && geteuid() != 0 && !(target.spot.mode & 0222))
        return -EACCES;
    if (!live && (r = live_make(files, &target, &live)) < 0)
        return r;
    return open_live(live, flags);
}
