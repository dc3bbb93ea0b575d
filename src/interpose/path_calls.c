/* SPDX-License-Identifier: MIT */
/* Calls that name a file without opening it. */
#include "interpose/file_calls.h"
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#define IN_WORKTREE(dirfd, path, use) file_begin(&call, caller, dirfd, path, use)
#define FILES                         (call.world->files)

/* ---- looking */

int call_fstatat(const void *caller, int dirfd, const char *restrict path,
                 struct stat *restrict ret, int flags)
{
    struct file_call call;

    if (!IN_WORKTREE(dirfd, path, FILE_READS))
        return REAL.fstatat(dirfd, path, ret, flags);
    return file_end(&call, files_stat(FILES, call.path, !(flags & AT_SYMLINK_NOFOLLOW), ret));
}

int call_stat(const void *caller, const char *restrict path, struct stat *restrict ret)
{
    return call_fstatat(caller, AT_FDCWD, path, ret, 0);
}

int call_lstat(const void *caller, const char *restrict path, struct stat *restrict ret)
{
    return call_fstatat(caller, AT_FDCWD, path, ret, AT_SYMLINK_NOFOLLOW);
}

int call_fstat(const void *caller, int fd, struct stat *ret)
{
    struct lane *lane = lane_here(caller);
    struct vitro_world *world = lane ? lane_world(lane) : NULL;
    int r = REAL.fstat(fd, ret);

    while (world && !world->files)
        world = world->outer;
    if (r < 0 || !world || ret->st_nlink != 0)
        return r;
    inside_begin(lane);
    (void)pthread_mutex_lock(&world->lock);
    (void)files_fstat(world->files, fd, ret);
    (void)pthread_mutex_unlock(&world->lock);
    inside_end(lane);
    return r;
}

static struct statx_timestamp stamp(const struct timespec *time)
{
    return (struct statx_timestamp){.tv_sec = time->tv_sec, .tv_nsec = (uint32_t)time->tv_nsec};
}

int call_statx(const void *caller, int dirfd, const char *restrict path, int flags, unsigned mask,
               struct statx *restrict ret)
{
    struct file_call call;
    struct stat st;

    if (!IN_WORKTREE(dirfd, path, FILE_READS))
        return REAL.statx(dirfd, path, flags, mask, ret);
    int r = files_stat(FILES, call.path, !(flags & AT_SYMLINK_NOFOLLOW), &st);
    if (r == 0)
        *ret = (struct statx){.stx_mask = STATX_BASIC_STATS,
                              .stx_blksize = (uint32_t)st.st_blksize,
                              .stx_nlink = (uint32_t)st.st_nlink,
                              .stx_uid = st.st_uid,
                              .stx_gid = st.st_gid,
                              .stx_mode = (uint16_t)st.st_mode,
                              .stx_ino = st.st_ino,
                              .stx_size = (uint64_t)st.st_size,
                              .stx_blocks = (uint64_t)st.st_blocks,
                              .stx_atime = stamp(&st.st_atim),
                              .stx_mtime = stamp(&st.st_mtim),
                              .stx_ctime = stamp(&st.st_ctim)};
    return file_end(&call, r);
}

int call_faccessat(const void *caller, int dirfd, const char *path, int mode, int flags)
{
    struct file_call call;

    if (!IN_WORKTREE(dirfd, path, FILE_READS))
        return REAL.faccessat(dirfd, path, mode, flags);
    return file_end(&call, files_access(FILES, call.path, mode));
}

int call_access(const void *caller, const char *path, int mode)
{
    struct file_call call;

    if (!IN_WORKTREE(AT_FDCWD, path, FILE_READS))
        return REAL.access(path, mode);
    return file_end(&call, files_access(FILES, call.path, mode));
}

ssize_t call_readlinkat(const void *caller, int dirfd, const char *restrict path,
                        char *restrict ret, size_t size)
{
    struct file_call call;

    if (!IN_WORKTREE(dirfd, path, FILE_READS))
        return REAL.readlinkat(dirfd, path, ret, size);
    return file_end(&call, files_readlink(FILES, call.path, ret, size));
}

ssize_t call_readlink(const void *caller, const char *restrict path, char *restrict ret,
                      size_t size)
{
    return call_readlinkat(caller, AT_FDCWD, path, ret, size);
}

char *call_realpath(const void *caller, const char *restrict path, char *restrict ret)
{
    struct file_call call;
    char *found = NULL;

    if (!IN_WORKTREE(AT_FDCWD, path, FILE_READS))
        return REAL.realpath(path, ret);
    int r = files_real(FILES, call.path, &found);
    if (r == 0 && strlen(found) >= PATH_MAX)
        r = -ENAMETOOLONG;
    if (file_end(&call, r) < 0) {
        free(found);
        return NULL;
    }
    if (!ret)
        return found;
    memcpy(ret, found, strlen(found) + 1);
    free(found);
    return ret;
}

/* ---- changing */

