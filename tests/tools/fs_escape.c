/* SPDX-License-Identifier: MIT */
/* fs-escape: a guest that tries to reach the disk by system calls a shell has no words for.
 * Standard input is a file of the worktree. Prints a line for each attempt: "NAME no (ERROR)" or
 * "NAME DONE"; the test knows that none may be DONE. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

static int chmod_stdin(void)
{
    return fchmod(0, 0777);
}
static int chown_stdin(void)
{
    return fchown(0, 12345, 12345);
}
static int times_stdin(void)
{
    return futimens(0, (struct timespec[2]){{1, 0}, {1, 0}});
}
static int truncate_stdin(void)
{
    return ftruncate(0, 0);
}
static int write_stdin(void)
{
    return (int)write(0, "x", 1);
}
static int reopen_stdin(void)
{
    return open("/proc/self/fd/0", O_RDWR);
}
static int truncate_by_name(void)
{
    return truncate("/proc/self/fd/0", 0);
}
static int link_stdin(void)
{
    return linkat(AT_FDCWD, "/proc/self/fd/0", AT_FDCWD, "linked", AT_SYMLINK_FOLLOW);
}
static int disk_node(void)
{
    return mknod("/tmp/disk", S_IFBLK | 0666, makedev(254, 0)) < 0 ? -1 : open("/tmp/disk", O_RDWR);
}
static int by_handle(void)
{
    union {
        struct file_handle handle;
        char room[sizeof(struct file_handle) + 128];
    } u = {.handle.handle_bytes = 128};
    int mount_id;

    if (name_to_handle_at(AT_FDCWD, "/", &u.handle, &mount_id, 0) < 0)
        return -1;
    int dir = open("/", O_RDONLY | O_DIRECTORY);
    return open_by_handle_at(dir, &u.handle, O_RDONLY);
}
static int bind_mount(void)
{
    return mount("/etc", "/mnt", NULL, MS_BIND, NULL);
}
static int remount(void)
{
    return mount(NULL, "/sys", NULL, MS_REMOUNT | MS_BIND, NULL);
}
static int unmount_root(void)
{
    return umount2("/", MNT_DETACH);
}
static int unmount_tmp(void)
{
    return umount2("/tmp", MNT_DETACH);
}
static int join_init(void)
{
    int fd = open("/proc/1/ns/mnt", O_RDONLY);

    return fd < 0 ? -1 : setns(fd, CLONE_NEWNS);
}
/* In a user namespace of its own a guest is root, but what it inherits is locked. */
static int unmount_in_own_namespace(void)
{
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
        return -1;
    return umount2("/tmp", MNT_DETACH);
}
static int remount_in_own_namespace(void)
{
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
        return -1;
    return mount(NULL, "/sys", NULL, MS_REMOUNT | MS_BIND, NULL);
}
static int sysrq(void)
{
    return open("/proc/sysrq-trigger", O_WRONLY);
}
static int sysctl_write(void)
{
    return open("/proc/sys/vm/drop_caches", O_WRONLY);
}
static int sys_write(void)
{
    return open("/sys/kernel/mm/transparent_hugepage/enabled", O_WRONLY);
}
static int chroot_out(void)
{
    struct stat before, after;

    if (stat("/", &before) < 0 || mkdir("/tmp/jail", 0755) < 0 || chroot("/tmp/jail") < 0)
        return -1;
    for (int i = 0; i < 100; i++)
        if (chdir("..") < 0)
            return -1;
    if (chroot(".") < 0 || stat("/", &after) < 0)
        return -1;
    errno = EXDEV; /* out of the jail, but not out of the box */
    return before.st_ino == after.st_ino && before.st_dev == after.st_dev ? -1 : 0;
}

static const struct {
    const char *name;
    int (*try)(void);
} attempts[] = {
    {"chmod-stdin", chmod_stdin},
    {"chown-stdin", chown_stdin},
    {"times-stdin", times_stdin},
    {"truncate-stdin", truncate_stdin},
    {"write-stdin", write_stdin},
    {"reopen-stdin", reopen_stdin},
    {"truncate-by-name", truncate_by_name},
    {"link-stdin", link_stdin},
    {"disk-node", disk_node},
    {"by-handle", by_handle},
    {"bind-mount", bind_mount},
    {"remount", remount},
    {"unmount-root", unmount_root},
    {"unmount-tmp", unmount_tmp},
    {"join-init", join_init},
    {"unmount-in-own-namespace", unmount_in_own_namespace},
    {"remount-in-own-namespace", remount_in_own_namespace},
    {"sysrq", sysrq},
    {"sysctl", sysctl_write},
    {"sys", sys_write},
    {"chroot", chroot_out},
};

int main(void)
{
    int bad = 0, status;

    for (size_t i = 0; i < sizeof attempts / sizeof attempts[0]; i++) {
        (void)fflush(stdout);
        pid_t pid = fork(); /* one attempt must not spoil the next */
        if (pid == 0) {
            int r = attempts[i].try();
            if (r < 0)
                printf("%s no (%s)\n", attempts[i].name, strerrorname_np(errno));
            else
                printf("%s DONE\n", attempts[i].name);
            exit(r >= 0);
        }
        if (waitpid(pid, &status, 0) < 0 || status)
            bad = 1;
    }
    return bad;
}
