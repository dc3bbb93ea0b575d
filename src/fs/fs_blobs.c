/* SPDX-License-Identifier: MIT */
#include "fs/fs_blobs.h"
#include "base/fd.h"
#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIECE_BYTES = 256 * 1024, PENDING_BYTES = 1024 * 1024 };
static const char head[8] = "VITROPK1", foot[8] = "VITROPKE";

struct kept { /* one content in the pack */
    struct hash hash;
    uint64_t offset, length;
};

/* How a pack ends: the contents by hash, each such a row, and how many there are. */
struct row {
    struct hash hash;
    uint64_t offset, length; /* little-endian */
};
struct trailer {
    uint64_t count; /* little-endian */
    char foot[8];
};
static_assert(sizeof(struct row) == 48 && sizeof(struct trailer) == 16, "the format of packs");

enum kind { NOWHERE, MEMORY, NEW, OPENED };

struct fs_blobs {
    enum kind kind;
    char *path; /* owned; of a new pack */
    int fd;     /* -1 until there is a first content */
    uint64_t end;
    struct buf pending; /* the last bytes before `end`, not written yet */
    struct kept *kept;
    size_t kept_count, kept_capacity;
    size_t *slots;     /* 1 + where in `kept`, at or after the hash's own place; 0: free */
    size_t slot_count; /* a power of two, at least twice kept_capacity */
    char piece[PIECE_BYTES];
};

static struct fs_blobs *blobs_new(enum kind kind)
{
    struct fs_blobs *blobs = mem_alloc(sizeof *blobs);

    blobs->kind = kind;
    blobs->fd = -1;
    return blobs;
}

struct fs_blobs *fs_blobs_new(const char *path)
{
    struct fs_blobs *blobs = blobs_new(NEW);

    blobs->path = mem_dup(path);
    return blobs;
}

struct fs_blobs *fs_blobs_in_memory(void)
{
    return blobs_new(MEMORY);
}

struct fs_blobs *fs_blobs_nowhere(void)
{
    return blobs_new(NOWHERE);
}

struct fs_blobs *fs_blobs_free(struct fs_blobs *blobs)
{
    if (!blobs)
        return NULL;
    fd_close(blobs->fd);
    free(blobs->path);
    free(blobs->kept);
    free(blobs->slots);
    buf_done(&blobs->pending);
    free(blobs);
    return NULL;
}

bool fs_blobs_keep(const struct fs_blobs *blobs)
{
    return blobs->kind != NOWHERE;
}

/* ---- which contents there are -------------------------------------------------------------- */

/* The slot that has this content, or the free one it would take. */
static size_t slot_of(const struct fs_blobs *blobs, const struct hash *hash)
{
    size_t slot;

    memcpy(&slot, hash, sizeof slot);
    for (slot &= blobs->slot_count - 1; blobs->slots[slot];
         slot = (slot + 1) & (blobs->slot_count - 1))
        if (memcmp(&blobs->kept[blobs->slots[slot] - 1].hash, hash, sizeof *hash) == 0)
            break;
    return slot;
}

static const struct kept *find_kept(const struct fs_blobs *blobs, const struct hash *hash)
{
    if (!blobs->slot_count)
        return NULL;
    size_t slot = blobs->slots[slot_of(blobs, hash)];
    return slot ? &blobs->kept[slot - 1] : NULL;
}

static void grow(struct fs_blobs *blobs)
{
    blobs->kept_capacity = blobs->kept_capacity ? blobs->kept_capacity * 2 : 64;
    blobs->kept = mem_grow(blobs->kept, blobs->kept_capacity * sizeof *blobs->kept);
    free(blobs->slots);
    blobs->slot_count = blobs->kept_capacity * 2;
    blobs->slots = mem_alloc(blobs->slot_count * sizeof *blobs->slots);
    for (size_t i = 0; i < blobs->kept_count; i++)
        blobs->slots[slot_of(blobs, &blobs->kept[i].hash)] = i + 1;
}

static void keep(struct fs_blobs *blobs, const struct kept *kept)
{
    if (blobs->kept_count == blobs->kept_capacity)
        grow(blobs);
    blobs->slots[slot_of(blobs, &kept->hash)] = blobs->kept_count + 1;
    blobs->kept[blobs->kept_count++] = *kept;
}

/* ---- writing ------------------------------------------------------------------------------- */

static int make_file(struct fs_blobs *blobs)
{
    const char *slash = blobs->path ? strrchr(blobs->path, '/') : NULL;
    int flags = O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC;

    if (blobs->kind == MEMORY) {
        blobs->fd = memfd_create("contents", MFD_CLOEXEC);
    } else {
        blobs->fd = open(blobs->path, flags, 0644);
        if (blobs->fd < 0 && errno == ENOENT && slash) {
            CLEANUP(mem_free) char *directory =
                mem_dupn(blobs->path, (size_t)(slash - blobs->path));
            int r = dir_make_all(directory, NULL);
            if (r < 0)
                return r;
            blobs->fd = open(blobs->path, flags, 0644);
        }
    }
    return blobs->fd < 0 ? -errno : 0;
}

