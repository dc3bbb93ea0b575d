/* SPDX-License-Identifier: MIT */
#include "base/fd.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

int fd_close(int fd)
{
    int saved = errno;

    if (fd >= 0)
        (void)close(fd);
    errno = saved;
    return -1;
}

int fd_raise(int fd, int lowest)
{
    if (fd < 0 || fd >= lowest)
        return fd;
    int raised = fcntl(fd, F_DUPFD_CLOEXEC, lowest);
    fd_close(fd);
    return raised;
}

int fd_open_in(int directory, const char *path, uint64_t flags, uint64_t resolve)
{
    enum { TRIES = 10000 };
    struct open_how how = {.flags = flags | O_CLOEXEC, .resolve = resolve};
    int fd = -1;

    for (int i = 0; i < TRIES && fd < 0 && (i == 0 || errno == EAGAIN || errno == EINTR); i++)
        fd = (int)syscall(SYS_openat2, directory, path, &how, sizeof how);
    return fd;
}

int fd_write_full(int fd, const void *bytes, size_t length)
{
    const char *next = bytes;

    while (length) {
        ssize_t written = write(fd, next, length);
        if (written < 0) {
            if (errno == EINTR)
                continue;
            return -errno;
        }
        next += written;
        length -= (size_t)written;
    }
    return 0;
}

int fd_read_full(int fd, void *bytes, size_t length)
{
    char *next = bytes;

    while (length) {
        ssize_t count = read(fd, next, length);
        if (count < 0) {
            if (errno == EINTR)
                continue;
            return -errno;
        }
        if (count == 0)
            return -ENODATA;
        next += count;
        length -= (size_t)count;
    }
    return 0;
}

int fd_read_all(int fd, struct buf *buf, size_t limit)
{
    size_t start = buf->length;

    for (;;) {
        buf_reserve(buf, 16 * 1024);
        size_t room = buf->capacity - buf->length - 1;
        ssize_t count = read(fd, buf->data + buf->length, room);
        if (count < 0) {
            if (errno == EINTR)
                continue;
            return -errno;
        }
        buf->length += (size_t)count;
        buf->data[buf->length] = '\0';
        if (buf->length - start > limit)
            return -EFBIG;
        if (count == 0)
            return 0;
    }
}

int file_read(const char *path, size_t limit, struct buf *ret, struct err *err)
{
    CLEANUP(fd_close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

    if (fd < 0)
        return err_set(err, -errno, "open '%s': %m", path);
    int r = fd_read_all(fd, ret, limit);
    if (r == -EFBIG)
        return err_set(err, r, "read '%s': larger than %zu bytes", path, limit);
    if (r < 0)
        return err_set(err, r, "read '%s': %s", path, strerror(-r));
    return 0;
}

int file_write(const char *path, const void *bytes, size_t length, struct err *err)
{
    CLEANUP(mem_free) char *temp = mem_format("%s.%ld.tmp", path, (long)getpid());
    CLEANUP(fd_close) int fd = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);

    if (fd < 0)
        return err_set(err, -errno, "create '%s': %m", temp);
    int r = fd_write_full(fd, bytes, length);
    if (r == 0 && fsync(fd) < 0)
        r = -errno;
    if (r == 0 && rename(temp, path) < 0)
        r = -errno;
    if (r < 0) {
        (void)unlink(temp);
        return err_set(err, r, "write '%s': %s", path, strerror(-r));
    }
    return 0;
}

bool file_exists(const char *path)
{
    return access(path, F_OK) == 0;
}

int dir_make_all(const char *path, struct err *err)
{
    CLEANUP(mem_free) char *copy = mem_dup(path);

    for (char *slash = copy + (*copy == '/');; slash++) {
        slash = strchrnul(slash, '/');
        char kept = *slash;
        *slash = '\0';
        if (*copy && mkdir(copy, 0777) < 0 && errno != EEXIST)
            return err_set(err, -errno, "create directory '%s': %m", copy);
        *slash = kept;
        if (!kept)
            break;
    }
    struct stat st;
    if (stat(path, &st) < 0)
        return err_set(err, -errno, "create directory '%s': %m", path);
    if (!S_ISDIR(st.st_mode))
        return err_set(err, -ENOTDIR, "create directory '%s': a file is in its place", path);
    return 0;
}

/* Directories that were made read-only are opened again: we remove them anyway. */
static int open_to_empty(int dirfd, const char *name)
{
    const int how = O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    int fd = openat(dirfd, name, O_RDONLY | how);

    if (fd < 0 && errno == EACCES) {
        CLEANUP(fd_close) int place = openat(dirfd, name, O_PATH | how);
        char itself[32];
        (void)snprintf(itself, sizeof itself, "/proc/self/fd/%d", place);
        if (place >= 0 && chmod(itself, 0700) == 0)
            fd = openat(dirfd, name, O_RDONLY | how);
    }
    return fd < 0 ? -errno : fd;
}

static int remove_at(int dirfd, const char *name, bool directory)
{
    if (!directory && (unlinkat(dirfd, name, 0) == 0 || errno == ENOENT))
        return 0;
    if (!directory && errno != EISDIR && errno != EPERM)
        return -errno;
    if (unlinkat(dirfd, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
        return 0;
    if (errno != ENOTEMPTY && errno != EEXIST)
        return -errno;

    int fd = open_to_empty(dirfd, name);
    if (fd < 0)
        return fd;
    DIR *dir = fdopendir(fd);
    if (!dir) {
        int r = -errno;
        fd_close(fd);
        return r;
    }
    int r = 0;
    for (struct dirent *entry; r == 0 && (entry = readdir(dir));) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        r = remove_at(fd, entry->d_name, entry->d_type == DT_DIR);
        if (r == -EACCES && fchmod(fd, 0700) == 0)
            r = remove_at(fd, entry->d_name, entry->d_type == DT_DIR);
    }
    (void)closedir(dir);
    if (r == 0 && unlinkat(dirfd, name, AT_REMOVEDIR) < 0 && errno != ENOENT)
        r = -errno;
    return r;
}

int dir_remove_all(const char *path, struct err *err)
{
    int r = remove_at(AT_FDCWD, path, false);

    if (r < 0)
        return err_set(err, r, "remove '%s': %s", path, strerror(-r));
    return 0;
}
