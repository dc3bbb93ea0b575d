/* SPDX-License-Identifier: MIT */
/* overlay_internal: the in-process overlay, shared by its files.
 *
 * The upper is a tree of nodes in memory, with the same three marks the kernel's overlay has: a
 * node of type FS_NONE is a whiteout, an opaque directory hides what is below it, and a directory
 * with an origin shows another real directory than the one of its name. */
#pragma once
#include "base/buf.h"
#include "fs/fs_blobs.h"
#include "fs/fs_changes.h"
#include "fs/fs_names.h"
#include "vitro/overlay.h"

struct overlay_node {
    char *name; /* owned */
    enum fs_type type;
    mode_t mode;
    struct buf bytes;               /* of a file or a symlink */
    bool opaque;                    /* of a directory */
    char *origin;                   /* of a directory: owned; NULL for its own place */
    struct overlay_node **children; /* owned, sorted by name */
    size_t count, capacity;
};

/* A path without symlinks, looked up. */
struct overlay_spot {
    struct overlay_node *node; /* borrowed; NULL if the overlay has none */
    char *lower;               /* owned: the real path below; NULL if there is none */
    enum fs_type type;         /* what is seen */
    mode_t mode;
    uint64_t size;
};

struct baseline { /* what a path was when it was first touched */
    char *path;
    struct fs_node node;
};

struct vitro_overlay {
    char *worktree; /* absolute, no symlinks */
    int root;
    struct overlay_node *top;
    struct fs_blobs *blobs;
    struct baseline **baselines; /* owned, in the order in which they were touched */
    size_t baseline_count, baseline_capacity;
    void *baseline_tree; /* of tsearch(3): the same, by path */
    struct err err;
};

void overlay_spot_done(struct overlay_spot *spot);
static inline __attribute__((unused)) void overlay_spot_done_cleanup(struct overlay_spot *spot)
{
    overlay_spot_done(spot);
}

/* overlay_tree.c */
struct overlay_node *overlay_node_new(const char *name, enum fs_type type, mode_t mode);
struct overlay_node *overlay_node_free(struct overlay_node *node);
struct overlay_node *overlay_child(const struct overlay_node *dir, const char *name);
void overlay_put(struct overlay_node *dir, struct overlay_node *child);       /* takes; replaces */
struct overlay_node *overlay_cut(struct overlay_node *dir, const char *name); /* returns owned */
/* Looks up a path without symlinks. What is not there is FS_NONE; -ENOTDIR below a file. */
int overlay_look(struct vitro_overlay *overlay, const char *path, struct overlay_spot *ret);
/* The node of an existing directory, made on the way if there was none. */
int overlay_make_dir(struct vitro_overlay *overlay, const char *path, struct overlay_node **ret);
/* The names seen in a directory. */
int overlay_list(struct vitro_overlay *overlay, const struct overlay_spot *spot,
                 struct fs_names *ret);
int overlay_load(struct vitro_overlay *overlay, const struct overlay_spot *spot, struct buf *ret);

/* overlay_path.c: makes a path relative to the worktree and free of symlinks, the last one too if
 * `follow`. The rest of a path that does not exist is kept. *ret is owned, "" for the worktree. */
int overlay_resolve(struct vitro_overlay *overlay, const char *path, bool follow, char **ret);

/* overlay_changes.c: remembers what a path is now, and all below it, unless it was touched before.
 */
int overlay_touch(struct vitro_overlay *overlay, const char *path);
/* What differs from then; *ret is owned. A failure is told by vitro_overlay_error. */
int overlay_changes(struct vitro_overlay *overlay, struct fs_changes **ret);
void overlay_baselines_clear(struct vitro_overlay *overlay);

/* overlay.c: a path as the caller wrote it, resolved and looked up. */
struct overlay_target {
    char *path; /* owned */
    struct overlay_spot spot;
};

void overlay_target_done(struct overlay_target *target);
static inline __attribute__((unused)) void
overlay_target_done_cleanup(struct overlay_target *target)
{
    overlay_target_done(target);
}
int overlay_find(struct vitro_overlay *overlay, const char *path, bool follow,
                 struct overlay_target *ret);
/* The same for something that must be there. */
int overlay_find_there(struct vitro_overlay *overlay, const char *path, bool follow,
                       struct overlay_target *ret);
bool overlay_ends_in_slash(const char *path);
/* Keeps a failed call in words; returns the code. */
int overlay_failed(struct vitro_overlay *overlay, int r, const char *verb, const char *path);
