/* SPDX-License-Identifier: MIT */
/* From a store to a list of changes: each layer is walked by what is in its upper, and every path
 * found there is compared with the real one. */
#include "base/fd.h"
#include "base/trace.h"
#include "fs/fs.h"
#include "fs/fs_mounts.h"
#include "fs/fs_unmapped.h"
#include "fs/fs_walk_internal.h"
#include "fs/fs_xattrs.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { UNMAPPED_LOOK_MAX = 300 }; /* about a millisecond */

enum fs_type fs_type_of(mode_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFREG:
        return FS_FILE;
    case S_IFDIR:
        return FS_DIR;
    case S_IFLNK:
        return FS_SYMLINK;
    case S_IFIFO:
        return FS_FIFO;
    case S_IFSOCK:
        return FS_SOCKET;
    default:
        return FS_DEVICE;
    }
}

static int open_beneath(int root, const char *path, int flags, unsigned long resolve)
{
    int fd = fd_open_in(root, *path ? path : ".", (unsigned)flags,
                        RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | resolve);

    return fd < 0 ? -errno : fd;
}

int fs_open_beneath(int root, const char *path, int flags)
{
    return open_beneath(root, path, flags, RESOLVE_NO_XDEV);
}

static struct timespec time_of(const struct statx_timestamp *time)
{
    return (struct timespec){time->tv_sec, time->tv_nsec};
}

/* One name, without opening it. */
static int look_in(int dir, const char *name, struct stat *ret)
{
    struct statx st;

    if (statx(dir, name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, STATX_BASIC_STATS, &st) < 0)
        return -errno;
    if (st.stx_attributes & STATX_ATTR_MOUNT_ROOT)
        return -EXDEV;
    *ret = (struct stat){
        .st_dev = makedev(st.stx_dev_major, st.stx_dev_minor),
        .st_ino = st.stx_ino,
        .st_mode = st.stx_mode,
        .st_nlink = st.stx_nlink,
        .st_uid = st.stx_uid,
        .st_gid = st.stx_gid,
        .st_rdev = makedev(st.stx_rdev_major, st.stx_rdev_minor),
        .st_size = (off_t)st.stx_size,
        .st_blocks = (blkcnt_t)st.stx_blocks,
        .st_atim = time_of(&st.stx_atime),
        .st_mtim = time_of(&st.stx_mtime),
        .st_ctim = time_of(&st.stx_ctime),
    };
    return 0;
}

static int look_beneath(int root, const char *path, struct stat *ret)
{
    CLEANUP(fd_close) int fd = fs_open_beneath(root, path, O_PATH | O_NOFOLLOW);

    return fd < 0 ? fd : fstat(fd, ret) < 0 ? -errno : 0;
}

int fs_side_look(int root, const char *path, struct fs_side *ret)
{
    *ret = (struct fs_side){.root = root, .path = path};
    int r = *path && !strchr(path, '/') ? look_in(root, path, &ret->st)
                                        : look_beneath(root, path, &ret->st);
    if (r == -ENOENT || r == -ENOTDIR || r == -EXDEV || r == -ELOOP)
        return 0;
    if (r < 0)
        return r;
    ret->type = fs_type_of(ret->st.st_mode);
    return 0;
}

/* For every path that was touched: printf would show. */
char *fs_path_join(const char *directory, const char *name)
{
    size_t before = strlen(directory), length = strlen(name) + 1;
    char *path = mem_grow(NULL, before + 1 + length);

    memcpy(path, directory, before);
    path[before] = '/';
    memcpy(path + before + 1, name, length);
    return path;
}

char *fs_walk_path(const struct fs_walk *walk, const char *relative)
{
    const char *point = strcmp(walk->layer->path, "/") == 0 ? "" : walk->layer->path;

    return *relative ? fs_path_join(point, relative) : mem_dup(walk->layer->path);
}

bool fs_walk_skips(const struct fs_walk *walk, const char *path)
{
    for (size_t i = 0; i < walk->layers.count; i++) {
        const struct fs_layer *layer = &walk->layers.items[i];
        if (layer != walk->layer && layer->kind != FS_LAYER_NOTE && strcmp(layer->path, path) == 0)
            return true;
    }
    return false;
}

bool fs_walk_has_layers_below(const struct fs_walk *walk, const char *path)
{
    for (size_t i = 0; i < walk->layers.count; i++)
        if (walk->layers.items[i].kind != FS_LAYER_NOTE &&
            fs_path_is_below(walk->layers.items[i].path, path))
            return true;
    return false;
}

