/* SPDX-License-Identifier: MIT */
#include "base/fd.h"
#include "base/json.h"
#include "base/text.h"
#include "tape/archive.h"
#include "tape/archive_tar.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

enum { COMPRESS_LEVEL = 9, CHUNK_BYTES = 128 * 1024 };

struct export
{
    int fd;
    const char *archive; /* borrowed, for messages */
    ZSTD_CCtx *context;
    char *out; /* owned, CHUNK_BYTES */
    struct archive_result result;
    struct err *err;
};

static int compress(struct export *export, const void *bytes, size_t length, ZSTD_EndDirective end)
{
    ZSTD_inBuffer in = {bytes, length, 0};
    size_t left;

    do {
        ZSTD_outBuffer out = {export->out, CHUNK_BYTES, 0};
        left = ZSTD_compressStream2(export->context, &out, &in, end);
        if (ZSTD_isError(left))
            return err_set(export->err, -EIO, "write '%s': %s", export->archive,
                           ZSTD_getErrorName(left));
        int r = fd_write_full(export->fd, export->out, out.pos);
        if (r < 0)
            return err_set(export->err, r, "write '%s': %s", export->archive, strerror(-r));
    } while (end == ZSTD_e_end ? left != 0 : in.pos < in.size);
    return 0;
}

static int add_header(struct export *export, const char *name, uint64_t size, bool is_directory)
{
    struct tar_entry entry = {.size = size, .is_directory = is_directory};
    unsigned char block[TAR_BLOCK];

    if (strlen(name) > TAR_NAME_MAX)
        return err_set(export->err, -ENAMETOOLONG, "export '%s': the name is too long for tar",
                       name);
    (void)snprintf(entry.name, sizeof entry.name, "%s", name);
    if (!tar_header_write(&entry, block))
        return err_set(export->err, -EFBIG, "export '%s': files of 8 GiB and more have no room",
                       name);
    export->result.files += !is_directory;
    export->result.bytes += size;
    return compress(export, block, sizeof block, ZSTD_e_continue);
}

static int add_padding(struct export *export, uint64_t size)
{
    static const char zeros[TAR_BLOCK];

    return compress(export, zeros, (TAR_BLOCK - size % TAR_BLOCK) % TAR_BLOCK, ZSTD_e_continue);
}

static int add_bytes(struct export *export, const char *name, const char *bytes, size_t length)
{
    int r = add_header(export, name, length, false);

    if (r == 0)
        r = compress(export, bytes, length, ZSTD_e_continue);
    return r == 0 ? add_padding(export, length) : r;
}

static int add_file(struct export *export, const char *path, const char *name)
{
    CLEANUP(fd_close) int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    CLEANUP(mem_free) char *chunk = mem_alloc(CHUNK_BYTES);
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0)
        return err_set(export->err, -errno, "export '%s': %m", path);
    if (!S_ISREG(st.st_mode))
        return err_set(export->err, -EINVAL, "export '%s': not a plain file", path);
    int r = add_header(export, name, (uint64_t)st.st_size, false);
    for (uint64_t left = (uint64_t)st.st_size; r == 0 && left;) {
        size_t part = left < CHUNK_BYTES ? left : CHUNK_BYTES;
        r = fd_read_full(fd, chunk, part);
        if (r < 0)
            return err_set(export->err, r, "export '%s': %s", path,
                           r == -ENODATA ? "it became shorter meanwhile" : strerror(-r));
        r = compress(export, chunk, part, ZSTD_e_continue);
        left -= part;
    }
    return r == 0 ? add_padding(export, (uint64_t)st.st_size) : r;
}

static int visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

/* Adds all below a directory, sorted by name. `name` is "" for the top. */
static int add_directory(struct export *export, const char *path, const char *name, int depth)
{
    struct dirent **entries = NULL;
    int count = scandir(path, &entries, visible, by_bytes), r = 0;

    if (count < 0)
        return err_set(export->err, -errno, "export '%s': %m", path);
    if (depth > 8)
        r = err_set(export->err, -ELOOP, "export '%s': too deep for a bundle", path);
    if (r == 0 && *name)
        r = add_header(export, name, 0, true);
    for (int i = 0; i < count; i++) {
        CLEANUP(mem_free) char *child = mem_format("%s/%s", path, entries[i]->d_name);
        CLEANUP(mem_free) char *child_name = mem_format("%s%s", name, entries[i]->d_name);
        struct stat st;
        if (r == 0 && lstat(child, &st) < 0)
            r = err_set(export->err, -errno, "export '%s': %m", child);
        if (r == 0 && S_ISDIR(st.st_mode)) {
            CLEANUP(mem_free) char *below = mem_format("%s/", child_name);
            r = add_directory(export, child, below, depth + 1);
        } else if (r == 0) {
            r = add_file(export, child, child_name);
        }
        free(entries[i]);
    }
    free(entries);
    return r;
}

/* A tape on its own travels as a bundle. */
static int add_tape(struct export *export, const char *path)
{
    static const char manifest[] = "{\"files\":{\"tape\":\"tape\"},\"format\":\"vitro-bundle\","
                                   "\"version\":1}\n";
    CLEANUP(mem_free) char *cas = mem_format("%s.cas", path);
    CLEANUP(mem_free) char *annotations = mem_format("%s.annotations.jsonl", path);
    struct stat st;
    int r = add_bytes(export, "manifest.json", manifest, sizeof manifest - 1);

    if (r == 0)
        r = add_file(export, path, "tape");
    if (r == 0 && file_exists(annotations))
        r = add_file(export, annotations, "tape.annotations.jsonl");
    if (r == 0 && lstat(cas, &st) == 0) {
        if (!S_ISDIR(st.st_mode))
            return err_set(export->err, -ELOOP, "export '%s': the store is not a directory", cas);
        r = add_directory(export, cas, "tape.cas/", 0);
    }
    return r;
}

static int add_all(struct export *export, const char *path)
{
    static const char end[2 * TAR_BLOCK];
    struct stat st;
    int r;

    if (stat(path, &st) < 0)
        return err_set(export->err, -errno, "export '%s': %m", path);
    if (S_ISDIR(st.st_mode))
        r = add_directory(export, path, "", 0);
    else
        r = add_tape(export, path);
    return r == 0 ? compress(export, end, sizeof end, ZSTD_e_end) : r;
}

int archive_export(const char *path, const char *archive, struct archive_result *ret,
                   struct err *err)
{
    CLEANUP(mem_free) char *temp = mem_format("%s.%ld.tmp", archive, (long)getpid());
    struct export export = {.archive = archive, .err = err};

    if (file_exists(archive))
        return err_set(err, -EEXIST, "export to '%s': there is a file already", archive);
    export.fd = open(temp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (export.fd < 0)
        return err_set(err, -errno, "export to '%s': %m", archive);
    export.out = mem_alloc(CHUNK_BYTES);
    export.context = ZSTD_createCCtx();
    (void)ZSTD_CCtx_setParameter(export.context, ZSTD_c_compressionLevel, COMPRESS_LEVEL);
    (void)ZSTD_CCtx_setParameter(export.context, ZSTD_c_checksumFlag, 1);
    int r = add_all(&export, path);
    if (r == 0 && rename(temp, archive) < 0)
        r = err_set(err, -errno, "export to '%s': %m", archive);
    if (r < 0)
        (void)unlink(temp);
    ZSTD_freeCCtx(export.context);
    free(export.out);
    fd_close(export.fd);
    if (r == 0)
        *ret = export.result;
    return r;
}
