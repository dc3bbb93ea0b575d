/* SPDX-License-Identifier: MIT */
#include "interpose/files.h"
#include "base/fd.h"
#include "base/when.h"
#include "fs/fs_mounts.h"
#include "vitro/clock.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct live {
    struct live *next;
    char *path; /* owned: relative to the worktree, without symlinks */
    int fd;     /* the memfd */
    ino_t inode;
    int64_t modified_ns;
    struct timespec seen; /* the kernel's time of change, when modified_ns was set */
};

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

static struct live *live_find(struct files *files, const char *path)
{
    struct live *live = files->first;

    while (live && strcmp(live->path, path) != 0)
        live = live->next;
    return live;
}

static void live_drop(struct files *files, const char *path)
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

static int live_make(struct files *files, const struct overlay_target *target, struct live **ret)
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

static int live_sync(struct files *files, struct live *live)
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

/* ---- stat */

static void set_times(struct stat *st, int64_t ns)
{
    struct timespec at = {.tv_sec = (time_t)(ns / (int64_t)NS_PER_SEC),
                          .tv_nsec = (long)(ns % (int64_t)NS_PER_SEC)};

    st->st_atim = st->st_mtim = st->st_ctim = at;
}

static int live_stat(struct files *files, struct live *live, struct stat *st)
{
    if (fstat(live->fd, st) < 0)
        return -errno;
    if (live->seen.tv_sec != st->st_mtim.tv_sec || live->seen.tv_nsec != st->st_mtim.tv_nsec) {
        live->seen = st->st_mtim;
        live->modified_ns = vitro_clock_now(NULL);
    }
    st->st_nlink = 1;
    st->st_dev = files->device;
    set_times(st, live->modified_ns);
    return 0;
}

bool files_fstat(struct files *files, int fd, struct stat *st)
{
    (void)fd;
    if (st->st_nlink != 0)
        return false;
    for (struct live *live = files->first; live; live = live->next)
        if (live->inode == st->st_ino)
            return live_stat(files, live, st) == 0;
    return false;
}

static uint32_t hash_name(const char *text)
{
    uint32_t hash = 2166136261u;

    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 16777619u;
    return hash;
}

int files_stat(struct files *files, const char *path, bool follow, struct stat *ret)
{
    CLEANUP(overlay_target_done) struct overlay_target target = {0};
    int r = overlay_find_there(files->overlay, path, follow, &target);

    if (r < 0)
        return r;
    if (overlay_ends_in_slash(path) && target.spot.type != FS_DIR)
        return -ENOTDIR;
    struct live *live = live_find(files, target.path);
    if (live)
        return live_stat(files, live, ret);
    bool is_lower = !target.spot.node || target.spot.type == FS_DIR;
    if (is_lower && target.spot.lower)
        return fstatat(files->overlay->root, *target.spot.lower ? target.spot.lower : ".", ret,
                       AT_SYMLINK_NOFOLLOW) < 0
                   ? -errno
                   : 0;
    static const mode_t types[] = {[FS_FILE] = S_IFREG, [FS_DIR] = S_IFDIR, [FS_SYMLINK] = S_IFLNK};
    *ret = (struct stat){.st_dev = files->device,
                         .st_ino = 1 + (ino_t)hash_name(target.path),
                         .st_mode = types[target.spot.type] | target.spot.mode,
                         .st_nlink = target.spot.type == FS_DIR ? 2 : 1,
                         .st_uid = geteuid(),
                         .st_gid = getegid(),
                         .st_size = (off_t)target.spot.size,
                         .st_blksize = 4096,
                         .st_blocks = (blkcnt_t)((target.spot.size + 511) / 512)};
    set_times(ret, vitro_clock_now(NULL));
    return 0;
}

int files_access(struct files *files, const char *path, int mode)
{
    struct stat st;
    int r = files_stat(files, path, true, &st);

    if (r < 0 || mode == F_OK || geteuid() == 0)
        return r < 0                                                         ? r
               : mode & X_OK && !S_ISDIR(st.st_mode) && !(st.st_mode & 0111) ? -EACCES
                                                                             : 0;
    mode_t has = st.st_uid == geteuid()   ? st.st_mode >> 6
                 : st.st_gid == getegid() ? st.st_mode >> 3
                                          : st.st_mode;
    return ((mode_t)mode & ~has & 7) ? -EACCES : 0;
}

