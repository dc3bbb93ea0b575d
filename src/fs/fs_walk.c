/* SPDX-License-Identifier: MIT */
/* Walking the upper of an overlay (Documentation/filesystems/overlayfs.rst describes what is in
 * it).
 *
 * At each directory there are three trees: `before`, the real one at this path; `upper`, what the
 * guests wrote; and `origin`, the real directory the upper one is merged with. As long as before
 * and origin are the same place, only names in the upper can have changed, and nothing else is
 * looked at. They part when a directory was renamed (a redirect), replaced (opaque) or made anew;
 * then all names of all three are compared. A side that is not there is NULL. */
#include "base/fd.h"
#include "fs/fs_mounts.h"
#include "fs/fs_names.h"
#include "fs/fs_walk_internal.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

struct place {
    char *path;          /* where we are, from the root of the layer */
    bool was;            /* there is a `before`: the lower directory at `path` */
    char *upper;         /* below the upper directory; NULL if not there */
    char *origin;        /* below the lower directory; NULL if not there */
    bool whiteout_files; /* opaque is "x": zero-size files with an attribute are marks */
    unsigned depth;
    int before_fd, upper_fd, origin_fd; /* the directories; -1: not there, or too deep to hold */
};

struct entry {
    struct fs_side before, upper, origin;
    char *before_path, *upper_path, *origin_path; /* owned, NULL if the directory is not there */
};

/* Names are looked up in open directories: by their whole paths they would cost by the depth. */
enum { HELD_DEPTH_MAX = 64 };

static int hold(const struct place *place, int root, const char *path)
{
    int fd = !path || place->depth > HELD_DEPTH_MAX
                 ? -1
                 : fs_open_beneath(root, path, O_PATH | O_DIRECTORY | O_NOFOLLOW);

    return fd < 0 ? -1 : fd;
}

static void place_done(struct place *place)
{
    free(place->path);
    free(place->upper);
    free(place->origin);
}
static void place_done_cleanup(struct place *place)
{
    place_done(place);
}
static void entry_done_cleanup(struct entry *entry)
{
    free(entry->before_path);
    free(entry->upper_path);
    free(entry->origin_path);
}

static bool is_merged(const struct place *place)
{
    return place->was && place->origin && strcmp(place->path, place->origin) == 0;
}

static char *join(const char *directory, const char *name)
{
    if (!directory)
        return NULL;
    return *directory ? fs_path_join(directory, name) : mem_dup(name);
}

/* The value of an overlay attribute of something in the upper: length, or -1 without it. */
static ssize_t read_mark(const struct fs_walk *walk, const char *path, const char *name,
                         char *value, size_t size)
{
    char link[64], full[64];
    CLEANUP(fd_close) int fd = fs_open_beneath(walk->upper, path, O_PATH | O_NOFOLLOW);

    if (fd < 0)
        return -1;
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    (void)snprintf(full, sizeof full, "%s%s", walk->xattr_prefix, name);
    ssize_t length = getxattr(link, full, value, size - 1);
    if (length >= 0)
        value[length] = '\0';
    return length;
}

static bool is_whiteout(const struct fs_walk *walk, const struct place *place,
                        const struct entry *entry)
{
    char value[8];
    const struct stat *st = &entry->upper.st;

    if (S_ISCHR(st->st_mode) && st->st_rdev == makedev(0, 0))
        return true;
    return place->whiteout_files && S_ISREG(st->st_mode) && st->st_size == 0 &&
           read_mark(walk, entry->upper_path, "whiteout", value, sizeof value) >= 0;
}

/* Where the lower part of an upper entry is: its own name in the origin, or what a redirect says,
 * a name beside it or a path from the root of the layer. Returns owned, NULL for nowhere. */
static char *find_origin(const struct fs_walk *walk, const struct place *place,
                         const struct entry *entry, const char *name)
{
    char target[PATH_MAX];

    if (read_mark(walk, entry->upper_path, "redirect", target, sizeof target) > 0)
        return *target == '/' ? mem_dup(target + 1) : join(place->origin, target);
    return join(place->origin, name);
}

static int walk_place(struct fs_walk *walk, struct place *place, struct err *err);

