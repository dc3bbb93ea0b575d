/* SPDX-License-Identifier: MIT */
/* Contents of files in their stored forms. Holes are found with SEEK_DATA, so a sparse file costs
 * by the data in it; zeros that were written count as holes, so that the form depends on the bytes.
 */
#include "base/fd.h"
#include "fs/fs_blobs.h"
#include <endian.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BLOCK_BYTES = 64 * 1024, HEAD_BYTES = 16, RUN_BYTES = 16 };
#define SPARSE_SIZE_MIN (UINT64_C(64) << 20)
static const char magic[8] = "VSPARSE1";

/* Reads one file block by block, jumping over holes. */
struct source {
    int fd;
    uint64_t size, next; /* next: where to look for the next block of data */
    char *block;         /* owned: BLOCK_BYTES, of a file large enough to be sparse */
    /* What is read of the sparse image but not yet handed out: a header and its block. */
    char head[HEAD_BYTES + RUN_BYTES];
    size_t head_length, head_done, block_length, block_done;
};

static bool is_zero(const char *bytes, size_t length)
{
    return length == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, length - 1) == 0);
}

/* Reads the block at `next` rounded to its start: 1, 0 at the end, -errno; *ret_offset its place.
 */
static int read_block(struct source *source, uint64_t *ret_offset)
{
    while (source->next < source->size) {
        off_t data = lseek(source->fd, (off_t)source->next, SEEK_DATA);
        if (data < 0 && errno == ENXIO)
            break;
        uint64_t offset = data < 0 ? source->next : (uint64_t)data; /* no SEEK_DATA: all is data */
        offset -= offset % BLOCK_BYTES;
        uint64_t left = source->size - offset;
        size_t wanted = left < BLOCK_BYTES ? (size_t)left : BLOCK_BYTES, have = 0;
        while (have < wanted) {
            ssize_t count =
                pread(source->fd, source->block + have, wanted - have, (off_t)(offset + have));
            if (count < 0 && errno == EINTR)
                continue;
            if (count <= 0)
                return count < 0 ? -errno : -EIO; /* became shorter while we read */
            have += (size_t)count;
        }
        source->next = offset + BLOCK_BYTES;
        if (is_zero(source->block, wanted))
            continue;
        source->block_length = wanted;
        *ret_offset = offset;
        return 1;
    }
    return 0;
}

static ssize_t read_plain(void *arg, void *bytes, size_t length)
{
    struct source *source = arg;
    ssize_t count;

    if (source->size && source->next >= source->size)
        return 0;
    do
        count = pread(source->fd, bytes, length, (off_t)source->next);
    while (count < 0 && errno == EINTR);
    if (count < 0)
        return -errno;
    source->next += (uint64_t)count;
    return count;
}

static void put_le64(char *to, uint64_t value)
{
    value = htole64(value);
    memcpy(to, &value, sizeof value);
}

static uint64_t get_le64(const char *from)
{
    uint64_t value;

    memcpy(&value, from, sizeof value);
    return le64toh(value);
}

static ssize_t read_sparse(void *arg, void *bytes, size_t length)
{
    struct source *source = arg;
    uint64_t offset;

    if (source->head_done == source->head_length && source->block_done == source->block_length) {
        int r = read_block(source, &offset);
        if (r <= 0)
            return r;
        put_le64(source->head, offset);
        put_le64(source->head + 8, source->block_length);
        source->head_length = RUN_BYTES;
        source->head_done = source->block_done = 0;
    }
    bool in_head = source->head_done < source->head_length;
    const char *from =
        in_head ? source->head + source->head_done : source->block + source->block_done;
    size_t left = in_head ? source->head_length - source->head_done
                          : source->block_length - source->block_done;
    size_t count = left < length ? left : length;
    memcpy(bytes, from, count);
    *(in_head ? &source->head_done : &source->block_done) += count;
    return (ssize_t)count;
}

/* Large, and at most half of its blocks hold anything but zeros. */
static int is_sparse(struct source *source)
{
    uint64_t blocks = 0, offset;
    int r = 0;

    if (source->size < SPARSE_SIZE_MIN)
        return 0;
    while ((r = read_block(source, &offset)) > 0)
        blocks++;
    source->next = source->block_length = 0;
    return r < 0 ? r : blocks * 2 <= source->size / BLOCK_BYTES;
}

