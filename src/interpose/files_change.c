/* SPDX-License-Identifier: MIT */
/* Looking at files, and changing the tree. Times are of the clock in force. */
#include "base/when.h"
#include "interpose/files_internal.h"
#include "vitro/clock.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

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
