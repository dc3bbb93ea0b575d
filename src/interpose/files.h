/* SPDX-License-Identifier: MIT */
/* files: a worktree that libc changes in memory.
 *
 * The overlay (vitro/overlay.h) holds the tree. A file that is opened for writing, or that the
 * overlay holds already, is a memfd, and every open of it is one of that memfd: so reading,
 * writing, mapping, locking and truncating are the kernel's, and two who have it open see each
 * other. When the overlay itself is asked for contents, files_sync brings them over. A file that
 * nobody changed is opened where it is.
 *
 * Paths are absolute texts below the worktree, from files_path. Results are those of the system
 * call, or -errno. One thread at a time: whoever has the world's lock. */
#pragma once
#include "fs/overlay_internal.h"
#include <dirent.h>
#include <sys/stat.h>

struct live;
struct files_dir;
struct files {
    struct vitro_overlay *overlay; /* borrowed */
    struct live *first;
    struct files_dir *dirs; /* fds of directories, by what they were opened as */
    dev_t device;
};

void files_init(struct files *files, struct vitro_overlay *overlay);
void files_done(struct files *files);
int files_sync(struct files *files);

/* The path that (dirfd, path) means. 1: below the worktree, and *ret is owned; 0: elsewhere. */
int files_path(struct files *files, int dirfd, const char *path, char **ret);
int files_open(struct files *files, const char *path, int flags, mode_t mode);
void files_closed(struct files *files, int fd);
int files_stat(struct files *files, const char *path, bool follow, struct stat *ret);
bool files_fstat(struct files *files, int fd, struct stat *st); /* it is ours: *st is put right */
int files_access(struct files *files, const char *path, int mode);
int files_remove(struct files *files, const char *path, bool directory);
int files_rename(struct files *files, const char *from, const char *to, bool replace);
int files_mkdir(struct files *files, const char *path, mode_t mode);
int files_symlink(struct files *files, const char *target, const char *path);
int files_readlink(struct files *files, const char *path, char *ret, size_t size);
int files_chmod(struct files *files, const char *path, mode_t mode);
int files_truncate(struct files *files, const char *path, off_t length);
int files_set_times(struct files *files, const char *path, int64_t modified_ns);
int files_real(struct files *files, const char *path, char **ret); /* without symlinks; owned */
