/* SPDX-License-Identifier: MIT */
#include "fs/fs_blobs.h"
#include "base/fd.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIECE_BYTES = 256 * 1024 };

struct kept { /* one content in memory */
    struct hash hash;
    char *bytes;
    size_t length;
};

struct fs_blobs {
    int dir; /* -1 for memory and nowhere */
    bool memory;
    unsigned long temp_count;
    struct kept *kept;
    size_t kept_count, kept_capacity;
    size_t *slots;     /* 1 + where in `kept`, at or after the hash's own place; 0: free */
    size_t slot_count; /* a power of two, at least twice kept_capacity */
    char piece[PIECE_BYTES];
};

static struct fs_blobs *blobs_new(int dir, bool memory)
{
    struct fs_blobs *blobs = mem_alloc(sizeof *blobs);

    blobs->dir = dir;
    blobs->memory = memory;
    return blobs;
}

int fs_blobs_open(const char *path, struct fs_blobs **ret, struct err *err)
{
    int r = dir_make_all(path, err);

    if (r < 0)
        return r;
    int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        return err_set(err, -errno, "open '%s': %m", path);
    *ret = blobs_new(dir, false);
    return 0;
}

struct fs_blobs *fs_blobs_in_memory(void)
{
    return blobs_new(-1, true);
}

struct fs_blobs *fs_blobs_nowhere(void)
{
    return blobs_new(-1, false);
}

struct fs_blobs *fs_blobs_free(struct fs_blobs *blobs)
{
    if (!blobs)
        return NULL;
    fd_close(blobs->dir);
    for (size_t i = 0; i < blobs->kept_count; i++)
        free(blobs->kept[i].bytes);
    free(blobs->kept);
    free(blobs->slots);
    free(blobs);
    return NULL;
}

bool fs_blobs_keep(const struct fs_blobs *blobs)
{
    return blobs->dir >= 0 || blobs->memory;
}

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

static struct kept *find_kept(const struct fs_blobs *blobs, const struct hash *hash)
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