/* ---- changes */

int files_remove(struct files *files, const char *path, bool directory)
{
    CLEANUP(overlay_target_done) struct overlay_target target = {0};
    int r = overlay_find_there(files->overlay, path, false, &target);

    if (r < 0)
        return r;
    if (directory != (target.spot.type == FS_DIR))
        return directory ? -ENOTDIR : -EISDIR;
    r = vitro_overlay_remove(files->overlay, path);
    if (r == 0)
        live_drop(files, target.path);
    return r;
}

static bool is_at_or_below(const char *path, const char *top)
{
    size_t length = strlen(top);

    return strncmp(path, top, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

int files_rename(struct files *files, const char *from, const char *to, bool replace)
{
    CLEANUP(overlay_target_done) struct overlay_target source = {0};
    CLEANUP(overlay_target_done) struct overlay_target target = {0};
    int r = overlay_find_there(files->overlay, from, false, &source);

    if (r == 0)
        r = overlay_find(files->overlay, to, false, &target);
    if (r == 0 && !replace && target.spot.type != FS_NONE)
        r = -EEXIST;
    for (struct live *live = files->first; r == 0 && live; live = live->next)
        if (is_at_or_below(live->path, source.path))
            r = live_sync(files, live);
    if (r == 0)
        r = vitro_overlay_rename(files->overlay, from, to);
    if (r < 0 || strcmp(source.path, target.path) == 0)
        return r;
    live_drop(files, target.path);
    for (struct live *live = files->first; live; live = live->next)
        if (is_at_or_below(live->path, source.path)) {
            char *moved = mem_format("%s%s", target.path, live->path + strlen(source.path));
            free(live->path);
            live->path = moved;
        }
    return 0;
}

int files_mkdir(struct files *files, const char *path, mode_t mode)
{
    mode_t mask = umask(0);
    (void)umask(mask);

    return vitro_overlay_mkdir(files->overlay, path, mode & ~mask & 07777);
}

int files_symlink(struct files *files, const char *target, const char *path)
{
    return vitro_overlay_symlink(files->overlay, target, path);
}

int files_readlink(struct files *files, const char *path, char *ret, size_t size)
{
    CLEANUP(overlay_target_done) struct overlay_target target = {0};
    CLEANUP(buf_done) struct buf text = {0};
    int r = overlay_find_there(files->overlay, path, false, &target);

    if (r == 0 && target.spot.type != FS_SYMLINK)
        r = -EINVAL;
    if (r == 0)
        r = overlay_load(files->overlay, &target.spot, &text);
    if (r < 0)
        return r;
    size_t length = text.length < size ? text.length : size;
    memcpy(ret, buf_text(&text), length);
    return (int)length;
}

/* The live file of a path, made if there is none. */
static int live_of(struct files *files, const char *path, struct live **ret)
{
    CLEANUP(overlay_target_done) struct overlay_target target = {0};
    int r = overlay_find_there(files->overlay, path, true, &target);

    if (r < 0)
        return r;
    if (target.spot.type != FS_FILE)
        return target.spot.type == FS_DIR ? -EISDIR : -EINVAL;
    *ret = live_find(files, target.path);
    return *ret ? 0 : live_make(files, &target, ret);
}

int files_chmod(struct files *files, const char *path, mode_t mode)
{
    struct live *live;
    int r = live_of(files, path, &live);

    if (r == -EISDIR)
        return vitro_overlay_chmod(files->overlay, path, mode & 07777);
    if (r < 0)
        return r;
    return fchmod(live->fd, mode & 07777) < 0 ? -errno : 0;
}

int files_truncate(struct files *files, const char *path, off_t length)
{
    struct live *live;
    int r = live_of(files, path, &live);

    return r < 0 ? r : ftruncate(live->fd, length) < 0 ? -errno : 0;
}

int files_set_times(struct files *files, const char *path, int64_t modified_ns)
{
    struct live *live;
    struct stat st;
    int r = live_of(files, path, &live);

    if (r < 0)
        return r == -EISDIR ? 0 : r;
    if (fstat(live->fd, &st) == 0)
        live->seen = st.st_mtim;
    live->modified_ns = modified_ns;
    return 0;
}