static int flush(struct fs_blobs *blobs)
{
    uint64_t start = blobs->end - blobs->pending.length;
    int r = blobs->pending.length && blobs->fd < 0 ? make_file(blobs) : 0;

    if (r == 0 && blobs->pending.length) {
        if (lseek(blobs->fd, (off_t)start, SEEK_SET) < 0)
            return -errno;
        r = fd_write_full(blobs->fd, blobs->pending.data, blobs->pending.length);
    }
    buf_clear(&blobs->pending);
    return r;
}

static int append(struct fs_blobs *blobs, const void *bytes, size_t length)
{
    if (blobs->kind == NOWHERE)
        return 0;
    if (blobs->end == 0) {
        buf_add(&blobs->pending, head, sizeof head);
        blobs->end = sizeof head;
    }
    buf_add(&blobs->pending, bytes, length);
    blobs->end += length;
    return blobs->pending.length < PENDING_BYTES ? 0 : flush(blobs);
}

/* Takes back what was appended since the pack ended at `end`. */
static void forget(struct fs_blobs *blobs, uint64_t end)
{
    uint64_t more = blobs->end - end;

    if (blobs->kind == NOWHERE)
        return;
    if (more <= blobs->pending.length)
        buf_cut(&blobs->pending, blobs->pending.length - (size_t)more);
    else
        buf_clear(&blobs->pending); /* written over by what comes next */
    blobs->end = end;
}

/* Reads until the piece is full or the content ends; how many bytes, or -errno. */
static ssize_t fill_piece(struct fs_blobs *blobs, fs_blob_reader *read_piece, void *arg)
{
    size_t have = 0;

    while (have < sizeof blobs->piece) {
        ssize_t count = read_piece(arg, blobs->piece + have, sizeof blobs->piece - have);
        if (count < 0)
            return count;
        if (count == 0)
            break;
        have += (size_t)count;
    }
    return (ssize_t)have;
}

/* One piece is all: whether it is here already is known before it is written. */
static int put_small(struct fs_blobs *blobs, size_t length, struct hash *ret)
{
    *ret = hash_of(blobs->piece, length);
    if (blobs->kind == NOWHERE || find_kept(blobs, ret))
        return 0;
    int r = append(blobs, blobs->piece, length);
    if (r == 0)
        keep(blobs, &(struct kept){*ret, blobs->end - length, length});
    return r;
}

static int put_large(struct fs_blobs *blobs, fs_blob_reader *read_piece, void *arg, size_t length,
                     struct hash *ret)
{
    CLEANUP(hash_free) struct hash_state *state = hash_begin();
    uint64_t start = blobs->end ? blobs->end : sizeof head;

    while (length) {
        hash_add(state, blobs->piece, length);
        int r = append(blobs, blobs->piece, length);
        ssize_t count = r < 0 ? r : fill_piece(blobs, read_piece, arg);
        if (count < 0) {
            forget(blobs, start);
            return (int)count;
        }
        length = (size_t)count;
    }
    *ret = hash_end(take_ptr(&state));
    if (blobs->kind == NOWHERE)
        return 0;
    if (find_kept(blobs, ret))
        forget(blobs, start);
    else
        keep(blobs, &(struct kept){*ret, start, blobs->end - start});
    return 0;
}

int fs_blobs_put(struct fs_blobs *blobs, fs_blob_reader *read_piece, void *arg, struct hash *ret,
                 struct err *err)
{
    ssize_t first = fill_piece(blobs, read_piece, arg);
    int r = first < 0 ? (int)first
            : (size_t)first < sizeof blobs->piece
                ? put_small(blobs, (size_t)first, ret)
                : put_large(blobs, read_piece, arg, (size_t)first, ret);

    return r < 0 ? err_set(err, r, "store a content: %s", strerror(-r)) : 0;
}

static int compare_kept(const void *a, const void *b)
{
    return memcmp(&((const struct kept *)a)->hash, &((const struct kept *)b)->hash,
                  sizeof(struct hash));
}

int fs_blobs_finish(struct fs_blobs *blobs, struct err *err)
{
    int r = 0;

    if (blobs->kind != NEW)
        return 0;
    if (!blobs->kept_count) { /* of an earlier run, perhaps */
        (void)unlink(blobs->path);
        return 0;
    }
    qsort(blobs->kept, blobs->kept_count, sizeof *blobs->kept, compare_kept);
    for (size_t i = 0; r == 0 && i < blobs->kept_count; i++) {
        const struct kept *kept = &blobs->kept[i];
        struct row row = {kept->hash, htole64(kept->offset), htole64(kept->length)};
        r = append(blobs, &row, sizeof row);
    }
    struct trailer trailer = {.count = htole64(blobs->kept_count)};
    memcpy(trailer.foot, foot, sizeof foot);
    if (r == 0)
        r = append(blobs, &trailer, sizeof trailer);
    if (r == 0)
        r = flush(blobs);
    if (r == 0 && ftruncate(blobs->fd, (off_t)blobs->end) < 0)
        r = -errno;
    return r < 0 ? err_set(err, r, "write '%s': %s", blobs->path, strerror(-r)) : 0;
}

