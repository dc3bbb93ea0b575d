/* SPDX-License-Identifier: MIT */
/* fs_view_internal: shared by the files that build the view.
 *
 * While it is built, the root of the process is a tmpfs, "the stage":
 *
 *     /old      everything that was there before
 *     /root     the view as it grows
 *     /p        private directories: dev, run, tmp, empty
 *     /disk     the store, if it is on disk; otherwise the stage itself is the store
 *     /N/u, /N/w    upper and work directory of layer N (below /disk if that is used)
 *     /layers   what the layers are (fs_store.h)
 *
 * At the end /root becomes the root and the stage is let go; overlays and the store fd hold what
 * they need of it. Paths of options that mount(2) shows to guests are those of the stage, so that
 * /proc/self/mountinfo says the same on every machine. */
#pragma once
#include "base/buf.h"
#include "fs/fs.h"
#include "fs/fs_mounts.h"
#include "fs/fs_store.h"

struct fs_view {
    const struct fs_options *options;
    struct fs_mounts mounts; /* as they were before */
    struct arena arena;      /* owns the paths below: absolute, no symlinks */
    char *worktree;
    char *cwd; /* where the process stood */
    char *upper_dir;
    char **writable, **hide; /* NULL-ended */
    const char *store;       /* "" or "/disk" */
    unsigned layer_count;
    struct buf layers; /* text of the file "layers" */
    bool trusted;      /* overlays may use trusted.* attributes and what depends on them */
};

/* fs_mount_ops.c: one mount each. Paths are those of the stage. */
int fs_bind(const char *source, const char *target, bool recursive, bool read_only,
            struct err *err);
int fs_make_point(const char *path, bool directory, mode_t mode, struct err *err);

/* fs_layer.c: the view of one real directory or file, and of the mounts in it. */
int fs_layer_place_tree(struct fs_view *view, const char *path, struct err *err);
int fs_layer_place_file(struct fs_view *view, const char *path, struct err *err);

/* fs_private.c: /proc, /dev, /run, /sys, /tmp; what is hidden, passed through and laid over. */
bool fs_private_is(const struct fs_view *view, const char *path);    /* one of those directories */
bool fs_private_holds(const struct fs_view *view, const char *path); /* at or below one of them */
bool fs_private_below(const struct fs_view *view, const char *path); /* one of them is below */
int fs_private_mount(struct fs_view *view, struct err *err);
int fs_private_extras(struct fs_view *view, struct err *err);
int fs_private_proc(const struct fs_view *view, const char *target, struct err *err);

/* fs_stdio.c: standard fds that are files become read-only; before anything is mounted. */
int fs_stdio_guard(struct err *err);
