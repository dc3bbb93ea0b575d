/* SPDX-License-Identifier: MIT */
/* Paths: always below a directory the module was given. openat2 with RESOLVE_BENEATH sees to it,
 * for the directory that holds the last name; the last name itself is never "..". */
#include "wasi_host.h"
#include "wasi_calls.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PATH_SIZE = 4096 };

static int open_beneath(int directory, const char *path, uint64_t flags, uint64_t mode)
{
    struct open_how how = {.flags = flags | O_CLOEXEC, .mode = mode, .resolve = RESOLVE_BENEATH};
    int fd;

    do /* the kernel gives up when somebody renames something meanwhile, wherever that is */
        fd = (int)syscall(SYS_openat2, directory, path, &how, sizeof how);
    while (fd < 0 && errno == EAGAIN);
    return fd;
}

/* A name in a directory that is open. */
struct place {
    int directory; /* owned */
    char name[PATH_SIZE];
};

static void place_done(struct place *place)
{
    if (place->directory >= 0)
        (void)close(place->directory);
}

static uint32_t path_get(uint32_t fd, uint32_t address, uint32_t length, int *ret_directory,
                         char path[PATH_SIZE])
{
    struct wasi_fd *file = wasi_fd_get(fd);
    const char *at = wasi_at(address, length);

    if (!file)
        return WASI_BADF;
    if (file->type != WASI_DIRECTORY)
        return WASI_NOTDIR;
    if (!at)
        return WASI_FAULT;
    if (length >= PATH_SIZE)
        return WASI_NAMETOOLONG;
    if (memchr(at, '\0', length))
        return WASI_ILSEQ;
    memcpy(path, at, length);
    path[length] = '\0';
    *ret_directory = file->host;
    if (!length)
        return WASI_NOENT;
    return path[0] == '/' ? WASI_NOTCAPABLE : WASI_OK;
}

/* Splits "a/b/c" into an open "a/b" and "c"; a "c/" keeps its slash, which the kernel minds. */
static uint32_t place_open(uint32_t fd, uint32_t address, uint32_t length, struct place *ret)
{
    char path[PATH_SIZE];
    int directory = -1;
    uint32_t r = path_get(fd, address, length, &directory, path);

    ret->directory = -1;
    if (r != WASI_OK)
        return r;
    size_t end = strlen(path);
    while (end > 1 && path[end - 1] == '/')
        end--;
    size_t start = end;
    while (start > 0 && path[start - 1] != '/')
        start--;
    (void)snprintf(ret->name, sizeof ret->name, "%s", path + start);
    size_t name = end - start;
    bool up = name == 2 && memcmp(path + start, "..", 2) == 0;
    path[start] = '\0';
    if (up) { /* the directory itself, if it is still inside */
        (void)snprintf(ret->name, sizeof ret->name, ".");
        (void)snprintf(path + start, sizeof path - start, "..");
    }
    ret->directory = open_beneath(directory, *path ? path : ".", O_PATH | O_DIRECTORY, 0);
    return ret->directory < 0 ? wasi_last(-1) : WASI_OK;
}

#define PLACE(name, fd, path, length)                                                              \
    __attribute__((cleanup(place_done))) struct place name = {.directory = -1};                    \
    {                                                                                              \
        uint32_t r_ = place_open(fd, path, length, &(name));                                       \
        if (r_ != WASI_OK)                                                                         \
            return r_;                                                                             \
    }

uint32_t wasi_path_create_directory(uint32_t fd, uint32_t path, uint32_t length)
{
    PLACE(place, fd, path, length);
    return wasi_last(mkdirat(place.directory, place.name, 0777));
}

uint32_t wasi_path_remove_directory(uint32_t fd, uint32_t path, uint32_t length)
{
    PLACE(place, fd, path, length);
    return wasi_last(unlinkat(place.directory, place.name, AT_REMOVEDIR));
}

uint32_t wasi_path_unlink_file(uint32_t fd, uint32_t path, uint32_t length)
{
    PLACE(place, fd, path, length);
    return wasi_last(unlinkat(place.directory, place.name, 0));
}

/* What the path means, links followed or not, opened without rights to it. */
static int open_node(uint32_t fd, uint32_t flags, uint32_t path, uint32_t length, uint32_t *ret)
{
    char text[PATH_SIZE];
    int directory = -1;

    *ret = path_get(fd, path, length, &directory, text);
    if (*ret != WASI_OK)
        return -1;
    int node = open_beneath(directory, text, O_PATH | (flags & 1 ? 0 : O_NOFOLLOW), 0);
    *ret = wasi_last(node);
    return node;
}

uint32_t wasi_path_filestat_get(uint32_t fd, uint32_t flags, uint32_t path, uint32_t length,
                                uint32_t address)
{
    uint32_t r;
    struct stat st;
    int node = open_node(fd, flags, path, length, &r);

    if (node < 0)
        return r;
    r = fstat(node, &st) < 0 ? wasi_last(-1) : wasi_put_stat(address, &st);
    (void)close(node);
    return r;
}

uint32_t wasi_path_filestat_set_times(uint32_t fd, uint32_t follow, uint32_t path, uint32_t length,
                                      uint64_t accessed, uint64_t modified, uint32_t flags)
{
    struct timespec times[2];
    uint32_t r;

    if (!wasi_times(accessed, modified, flags, times))
        return WASI_INVAL;
    int node = open_node(fd, follow, path, length, &r);
    if (node < 0)
        return r;
    char link[48];
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", node);
    r = wasi_last(utimensat(node, "", times, AT_EMPTY_PATH));
    if (r != WASI_OK) /* older kernels want a path */
        r = wasi_last(utimensat(AT_FDCWD, link, times, 0));
    (void)close(node);
    return r;
}

