/* SPDX-License-Identifier: MIT */
/* Descriptors: the module's numbers, and what it does to what is open. */
#include "wasi_host.h"
#include "wasi_calls.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
    VECTORS_MAX = 1024,
    FDFLAG_APPEND = 1,
    FDFLAG_NONBLOCK = 4,
    RIGHT_SEEK = 4,
    RIGHT_TELL = 32
};
#define RIGHTS_ALL UINT64_C(0x1fffffff)

static struct wasi_fd *table;
static uint32_t table_size;

struct wasi_fd *wasi_fd_get(uint32_t fd)
{
    return fd < table_size && table[fd].host >= 0 ? &table[fd] : NULL;
}

uint32_t wasi_fd_add(int host, uint8_t type, const char *preopen, uint32_t *ret)
{
    /* Standard streams and directories given from outside come in order, the rest where there is
     * room. */
    uint32_t fd = table_size < 3 || preopen ? table_size : 0;

    while (fd < table_size && table[fd].host >= 0)
        fd++;
    if (fd == table_size) {
        struct wasi_fd *grown = realloc(table, (table_size + 1) * sizeof *table);
        if (!grown)
            return WASI_NOMEM;
        table = grown;
        table_size++;
    }
    table[fd] = (struct wasi_fd){.host = host, .type = type, .preopen = preopen};
    *ret = fd;
    return WASI_OK;
}

uint8_t wasi_type_of(unsigned mode)
{
    return S_ISREG(mode)    ? WASI_REGULAR
           : S_ISDIR(mode)  ? WASI_DIRECTORY
           : S_ISCHR(mode)  ? WASI_CHARACTER
           : S_ISLNK(mode)  ? WASI_SYMLINK
           : S_ISBLK(mode)  ? 1
           : S_ISSOCK(mode) ? WASI_STREAM
                            : 0;
}

uint32_t wasi_put_stat(uint32_t address, const struct stat *st)
{
    uint8_t *at = wasi_at(address, 64);
    const uint64_t words[8] = {
        st->st_dev,
        st->st_ino,
        wasi_type_of(st->st_mode),
        st->st_nlink,
        (uint64_t)st->st_size,
        (uint64_t)st->st_atim.tv_sec * 1000000000u + (uint64_t)st->st_atim.tv_nsec,
        (uint64_t)st->st_mtim.tv_sec * 1000000000u + (uint64_t)st->st_mtim.tv_nsec,
        (uint64_t)st->st_ctim.tv_sec * 1000000000u + (uint64_t)st->st_ctim.tv_nsec,
    };

    if (!at)
        return WASI_FAULT;
    memcpy(at, words, sizeof words);
    return WASI_OK;
}

/* ---- reading and writing */

/* The module's vectors as the host's; 0 or an errno. */
static uint32_t vectors(uint32_t address, uint32_t count, struct iovec *ret)
{
    if (count > VECTORS_MAX)
        return WASI_INVAL;
    const uint8_t *at = wasi_at(address, (uint64_t)count * 8);
    if (!at)
        return WASI_FAULT;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t base, length;
        memcpy(&base, at + (size_t)i * 8, sizeof base);
        memcpy(&length, at + (size_t)i * 8 + 4, sizeof length);
        ret[i] = (struct iovec){wasi_at(base, length), length};
        if (!ret[i].iov_base)
            return WASI_FAULT;
    }
    return WASI_OK;
}

typedef ssize_t transfer(int fd, const struct iovec *list, int count, off_t offset);

static ssize_t do_read(int fd, const struct iovec *list, int count, off_t offset)
{
    (void)offset;
    return readv(fd, list, count);
}
static ssize_t do_write(int fd, const struct iovec *list, int count, off_t offset)
{
    (void)offset;
    return writev(fd, list, count);
}

