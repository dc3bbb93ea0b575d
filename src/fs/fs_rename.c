/* SPDX-License-Identifier: MIT */
/* Renaming a directory where the kernel's overlay cannot: see fs_rename_dir in fs.h.
 *
 * The directory is made again under a name of ours beside its new place, its children are moved
 * into it one by one (the kernel can rename everything but directories of the lower layer, for
 * which this function is called again), and then it gets its name in one step. A child that cannot
 * be moved sends the others back. */
#include "base/fd.h"
#include "fs/fs.h"
#include "fs/fs_names.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

static int move_child(int from, int to, const char *name);

static void copy_attributes(int from, int to)
{
    char names[4096], value[4096];
    ssize_t length = flistxattr(from, names, sizeof names);

    for (char *name = names; length > 0 && name < names + length; name += strlen(name) + 1) {
        ssize_t size = fgetxattr(from, name, value, sizeof value);
        if (size >= 0)
            (void)fsetxattr(to, name, value, (size_t)size, 0); /* some are not ours to set */
    }
}

/* Moves all children; on failure those already moved go back, as well as it can be done. */
static int move_children(int from, int to)
{
    CLEANUP(fs_names_done) struct fs_names names = {0};
    int r = fs_names_add(&names, from);

    fs_names_sort(&names);
    for (size_t i = 0; r == 0 && i < names.count; i++) {
        r = move_child(from, to, names.items[i]);
        while (r < 0 && i-- > 0)
            (void)move_child(to, from, names.items[i]);
        if (r < 0)
            break;
    }
    return r;
}

/* Makes `to_dir/to` a twin of the directory `from_dir/from` and moves its content there. */
static int move_directory(int from_dir, const char *from, int to_dir, const char *to)
{
    CLEANUP(fd_close) int old =
        openat(from_dir, from, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    CLEANUP(fd_close) int new = -1;
    struct stat st;

    if (old < 0 || fstat(old, &st) < 0 || mkdirat(to_dir, to, 0700) < 0)
        return -errno;
    new = openat(to_dir, to, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int r = new < 0 ? -errno : move_children(old, new);
    if (r == 0) {
        copy_attributes(old, new);
        struct timespec times[2] = {st.st_atim, st.st_mtim};
        if ((fchown(new, st.st_uid, st.st_gid) < 0 && errno != EPERM && errno != EINVAL) ||
            fchmod(new, st.st_mode & 07777) < 0 || futimens(new, times) < 0)
            r = -errno;
        if (r == 0 && unlinkat(from_dir, from, AT_REMOVEDIR) < 0)
            r = -errno;
        if (r < 0)
            (void)move_children(new, old);
    }
    if (r < 0)
        (void)unlinkat(to_dir, to, AT_REMOVEDIR);
    return r;
}

static int move_as(int from_dir, const char *from, int to_dir, const char *to)
{
    if (renameat(from_dir, from, to_dir, to) == 0)
        return 0;
    return errno == EXDEV ? move_directory(from_dir, from, to_dir, to) : -errno;
}

static int move_child(int from, int to, const char *name)
{
    return move_as(from, name, to, name);
}

/* Opens the directory a path ends in, and copies its last name. */
static int open_parent(int dir, const char *path, char *ret_name, size_t size)
{
    CLEANUP(mem_free) char *copy = mem_dup(path);
    size_t length = strlen(copy);

    while (length > 1 && copy[length - 1] == '/')
        copy[--length] = '\0';
    char *slash = strrchr(copy, '/');
    const char *name = slash ? slash + 1 : copy;
    if (!*name || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return *name ? -EBUSY : -ENOENT;
    if (strlen(name) >= size)
        return -ENAMETOOLONG;
    (void)snprintf(ret_name, size, "%s", name);
    if (slash)
        slash[slash == copy ? 1 : 0] = '\0';
    int fd = openat(dir, slash ? copy : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

/* What rename(2) checks before it does anything. */
static int check(int old, const char *old_name, int new, const char *new_name, unsigned flags)
{
    struct stat from, to, up;

    if (fstatat(old, old_name, &from, AT_SYMLINK_NOFOLLOW) < 0)
        return -errno;
    if (!S_ISDIR(from.st_mode))
        return -ENOTDIR;
    if (fstatat(new, new_name, &to, AT_SYMLINK_NOFOLLOW) < 0)
        to.st_mode = 0;
    else if (flags & RENAME_NOREPLACE)
        return -EEXIST;
    else if (!S_ISDIR(to.st_mode) && !(flags & RENAME_EXCHANGE))
        return -ENOTDIR;
    if (flags & RENAME_EXCHANGE && !to.st_mode)
        return -ENOENT;
    CLEANUP(fd_close) int here = openat(new, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    while (here >= 0 && fstat(here, &up) == 0) { /* a directory cannot go into itself */
        if (up.st_ino == from.st_ino && up.st_dev == from.st_dev)
            return -EINVAL;
        int above = openat(here, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
        struct stat st;
        if (above < 0 || fstat(above, &st) < 0 ||
            (st.st_ino == up.st_ino && st.st_dev == up.st_dev)) {
            fd_close(above);
            break;
        }
        fd_close(here);
        here = above;
    }
    return 0;
}

/* A name nobody has, for the time of the move. */
static void pick_name(int dir, char *name, size_t size)
{
    struct stat st;
    unsigned number = 0;

    do
        (void)snprintf(name, size, ".vitro-rename-%u", number++);
    while (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0);
}

static int move_over(int old, const char *old_name, int new, const char *new_name)
{
    char temp[64];
    CLEANUP(fs_names_done) struct fs_names names = {0};
    CLEANUP(fd_close) int target =
        openat(new, new_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (target >= 0 && fs_names_add(&names, target) == 0 && names.count)
        return -ENOTEMPTY;
    pick_name(new, temp, sizeof temp);
    int r = move_directory(old, old_name, new, temp);
    if (r < 0)
        return r;
    if (renameat(new, temp, new, new_name) == 0)
        return 0;
    r = -errno; /* the target is not empty, or somebody made one meanwhile */
    (void)move_directory(new, temp, old, old_name);
    return r;
}

static int exchange(int old, const char *old_name, int new, const char *new_name)
{
    char temp[64];

    pick_name(old, temp, sizeof temp);
    int r = move_as(new, new_name, old, temp);
    if (r == 0)
        r = move_as(old, old_name, new, new_name);
    return r < 0 ? r : move_as(old, temp, old, old_name);
}

int fs_rename_dir(int old_dir, const char *old_path, int new_dir, const char *new_path,
                  unsigned flags)
{
    char old_name[NAME_MAX + 1], new_name[NAME_MAX + 1];
    CLEANUP(fd_close) int old = open_parent(old_dir, old_path, old_name, sizeof old_name);
    CLEANUP(fd_close) int new = open_parent(new_dir, new_path, new_name, sizeof new_name);

    if (old < 0 || new < 0)
        return old < 0 ? old : new;
    int r = check(old, old_name, new, new_name, flags);
    if (r < 0)
        return r;
    if (flags & RENAME_EXCHANGE)
        return exchange(old, old_name, new, new_name);
    return move_over(old, old_name, new, new_name);
}