static int look(int root, int held, const char *directory, const char *name, char **ret_path,
                struct fs_side *ret)
{
    *ret_path = join(directory, name);
    *ret = (struct fs_side){0};
    if (!*ret_path)
        return 0;
    return held >= 0 ? fs_side_look(held, name, ret) : fs_side_look(root, *ret_path, ret);
}

/* What the guests see: the upper entry with what lies below it. */
struct seen {
    struct fs_side side;
    char *origin;        /* of a directory: what it is merged with; handed to the walk below */
    bool whiteout_files; /* of a directory */
    bool same_content;   /* of a file: only its facts were copied up */
};

static int see_upper(const struct fs_walk *walk, const struct place *place,
                     const struct entry *entry, const char *name, struct seen *ret)
{
    char value[8];

    ret->side = entry->upper;
    if (is_whiteout(walk, place, entry)) {
        ret->side.type = FS_NONE;
        return 0;
    }
    if (entry->upper.type == FS_DIR) {
        ssize_t length = read_mark(walk, entry->upper_path, "opaque", value, sizeof value);
        ret->whiteout_files = length == 1 && value[0] == 'x';
        if (!(length == 1 && value[0] == 'y'))
            ret->origin = find_origin(walk, place, entry, name);
        return 0;
    }
    if (entry->upper.type != FS_FILE || entry->upper.st.st_blocks || /* it has data of its own */
        read_mark(walk, entry->upper_path, "metacopy", value, sizeof value) < 0)
        return 0;
    CLEANUP(mem_free) char *data = find_origin(walk, place, entry, name);
    struct fs_side origin = {0};
    int r = data ? fs_side_look(walk->lower, data, &origin) : -ENOENT;
    if (r < 0 || origin.type != FS_FILE)
        return r < 0 ? r : -EIO;
    ret->same_content = entry->before_path && strcmp(data, entry->before_path) == 0;
    ret->origin = take_ptr(&data);
    ret->side.root = walk->lower; /* contents from there, facts from the upper */
    ret->side.path = ret->origin;
    ret->side.in_store = false;
    ret->side.facts = entry->upper_path;
    return 0;
}

static int see(const struct fs_walk *walk, const struct place *place, struct entry *entry,
               const char *name, struct seen *ret)
{
    if (entry->upper.type != FS_NONE)
        return see_upper(walk, place, entry, name, ret);
    ret->side = entry->origin;
    if (entry->origin.type == FS_DIR)
        ret->origin = mem_dup(entry->origin_path);
    return 0;
}

/* Directories inside are compared in turn; outside the worktree a removed one is one entry. */
static int descend(struct fs_walk *walk, unsigned depth, const char *path, const char *relative,
                   const struct entry *entry, struct seen *seen, struct err *err)
{
    bool was = entry->before.type == FS_DIR, is = seen->side.type == FS_DIR;

    if (!was && !is)
        return 0;
    if (!is && fs_walk_is_outside(walk, path) && !fs_path_is_below(walk->layers.worktree, path))
        return 0;
    CLEANUP(place_done) struct place place = {
        .path = mem_dup(relative),
        .was = was,
        .upper = is && entry->upper.type == FS_DIR ? mem_dup(entry->upper_path) : NULL,
        .origin = is ? take_ptr(&seen->origin) : NULL,
        .whiteout_files = seen->whiteout_files,
        .depth = depth + 1,
    };
    return walk_place(walk, &place, err);
}

/* A file that was copied up, not replaced, and has other names: which, only the whole tree could
 * tell. Users have no mark that tells the two apart. */
static void notice_links(struct fs_walk *walk, const char *path, const struct entry *entry)
{
    char value[256];

    if (entry->before.type != FS_FILE || entry->upper.type != FS_FILE ||
        entry->before.st.st_nlink < 2 ||
        (walk->layer->kind == FS_LAYER_TRUSTED &&
         read_mark(walk, entry->upper_path, "origin", value, sizeof value) < 0))
        return;
    if (walk->linked++ == 0)
        walk->first_linked = mem_dup(path);
}

/* A name of a file that has several in the upper, changed or not; or in a directory that was
 * moved, with all in it where it was. */