static uint32_t move(uint32_t fd, uint32_t list, uint32_t count, uint64_t offset, uint32_t ret,
                     transfer *call)
{
    struct wasi_fd *file = wasi_fd_get(fd);
    struct iovec host[VECTORS_MAX];

    if (!file)
        return WASI_BADF;
    if (file->type == WASI_DIRECTORY)
        return call == do_write || call == pwritev ? WASI_BADF : WASI_ISDIR;
    uint32_t r = vectors(list, count, host);
    if (r != WASI_OK)
        return r;
    if (offset > INT64_MAX)
        return WASI_INVAL;
    ssize_t done;
    do
        done = call(file->host, host, (int)count, (off_t)offset);
    while (done < 0 && errno == EINTR);
    if (done < 0)
        return wasi_last(-1);
    return wasi_put32(ret, (uint32_t)done) ? WASI_OK : WASI_FAULT;
}

uint32_t wasi_fd_read(uint32_t fd, uint32_t list, uint32_t count, uint32_t ret)
{
    return move(fd, list, count, 0, ret, do_read);
}

uint32_t wasi_fd_write(uint32_t fd, uint32_t list, uint32_t count, uint32_t ret)
{
    return move(fd, list, count, 0, ret, do_write);
}

uint32_t wasi_fd_pread(uint32_t fd, uint32_t list, uint32_t count, uint64_t offset, uint32_t ret)
{
    return move(fd, list, count, offset, ret, preadv);
}

uint32_t wasi_fd_pwrite(uint32_t fd, uint32_t list, uint32_t count, uint64_t offset, uint32_t ret)
{
    return move(fd, list, count, offset, ret, pwritev);
}

uint32_t wasi_fd_seek(uint32_t fd, uint64_t offset, uint32_t whence, uint32_t ret)
{
    static const int whences[] = {SEEK_SET, SEEK_CUR, SEEK_END};
    struct wasi_fd *file = wasi_fd_get(fd);

    if (!file || file->type == WASI_DIRECTORY)
        return WASI_BADF;
    if (whence > 2)
        return WASI_INVAL;
    off_t at = lseek(file->host, (off_t)offset, whences[whence]);
    if (at < 0)
        return wasi_last(-1);
    return wasi_put64(ret, (uint64_t)at) ? WASI_OK : WASI_FAULT;
}

uint32_t wasi_fd_tell(uint32_t fd, uint32_t ret)
{
    return wasi_fd_seek(fd, 0, 1, ret);
}

/* ---- what it is */

uint32_t wasi_fd_fdstat_get(uint32_t fd, uint32_t address)
{
    struct wasi_fd *file = wasi_fd_get(fd);
    uint8_t *at = wasi_at(address, 24);
    uint64_t rights = RIGHTS_ALL;
    uint16_t flags = 0;

    if (!file)
        return WASI_BADF;
    if (!at)
        return WASI_FAULT;
    if (file->type == WASI_CHARACTER) /* by this libc tells a terminal */
        rights &= ~(uint64_t)(RIGHT_SEEK | RIGHT_TELL);
    int host = fcntl(file->host, F_GETFL);
    flags |= host >= 0 && host & O_APPEND ? FDFLAG_APPEND : 0;
    flags |= host >= 0 && host & O_NONBLOCK ? FDFLAG_NONBLOCK : 0;
    memset(at, 0, 24);
    at[0] = file->type;
    memcpy(at + 2, &flags, sizeof flags);
    memcpy(at + 8, &rights, sizeof rights);
    memcpy(at + 16, &rights, sizeof rights);
    return WASI_OK;
}

uint32_t wasi_fd_fdstat_set_flags(uint32_t fd, uint32_t flags)
{
    struct wasi_fd *file = wasi_fd_get(fd);

    if (!file)
        return WASI_BADF;
    int host = (flags & FDFLAG_APPEND ? O_APPEND : 0) | (flags & FDFLAG_NONBLOCK ? O_NONBLOCK : 0);
    return wasi_last(fcntl(file->host, F_SETFL, host));
}

