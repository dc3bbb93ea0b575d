/* SPDX-License-Identifier: MIT */
#include "base/scratch.h"
#include "base/fd.h"
#include "base/text.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

char *scratch_base(void)
{
    const char *tmp = getenv("TMPDIR");

    return mem_format("%s/vitro-%u", tmp && *tmp == '/' ? tmp : "/tmp", (unsigned)geteuid());
}

/* 1: it is gone again, the last one that used it took it away. */
static int guard(const char *base, struct err *err)
{
    struct stat st;

    if (mkdir(base, 0700) < 0 && errno != EEXIST)
        return err_set(err, -errno, "make '%s' for temporary directories: %m", base);
    if (lstat(base, &st) < 0)
        return errno == ENOENT ? 1 : err_set(err, -errno, "look at '%s': %m", base);
    if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 022)) {
        err_set(err, -EPERM, "'%s' is not a directory that only you can write to", base);
        return err_hint(err, "remove it, or set TMPDIR");
    }
    return 0;
}

/* Waits for the lock of what `path` names. 1: it is another thing meanwhile, or none. */
static int lock_named(int fd, const char *path, int how, struct err *err)
{
    struct stat held, named;
    int r;

    do
        r = flock(fd, how);
    while (r < 0 && errno == EINTR);
    if (r < 0 || fstat(fd, &held) < 0)
        return err_set(err, -errno, "lock '%s': %m", path);
    return stat(path, &named) == 0 && named.st_ino == held.st_ino && named.st_dev == held.st_dev
               ? 0
               : 1;
}

int scratch_hold(const char *base, int *ret_fd, struct err *err)
{
    for (;;) {
        CLEANUP(fd_close) int fd = -1;
        int r = guard(base, err);

        if (r == 0) {
            fd = open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
            if (fd < 0 && errno != ENOENT)
                return err_set(err, -errno, "open '%s': %m", base);
            r = fd < 0 ? 1 : lock_named(fd, base, LOCK_EX, err);
        }
        if (r < 0)
            return r;
        if (r == 0) {
            *ret_fd = take_fd(&fd);
            return 0;
        }
    }
}

int scratch_release(int fd)
{
    if (fd >= 0) /* a copy in a child would go on holding it */
        (void)flock(fd, LOCK_UN);
    return fd_close(fd);
}

int scratch_lock(const char *path, bool wait, int *ret_fd, struct err *err)
{
    for (;;) { /* a lock that was unlinked by the one who had it before is none: look again */
        CLEANUP(fd_close) int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

        if (fd < 0)
            return err_set(err, -errno, "open lock '%s': %m", path);
        int r = lock_named(fd, path, LOCK_EX | (wait ? 0 : LOCK_NB), err);
        if (r == -EWOULDBLOCK)
            return 1;
        if (r < 0)
            return r;
        if (r == 0) {
            *ret_fd = take_fd(&fd);
            return 0;
        }
    }
}

/* One lock and what stands beside it. 1 if that was nobody's. */
static int sweep_one(const char *lock, scratch_clear *clear, struct buf *ret, struct err *err)
{
    CLEANUP(mem_free) char *path = mem_dupn(lock, strlen(lock) - strlen(".lock"));
    CLEANUP(fd_close) int fd = -1;
    struct stat st;

    int r = scratch_lock(lock, false, &fd, err);
    if (r != 0)
        return r < 0 ? r : 0;
    if (lstat(path, &st) < 0) { /* its owner died halfway */
        (void)unlink(lock);
        return 0;
    }
    if (ret)
        buf_addf(ret, "%s\n", path);
    if (clear && (r = clear(path, err)) == 0)
        (void)unlink(lock);
    return r < 0 ? r : 1;
}

int scratch_sweep(const char *base, bool hidden, scratch_clear *clear, struct buf *ret,
                  struct err *err)
{
    int count = 0, r = 0;
    struct dirent *entry;
    DIR *dir = opendir(base);

    if (!dir)
        return errno == ENOENT ? 0 : err_set(err, -errno, "read '%s': %m", base);
    while (r >= 0 && (entry = readdir(dir))) {
        if (!text_ends(entry->d_name, ".lock") || (hidden && entry->d_name[0] != '.'))
            continue;
        CLEANUP(mem_free) char *lock = mem_format("%s/%s", base, entry->d_name);
        r = sweep_one(lock, clear, ret, err);
        count += r > 0;
    }
    (void)closedir(dir);
    return r < 0 ? r : count;
}

/* A name that is free: the lock comes first, so there is never a directory without one. */
static int take_name(const char *base, const char *name, struct scratch *ret, struct err *err)
{
    CLEANUP(mem_free) char *lock = mem_format("%s/.%s-XXXXXX.lock", base, name);
    CLEANUP(fd_close) int fd = mkostemps(lock, (int)strlen(".lock"), O_CLOEXEC);

    if (fd < 0 || flock(fd, LOCK_EX) < 0)
        return err_set(err, -errno, "make '%s': %m", lock);
    char *path = mem_dupn(lock, strlen(lock) - strlen(".lock"));
    if (mkdir(path, 0700) < 0) {
        int r = err_set(err, -errno, "make '%s': %m", path);
        (void)unlink(lock);
        free(path);
        return r;
    }
    *ret = (struct scratch){.path = path, .lock_fd = take_fd(&fd)};
    return 0;
}

int scratch_make(const char *base, const char *name, struct scratch *ret, struct err *err)
{
    CLEANUP(mem_free) char *known = base ? mem_dup(base) : scratch_base();
    CLEANUP(scratch_release) int held = -1;
    int r = scratch_hold(known, &held, err);

    if (r < 0)
        return r;
    (void)scratch_sweep(known, true, dir_remove_all, NULL, NULL); /* the next one tries again */
    return take_name(known, name, ret, err);
}

void scratch_remove(struct scratch *scratch)
{
    CLEANUP(mem_free) char *path = scratch->path;
    CLEANUP(scratch_release) int held = -1;

    if (!path)
        return;
    CLEANUP(mem_free) char *base = mem_dupn(path, (size_t)(strrchr(path, '/') - path));
    CLEANUP(mem_free) char *lock = mem_format("%s.lock", path);
    if (dir_remove_all(path, NULL) == 0 && scratch_hold(base, &held, NULL) == 0) {
        (void)unlink(lock);
        (void)rmdir(base); /* where it was the last */
    }
    fd_close(scratch->lock_fd);
    *scratch = (struct scratch){0};
}
