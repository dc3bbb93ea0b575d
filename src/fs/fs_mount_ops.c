/* SPDX-License-Identifier: MIT */
#include "base/fd.h"
#include "fs/fs_view_internal.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* glibc's <sys/mount.h> and <linux/mount.h> cannot be included together before glibc 2.37. */
extern int mount(const char *source, const char *target, const char *type, unsigned long flags,
                 const void *data);

int fs_bind(const char *source, const char *target, bool recursive, bool read_only, struct err *err)
{
    unsigned long flags = MS_BIND | (recursive ? MS_REC : 0);

    if (mount(source, target, NULL, flags, NULL) < 0)
        return err_set(err, -errno, "bind '%s': %m", target);
    struct mount_attr attr = {.attr_set = MOUNT_ATTR_RDONLY};
    if (read_only && syscall(SYS_mount_setattr, AT_FDCWD, target, recursive ? AT_RECURSIVE : 0,
                             &attr, sizeof attr) < 0)
        return err_set(err, -errno, "make '%s' read-only: %m", target);
    return 0;
}

int fs_make_point(const char *path, bool directory, mode_t mode, struct err *err)
{
    if (directory) {
        if (mkdir(path, mode) < 0 && errno != EEXIST)
            return err_set(err, -errno, "create directory '%s': %m", path);
        return 0;
    }
    CLEANUP(fd_close) int fd = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, mode);
    if (fd < 0 && errno != EROFS && errno != EACCES && errno != ETXTBSY)
        return err_set(err, -errno, "create file '%s': %m", path);
    return 0;
}
