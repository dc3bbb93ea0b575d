/* SPDX-License-Identifier: MIT */
/* fs_walk_internal: one gathering of changes, shared by the walker of overlays (fs_walk.c), the one
 * of plain directories (fs_scaffold.c) and what they both record (fs_gather.c). */
#pragma once
#include "fs/fs_blobs.h"
#include "fs/fs_changes.h"
#include "fs/fs_store.h"
#include <sys/stat.h>

struct fs_walk {
    struct fs_layers layers;
    struct fs_changes *changes;
    struct fs_blobs *blobs;   /* borrowed: contents in the worktree */
    struct fs_blobs *nowhere; /* owned: contents elsewhere are hashed only */
    struct timespec started;  /* a real file changed later than this is stale */
    size_t linked;            /* changed files that have other names on disk */
    char *first_linked;       /* owned: the path of one */
    struct fs_name *names;    /* owned: those in the upper of files that have several */
    size_t name_count, name_capacity;

    /* The layer at hand. */
    const struct fs_layer *layer;
    const char *xattr_prefix; /* "trusted.overlay." */
    int upper, lower;         /* its upper directory, and the real one */
};

/* One side of a path, as found on disk. */
struct fs_side {
    enum fs_type type; /* FS_NONE: not there */
    struct stat st;
    int root;          /* borrowed: content is at `path` below this directory */
    const char *path;  /* borrowed */
    bool in_store;     /* so that it is ours to open, whatever its permissions */
    const char *facts; /* borrowed: of a file whose content is elsewhere, its path in the upper */
};

enum fs_type fs_type_of(mode_t mode);
/* Looks at a path below a root without following symlinks or leaving the mount. */
int fs_side_look(int root, const char *path, struct fs_side *ret);
int fs_open_beneath(int root, const char *path, int flags);

char *fs_path_join(const char *directory, const char *name); /* returns owned "directory/name" */
/* The absolute path of something in the layer at hand; returns owned. */
char *fs_walk_path(const struct fs_walk *walk, const char *relative);
/* A place with a layer or a private directory of its own, or laid over by the box. */
bool fs_walk_skips(const struct fs_walk *walk, const char *path);
bool fs_walk_has_layers_below(const struct fs_walk *walk, const char *path);
const char *fs_walk_inside(const struct fs_walk *walk, const char *path); /* from the worktree on */
bool fs_walk_is_outside(const struct fs_walk *walk, const char *path);

/* Records the change of one path, if it is one. The contents of `after` are the same as those of
 * `before` when `same_content` says so. */
int fs_walk_record(struct fs_walk *walk, const char *path, const struct fs_side *before,
                   const struct fs_side *after, bool same_content, struct err *err);

/* The same for a file that was copied when the view was made. */
int fs_walk_copy(struct fs_walk *walk, const char *path, const struct fs_side *before,
                 const struct fs_side *after, struct err *err);

int fs_walk_overlay(struct fs_walk *walk, struct err *err);
/* All that is in a directory of the upper that has nothing real below it. */
int fs_walk_added(struct fs_walk *walk, const char *path, struct err *err);
int fs_walk_scaffold(struct fs_walk *walk, const char *relative, struct err *err);
