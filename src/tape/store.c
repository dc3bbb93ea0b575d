/* SPDX-License-Identifier: MIT */
#include "tape/store.h"
#include "base/fd.h"
#include "tape/store_http.h"
#include "tape/tape_internal.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

enum { COMPRESS_FROM_BYTES = 512, COMPRESS_LEVEL = 3 };

struct store {
    char *path;
    int dirfd; /* -1 until the directory is needed */
    bool sync, read_only;
    unsigned temp_count;
    struct store_http *http; /* NULL without a URL */
};

struct content_name {
    char text[HASH_TEXT_LENGTH + 8];
};

static struct content_name content_name(const struct hash *hash, bool compressed)
{
    struct content_name name;

    (void)snprintf(name.text, sizeof name.text, "%s%s", hash_to_text(hash).text,
                   compressed ? ".zst" : "");
    return name;
}

char *store_path_of(const char *tape_path)
{
    return mem_format("%s.cas", tape_path);
}

int store_open(const struct store_options *options, struct store **ret, struct err *err)
{
    CLEANUP(store_free) struct store *store = mem_alloc(sizeof *store);

    store->path = mem_dup(options->path);
    store->dirfd = -1;
    store->sync = options->sync;
    store->read_only = options->read_only;
    if (options->url) {
        int r = store_http_open(options->url, &store->http, err);
        if (r < 0)
            return r;
    }
    *ret = take_ptr(&store);
    return 0;
}

struct store *store_free(struct store *store)
{
    if (store) {
        fd_close(store->dirfd);
        store_http_free(store->http);
        free(store->path);
    }
    free(store);
    return NULL;
}

