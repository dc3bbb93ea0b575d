/* SPDX-License-Identifier: MIT */
#include "tape/store_stream.h"
#include "base/fd.h"
#include "tape/tape_internal.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

enum { PIECE = 1 << 20 };

/* ---- writing ------------------------------------------------------------------------------- */

static int hash_file(int fd, char *piece, struct hash *ret, uint64_t *ret_length)
{
    CLEANUP(hash_free) struct hash_state *state = hash_begin();
    off_t at = 0;

    for (;;) {
        ssize_t count = pread(fd, piece, PIECE, at);
        if (count < 0)
            return -errno;
        if (count == 0)
            break;
        hash_add(state, piece, (size_t)count);
        at += count;
    }
    *ret = hash_end(take_ptr(&state));
    *ret_length = (uint64_t)at;
    return 0;
}

/* One frame that states its content size, as the store's own are. */
static int pack(int from, int to, uint64_t length, char *piece)
{
    size_t room = ZSTD_CStreamOutSize();
    CLEANUP(mem_free) char *packed = mem_alloc(room);
    ZSTD_CCtx *context = ZSTD_createCCtx();
    int r = context ? 0 : -ENOMEM;

    if (context) {
        (void)ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, 1);
        (void)ZSTD_CCtx_setPledgedSrcSize(context, length);
    }
    for (uint64_t at = 0; r == 0;) {
        ssize_t count = pread(from, piece, PIECE, (off_t)at);
        if (count < 0) {
            r = -errno;
            break;
        }
        at += (uint64_t)count;
        ZSTD_EndDirective how = at >= length ? ZSTD_e_end : ZSTD_e_continue;
        ZSTD_inBuffer in = {piece, (size_t)count, 0};
        size_t left;
        do {
            ZSTD_outBuffer out = {packed, room, 0};
            left = ZSTD_compressStream2(context, &out, &in, how);
            r = ZSTD_isError(left) ? -EIO : fd_write_full(to, packed, out.pos);
        } while (r == 0 && (how == ZSTD_e_end ? left != 0 : in.pos < in.size));
        if (how == ZSTD_e_end || count == 0)
            break;
    }
    ZSTD_freeCCtx(context);
    return r;
}

