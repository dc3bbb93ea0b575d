/* SPDX-License-Identifier: MIT */
/* Standard fds that came from outside. A file opened for reading can still be changed through its
 * descriptor: fchmod, futimens, or a second open through /proc/self/fd. So it is opened again on a
 * detached, read-only clone of its mount, where all of that answers EROFS. A file that was opened
 * for writing was meant to be written, and stays. */
#include "base/fd.h"
#include "fs/fs_view_internal.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/mount.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static int open_by_name(int fd, const struct stat *st)
{
    char link[64], path[PATH_MAX];
    struct stat found;

    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0)
        return -1;
    path[length] = '\0';
    CLEANUP(fd_close) int named = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (named < 0 || fstat(named, &found) < 0 || found.st_dev != st->st_dev ||
        found.st_ino != st->st_ino)
        return -1;
    return take_fd(&named);
}

static int open_read_only(int named)
{
    CLEANUP(fd_close) int tree =
        (int)syscall(SYS_open_tree, named, "", AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
    struct mount_attr attr = {.attr_set = MOUNT_ATTR_RDONLY};
    char link[64];

    if (tree < 0 || syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH, &attr, sizeof attr) < 0)
        return -1;
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", tree);
    return open(link, O_RDONLY | O_CLOEXEC);
}

static int guard(int fd, struct err *err)
{
    struct stat st;
    int flags = fcntl(fd, F_GETFL);

    if (flags < 0 || fstat(fd, &st) < 0)
        return 0; /* closed */
    if (!(S_ISREG(st.st_mode) && (flags & O_ACCMODE) == O_RDONLY) && !S_ISDIR(st.st_mode))
        return 0;
    if (st.st_nlink == 0)
        return 0; /* a here-document: nobody else will ever see it */
    CLEANUP(fd_close) int named = open_by_name(fd, &st);
    CLEANUP(fd_close) int again = named < 0 ? -1 : open_read_only(named);
    if (again < 0) {
        err_set(err, -EPERM, "fd %d is a file that cannot be made read-only for the box", fd);
        return err_hint(err, "give it through a pipe: cat FILE | vitro run ...");
    }
    off_t position = lseek(fd, 0, SEEK_CUR);
    if (position > 0)
        (void)lseek(again, position, SEEK_SET);
    if (dup2(again, fd) < 0)
        return err_set(err, -errno, "replace fd %d: %m", fd);
    return 0;
}

int fs_stdio_guard(struct err *err)
{
    int r = 0;

    for (int fd = 0; r == 0 && fd <= 2; fd++)
        r = guard(fd, err);
    return r;
}