/* -ENOENT without a text when there is no directory and `create` is off. */
static int open_directory(struct store *store, bool create, struct err *err)
{
    if (store->dirfd >= 0)
        return 0;
    if (create && mkdir(store->path, 0777) < 0 && errno != EEXIST)
        return err_set(err, -errno, "create store '%s': %m", store->path);
    store->dirfd = open(store->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (store->dirfd >= 0)
        return 0;
    int code = -errno;
    struct stat st;
    if (code == -ENOENT)
        return code;
    if (lstat(store->path, &st) == 0 && S_ISLNK(st.st_mode)) {
        err_set(err, -ELOOP, "open store '%s': it is a symbolic link, which could lead anywhere",
                store->path);
        return err_hint(err, "put the directory itself there");
    }
    errno = -code;
    return err_set(err, code, "open store '%s': %m", store->path);
}

static bool is_in_directory(struct store *store, const struct hash *hash)
{
    for (int compressed = 0; compressed < 2; compressed++)
        if (faccessat(store->dirfd, content_name(hash, compressed).text, F_OK,
                      AT_SYMLINK_NOFOLLOW) == 0)
            return true;
    return false;
}

static int write_renamed(struct store *store, const char *name, const void *bytes, size_t length,
                         struct err *err)
{
    char temp[64];

    (void)snprintf(temp, sizeof temp, ".tmp.%ld.%u", (long)getpid(), store->temp_count++);
    CLEANUP(fd_close)
    int fd = openat(store->dirfd, temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0)
        return err_set(err, -errno, "create '%s/%s': %m", store->path, temp);
    int r = fd_write_full(fd, bytes, length);
    if (r == 0 && store->sync && fsync(fd) < 0)
        r = -errno;
    if (r == 0 && renameat(store->dirfd, temp, store->dirfd, name) < 0)
        r = -errno;
    if (r < 0) {
        (void)unlinkat(store->dirfd, temp, 0);
        return err_set(err, r, "write '%s/%s': %s", store->path, name, strerror(-r));
    }
    return 0;
}

/* Writes the content unless it is there; compressed where that saves an eighth or more. */
static int keep(struct store *store, const struct hash *hash, const void *bytes, size_t length,
                struct err *err)
{
    int r = open_directory(store, true, err);

    if (r < 0)
        return r;
    if (is_in_directory(store, hash))
        return 0;
    if (length >= COMPRESS_FROM_BYTES) {
        size_t room = ZSTD_compressBound(length);
        CLEANUP(mem_free) char *packed = mem_alloc(room);
        size_t packed_length = ZSTD_compress(packed, room, bytes, length, COMPRESS_LEVEL);
        if (!ZSTD_isError(packed_length) && packed_length <= length - length / 8)
            return write_renamed(store, content_name(hash, true).text, packed, packed_length, err);
    }
    return write_renamed(store, content_name(hash, false).text, bytes, length, err);
}

int store_put(struct store *store, const void *bytes, size_t length, struct hash *ret,
              struct err *err)
{
    if (length > STORE_CONTENT_MAX)
        return err_set(err, -EFBIG, "store '%s': a content of %zu bytes, over the limit of %d",
                       store->path, length, STORE_CONTENT_MAX);
    struct hash hash = hash_of(bytes, length);
    int r = keep(store, &hash, bytes, length, err);
    if (r == 0 && store->http) {
        r = store_http_has(store->http, &hash, err);
        if (r == 0)
            r = store_http_put(store->http, &hash, bytes, length, err);
    }
    if (r < 0)
        return r;
    *ret = hash;
    return 0;
}

/* Appends what `packed` unpacks to. The frame tells its size; it is held against the limit first.
 */
static int unpack(const struct buf *packed, const char *where, size_t limit, struct buf *ret,
                  struct err *err)
{
    unsigned long long length = ZSTD_getFrameContentSize(packed->data, packed->length);

    if (length == ZSTD_CONTENTSIZE_ERROR || length == ZSTD_CONTENTSIZE_UNKNOWN)
        return err_set(err, -EBADMSG, "read '%s': not what the store writes", where);
    if (length > limit)
        return err_set(err, -EFBIG, "read '%s': %llu bytes, more than %zu", where, length, limit);
    buf_reserve(ret, (size_t)length);
    size_t got =
        ZSTD_decompress(ret->data + ret->length, (size_t)length, packed->data, packed->length);
    if (ZSTD_isError(got) || got != length)
        return err_set(err, -EBADMSG, "read '%s': %s", where,
                       ZSTD_isError(got) ? ZSTD_getErrorName(got) : "cut short");
    ret->length += got;
    ret->data[ret->length] = '\0';
    return 0;
}

/* Reads the file of that name; -ENOENT without a text when there is none. */
static int read_content(struct store *store, const char *name, size_t limit, struct buf *ret,
                        struct err *err)
{
    CLEANUP(fd_close)
    int fd = openat(store->dirfd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct stat st;

    if (fd < 0 && errno == ENOENT)
        return -ENOENT;
    if (fd < 0 && errno == ELOOP)
        return err_set(err, -ELOOP, "read '%s/%s': it is a symbolic link", store->path, name);
    if (fd < 0 || fstat(fd, &st) < 0)
        return err_set(err, -errno, "read '%s/%s': %m", store->path, name);
    if (!S_ISREG(st.st_mode))
        return err_set(err, -EBADMSG, "read '%s/%s': not a regular file", store->path, name);
    int r = fd_read_all(fd, ret, limit);
    if (r < 0)
        return err_set(err, r, "read '%s/%s': %s", store->path, name,
                       r == -EFBIG ? "too large" : strerror(-r));
    return 0;
}

static int get_local(struct store *store, const struct hash *hash, size_t limit, struct buf *ret,
                     struct err *err)
{
    CLEANUP(buf_done) struct buf packed = {0};
    struct content_name name = content_name(hash, false);
    int r = open_directory(store, false, err);

    if (r < 0)
        return r;
    r = read_content(store, name.text, limit, ret, err);
    if (r != -ENOENT)
        return r;
    name = content_name(hash, true);
    r = read_content(store, name.text, ZSTD_compressBound(limit), &packed, err);
    if (r < 0)
        return r;
    CLEANUP(mem_free) char *where = mem_format("%s/%s", store->path, name.text);
    return unpack(&packed, where, limit, ret, err);
}

static int check_hash(const char *where, const struct hash *wanted, const void *bytes,
                      size_t length, struct err *err)
{
    struct hash hash = hash_of(bytes, length);

    if (memcmp(&hash, wanted, sizeof hash) == 0)
        return 0;
    return err_set(err, -EBADMSG, "content %s in '%s' is damaged: its bytes have the hash %s",
                   hash_to_text(wanted).text, where, hash_to_text(&hash).text);
}

static int get_remote(struct store *store, const struct hash *hash, size_t limit, struct buf *ret,
                      struct err *err)
{
    size_t start = ret->length;
    int r = store_http_get(store->http, hash, limit, ret, err);

    if (r == 0)
        r = check_hash("the server's answer", hash, buf_text(ret) + start, ret->length - start,
                       err);
    if (r == 0 && !store->read_only)
        r = keep(store, hash, buf_text(ret) + start, ret->length - start, err);
    return r;
}

int store_get(struct store *store, const struct hash *hash, size_t limit, struct buf *ret,
              struct err *err)
{
    size_t start = ret->length;

    limit = limit ? limit : STORE_CONTENT_MAX;
    int r = get_local(store, hash, limit, ret, err);
    if (r == 0)
        r = check_hash(store->path, hash, buf_text(ret) + start, ret->length - start, err);
    else if (r == -ENOENT && store->http)
        r = get_remote(store, hash, limit, ret, err);
    else if (r == -ENOENT)
        err_set(err, r, "content %s is not in '%s'", hash_to_text(hash).text, store->path);
    if (r < 0 && ret->data)
        buf_cut(ret, start);
    return r;
}

int store_push(struct store *store, const struct hash *hash, struct err *err)
{
    CLEANUP(buf_done) struct buf bytes = {0};
    int r = store_http_has(store->http, hash, err);

    if (r != 0)
        return r < 0 ? r : 0;
    r = get_local(store, hash, STORE_CONTENT_MAX, &bytes, err);
    if (r == -ENOENT)
        err_set(err, r, "content %s is not in '%s'", hash_to_text(hash).text, store->path);
    if (r == 0)
        r = check_hash(store->path, hash, buf_text(&bytes), bytes.length, err);
    if (r == 0)
        r = store_http_put(store->http, hash, buf_text(&bytes), bytes.length, err);
    return r < 0 ? r : 1;
}

int store_fetch(struct store *store, const struct hash *hash, struct err *err)
{
    CLEANUP(buf_done) struct buf bytes = {0};
    int r = open_directory(store, true, err);

    if (r < 0)
        return r;
    if (is_in_directory(store, hash))
        return 0;
    r = get_remote(store, hash, STORE_CONTENT_MAX, &bytes, err);
    return r < 0 ? r : 1;
}

int store_directory(struct store *store, struct err *err)
{
    int r = open_directory(store, false, err);

    return r < 0 ? r : store->dirfd;
}

int store_make_directory(struct store *store, struct err *err)
{
    int r = open_directory(store, true, err);

    return r < 0 ? r : store->dirfd;
}