int store_put_file(struct store *store, int fd, struct hash *ret, struct err *err)
{
    CLEANUP(mem_free) char *piece = mem_alloc(PIECE);
    char temp[64], name[HASH_TEXT_LENGTH + 8];
    uint64_t length = 0;
    static unsigned count;

    int r = hash_file(fd, piece, ret, &length);
    if (r < 0)
        return err_set(err, r, "read a content: %s", strerror(-r));
    int dir = store_make_directory(store, err);
    if (dir < 0)
        return dir;
    (void)snprintf(name, sizeof name, "%s.zst", hash_to_text(ret).text);
    if (faccessat(dir, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
        return 0;
    (void)snprintf(temp, sizeof temp, ".tmp.%ld.f%u", (long)getpid(), count++);
    CLEANUP(fd_close) int to = openat(dir, temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    r = to < 0 ? -errno : pack(fd, to, length, piece);
    if (r == 0 && renameat(dir, temp, dir, name) < 0)
        r = -errno;
    if (r < 0) {
        (void)unlinkat(dir, temp, 0);
        return err_set(err, r, "write content '%s': %s", name, strerror(-r));
    }
    return 0;
}

/* ---- reading ------------------------------------------------------------------------------- */

struct store_stream {
    int fd;
    ZSTD_DCtx *context; /* NULL: the bytes as they are */
    char *packed;
    ZSTD_inBuffer in;
    size_t room;
};

struct store_stream *store_stream_free(struct store_stream *stream)
{
    if (!stream)
        return NULL;
    fd_close(stream->fd);
    ZSTD_freeDCtx(stream->context);
    free(stream->packed);
    free(stream);
    return NULL;
}

ssize_t store_stream_read(struct store_stream *stream, void *bytes, size_t length)
{
    if (!stream->context) {
        ssize_t count = read(stream->fd, bytes, length);
        return count < 0 ? -errno : count;
    }
    ZSTD_outBuffer out = {bytes, length, 0};
    while (out.pos == 0) {
        if (stream->in.pos == stream->in.size) {
            ssize_t count = read(stream->fd, stream->packed, stream->room);
            if (count <= 0)
                return count < 0 ? -errno : 0;
            stream->in = (ZSTD_inBuffer){stream->packed, (size_t)count, 0};
        }
        if (ZSTD_isError(ZSTD_decompressStream(stream->context, &out, &stream->in)))
            return -EBADMSG;
    }
    return (ssize_t)out.pos;
}

static void rewind_stream(struct store_stream *stream)
{
    (void)lseek(stream->fd, 0, SEEK_SET);
    stream->in = (ZSTD_inBuffer){0};
    if (stream->context)
        (void)ZSTD_DCtx_reset(stream->context, ZSTD_reset_session_only);
}

static int check(struct store_stream *stream, const struct hash *wanted)
{
    CLEANUP(hash_free) struct hash_state *state = hash_begin();
    CLEANUP(mem_free) char *piece = mem_alloc(PIECE);

    for (;;) {
        ssize_t count = store_stream_read(stream, piece, PIECE);
        if (count < 0)
            return (int)count;
        if (count == 0)
            break;
        hash_add(state, piece, (size_t)count);
    }
    struct hash found = hash_end(take_ptr(&state));
    rewind_stream(stream);
    return memcmp(&found, wanted, sizeof found) == 0 ? 0 : -EBADMSG;
}

int store_stream_open(struct store *store, const struct hash *hash, struct store_stream **ret,
                      struct err *err)
{
    struct hash_text text = hash_to_text(hash);
    CLEANUP(store_stream_free) struct store_stream *stream = mem_alloc(sizeof *stream);
    char name[HASH_TEXT_LENGTH + 8];

    stream->fd = -1;
    int dir = store_directory(store, err);
    for (int packed = 0; dir >= 0 && packed < 2 && stream->fd < 0; packed++) {
        (void)snprintf(name, sizeof name, "%s%s", text.text, packed ? ".zst" : "");
        stream->fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (stream->fd >= 0 && packed)
            stream->context = ZSTD_createDCtx();
    }
    if (stream->fd < 0)
        return err_set(err, -ENOENT, "content %s is not in the store", text.text);
    stream->room = ZSTD_DStreamInSize();
    stream->packed = mem_alloc(stream->room);
    int r = check(stream, hash);
    if (r < 0)
        return err_set(err, r, "content %s is damaged: its bytes have another hash", text.text);
    *ret = take_ptr(&stream);
    return 0;
}

static int copy_file(int from, int to)
{
    char piece[65536];

    for (;;) {
        ssize_t count = read(from, piece, sizeof piece);
        if (count <= 0)
            return count < 0 ? -errno : 0;
        int r = fd_write_full(to, piece, (size_t)count);
        if (r < 0)
            return r;
    }
}

int store_copy(struct store *from, struct store *to, const struct hash *hash, struct err *err)
{
    struct hash_text text = hash_to_text(hash);
    char name[HASH_TEXT_LENGTH + 8], temp[64];
    static unsigned count;
    int source = store_directory(from, err), target = store_make_directory(to, err);

    if (target < 0)
        return target;
    for (int packed = 0; source >= 0 && packed < 2; packed++) {
        (void)snprintf(name, sizeof name, "%s%s", text.text, packed ? ".zst" : "");
        if (faccessat(target, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
            return 0;
        CLEANUP(fd_close) int in = openat(source, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
        if (in < 0)
            continue;
        (void)snprintf(temp, sizeof temp, ".tmp.%ld.c%u", (long)getpid(), count++);
        CLEANUP(fd_close)
        int out = openat(target, temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        int r = out < 0 ? -errno : copy_file(in, out);
        if (r == 0 && renameat(target, temp, target, name) < 0)
            r = -errno;
        if (r < 0)
            (void)unlinkat(target, temp, 0);
        return r < 0 ? err_set(err, r, "copy content %s: %s", text.text, strerror(-r)) : 0;
    }
    return err_set(err, -ENOENT, "content %s is not in the store", text.text);
}
