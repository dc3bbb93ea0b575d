/* SPDX-License-Identifier: MIT */
#include "base/fd.h"
#include "base/text.h"
#include "tape/archive.h"
#include "tape/archive_tar.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

enum { CHUNK_BYTES = 128 * 1024, ENTRIES_MAX = 1 << 20 };

struct import {
    int fd;
    const char *archive, *directory; /* borrowed; the directory being filled */
    ZSTD_DCtx *context;
    char *in; /* owned, CHUNK_BYTES */
    ZSTD_inBuffer pending;
    uint64_t size_max;
    struct archive_result result;
    struct err *err;
};

static int problem(struct import *import, const char *what)
{
    return err_set(import->err, -EBADMSG, "import '%s': %s", import->archive, what);
}

/* Unpacks exactly `length` bytes. */
static int unpack(struct import *import, void *bytes, size_t length)
{
    ZSTD_outBuffer out = {bytes, length, 0};

    while (out.pos < out.size) {
        if (import->pending.pos == import->pending.size) {
            ssize_t count = read(import->fd, import->in, CHUNK_BYTES);
            if (count < 0 && errno == EINTR)
                continue;
            if (count < 0)
                return err_set(import->err, -errno, "read '%s': %m", import->archive);
            import->pending = (ZSTD_inBuffer){import->in, (size_t)count, 0};
        }
        size_t before = out.pos;
        size_t r = ZSTD_decompressStream(import->context, &out, &import->pending);
        if (ZSTD_isError(r))
            return problem(import, ZSTD_getErrorName(r));
        if (!import->pending.size && out.pos == before)
            return problem(import, "it is cut short");
    }
    return 0;
}

/* Below the destination, and nothing hidden: "a/b", no empty, "." or ".." part, no leading point.
 */
static bool name_is_fine(const char *name)
{
    if (!*name || *name == '/' || !text_is_utf8(name, strlen(name)))
        return false;
    for (const char *part = name; *part;) {
        size_t length = strcspn(part, "/");
        if (!length || *part == '.')
            return false;
        part += length;
        part += *part == '/';
    }
    return true;
}

static int write_file(struct import *import, const char *path, uint64_t size)
{
    CLEANUP(fd_close)
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    CLEANUP(mem_free) char *chunk = mem_alloc(CHUNK_BYTES);

    if (fd < 0)
        return err_set(import->err, -errno, "create '%s': %m", path);
    for (uint64_t left = size; left;) {
        size_t part = left < CHUNK_BYTES ? left : CHUNK_BYTES;
        int r = unpack(import, chunk, part);
        if (r < 0)
            return r;
        r = fd_write_full(fd, chunk, part);
        if (r < 0)
            return err_set(import->err, r, "write '%s': %s", path, strerror(-r));
        left -= part;
    }
    return unpack(import, chunk, (TAR_BLOCK - size % TAR_BLOCK) % TAR_BLOCK);
}

static int take_entry(struct import *import, const struct tar_entry *entry)
{
    CLEANUP(mem_free) char *path = mem_format("%s/%s", import->directory, entry->name);

    if (!name_is_fine(entry->name))
        return err_set(import->err, -EBADMSG, "import '%s': the name '%s' leads elsewhere",
                       import->archive, entry->name);
    if (import->result.files++ > ENTRIES_MAX || entry->size > import->size_max ||
        import->result.bytes + entry->size > import->size_max) {
        err_set(import->err, -EFBIG, "import '%s': more than %llu bytes", import->archive,
                (unsigned long long)import->size_max);
        return err_hint(import->err, "--size-limit BYTES raises the limit");
    }
    import->result.bytes += entry->size;
    if (!entry->is_directory)
        return write_file(import, path, entry->size);
    import->result.files--;
    if (entry->size)
        return problem(import, "a directory has a size");
    return mkdir(path, 0777) < 0 ? err_set(import->err, -errno, "create '%s': %m", path) : 0;
}

static int take_all(struct import *import)
{
    unsigned char block[TAR_BLOCK];
    struct tar_entry entry;
    const char *what;

    for (;;) {
        int r = unpack(import, block, sizeof block);
        if (r < 0)
            return r;
        r = tar_header_read(block, &entry, &what);
        if (r < 0)
            return problem(import, what);
        if (r == 0)
            return 0;
        r = take_entry(import, &entry);
        if (r < 0)
            return r;
    }
}

int archive_import(const char *archive, const char *directory, uint64_t size_max,
                   struct archive_result *ret, struct err *err)
{
    CLEANUP(mem_free) char *temp = mem_format("%s.%ld.tmp", directory, (long)getpid());
    CLEANUP(mem_free) char *manifest = mem_format("%s/manifest.json", temp);
    struct import import = {.archive = archive, .directory = temp, .err = err};

    import.size_max = size_max ? size_max : UINT64_C(16) << 30;
    import.fd = open(archive, O_RDONLY | O_CLOEXEC);
    if (import.fd < 0)
        return err_set(err, -errno, "import '%s': %m", archive);
    import.in = mem_alloc(CHUNK_BYTES);
    import.context = ZSTD_createDCtx();
    int r = mkdir(temp, 0777) < 0 ? err_set(err, -errno, "create '%s': %m", temp) : 0;
    if (r == 0)
        r = take_all(&import);
    if (r == 0 && !file_exists(manifest))
        r = problem(&import, "there is no bundle in it");
    if (r == 0 && rename(temp, directory) < 0) /* works over an empty directory, too */
        r = err_set(err, -errno, "import to '%s': %m", directory);
    if (r < 0)
        (void)dir_remove_all(temp, NULL);
    ZSTD_freeDCtx(import.context);
    free(import.in);
    fd_close(import.fd);
    if (r == 0)
        *ret = import.result;
    return r;
}
