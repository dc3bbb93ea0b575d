/* SPDX-License-Identifier: MIT */
/* Files of the real host: the machine's, or an overlay's. */
#include "base/fd.h"
#include "host/host_real.h"
#include "proc/recording.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_MAX_BYTES = 1 << 30 };

static int tell(struct vitro_overlay *overlay, int code, const char *what, const char *path,
                struct vitro_host_error *error)
{
    const char *words = overlay ? vitro_overlay_error(overlay) : "";

    if (code >= 0)
        return code;
    return err_set(host_err(error), code, "%s '%s': %s", what, path,
                   *words ? words : strerror(-code));
}

static int fs_read(struct vitro_fs *fs, const char *path, char **ret, size_t *ret_length,
                   struct vitro_host_error *error)
{
    struct vitro_overlay *overlay = REAL_OF(fs, fs)->overlay;
    CLEANUP(buf_done) struct buf bytes = {0};

    if (overlay)
        return tell(overlay, vitro_overlay_read(overlay, path, ret, ret_length), "read", path,
                    error);
    int r = file_read(path, FILE_MAX_BYTES, &bytes, host_err(error));
    if (r < 0)
        return r;
    *ret_length = bytes.length;
    *ret = bytes.data ? buf_take(&bytes) : mem_dup("");
    return 0;
}

static int fs_write(struct vitro_fs *fs, const char *path, const void *bytes, size_t length,
                    int append, struct vitro_host_error *error)
{
    struct vitro_overlay *overlay = REAL_OF(fs, fs)->overlay;

    if (overlay)
        return tell(overlay,
                    append ? vitro_overlay_append(overlay, path, bytes, length)
                           : vitro_overlay_write(overlay, path, bytes, length),
                    "write", path, error);
    CLEANUP(fd_close)
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | (append ? O_APPEND : O_TRUNC), 0666);
    int r = fd < 0 ? -errno : fd_write_full(fd, bytes, length);
    return tell(NULL, r, "write", path, error);
}

static int fs_stat(struct vitro_fs *fs, const char *path, struct vitro_fs_stat *ret,
                   struct vitro_host_error *error)
{
    struct vitro_overlay *overlay = REAL_OF(fs, fs)->overlay;
    struct vitro_overlay_stat inside;
    struct stat st;
    int r;

    if (overlay) {
        r = vitro_overlay_stat(overlay, path, &inside);
        if (r == 0)
            *ret = (struct vitro_fs_stat){.type = inside.type, .size_bytes = inside.size};
        return tell(overlay, r, "stat", path, error);
    }
    r = stat(path, &st) < 0 ? -errno : 0;
    if (r == 0)
        *ret = (struct vitro_fs_stat){.type = S_ISREG(st.st_mode)   ? VITRO_FILE
                                              : S_ISDIR(st.st_mode) ? VITRO_DIR
                                                                    : VITRO_OTHER,
                                      .size_bytes = (uint64_t)st.st_size};
    return tell(NULL, r, "stat", path, error);
}

static int fs_remove(struct vitro_fs *fs, const char *path, struct vitro_host_error *error)
{
    struct vitro_overlay *overlay = REAL_OF(fs, fs)->overlay;
    int r = overlay ? vitro_overlay_remove(overlay, path) : remove(path) < 0 ? -errno : 0;

    return tell(overlay, r, "remove", path, error);
}

static int fs_rename(struct vitro_fs *fs, const char *from, const char *to,
                     struct vitro_host_error *error)
{
    struct vitro_overlay *overlay = REAL_OF(fs, fs)->overlay;
    int r = overlay ? vitro_overlay_rename(overlay, from, to) : rename(from, to) < 0 ? -errno : 0;

    return tell(overlay, r, "rename", from, error);
}

static int fs_make_dir(struct vitro_fs *fs, const char *path, struct vitro_host_error *error)
{
    struct vitro_overlay *overlay = REAL_OF(fs, fs)->overlay;

    if (overlay)
        return tell(overlay, vitro_overlay_mkdir_all(overlay, path, 0777), "make directory", path,
                    error);
    return dir_make_all(path, host_err(error));
}

static int list_overlay(struct vitro_overlay *overlay, const char *path, char ***ret,
                        struct vitro_host_error *error)
{
    struct vitro_overlay_entry *entries = NULL;
    size_t count = 0;
    int r = vitro_overlay_read_dir(overlay, path, &entries, &count);

    if (r < 0)
        return tell(overlay, r, "list", path, error);
    *ret = mem_alloc((count + 1) * sizeof **ret);
    for (size_t i = 0; i < count; i++)
        (*ret)[i] = mem_dup(entries[i].name);
    vitro_overlay_entries_free(entries, count);
    return 0;
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int fs_list(struct vitro_fs *fs, const char *path, char ***ret,
                   struct vitro_host_error *error)
{
    struct vitro_overlay *overlay = REAL_OF(fs, fs)->overlay;
    struct dirent **entries = NULL;
    size_t kept = 0;

    if (overlay)
        return list_overlay(overlay, path, ret, error);
    int count = scandir(path, &entries, NULL, by_bytes);
    if (count < 0)
        return tell(NULL, -errno, "list", path, error);
    *ret = mem_alloc(((size_t)count + 1) * sizeof **ret);
    for (int i = 0; i < count; i++) {
        if (strcmp(entries[i]->d_name, ".") != 0 && strcmp(entries[i]->d_name, "..") != 0)
            (*ret)[kept++] = mem_dup(entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    return 0;
}

void real_fs_init(struct host_real *real)
{
    static const struct vitro_fs_ops ops = {.read = fs_read,
                                            .write = fs_write,
                                            .stat = fs_stat,
                                            .remove = fs_remove,
                                            .rename = fs_rename,
                                            .make_dir = fs_make_dir,
                                            .list = fs_list};

    real->fs.ops = &ops;
}
