/* SPDX-License-Identifier: MIT */
#include "proc/spool.h"
#include "base/fd.h"
#include "base/text.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MEMORY_MAX = 256 * 1024, PIECE = 1 << 20, INLINE_MAX = 4096 };

static int nameless_file(const char *directory)
{
    int fd = open(directory, O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);

    return fd < 0 ? memfd_create("vitro-spool", MFD_CLOEXEC) : fd;
}

int spool_add(struct spool *spool, const char *directory, const void *bytes, size_t length)
{
    spool->length += length;
    if (!spool->file && spool->memory.length + length <= MEMORY_MAX) {
        buf_add(&spool->memory, bytes, length);
        return 0;
    }
    if (!spool->file) {
        int fd = nameless_file(directory);
        if (fd < 0)
            return -errno;
        spool->file = fd + 1;
        int r = fd_write_full(fd, buf_text(&spool->memory), spool->memory.length);
        if (r < 0)
            return r;
        buf_done(&spool->memory);
        spool->memory = (struct buf){0};
    }
    return fd_write_full(spool->file - 1, bytes, length);
}

int spool_each(const struct spool *spool, spool_taker *take, void *context)
{
    if (!spool->file)
        return spool->memory.length ? take(context, spool->memory.data, spool->memory.length) : 0;
    CLEANUP(mem_free) char *piece = mem_alloc(PIECE);
    for (off_t at = 0;;) {
        ssize_t count = pread(spool->file - 1, piece, PIECE, at);
        if (count <= 0)
            return count < 0 ? -errno : 0;
        int r = take(context, piece, (size_t)count);
        if (r < 0)
            return r;
        at += count;
    }
}

/* ---- without secrets ----------------------------------------------------------------------- */

/* Pieces end at the end of a line where there is one, so that a secret is seldom cut in two. */
struct scrub {
    const struct secrets *secrets; /* NULL: nothing is hidden */
    struct buf rest;               /* not yet a whole line */
    spool_taker *take;
    void *context;
};

static int scrub_out(struct scrub *scrub, const char *bytes, size_t length)
{
    CLEANUP(buf_done) struct buf hidden = {0};

    if (!length)
        return 0;
    if (scrub->secrets && secrets_scrub_bytes(scrub->secrets, bytes, length, &hidden))
        return scrub->take(scrub->context, hidden.data, hidden.length);
    return scrub->take(scrub->context, bytes, length);
}

static int scrub_piece(void *context, const void *bytes, size_t length)
{
    struct scrub *scrub = context;
    const char *end = memrchr(bytes, '\n', length);
    size_t whole = end ? (size_t)(end + 1 - (const char *)bytes) : 0;

    if (!whole && scrub->rest.length + length > 4 * PIECE)
        whole = length; /* a line without an end */
    if (!whole) {
        buf_add(&scrub->rest, bytes, length);
        return 0;
    }
    int r;
    if (scrub->rest.length) {
        buf_add(&scrub->rest, bytes, whole);
        r = scrub_out(scrub, scrub->rest.data, scrub->rest.length);
        buf_clear(&scrub->rest);
    } else {
        r = scrub_out(scrub, bytes, whole);
    }
    buf_add(&scrub->rest, (const char *)bytes + whole, length - whole);
    return r;
}

static int each_hidden(const struct spool *spool, const struct secrets *secrets, spool_taker *take,
                       void *context)
{
    struct scrub scrub = {secrets, {0}, take, context};
    int r = spool_each(spool, scrub_piece, &scrub);

    if (r == 0)
        r = scrub_out(&scrub, scrub.rest.data, scrub.rest.length);
    buf_done(&scrub.rest);
    return r;
}

static int add_to_hash(void *context, const void *bytes, size_t length)
{
    hash_add(context, bytes, length);
    return 0;
}

struct hash spool_digest(const struct spool *spool, const struct secrets *secrets)
{
    struct hash_state *state = hash_begin();

    (void)each_hidden(spool, secrets, add_to_hash, state);
    return hash_end(state);
}

struct copying {
    struct spool *to;
    const char *directory;
};

static int add_to_spool(void *context, const void *bytes, size_t length)
{
    const struct copying *copying = context;

    return spool_add(copying->to, copying->directory, bytes, length);
}

int spool_put(struct spool *spool, struct tape_writer *writer, const char *directory,
              struct recording_bytes *ret, struct err *err)
{
    CLEANUP(spool_done) struct spool clean = {0};
    struct copying copying = {&clean, directory};

    int r = each_hidden(spool, tape_writer_secrets(writer), add_to_spool, &copying);
    if (r < 0)
        return err_set(err, r, "keep the output of a subprocess: %s", strerror(-r));
    ret->length = clean.length;
    const char *bytes = buf_text(&clean.memory);
    size_t length = clean.memory.length;
    if (clean.file)
        return tape_writer_put_file(writer, clean.file - 1, &ret->hash, err);
    if (length <= INLINE_MAX && text_is_utf8(bytes, length)) {
        ret->hash = hash_of(bytes, length);
        ret->text = mem_dupn(bytes, length);
        return 0;
    }
    return tape_writer_put(writer, bytes, length, &ret->hash, err);
}

static int add_to_file(void *context, const void *bytes, size_t length)
{
    return fd_write_full(*(const int *)context, bytes, length);
}

int spool_save(const struct spool *spool, const struct secrets *secrets, int fd)
{
    return each_hidden(spool, secrets, add_to_file, &fd);
}

void spool_done(struct spool *spool)
{
    fd_close(spool->file - 1);
    buf_done(&spool->memory);
    *spool = (struct spool){0};
}
