/* SPDX-License-Identifier: MIT */
/* Files of null and mock hosts: a flat list of paths. What was given or written can be read; a
 * directory is there when it was made, or when a file stands below it. */
#include "base/text.h"
#include "host/double.h"
#include "proc/recording.h"
#include <errno.h>
#include <string.h>

static int fs_begin(struct vitro_fs *fs, enum host_method method, const char *path, struct ask *ret,
                    struct vitro_host_error *error)
{
    json_t *args = json_object();

    json_object_set_new(args, "path", double_bytes(path, strlen(path)));
    return double_begin(DOUBLE_OF(fs, fs), method, args, ret, host_err(error));
}

static size_t below(const struct host_double *d, const char *path, size_t *ret_first)
{
    size_t length = strlen(path), count = 0;

    while (length > 1 && path[length - 1] == '/')
        length--;
    for (size_t i = 0; i < d->files.count; i++) {
        const char *key = d->files.items[i].key;
        if (strncmp(key, path, length) == 0 &&
            (key[length] == '/' || (length == 1 && *path == '/' && key[1]))) {
            if (!count)
                *ret_first = i;
            count++;
        }
    }
    return count;
}

static int fs_read(struct vitro_fs *fs, const char *path, char **ret, size_t *ret_length,
                   struct vitro_host_error *error)
{
    struct host_double *d = DOUBLE_OF(fs, fs);
    struct ask ask;
    int r = fs_begin(fs, FS_READ, path, &ask, error);

    if (r < 0)
        return r;
    if (r == 1 && !double_bytes_of(ask.answer, ret, ret_length))
        return double_wrong(&ask, host_err(error));
    if (r == 0) {
        (void)pthread_mutex_lock(&d->lock);
        const struct host_entry *entry = entries_find(&d->files, path);
        if (entry && !entry->is_dir) {
            *ret_length = entry->length;
            *ret = mem_dupn(entry->bytes, entry->length);
        }
        (void)pthread_mutex_unlock(&d->lock);
        if (!*ret)
            return double_missing(&ask, path, host_err(error));
    }
    return double_end(&ask, 0, double_bytes(*ret, *ret_length));
}

static int fs_write(struct vitro_fs *fs, const char *path, const void *bytes, size_t length,
                    int append, struct vitro_host_error *error)
{
    struct host_double *d = DOUBLE_OF(fs, fs);
    json_t *args = json_object();
    CLEANUP(buf_done) struct buf all = {0};
    struct ask ask;

    json_object_set_new(args, "path", double_bytes(path, strlen(path)));
    json_object_set_new(args, "bytes", double_bytes(bytes, length));
    int r = double_begin(d, append ? FS_APPEND : FS_WRITE, args, &ask, host_err(error));
    if (r < 0)
        return r;
    (void)pthread_mutex_lock(&d->lock);
    const struct host_entry *entry = entries_find(&d->files, path);
    size_t first;
    bool is_dir = (entry && entry->is_dir) || below(d, path, &first);
    if (entry && append)
        buf_add(&all, entry->bytes, entry->length);
    buf_add(&all, bytes, length);
    if (!is_dir)
        entries_put(d, &d->files, path, buf_text(&all), all.length, false);
    (void)pthread_mutex_unlock(&d->lock);
    if (is_dir)
        return double_end(&ask, err_set(host_err(error), -EISDIR, "write '%s': a directory", path),
                          NULL);
    return double_end(&ask, 0, NULL);
}

static int fs_stat(struct vitro_fs *fs, const char *path, struct vitro_fs_stat *ret,
                   struct vitro_host_error *error)
{
    struct host_double *d = DOUBLE_OF(fs, fs);
    struct ask ask;
    const char *type = NULL;
    json_int_t size = 0;
    int r = fs_begin(fs, FS_STAT, path, &ask, error);

    if (r < 0)
        return r;
    if (r == 1) {
        if (json_unpack(ask.answer, "{s:s, s?I}", "type", &type, "size", &size) < 0 ||
            (strcmp(type, "file") != 0 && strcmp(type, "dir") != 0))
            return double_wrong(&ask, host_err(error));
        *ret = (struct vitro_fs_stat){.type = *type == 'd' ? VITRO_DIR : VITRO_FILE,
                                      .size_bytes = (uint64_t)size};
    } else {
        size_t first;
        (void)pthread_mutex_lock(&d->lock);
        const struct host_entry *entry = entries_find(&d->files, path);
        bool is_dir = (entry && entry->is_dir) || below(d, path, &first);
        bool there = entry || is_dir;
        if (there)
            *ret = (struct vitro_fs_stat){.type = is_dir ? VITRO_DIR : VITRO_FILE,
                                          .size_bytes = is_dir ? 0 : entry->length};
        (void)pthread_mutex_unlock(&d->lock);
        if (!there) /* that a file is not there is an answer */
            return double_end(&ask, err_set(host_err(error), -ENOENT, "stat '%s': not there", path),
                              NULL);
    }
    return double_end(&ask, 0,
                      json_pack("{s:I, s:s}", "size", (json_int_t)ret->size_bytes, "type",
                                ret->type == VITRO_DIR ? "dir" : "file"));
}

