/* SPDX-License-Identifier: MIT */
#include "fs/fs_store.h"
#include "base/fd.h"
#include "fs/fs.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>

static const char version[] = "vitro-layers 1";
enum { LAYERS_BYTES_MAX = 64 * 1024 * 1024 };

void fs_layers_begin(struct buf *buf, const char *worktree)
{
    buf_add(buf, version, sizeof version);
    buf_add(buf, worktree, strlen(worktree) + 1);
}

void fs_layers_add(struct buf *buf, enum fs_layer_kind kind, unsigned number, const char *path)
{
    buf_addf(buf, "%c%u %s", kind, number, path);
    buf_addc(buf, '\0');
}

static bool parse_layer(const char *text, struct fs_layer *ret)
{
    char kind;
    int used = 0;

    if (sscanf(text, "%c%u %n", &kind, &ret->number, &used) != 2 || !used ||
        !strchr("tusfwxn", kind))
        return false;
    ret->kind = (enum fs_layer_kind)kind;
    ret->path = text + used;
    return true;
}

int fs_layers_read(int store, struct fs_layers *ret, struct err *err)
{
    CLEANUP(fd_close) int fd = openat(store, "layers", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    CLEANUP(buf_done) struct buf text = {0};

    if (fd < 0)
        return err_set(err, -errno, "open the store's 'layers': %m");
    int r = fd_read_all(fd, &text, LAYERS_BYTES_MAX);
    if (r < 0)
        return err_set(err, r, "read the store's 'layers': %s", strerror(-r));
    *ret = (struct fs_layers){0};
    const char *next = arena_dup(&ret->arena, text.data, text.length), *end = next + text.length;
    if (strcmp(next, version) != 0 || next + sizeof version >= end)
        return err_set(err, -EBADMSG, "the store's 'layers' is not of '%s'", version);
    ret->worktree = next + sizeof version;
    ret->items = arena_alloc(&ret->arena, text.length * sizeof *ret->items / 4 + 1);
    for (next = ret->worktree + strlen(ret->worktree) + 1; next < end; next += strlen(next) + 1)
        if (!parse_layer(next, &ret->items[ret->count++]))
            return err_set(err, -EBADMSG, "the store's 'layers' has '%s'", next);
    return 0;
}

void fs_layers_done(struct fs_layers *layers)
{
    arena_done(&layers->arena);
    *layers = (struct fs_layers){0};
}

int fs_store_usage(int store, struct fs_usage *ret, struct err *err)
{
    struct statfs st;

    if (fstatfs(store, &st) < 0)
        return err_set(err, -errno, "ask how full the store is: %m");
    uint64_t block = (uint64_t)st.f_bsize;
    *ret = (struct fs_usage){
        .used_bytes = (st.f_blocks - st.f_bfree) * block,
        .limit_bytes = st.f_blocks * block,
        .full = st.f_blocks && (st.f_bavail == 0 || (st.f_files && st.f_ffree == 0)),
    };
    return 0;
}