uint32_t wasi_fd_fdstat_set_rights(uint32_t fd, uint64_t base, uint64_t inheriting)
{
    (void)base, (void)inheriting;
    return wasi_fd_get(fd) ? WASI_OK : WASI_BADF;
}

uint32_t wasi_fd_filestat_get(uint32_t fd, uint32_t address)
{
    struct wasi_fd *file = wasi_fd_get(fd);
    struct stat st;

    if (!file)
        return WASI_BADF;
    return fstat(file->host, &st) < 0 ? wasi_last(-1) : wasi_put_stat(address, &st);
}

uint32_t wasi_fd_filestat_set_size(uint32_t fd, uint64_t size)
{
    struct wasi_fd *file = wasi_fd_get(fd);

    if (!file)
        return WASI_BADF;
    return size > INT64_MAX ? WASI_INVAL : wasi_last(ftruncate(file->host, (off_t)size));
}

bool wasi_times(uint64_t accessed, uint64_t modified, uint32_t flags, struct timespec ret[2])
{
    const uint64_t given[2] = {accessed, modified};

    for (int i = 0; i < 2; i++) {
        bool set = flags & 1u << (2 * i), now = flags & 2u << (2 * i);
        if (set && now)
            return false;
        ret[i] =
            (struct timespec){(time_t)(given[i] / 1000000000u), (long)(given[i] % 1000000000u)};
        if (!set)
            ret[i] = (struct timespec){0, now ? UTIME_NOW : UTIME_OMIT};
    }
    return true;
}

uint32_t wasi_fd_filestat_set_times(uint32_t fd, uint64_t accessed, uint64_t modified,
                                    uint32_t flags)
{
    struct wasi_fd *file = wasi_fd_get(fd);
    struct timespec times[2];

    if (!file)
        return WASI_BADF;
    return wasi_times(accessed, modified, flags, times) ? wasi_last(futimens(file->host, times))
                                                        : WASI_INVAL;
}

uint32_t wasi_fd_advise(uint32_t fd, uint64_t offset, uint64_t length, uint32_t advice)
{
    (void)offset, (void)length;
    if (!wasi_fd_get(fd))
        return WASI_BADF;
    return advice > 5 ? WASI_INVAL : WASI_OK;
}

uint32_t wasi_fd_allocate(uint32_t fd, uint64_t offset, uint64_t length)
{
    struct wasi_fd *file = wasi_fd_get(fd);

    if (!file)
        return WASI_BADF;
    if (offset > INT64_MAX || length > INT64_MAX)
        return WASI_INVAL;
    return wasi_errno_of(posix_fallocate(file->host, (off_t)offset, (off_t)length));
}

uint32_t wasi_fd_sync(uint32_t fd)
{
    struct wasi_fd *file = wasi_fd_get(fd);

    return file ? wasi_last(fsync(file->host)) : WASI_BADF;
}

uint32_t wasi_fd_datasync(uint32_t fd)
{
    struct wasi_fd *file = wasi_fd_get(fd);

    return file ? wasi_last(fdatasync(file->host)) : WASI_BADF;
}

/* ---- opening and closing */

uint32_t wasi_fd_close(uint32_t fd)
{
    struct wasi_fd *file = wasi_fd_get(fd);

    if (!file)
        return WASI_BADF;
    int r = close(file->host);
    *file = (struct wasi_fd){.host = -1};
    return wasi_last(r);
}

uint32_t wasi_fd_renumber(uint32_t from, uint32_t to)
{
    struct wasi_fd *a = wasi_fd_get(from), *b = wasi_fd_get(to);

    if (!a || !b)
        return WASI_BADF;
    if (from == to)
        return WASI_OK;
    (void)close(b->host);
    *b = *a;
    *a = (struct wasi_fd){.host = -1};
    return WASI_OK;
}