uint32_t wasi_path_link(uint32_t from_fd, uint32_t follow, uint32_t from, uint32_t from_length,
                        uint32_t to_fd, uint32_t to, uint32_t to_length)
{
    if (follow & 1)
        return WASI_INVAL;
    PLACE(old, from_fd, from, from_length);
    PLACE(new, to_fd, to, to_length);
    return wasi_last(linkat(old.directory, old.name, new.directory, new.name, 0));
}

uint32_t wasi_path_rename(uint32_t from_fd, uint32_t from, uint32_t from_length, uint32_t to_fd,
                          uint32_t to, uint32_t to_length)
{
    PLACE(old, from_fd, from, from_length);
    PLACE(new, to_fd, to, to_length);
    return wasi_last(renameat(old.directory, old.name, new.directory, new.name));
}

uint32_t wasi_path_symlink(uint32_t target, uint32_t target_length, uint32_t fd, uint32_t path,
                           uint32_t length)
{
    char text[PATH_SIZE];
    const char *at = wasi_at(target, target_length);

    if (!at)
        return WASI_FAULT;
    if (target_length >= PATH_SIZE)
        return WASI_NAMETOOLONG;
    memcpy(text, at, target_length);
    text[target_length] = '\0';
    if (text[0] == '/')
        return WASI_NOTCAPABLE;
    PLACE(place, fd, path, length);
    return wasi_last(symlinkat(text, place.directory, place.name));
}

uint32_t wasi_path_readlink(uint32_t fd, uint32_t path, uint32_t length, uint32_t address,
                            uint32_t size, uint32_t ret)
{
    char *out = wasi_at(address, size);

    if (!out)
        return WASI_FAULT;
    PLACE(place, fd, path, length);
    ssize_t count = readlinkat(place.directory, place.name, out, size);
    if (count < 0)
        return wasi_last(-1);
    return wasi_put32(ret, (uint32_t)count) ? WASI_OK : WASI_FAULT;
}

/* ---- open */

enum { OPEN_CREAT = 1, OPEN_DIRECTORY = 2, OPEN_EXCL = 4, OPEN_TRUNC = 8 };
enum { FLAG_APPEND = 1, FLAG_DSYNC = 2, FLAG_NONBLOCK = 4, FLAG_RSYNC = 8, FLAG_SYNC = 16 };
/* Rights by which a module says what it will do: fd_read, fd_readdir; fd_write, fd_allocate,
 * fd_filestat_set_size. */
#define RIGHTS_READ  (UINT64_C(1) << 1 | UINT64_C(1) << 14)
#define RIGHTS_WRITE (UINT64_C(1) << 6 | UINT64_C(1) << 8 | UINT64_C(1) << 22)

static uint64_t open_flags(uint32_t follow, uint32_t flags, uint64_t rights, uint32_t fd_flags)
{
    bool reads = rights & RIGHTS_READ, writes = rights & RIGHTS_WRITE;
    uint64_t host = writes ? (reads ? O_RDWR : O_WRONLY) : O_RDONLY;

    host |= follow & 1 ? 0 : O_NOFOLLOW;
    host |= flags & OPEN_CREAT ? O_CREAT : 0;
    host |= flags & OPEN_DIRECTORY ? O_DIRECTORY : 0;
    host |= flags & OPEN_EXCL ? O_EXCL : 0;
    host |= flags & OPEN_TRUNC ? O_TRUNC : 0;
    host |= fd_flags & FLAG_APPEND ? O_APPEND : 0;
    host |= fd_flags & FLAG_NONBLOCK ? O_NONBLOCK : 0;
    host |= fd_flags & FLAG_DSYNC ? O_DSYNC : 0;
    host |= fd_flags & (FLAG_SYNC | FLAG_RSYNC) ? O_SYNC : 0;
    return host;
}

uint32_t wasi_path_open(uint32_t fd, uint32_t follow, uint32_t path, uint32_t length,
                        uint32_t flags, uint64_t rights, uint64_t inheriting, uint32_t fd_flags,
                        uint32_t ret)
{
    char text[PATH_SIZE];
    struct stat st;
    int directory = -1;
    uint32_t number = 0;

    (void)inheriting;
    uint32_t r = path_get(fd, path, length, &directory, text);
    if (r != WASI_OK)
        return r;
    uint64_t host = open_flags(follow, flags, rights, fd_flags);
    int file = open_beneath(directory, text, host, host & O_CREAT ? 0666 : 0);
    if (file < 0 && errno == EISDIR && !(flags & (OPEN_CREAT | OPEN_TRUNC))) /* to list it */
        file = open_beneath(directory, text, (host & ~(uint64_t)O_ACCMODE) | O_RDONLY, 0);
    if (file < 0)
        return wasi_last(-1);
    if (fstat(file, &st) < 0 ||
        (r = wasi_fd_add(file, wasi_type_of(st.st_mode), NULL, &number)) != WASI_OK) {
        (void)close(file);
        return r != WASI_OK ? r : WASI_IO;
    }
    return wasi_put32(ret, number) ? WASI_OK : WASI_FAULT;
}