int fs_content_put(struct fs_blobs *blobs, int fd, struct fs_node *node, struct err *err)
{
    struct source source = {.fd = fd};
    struct stat st;

    if (fstat(fd, &st) < 0)
        return err_set(err, -errno, "stat a content: %m");
    source.size = (uint64_t)st.st_size;
    CLEANUP(mem_free)
    char *block = source.size < SPARSE_SIZE_MIN ? NULL : mem_alloc(BLOCK_BYTES);
    source.block = block;
    int sparse = is_sparse(&source);
    if (sparse < 0)
        return err_set(err, sparse, "read a content: %s", strerror(-sparse));
    if (sparse) { /* the head of the image waits to be read first */
        memcpy(source.head, magic, sizeof magic);
        put_le64(source.head + 8, source.size);
        source.head_length = HEAD_BYTES;
    }
    int r = fs_blobs_put(blobs, sparse ? read_sparse : read_plain, &source, &node->hash, err);
    node->size = source.size;
    node->sparse = sparse;
    node->has_blob = r == 0 && fs_blobs_keep(blobs);
    return r;
}

struct memory {
    const char *bytes;
    size_t left;
};

static ssize_t read_memory(void *arg, void *bytes, size_t length)
{
    struct memory *memory = arg;
    size_t count = memory->left < length ? memory->left : length;

    if (count)
        memcpy(bytes, memory->bytes, count);
    memory->bytes += count;
    memory->left -= count;
    return (ssize_t)count;
}

int fs_content_put_bytes(struct fs_blobs *blobs, const void *bytes, size_t length,
                         struct fs_node *node, struct err *err)
{
    struct memory memory = {bytes, length};
    int r = fs_blobs_put(blobs, read_memory, &memory, &node->hash, err);

    node->size = length;
    node->has_blob = r == 0 && fs_blobs_keep(blobs);
    return r;
}

/* 0 when all was read, -ENODATA at the end, -errno. */
static int read_exactly(struct fs_blob *blob, char *bytes, size_t length)
{
    for (size_t have = 0; have < length;) {
        ssize_t count = fs_blob_read(blob, bytes + have, length - have);
        if (count <= 0)
            return count < 0 ? (int)count : -ENODATA;
        have += (size_t)count;
    }
    return 0;
}

static int write_sparse(struct fs_blob *blob, int fd, uint64_t size)
{
    CLEANUP(mem_free) char *block = mem_alloc(BLOCK_BYTES);
    char head[HEAD_BYTES];
    int r = read_exactly(blob, head, sizeof head);

    if (r < 0 || memcmp(head, magic, sizeof magic) != 0 || get_le64(head + 8) != size)
        return -EBADMSG;
    if (ftruncate(fd, (off_t)size) < 0)
        return -errno;
    while ((r = read_exactly(blob, head, RUN_BYTES)) == 0) {
        uint64_t offset = get_le64(head), length = get_le64(head + 8);
        if (length > BLOCK_BYTES || offset > size || length > size - offset)
            return -EBADMSG;
        if (read_exactly(blob, block, (size_t)length) < 0)
            return -EBADMSG;
        if (lseek(fd, (off_t)offset, SEEK_SET) < 0)
            return -errno;
        r = fd_write_full(fd, block, (size_t)length);
        if (r < 0)
            return r;
    }
    return r == -ENODATA ? 0 : r;
}

static int write_plain(struct fs_blob *blob, int fd)
{
    CLEANUP(mem_free) char *block = mem_alloc(BLOCK_BYTES);

    for (;;) {
        ssize_t count = fs_blob_read(blob, block, BLOCK_BYTES);
        if (count <= 0)
            return (int)count;
        int r = fd_write_full(fd, block, (size_t)count);
        if (r < 0)
            return r;
    }
}

int fs_content_write(struct fs_blobs *blobs, const struct fs_node *node, int fd, struct err *err)
{
    struct fs_blob blob;
    int r = fs_blobs_get(blobs, &node->hash, &blob, err);

    if (r < 0)
        return r;
    r = node->sparse ? write_sparse(&blob, fd, node->size) : write_plain(&blob, fd);
    if (r < 0)
        return err_set(err, r, "write a content: %s", strerror(-r));
    return 0;
}

int fs_content_load(struct fs_blobs *blobs, const struct fs_node *node, size_t limit,
                    struct buf *ret, struct err *err)
{
    struct fs_blob blob;

    if (node->size > limit || node->sparse)
        return err_set(err, -EFBIG, "a content has %llu bytes", (unsigned long long)node->size);
    int r = fs_blobs_get(blobs, &node->hash, &blob, err);
    if (r < 0)
        return r;
    uint64_t length = blob.end - blob.next;
    if (length > limit)
        return err_set(err, -EFBIG, "a content has %llu bytes", (unsigned long long)length);
    buf_reserve(ret, (size_t)length);
    r = read_exactly(&blob, ret->data + ret->length, (size_t)length);
    if (r < 0)
        return err_set(err, r, "read a content: %s", strerror(-r));
    ret->length += (size_t)length;
    ret->data[ret->length] = '\0';
    return 0;
}