const char *fs_walk_inside(const struct fs_walk *walk, const char *path)
{
    const char *worktree = walk->layers.worktree;

    return path + (strcmp(worktree, "/") == 0 ? 1 : strlen(worktree) + 1);
}

bool fs_walk_is_outside(const struct fs_walk *walk, const char *path)
{
    return strcmp(path, walk->layers.worktree) != 0 &&
           !fs_path_is_below(path, walk->layers.worktree);
}

/* Guests may leave files without permission to read them; in the store they are ours to open. */
static int open_content(const struct fs_walk *walk, const struct fs_side *side)
{
    unsigned long resolve = walk->layer->kind == FS_LAYER_FILE ? 0 : RESOLVE_NO_XDEV;
    int fd = open_beneath(side->root, side->path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, resolve);

    if (fd != -EACCES || !side->in_store)
        return fd;
    CLEANUP(fd_close) int closed = fs_open_beneath(side->root, side->path, O_PATH | O_NOFOLLOW);
    char link[64];
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", closed);
    if (closed < 0 || chmod(link, (side->st.st_mode & 07777) | 0400) < 0)
        return -EACCES;
    return fs_open_beneath(side->root, side->path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
}

static int read_link(const struct fs_side *side, struct buf *ret)
{
    CLEANUP(fd_close) int fd = fs_open_beneath(side->root, side->path, O_PATH | O_NOFOLLOW);
    char target[PATH_MAX];
    ssize_t length = fd < 0 ? -1 : readlinkat(fd, "", target, sizeof target);

    if (length < 0)
        return fd < 0 ? fd : -errno;
    buf_add(ret, target, (size_t)length);
    return 0;
}

/* Layers of the kernel have the owners that guests gave; elsewhere copies are ours. Without root we
 * are in the user namespace of the box ourselves, where others have no numbers. */
static struct fs_owner owner_of(const struct fs_walk *walk, const struct stat *st)
{
    bool is_told = (walk->layer->kind == FS_LAYER_TRUSTED || walk->layer->kind == FS_LAYER_USER) &&
                   fs_id_is_true("uid", st->st_uid) && fs_id_is_true("gid", st->st_gid);

    return is_told ? (struct fs_owner){true, st->st_uid, st->st_gid} : (struct fs_owner){0};
}

static const char *read_xattrs(struct fs_walk *walk, const struct fs_side *side)
{
    CLEANUP(buf_done) struct buf text = {0};
    CLEANUP(fd_close)
    int fd = side->facts ? fs_open_beneath(walk->upper, side->facts, O_PATH | O_NOFOLLOW)
                         : fs_open_beneath(side->root, side->path, O_PATH | O_NOFOLLOW);

    if (fd < 0 || fs_xattrs_read(fd, &text) < 0)
        return NULL;
    return arena_dup(&walk->changes->arena, buf_text(&text), text.length);
}

static int make_node(struct fs_walk *walk, const char *path, const struct fs_side *side,
                     struct fs_node *ret, struct err *err)
{
    struct fs_blobs *blobs = fs_walk_is_outside(walk, path) ? walk->nowhere : walk->blobs;

    *ret = (struct fs_node){.type = side->type, .mode = side->st.st_mode & 07777};
    if (side->type == FS_NONE)
        ret->mode = 0;
    else
        ret->owner = owner_of(walk, &side->st);
    if (fs_blobs_keep(blobs) && (side->type == FS_FILE || side->type == FS_DIR))
        ret->xattrs = read_xattrs(walk, side);
    if (side->type == FS_SYMLINK) {
        CLEANUP(buf_done) struct buf target = {0};
        int r = read_link(side, &target);
        if (r < 0)
            return err_set(err, r, "read symlink '%s': %s", path, strerror(-r));
        ret->mode = 0777;
        return fs_content_put_bytes(blobs, buf_text(&target), target.length, ret, err);
    }
    if (side->type != FS_FILE)
        return 0;
    CLEANUP(fd_close) int fd = open_content(walk, side);
    if (fd == -EACCES && !side->in_store) { /* not ours to read: known by its facts */
        ret->size = (uint64_t)side->st.st_size;
        fs_changes_note(walk->changes, "'%s' may not be read, so its old content is not shown",
                        path);
        return 0;
    }
    if (fd < 0)
        return err_set(err, fd, "open '%s': %s", path, strerror(-fd));
    int r = fs_content_put(blobs, fd, ret, err);
    return r < 0 ? err_wrap(err, "'%s'", path) : 0;
}

static bool is_later(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec != b->tv_sec ? a->tv_sec > b->tv_sec : a->tv_nsec > b->tv_nsec;
}

static bool owners_differ(const struct stat *a, const struct stat *b)
{
    return a->st_uid != b->st_uid || a->st_gid != b->st_gid;
}

static bool nodes_differ(const struct fs_node *a, const struct fs_node *b)
{
    if (a->type != b->type || a->mode != b->mode || fs_owners_differ(&a->owner, &b->owner) ||
        !fs_xattrs_same(a->xattrs, b->xattrs))
        return true;
    if (a->type != FS_FILE && a->type != FS_SYMLINK)
        return false;
    return a->size != b->size || memcmp(&a->hash, &b->hash, sizeof a->hash) != 0;
}

int fs_walk_record(struct fs_walk *walk, const char *path, const struct fs_side *before,
                   const struct fs_side *after, bool same_content, struct err *err)
{
    bool outside = fs_walk_is_outside(walk, path);
    struct fs_node old, new;

    if (before->type == FS_NONE && after->type == FS_NONE)
        return 0;
    if (strcmp(path, walk->layers.worktree) == 0) {
        if (after->type != FS_DIR)
            fs_changes_note(walk->changes, "the worktree itself was removed or replaced");
        return 0;
    }
    if (before->type == FS_DIR && after->type == FS_DIR && walk->layer->kind == FS_LAYER_USER &&
        owners_differ(&before->st, &after->st))
        return 0; /* made by us on the way to the worktree */
    if (same_content && ((before->st.st_mode ^ after->st.st_mode) & 07777) == 0 &&
        !owners_differ(&before->st, &after->st) &&
        fs_xattrs_same(read_xattrs(walk, before), read_xattrs(walk, after)))
        return 0;
    int r = make_node(walk, path, before, &old, err);
    if (r == 0 && !same_content)
        r = make_node(walk, path, after, &new, err);
    if (r < 0)
        return r;
    if (same_content) {
        new = old;
        new.mode = after->st.st_mode & 07777;
        new.owner = owner_of(walk, &after->st);
        new.xattrs = outside ? NULL : read_xattrs(walk, after);
    }
    if (!nodes_differ(&old, &new))
        return 0;
    struct fs_change *change =
        fs_changes_add(walk->changes, outside ? path : fs_walk_inside(walk, path));
    change->outside = outside;
    change->before = old;
    change->after = new;
    change->stale = before->type != FS_NONE && is_later(&before->st.st_ctim, &walk->started);
    return 0;
}

static bool is_untouched(const struct stat *real, const struct stat *copy)
{
    return real->st_size == copy->st_size && real->st_mode == copy->st_mode &&
           real->st_mtim.tv_sec == copy->st_mtim.tv_sec &&
           real->st_mtim.tv_nsec == copy->st_mtim.tv_nsec;
}

int fs_walk_copy(struct fs_walk *walk, const char *path, const struct fs_side *before,
                 const struct fs_side *after, struct err *err)
{
    if (before->type == FS_FILE && after->type == FS_FILE && is_untouched(&before->st, &after->st))
        return 0; /* copies are made with the times of the real file */
    return fs_walk_record(walk, path, before, after, false, err);
}

/* A copy of one file that was mounted on its own: its layer is that file. */
static int walk_file(struct fs_walk *walk, int store, struct err *err)
{
    CLEANUP(mem_free) char *copy = mem_format("%u/u", walk->layer->number);
    CLEANUP(mem_free) char *directory = mem_dup(walk->layer->path);
    char *name = strrchr(directory, '/');
    struct fs_side before, after;

    *name++ = '\0';
    CLEANUP(fd_close)
    int parent = open(*directory ? directory : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct stat st;
    if (parent < 0 || fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return err_set(err, -errno, "look at '%s': %m", walk->layer->path);
    before = (struct fs_side){fs_type_of(st.st_mode), st, parent, name, false, NULL};
    walk->upper = store;
    walk->lower = parent;
    int r = fs_side_look(store, copy, &after);
    after.in_store = true;
    if (r < 0)
        return err_set(err, r, "look at '%s' in the store: %s", copy, strerror(-r));
    return fs_walk_copy(walk, walk->layer->path, &before, &after, err);
}

/* What lay under this layer: the real directory, or an empty one if that was taken away while the
 * run went on, as mounts are. */
static int open_lower(struct fs_walk *walk, int store)
{
    static const char gone[] = "gone";
    int fd = open(walk->layer->path, O_PATH | O_DIRECTORY | O_CLOEXEC);

    if (fd >= 0 || (errno != ENOENT && errno != ENOTDIR))
        return fd;
    if (mkdirat(store, gone, 0700) < 0 && errno != EEXIST)
        return -1;
    return openat(store, gone, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static int walk_layer(struct fs_walk *walk, int store, struct err *err)
{
    CLEANUP(mem_free) char *upper_path = mem_format("%u/u", walk->layer->number);
    CLEANUP(fd_close) int upper = -1;
    CLEANUP(fd_close) int lower = -1;

    if (walk->layer->kind == FS_LAYER_FILE)
        return walk_file(walk, store, err);
    upper = openat(store, upper_path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (upper < 0)
        return err_set(err, -errno, "open layer %u of the store: %m", walk->layer->number);
    lower = open_lower(walk, store);
    if (lower < 0)
        return err_set(err, -errno, "open '%s': %m", walk->layer->path);
    walk->upper = upper;
    walk->lower = lower;
    walk->xattr_prefix =
        walk->layer->kind == FS_LAYER_TRUSTED ? "trusted.overlay." : "user.overlay.";
    if (walk->layer->kind == FS_LAYER_SCAFFOLD)
        return fs_walk_scaffold(walk, "", err);
    return fs_walk_overlay(walk, err);
}

static int walk_layers(struct fs_walk *walk, int store, struct err *err)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < walk->layers.count; i++) {
        walk->layer = &walk->layers.items[i];
        switch (walk->layer->kind) {
        case FS_LAYER_NOTE:
            fs_changes_note(walk->changes, "%s", walk->layer->path);
            break;
        case FS_LAYER_WRITABLE:
            fs_changes_note(walk->changes, "'%s' was passed through: changes there are real",
                            walk->layer->path);
            break;
        case FS_LAYER_OURS:
            break;
        case FS_LAYER_TRUSTED:
        case FS_LAYER_USER:
        case FS_LAYER_SCAFFOLD:
        case FS_LAYER_FILE:
            r = walk_layer(walk, store, err);
            break;
        }
    }
    return r;
}

/* A guest that met EOVERFLOW left no trace; who wonders finds the cause here. */
static void explain_unmapped(struct fs_walk *walk)
{
    CLEANUP(fs_unmapped_done) struct fs_unmapped unmapped = {0};
    CLEANUP(buf_done) struct buf text = {0};
    bool is_rootless = false;

    for (size_t i = 0; i < walk->layers.count; i++)
        is_rootless |= walk->layers.items[i].kind == FS_LAYER_USER;
    if (is_rootless)
        fs_unmapped_find(walk->layers.worktree, UNMAPPED_LOOK_MAX, &unmapped);
    fs_unmapped_add_text(&text, &unmapped);
    if (!unmapped.count)
        return;
    fs_changes_note(walk->changes,
                    "%s could not be changed in the box, which has user %u and group %u alone: "
                    "EOVERFLOW, 'Value too large for defined data type'; remedy: %s",
                    buf_text(&text), (unsigned)geteuid(), (unsigned)getegid(), fs_unmapped_remedy);
    walk->changes->refused = walk->changes->notes[walk->changes->note_count - 1];
}

static void explain_links(struct fs_walk *walk)
{
    if (walk->linked == 1)
        fs_changes_note(walk->changes, "'%s' has other names on disk: they are not in the diff",
                        walk->first_linked);
    else if (walk->linked)
        fs_changes_note(walk->changes,
                        "'%s' and %zu more have other names on disk: they are not in the diff",
                        walk->first_linked, walk->linked - 1);
    free(walk->first_linked);
}

int fs_gather(int store, struct fs_blobs *blobs, struct fs_changes **ret, struct err *err)
{
    struct fs_walk walk = {.blobs = blobs, .upper = -1, .lower = -1};
    struct stat st;
    int r = fs_layers_read(store, &walk.layers, err);

    if (r == 0 && fstatat(store, "layers", &st, 0) < 0)
        r = err_set(err, -errno, "stat the store's 'layers': %m");
    if (r == 0) {
        walk.started = st.st_mtim;
        walk.nowhere = fs_blobs_nowhere();
        walk.changes = fs_changes_new(walk.layers.worktree);
        r = walk_layers(&walk, store, err);
        explain_unmapped(&walk);
        explain_links(&walk);
        fs_blobs_free(walk.nowhere);
        if (r == 0) {
            fs_changes_finish(walk.changes);
            fs_changes_settle_facts(walk.changes);
            fs_changes_settle_links(walk.changes, walk.names, walk.name_count);
            trace(TRACE_FS, "gathered %zu changes", walk.changes->count);
            *ret = walk.changes;
        } else {
            fs_changes_free(walk.changes);
        }
    }
    free(walk.names);
    fs_layers_done(&walk.layers);
    return r < 0 ? err_wrap(err, "gather changes") : 0;
}
