/* SPDX-License-Identifier: MIT */
#include "proc/process_files.h"
#include "base/fd.h"
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PIECE = 65536 };

/* The directory that holds `path`, reached without leaving the worktree by a link. */
static int open_parent(int root, const char *path)
{
    CLEANUP(mem_free) char *copy = mem_dup(path);
    int fd = fd_open_in(root, dirname(copy), O_PATH | O_DIRECTORY, RESOLVE_BENEATH);

    return fd < 0 ? -errno : fd;
}

static int write_content(const struct recording_file *file, struct store *store, int fd,
                         struct err *err)
{
    CLEANUP(store_stream_free) struct store_stream *stream = NULL;
    char piece[PIECE];
    int r = store_stream_open(store, &file->hash, &stream, err);

    while (r == 0) {
        ssize_t count = store_stream_read(stream, piece, sizeof piece);
        if (count <= 0)
            return (int)count;
        r = fd_write_full(fd, piece, (size_t)count);
    }
    return r;
}

static int remove_tree(int parent, const char *name, const char *worktree, const char *path,
                       struct err *err)
{
    if (unlinkat(parent, name, 0) == 0 || errno == ENOENT)
        return 0;
    if (errno != EISDIR)
        return -errno;
    CLEANUP(mem_free) char *whole = mem_format("%s/%s", worktree, path);
    return dir_remove_all(whole, err);
}

static int apply(const struct recording_file *file, struct store *store, const char *worktree,
                 int parent, const char *name, struct err *err)
{
    struct stat st;
    bool exists = fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
    int r = 0;

    if (exists && !(file->type == RECORDING_FILE && S_ISREG(st.st_mode)) &&
        !(file->type == RECORDING_DIRECTORY && S_ISDIR(st.st_mode)))
        r = remove_tree(parent, name, worktree, file->path, err);
    if (r < 0 || file->type == RECORDING_NONE)
        return r;
    if (file->type == RECORDING_LINK)
        return symlinkat(file->target, parent, name) < 0 ? -errno : 0;
    if (file->type == RECORDING_FIFO || file->type == RECORDING_SOCKET) {
        if (mknodat(parent, name, recording_file_kind(file) | 0600, 0) < 0)
            return -errno;
        return fchmodat(parent, name, file->mode, 0) < 0 ? -errno : 0;
    }
    if (file->type == RECORDING_DIRECTORY) {
        if (mkdirat(parent, name, 0700) < 0 && errno != EEXIST)
            return -errno;
        return fchmodat(parent, name, file->mode, 0) < 0 ? -errno : 0;
    }
    CLEANUP(fd_close)
    int fd = openat(parent, name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    r = write_content(file, store, fd, err);
    return r < 0 ? r : fchmod(fd, file->mode) < 0 ? -errno : 0;
}

int process_files_apply(const struct recording *recording, struct store *store,
                        const char *worktree, struct err *err)
{
    CLEANUP(fd_close) int root = open(worktree, O_PATH | O_DIRECTORY | O_CLOEXEC);

    if (root < 0)
        return err_set(err, -errno, "open '%s': %m", worktree);
    for (size_t i = 0; i < recording->file_count; i++) {
        const struct recording_file *file = &recording->files[i];
        if (file->path[0] == '/')
            return err_set(err, -EPERM,
                           "the recording of '%s' changes '%s', outside of the worktree",
                           recording->program, file->path);
        struct err why = {0};
        CLEANUP(mem_free) char *copy = mem_dup(file->path);
        CLEANUP(fd_close) int parent = open_parent(root, file->path);
        int r = parent < 0 ? parent : apply(file, store, worktree, parent, basename(copy), &why);
        if (r < 0)
            return err_set(err, r, "change '%s' as '%s' did: %s", file->path, recording->program,
                           why.code ? why.text : strerror(-r));
    }
    return 0;
}
