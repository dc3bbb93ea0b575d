/* SPDX-License-Identifier: MIT */
/* fs_store: the file "layers" of a store: which layer belongs to which place. Written once when
 * the view stands, read when changes are gathered. NUL-ended texts: a version, the worktree, then
 * a letter, a number and a path for each layer, or 'n' and a sentence for a note. */
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include <stddef.h>

enum fs_layer_kind {
    FS_LAYER_TRUSTED = 't',  /* overlay, attributes trusted.overlay.* */
    FS_LAYER_USER = 'u',     /* overlay, attributes user.overlay.* */
    FS_LAYER_SCAFFOLD = 's', /* plain directory that holds copies, links and mount points */
    FS_LAYER_FILE = 'f',     /* copy of one file */
    FS_LAYER_WRITABLE = 'w', /* the real directory, passed through */
    FS_LAYER_OURS = 'x',     /* a place the box laid something over: never a change of a guest */
    FS_LAYER_NOTE = 'n',     /* a sentence for the report */
};

struct fs_layer {
    enum fs_layer_kind kind;
    unsigned number;  /* the upper is NUMBER/u */
    const char *path; /* mount point, or the sentence */
};

struct fs_layers {
    struct arena arena;
    const char *worktree;
    struct fs_layer *items;
    size_t count;
};

void fs_layers_begin(struct buf *buf, const char *worktree);
void fs_layers_add(struct buf *buf, enum fs_layer_kind kind, unsigned number, const char *path);
int fs_layers_read(int store, struct fs_layers *ret, struct err *err);
void fs_layers_done(struct fs_layers *layers);
static inline __attribute__((unused)) void fs_layers_done_cleanup(struct fs_layers *layers)
{
    fs_layers_done(layers);
}