static int fs_remove(struct vitro_fs *fs, const char *path, struct vitro_host_error *error)
{
    struct host_double *d = DOUBLE_OF(fs, fs);
    struct ask ask;
    size_t first;
    int r = fs_begin(fs, FS_REMOVE, path, &ask, error);

    if (r < 0)
        return r;
    if (r == 1)
        return double_end(&ask, 0, NULL);
    (void)pthread_mutex_lock(&d->lock);
    r = below(d, path, &first) ? -ENOTEMPTY : entries_remove(&d->files, path) ? 0 : -ENOENT;
    (void)pthread_mutex_unlock(&d->lock);
    if (r < 0)
        (void)err_set(host_err(error), r, "remove '%s': %s", path, strerror(-r));
    return double_end(&ask, r, NULL);
}

static int fs_rename(struct vitro_fs *fs, const char *from, const char *to,
                     struct vitro_host_error *error)
{
    struct host_double *d = DOUBLE_OF(fs, fs);
    json_t *args = json_object();
    struct ask ask;

    json_object_set_new(args, "from", double_bytes(from, strlen(from)));
    json_object_set_new(args, "to", double_bytes(to, strlen(to)));
    int r = double_begin(d, FS_RENAME, args, &ask, host_err(error));
    if (r < 0)
        return r;
    if (r == 1)
        return double_end(&ask, 0, NULL);
    (void)pthread_mutex_lock(&d->lock);
    const struct host_entry *entry = entries_find(&d->files, from);
    if (entry && strcmp(from, to) != 0) {
        struct host_entry kept = *entry;
        (void)entries_remove(&d->files, from);
        entries_put(d, &d->files, to, kept.bytes, kept.length, kept.is_dir);
    }
    (void)pthread_mutex_unlock(&d->lock);
    if (!entry)
        r = err_set(host_err(error), -ENOENT, "rename '%s': not there", from);
    return double_end(&ask, r, NULL);
}

static int fs_make_dir(struct vitro_fs *fs, const char *path, struct vitro_host_error *error)
{
    struct host_double *d = DOUBLE_OF(fs, fs);
    struct ask ask;
    int r = fs_begin(fs, FS_MAKE_DIR, path, &ask, error);

    if (r < 0)
        return r;
    if (r == 1)
        return double_end(&ask, 0, NULL);
    (void)pthread_mutex_lock(&d->lock);
    const struct host_entry *entry = entries_find(&d->files, path);
    if (!entry)
        entries_put(d, &d->files, path, "", 0, true);
    r = entry && !entry->is_dir ? -ENOTDIR : 0;
    (void)pthread_mutex_unlock(&d->lock);
    if (r < 0)
        (void)err_set(host_err(error), r, "make directory '%s': a file", path);
    return double_end(&ask, r, NULL);
}

/* With the lock held: the names right below a path, each once. */
static char **names_below(const struct host_double *d, const char *path)
{
    size_t length = strlen(path), count = 0, first = 0, entries = below(d, path, &first);
    char **names = mem_alloc((entries + 1) * sizeof *names);

    while (length && path[length - 1] == '/')
        length--;
    for (size_t i = first; i < d->files.count; i++) {
        const char *key = d->files.items[i].key;
        if (strncmp(key, path, length) != 0 || key[length] != '/')
            continue;
        char *name = mem_dupn(key + length + 1, strcspn(key + length + 1, "/"));
        bool seen = !*name;
        for (size_t k = 0; k < count; k++)
            seen |= strcmp(names[k], name) == 0;
        if (seen)
            free(name);
        else
            names[count++] = name;
    }
    return names;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int fs_list(struct vitro_fs *fs, const char *path, char ***ret,
                   struct vitro_host_error *error)
{
    struct host_double *d = DOUBLE_OF(fs, fs);
    json_t *given = json_array();
    struct ask ask;
    size_t first, count = 0;
    int r = fs_begin(fs, FS_LIST, path, &ask, error);

    if (r < 0) {
        json_decref(given);
        return r;
    }
    if (r == 1) {
        bool wrong = !json_is_array(ask.answer);
        *ret = mem_alloc((json_array_size(ask.answer) + 1) * sizeof **ret);
        for (; !wrong && count < json_array_size(ask.answer); count++)
            wrong =
                !((*ret)[count] = mem_dup(json_string_value(json_array_get(ask.answer, count))));
        if (wrong) {
            *ret = strings_free(*ret);
            json_decref(given);
            return double_wrong(&ask, host_err(error));
        }
    } else {
        (void)pthread_mutex_lock(&d->lock);
        const struct host_entry *entry = entries_find(&d->files, path);
        if (below(d, path, &first) || (entry && entry->is_dir))
            *ret = names_below(d, path);
        (void)pthread_mutex_unlock(&d->lock);
        if (!*ret) {
            json_decref(given);
            return double_missing(&ask, path, host_err(error));
        }
        while ((*ret)[count])
            count++;
    }
    qsort(*ret, count, sizeof **ret, compare_names);
    for (size_t i = 0; i < count; i++)
        json_array_append_new(given, double_bytes((*ret)[i], strlen((*ret)[i])));
    return double_end(&ask, 0, given);
}

void double_fs_init(struct host_double *d)
{
    static const struct vitro_fs_ops ops = {.read = fs_read,
                                            .write = fs_write,
                                            .stat = fs_stat,
                                            .remove = fs_remove,
                                            .rename = fs_rename,
                                            .make_dir = fs_make_dir,
                                            .list = fs_list};

    d->fs.ops = &ops;
}