int call_unlinkat(const void *caller, int dirfd, const char *path, int flags)
{
    struct file_call call;

    if (!IN_WORKTREE(dirfd, path, FILE_WRITES))
        return REAL.unlinkat(dirfd, path, flags);
    return file_end(&call, files_remove(FILES, call.path, (flags & AT_REMOVEDIR) != 0));
}

int call_unlink(const void *caller, const char *path)
{
    return call_unlinkat(caller, AT_FDCWD, path, 0);
}

int call_rmdir(const void *caller, const char *path)
{
    return call_unlinkat(caller, AT_FDCWD, path, AT_REMOVEDIR);
}

int call_remove(const void *caller, const char *path)
{
    int r = call_unlinkat(caller, AT_FDCWD, path, 0);

    return r < 0 && errno == EISDIR ? call_unlinkat(caller, AT_FDCWD, path, AT_REMOVEDIR) : r;
}

/* From the worktree to elsewhere is from one file system to another. */
int call_renameat2(const void *caller, int from_dir, const char *from, int to_dir, const char *to,
                   unsigned flags)
{
    struct file_call call;
    char *there = NULL;

    if (!IN_WORKTREE(from_dir, from, FILE_WRITES)) {
        if (!IN_WORKTREE(to_dir, to, FILE_WRITES))
            return flags ? REAL.renameat2(from_dir, from, to_dir, to, flags)
                         : REAL.renameat(from_dir, from, to_dir, to);
        return file_end(&call, -EXDEV);
    }
    int r = files_path(FILES, to_dir, to, &there);
    r = r == 0                      ? -EXDEV
        : flags & ~RENAME_NOREPLACE ? -EINVAL
                                    : files_rename(FILES, call.path, there, flags == 0);
    free(there);
    return file_end(&call, r);
}

int call_renameat(const void *caller, int from_dir, const char *from, int to_dir, const char *to)
{
    return call_renameat2(caller, from_dir, from, to_dir, to, 0);
}

int call_rename(const void *caller, const char *from, const char *to)
{
    return call_renameat2(caller, AT_FDCWD, from, AT_FDCWD, to, 0);
}

int call_mkdirat(const void *caller, int dirfd, const char *path, mode_t mode)
{
    struct file_call call;

    if (!IN_WORKTREE(dirfd, path, FILE_WRITES))
        return REAL.mkdirat(dirfd, path, mode);
    return file_end(&call, files_mkdir(FILES, call.path, mode));
}

int call_mkdir(const void *caller, const char *path, mode_t mode)
{
    return call_mkdirat(caller, AT_FDCWD, path, mode);
}

int call_symlinkat(const void *caller, const char *target, int dirfd, const char *path)
{
    struct file_call call;

    if (!IN_WORKTREE(dirfd, path, FILE_WRITES))
        return REAL.symlinkat(target, dirfd, path);
    return file_end(&call, files_symlink(FILES, target, call.path));
}

int call_symlink(const void *caller, const char *target, const char *path)
{
    return call_symlinkat(caller, target, AT_FDCWD, path);
}

/* The overlay has no hard links; that is a kind of file system that programs know. */
int call_linkat(const void *caller, int from_dir, const char *from, int to_dir, const char *to,
                int flags)
{
    struct file_call call;

    if (!IN_WORKTREE(to_dir, to, FILE_WRITES))
        return REAL.linkat(from_dir, from, to_dir, to, flags);
    return file_end(&call, -EPERM);
}

int call_link(const void *caller, const char *from, const char *to)
{
    return call_linkat(caller, AT_FDCWD, from, AT_FDCWD, to, 0);
}

int call_mkfifo(const void *caller, const char *path, mode_t mode)
{
    struct file_call call;

    if (!IN_WORKTREE(AT_FDCWD, path, FILE_WRITES))
        return REAL.mkfifo(path, mode);
    return file_end(&call, -EPERM);
}

int call_fchmodat(const void *caller, int dirfd, const char *path, mode_t mode, int flags)
{
    struct file_call call;

    if (!IN_WORKTREE(dirfd, path, FILE_WRITES))
        return REAL.fchmodat(dirfd, path, mode, flags);
    return file_end(&call, files_chmod(FILES, call.path, mode));
}

int call_chmod(const void *caller, const char *path, mode_t mode)
{
    return call_fchmodat(caller, AT_FDCWD, path, mode, 0);
}

int call_truncate(const void *caller, const char *path, off_t length)
{
    struct file_call call;

    if (!IN_WORKTREE(AT_FDCWD, path, FILE_WRITES))
        return REAL.truncate(path, length);
    return file_end(&call, files_truncate(FILES, call.path, length));
}

int call_utimensat(const void *caller, int dirfd, const char *path, const struct timespec times[2],
                   int flags)
{
    struct file_call call;

    if (!IN_WORKTREE(dirfd, path, FILE_WRITES))
        return REAL.utimensat(dirfd, path, times, flags);
    bool is_now = !times || times[1].tv_nsec == UTIME_NOW;
    if (times && times[1].tv_nsec == UTIME_OMIT)
        return file_end(&call, 0);
    return file_end(&call, files_set_times(FILES, call.path,
                                           is_now ? vitro_clock_now(NULL) : ns_of(&times[1])));
}