uint32_t wasi_fd_prestat_get(uint32_t fd, uint32_t address)
{
    struct wasi_fd *file = wasi_fd_get(fd);

    if (!file || !file->preopen)
        return WASI_BADF;
    return wasi_put32(address, 0) && wasi_put32(address + 4, (uint32_t)strlen(file->preopen))
               ? WASI_OK
               : WASI_FAULT;
}

uint32_t wasi_fd_prestat_dir_name(uint32_t fd, uint32_t address, uint32_t size)
{
    struct wasi_fd *file = wasi_fd_get(fd);

    if (!file || !file->preopen)
        return WASI_BADF;
    size_t length = strlen(file->preopen);
    char *at = wasi_at(address, size);
    if (!at)
        return WASI_FAULT;
    if (size < length)
        return WASI_NAMETOOLONG;
    memcpy(at, file->preopen, length);
    return WASI_OK;
}

/* ---- listing */

static uint8_t type_of_entry(unsigned char type)
{
    return type == DT_REG    ? WASI_REGULAR
           : type == DT_DIR  ? WASI_DIRECTORY
           : type == DT_LNK  ? WASI_SYMLINK
           : type == DT_CHR  ? WASI_CHARACTER
           : type == DT_SOCK ? WASI_STREAM
                             : 0;
}

/* The cookie is the number of the next entry: the host's own may not survive a close. */
uint32_t wasi_fd_readdir(uint32_t fd, uint32_t address, uint32_t size, uint64_t cookie,
                         uint32_t ret)
{
    struct wasi_fd *file = wasi_fd_get(fd);
    uint8_t *out = wasi_at(address, size);
    uint32_t used = 0;
    uint64_t number = 0;

    if (!file)
        return WASI_BADF;
    if (!out)
        return WASI_FAULT;
    int again = openat(file->host, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *directory = again < 0 ? NULL : fdopendir(again);
    if (!directory) {
        uint32_t r = wasi_last(-1);
        if (again >= 0)
            (void)close(again);
        return r;
    }
    for (struct dirent *entry; used < size && (entry = readdir(directory));) {
        uint8_t bytes[24 + 256] = {0};
        uint32_t length = (uint32_t)strlen(entry->d_name);
        uint64_t next = ++number, inode = entry->d_ino;
        if (number <= cookie)
            continue;
        memcpy(bytes, &next, 8);
        memcpy(bytes + 8, &inode, 8);
        memcpy(bytes + 16, &length, 4);
        bytes[20] = type_of_entry(entry->d_type);
        memcpy(bytes + 24, entry->d_name, length);
        uint32_t fits = size - used < 24 + length ? size - used : 24 + length;
        memcpy(out + used, bytes, fits); /* cut at the end: the module asks again with more room */
        used += fits;
    }
    (void)closedir(directory);
    return wasi_put32(ret, used) ? WASI_OK : WASI_FAULT;
}

/* ---- sockets that came from outside */

uint32_t wasi_sock_accept(uint32_t fd, uint32_t flags, uint32_t ret)
{
    (void)fd, (void)flags, (void)ret;
    return WASI_NOTSUP;
}

uint32_t wasi_sock_recv(uint32_t fd, uint32_t list, uint32_t count, uint32_t flags, uint32_t ret,
                        uint32_t ret_flags)
{
    if (flags)
        return WASI_NOTSUP;
    uint32_t r = wasi_fd_read(fd, list, count, ret);
    return r == WASI_OK && !wasi_put32(ret_flags, 0) ? WASI_FAULT : r;
}

uint32_t wasi_sock_send(uint32_t fd, uint32_t list, uint32_t count, uint32_t flags, uint32_t ret)
{
    return flags ? WASI_NOTSUP : wasi_fd_write(fd, list, count, ret);
}

uint32_t wasi_sock_shutdown(uint32_t fd, uint32_t how)
{
    (void)how;
    return wasi_fd_get(fd) ? WASI_NOTSOCK : WASI_BADF;
}