/* ---- reading ------------------------------------------------------------------------------- */

ssize_t fs_blob_read(struct fs_blob *blob, void *bytes, size_t length)
{
    uint64_t left = blob->end - blob->next;
    ssize_t count;

    if (left < length)
        length = (size_t)left;
    do
        count = pread(blob->fd, bytes, length, (off_t)blob->next);
    while (count < 0 && errno == EINTR);
    if (count < 0 || (count == 0 && length))
        return count < 0 ? -errno : -EIO; /* became shorter */
    blob->next += (uint64_t)count;
    return count;
}

/* Nothing in the file is believed. */
static int read_rows(struct fs_blobs *blobs, uint64_t size)
{
    struct trailer trailer;
    char start[sizeof head];

    if (size < sizeof start + sizeof trailer ||
        pread(blobs->fd, start, sizeof start, 0) != sizeof start ||
        memcmp(start, head, sizeof head) != 0 ||
        pread(blobs->fd, &trailer, sizeof trailer, (off_t)(size - sizeof trailer)) !=
            sizeof trailer ||
        memcmp(trailer.foot, foot, sizeof foot) != 0)
        return -EBADMSG;
    uint64_t count = le64toh(trailer.count), room = size - sizeof start - sizeof trailer;
    if (count > room / sizeof(struct row))
        return -EBADMSG;
    CLEANUP(mem_free) struct row *rows = mem_alloc((size_t)count * sizeof *rows + 1);
    struct fs_blob all = {blobs->fd, size - sizeof trailer - count * sizeof *rows,
                          size - sizeof trailer};
    uint64_t contents_end = all.next;
    for (char *to = (char *)rows; all.next < all.end;) {
        ssize_t got = fs_blob_read(&all, to, (size_t)(all.end - all.next));
        if (got < 0)
            return (int)got;
        to += got;
    }
    for (uint64_t i = 0; i < count; i++) {
        struct kept kept = {rows[i].hash, le64toh(rows[i].offset), le64toh(rows[i].length)};
        if (kept.offset < sizeof head || kept.offset > contents_end ||
            kept.length > contents_end - kept.offset ||
            (i && memcmp(&rows[i - 1].hash, &rows[i].hash, sizeof rows[i].hash) >= 0))
            return -EBADMSG;
        keep(blobs, &kept);
    }
    return 0;
}

int fs_blobs_open(const char *path, struct fs_blobs **ret, struct err *err)
{
    CLEANUP(fs_blobs_free) struct fs_blobs *blobs = blobs_new(OPENED);
    struct stat st;
    int r = 0;

    blobs->fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (blobs->fd >= 0)
        r = fstat(blobs->fd, &st) < 0 ? -errno : read_rows(blobs, (uint64_t)st.st_size);
    else if (errno != ENOENT)
        r = -errno;
    if (r == -EBADMSG)
        return err_set(err, r, "'%s' is not a pack of contents, or is damaged", path);
    if (r < 0)
        return err_set(err, r, "open '%s': %s", path, strerror(-r));
    *ret = take_ptr(&blobs);
    return 0;
}

/* The bytes are what the name says, or they are not used. */
static int verify(struct fs_blob blob, const struct hash *hash, struct fs_blobs *blobs)
{
    CLEANUP(hash_free) struct hash_state *state = hash_begin();

    for (;;) {
        ssize_t count = fs_blob_read(&blob, blobs->piece, sizeof blobs->piece);
        if (count < 0)
            return (int)count;
        if (count == 0)
            break;
        hash_add(state, blobs->piece, (size_t)count);
    }
    struct hash found = hash_end(take_ptr(&state));
    return memcmp(&found, hash, sizeof found) != 0 ? -EBADMSG : 0;
}

int fs_blobs_get(struct fs_blobs *blobs, const struct hash *hash, struct fs_blob *ret,
                 struct err *err)
{
    struct hash_text text = hash_to_text(hash);
    const struct kept *kept = find_kept(blobs, hash);

    if (!kept)
        return err_set(err, -ENOENT, "content '%s' was not kept", text.text);
    int r = flush(blobs);
    if (r == 0) {
        *ret = (struct fs_blob){blobs->fd, kept->offset, kept->offset + kept->length};
        r = verify(*ret, hash, blobs);
    }
    if (r == -EBADMSG)
        return err_set(err, r, "content '%s' is damaged: its bytes have another hash", text.text);
    return r < 0 ? err_set(err, r, "read content '%s': %s", text.text, strerror(-r)) : 0;
}