static void notice_name(struct fs_walk *walk, const char *path, const struct entry *entry)
{
    const struct fs_side *side = entry->upper.type == FS_NONE ? &entry->origin : &entry->upper;

    if (side->type != FS_FILE || side->st.st_nlink < 2 || fs_walk_is_outside(walk, path))
        return;
    if (walk->name_count == walk->name_capacity) {
        walk->name_capacity = walk->name_capacity ? walk->name_capacity * 2 : 64;
        walk->names = mem_grow(walk->names, walk->name_capacity * sizeof *walk->names);
    }
    const char *inside = fs_walk_inside(walk, path);
    walk->names[walk->name_count++] = (struct fs_name){
        side->st.st_dev, side->st.st_ino, arena_dup(&walk->changes->arena, inside, strlen(inside))};
}

static int walk_entry(struct fs_walk *walk, const struct place *place, const char *name,
                      struct err *err)
{
    CLEANUP(entry_done) struct entry entry = {0};
    struct seen seen = {0};
    CLEANUP(mem_free) char *relative = join(place->path, name);
    CLEANUP(mem_free) char *path = fs_walk_path(walk, relative);

    if (fs_walk_skips(walk, path))
        return 0;
    int r = look(walk->lower, place->before_fd, place->was ? place->path : NULL, name,
                 &entry.before_path, &entry.before);
    if (r == 0)
        r = look(walk->upper, place->upper_fd, place->upper, name, &entry.upper_path, &entry.upper);
    entry.upper.in_store = true;
    if (r == 0 && !is_merged(place))
        r = look(walk->lower, place->origin_fd, place->origin, name, &entry.origin_path,
                 &entry.origin);
    if (r == 0)
        r = see(walk, place, &entry, name, &seen);
    if (r < 0)
        r = err_set(err, r, "look at '%s': %s", path, strerror(-r));
    size_t known = walk->changes->count;
    if (r == 0)
        r = fs_walk_record(walk, path, &entry.before, &seen.side, seen.same_content, err);
    if (r == 0 && walk->changes->count > known)
        notice_links(walk, path, &entry);
    if (r == 0 && seen.side.type == FS_FILE)
        notice_name(walk, path, &entry);
    if (r == 0)
        r = descend(walk, place->depth, path, relative, &entry, &seen, err);
    free(seen.origin);
    return r;
}

/* Guests may leave directories nobody may enter; in the store they are ours to open. */
static int add_names(const struct fs_walk *walk, int root, const char *path, struct fs_names *names)
{
    CLEANUP(fd_close) int fd = fs_open_beneath(root, path, O_PATH | O_DIRECTORY);
    struct stat st;
    char link[64];

    if (fd < 0)
        return fd == -ENOENT || fd == -ENOTDIR || fd == -EXDEV ? 0 : fd;
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    if (root == walk->upper && fstat(fd, &st) == 0 && (st.st_mode & 0500) != 0500)
        (void)chmod(link, (st.st_mode & 07777) | 0700);
    return fs_names_add(names, fd);
}

static int walk_place(struct fs_walk *walk, struct place *place, struct err *err)
{
    CLEANUP(fs_names_done) struct fs_names names = {0};
    int r = place->upper ? add_names(walk, walk->upper, place->upper, &names) : 0;

    if (!is_merged(place)) {
        if (r == 0 && place->was)
            r = add_names(walk, walk->lower, place->path, &names);
        if (r == 0 && place->origin)
            r = add_names(walk, walk->lower, place->origin, &names);
    }
    if (r < 0)
        return err_set(err, r, "list '%s/%s': %s", walk->layer->path, place->path, strerror(-r));
    fs_names_sort(&names);
    CLEANUP(fd_close) int before = hold(place, walk->lower, place->was ? place->path : NULL);
    CLEANUP(fd_close) int upper = hold(place, walk->upper, place->upper);
    CLEANUP(fd_close) int origin =
        hold(place, walk->lower, is_merged(place) ? NULL : place->origin);
    place->before_fd = before;
    place->upper_fd = upper;
    place->origin_fd = origin;
    for (size_t i = 0; r == 0 && i < names.count; i++)
        r = walk_entry(walk, place, names.items[i], err);
    return r;
}

int fs_walk_overlay(struct fs_walk *walk, struct err *err)
{
    struct place root = {.path = "", .was = true, .upper = "", .origin = ""};

    return walk_place(walk, &root, err);
}

int fs_walk_added(struct fs_walk *walk, const char *path, struct err *err)
{
    struct place place = {.path = (char *)path, .upper = (char *)path};

    return walk_place(walk, &place, err);
}