static void keep(struct fs_blobs *blobs, const struct hash *hash, struct buf *bytes)
{
    if (find_kept(blobs, hash))
        return;
    if (blobs->kept_count == blobs->kept_capacity)
        grow(blobs);
    size_t length = bytes->length;
    blobs->slots[slot_of(blobs, hash)] = blobs->kept_count + 1;
    blobs->kept[blobs->kept_count++] =
        (struct kept){.hash = *hash, .bytes = buf_take(bytes), .length = length};
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

/* "ab/cdef...": directories of a hundred thousand entries are slow on some file systems. */
static void place_of(const struct hash *hash, char *ret, size_t size)
{
    struct hash_text text = hash_to_text(hash);

    (void)snprintf(ret, size, "%.2s/%s", text.text, text.text + 2);
}

static int make_fan(const struct fs_blobs *blobs, const char *place)
{
    char fan[3] = {place[0], place[1], '\0'};

    return mkdirat(blobs->dir, fan, 0755) < 0 && errno != EEXIST ? -errno : 0;
}

/* One piece is all: its name is known before it is written. */
static int put_small(struct fs_blobs *blobs, size_t length, struct hash *ret)
{
    char place[HASH_TEXT_LENGTH + 2];

    *ret = hash_of(blobs->piece, length);
    if (blobs->memory) {
        CLEANUP(buf_done) struct buf bytes = {0};
        buf_add(&bytes, blobs->piece, length);
        keep(blobs, ret, &bytes);
    }
    if (blobs->dir < 0)
        return 0;
    place_of(ret, place, sizeof place);
    int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
    CLEANUP(fd_close) int fd = openat(blobs->dir, place, flags, 0644);
    if (fd < 0 && errno == ENOENT && make_fan(blobs, place) == 0)
        fd = openat(blobs->dir, place, flags, 0644);
    if (fd < 0)
        return errno == EEXIST ? 0 : -errno;
    return fd_write_full(fd, blobs->piece, length);
}

/* Hashes all pieces and hands each to the temporary file and to memory, where there are such. */
static int pull(struct fs_blobs *blobs, fs_blob_reader *read_piece, void *arg, size_t length,
                int temp, struct buf *memory, struct hash *ret)
{
    CLEANUP(hash_free) struct hash_state *state = hash_begin();

    while (length) {
        hash_add(state, blobs->piece, length);
        if (blobs->memory)
            buf_add(memory, blobs->piece, length);
        int r = temp < 0 ? 0 : fd_write_full(temp, blobs->piece, length);
        if (r < 0)
            return r;
        ssize_t count = fill_piece(blobs, read_piece, arg);
        if (count < 0)
            return (int)count;
        length = (size_t)count;
    }
    *ret = hash_end(take_ptr(&state));
    return 0;
}

static int put_large(struct fs_blobs *blobs, fs_blob_reader *read_piece, void *arg, size_t length,
                     struct hash *ret)
{
    CLEANUP(buf_done) struct buf memory = {0};
    CLEANUP(fd_close) int temp = -1;
    char name[64], place[HASH_TEXT_LENGTH + 2];

    (void)snprintf(name, sizeof name, "temp.%ld.%lu", (long)getpid(), blobs->temp_count++);
    if (blobs->dir >= 0) {
        temp = openat(blobs->dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
        if (temp < 0)
            return -errno;
    }
    int r = pull(blobs, read_piece, arg, length, temp, &memory, ret);
    if (r == 0 && temp >= 0) {
        place_of(ret, place, sizeof place);
        r = make_fan(blobs, place);
        if (r == 0 && renameat(blobs->dir, name, blobs->dir, place) < 0)
            r = -errno;
    }
    if (r < 0 && temp >= 0)
        (void)unlinkat(blobs->dir, name, 0);
    if (r == 0 && blobs->memory)
        keep(blobs, ret, &memory);
    return r;
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

/* The bytes are what the name says, or they are not used. */
static int verify(int fd, const struct hash *hash, struct fs_blobs *blobs)
{
    CLEANUP(hash_free) struct hash_state *state = hash_begin();

    for (;;) {
        ssize_t count = read(fd, blobs->piece, sizeof blobs->piece);
        if (count < 0)
            return -errno;
        if (count == 0)
            break;
        hash_add(state, blobs->piece, (size_t)count);
    }
    struct hash found = hash_end(take_ptr(&state));
    if (memcmp(&found, hash, sizeof found) != 0)
        return -EBADMSG;
    return lseek(fd, 0, SEEK_SET) < 0 ? -errno : 0;
}

int fs_blobs_get(struct fs_blobs *blobs, const struct hash *hash, int *ret_fd, struct err *err)
{
    struct hash_text text = hash_to_text(hash);
    char place[HASH_TEXT_LENGTH + 2];
    CLEANUP(fd_close) int fd = -1;

    if (blobs->dir >= 0) {
        place_of(hash, place, sizeof place);
        fd = openat(blobs->dir, place, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0)
            return err_set(err, -errno, "open blob '%s': %m", text.text);
    } else {
        struct kept *kept = find_kept(blobs, hash);
        if (!kept)
            return err_set(err, -ENOENT, "blob '%s' was not kept", text.text);
        fd = memfd_create("blob", MFD_CLOEXEC);
        if (fd < 0 || fd_write_full(fd, kept->bytes, kept->length) < 0 ||
            lseek(fd, 0, SEEK_SET) < 0)
            return err_set(err, -errno, "open blob '%s': %m", text.text);
    }
    int r = verify(fd, hash, blobs);
    if (r == -EBADMSG)
        return err_set(err, r, "blob '%s' is damaged: its bytes have another hash", text.text);
    if (r < 0)
        return err_set(err, r, "read blob '%s': %s", text.text, strerror(-r));
    *ret_fd = take_fd(&fd);
    return 0;
}
