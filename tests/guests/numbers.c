/* SPDX-License-Identifier: MIT */
/* numbers: devices, mounts and nameless files have small numbers, the same by every way of asking.
EXPECT
by path, by fd and by statx: the same device
another device for /proc
mountinfo names the device of /
maps name the device of the program by a number of the box
a mount in statx, fdinfo and mountinfo: the same
a pipe in fstat and its link: the same
a pipe in fdinfo: the same
both ends of a pipe: the same, another pipe: not
a socket in fstat and its link: the same
a namespace in stat and its link: the same
an id of the file system by path and by fd: the same
all numbers are small
*/
#include "guest.h"
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

struct my_statx { /* as the kernel has it; musl has none */
    unsigned mask, blksize;
    unsigned long long attributes;
    unsigned nlink, uid, gid;
    unsigned short mode, pad;
    unsigned long long ino, size, blocks, attributes_mask, times[8];
    unsigned rdev_major, rdev_minor, dev_major, dev_minor;
    unsigned long long mount, pad2[13];
};

static unsigned long long largest;

static unsigned long long seen(unsigned long long number)
{
    largest = number > largest ? number : largest;
    return number;
}

static void tell(int holds, const char *what)
{
    printf("%s%s\n", holds ? "" : "NOT: ", what);
}

/* The number in a link such as pipe:[7]. */
static unsigned long long linked(const char *path)
{
    char target[64] = {0};
    unsigned long long number = 0;

    if (readlink(path, target, sizeof target - 1) > 0)
        sscanf(target, "%*[a-z]:[%llu]", &number);
    return seen(number);
}

static unsigned long long linked_fd(int fd)
{
    char path[40];

    sprintf(path, "/proc/self/fd/%d", fd);
    return linked(path);
}

/* The number behind `name` in /proc/self/fdinfo/FD. */
static unsigned long long told(int fd, const char *name)
{
    char path[40], line[128];
    unsigned long long number = 0;

    sprintf(path, "/proc/self/fdinfo/%d", fd);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, name, strlen(name)) == 0)
            sscanf(line + strlen(name), ":%llu", &number);
    if (file)
        fclose(file);
    return seen(number);
}

static void files(void)
{
    struct stat by_path, by_fd, of_proc;
    struct my_statx by_statx = {0};
    char line[4096], where[4096];
    unsigned major_number, minor_number, found = 0, mapped = 0;
    unsigned long long mount, root_mount = 0;
    int fd = open("/", O_RDONLY);

    stat("/", &by_path);
    fstat(fd, &by_fd);
    stat("/proc", &of_proc);
    syscall(SYS_statx, AT_FDCWD, "/", 0, 0x17ff, &by_statx);
    tell(by_path.st_dev == by_fd.st_dev &&
             by_path.st_dev == makedev(by_statx.dev_major, by_statx.dev_minor),
         "by path, by fd and by statx: the same device");
    tell(of_proc.st_dev != by_path.st_dev, "another device for /proc");
    FILE *file = fopen("/proc/self/mountinfo", "r");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "%llu %*u %u:%u %*s %4095s", &mount, &major_number, &minor_number,
                   where) == 4) {
            seen(mount);
            if (strcmp(where, "/") == 0) { /* the last one is on top */
                root_mount = mount;
                found = by_path.st_dev == makedev(major_number, minor_number);
            }
        }
    tell((int)found, "mountinfo names the device of /");
    fclose(file);
    file = fopen("/proc/self/maps", "r");
    if (file && fgets(line, sizeof line, file) &&
        sscanf(line, "%*s %*s %*s %x:%x", &major_number, &minor_number) == 2)
        mapped = major_number || minor_number < 100; /* of stacked overlays, not that of stat */
    tell((int)mapped, "maps name the device of the program by a number of the box");
    fclose(file);
    tell(root_mount && root_mount == by_statx.mount && root_mount == told(fd, "mnt_id"),
         "a mount in statx, fdinfo and mountinfo: the same");
    seen(by_path.st_dev);
    seen(of_proc.st_dev);
    close(fd);
}

static void nameless(void)
{
    struct stat one, end, two, socket, space;
    int a[2], b[2], s[2];

    if (pipe(a) < 0 || pipe(b) < 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, s) < 0)
        return;
    fstat(a[0], &one);
    fstat(a[1], &end);
    fstat(b[0], &two);
    fstat(s[0], &socket);
    stat("/proc/self/ns/mnt", &space);
    tell(one.st_ino == linked_fd(a[0]), "a pipe in fstat and its link: the same");
    tell(one.st_ino == told(a[0], "ino"), "a pipe in fdinfo: the same");
    tell(one.st_ino == end.st_ino && one.st_ino != two.st_ino,
         "both ends of a pipe: the same, another pipe: not");
    tell(socket.st_ino == linked_fd(s[0]) && socket.st_dev != one.st_dev,
         "a socket in fstat and its link: the same");
    tell(space.st_ino == linked("/proc/self/ns/mnt"), "a namespace in stat and its link: the same");
    seen(one.st_dev);
    seen(socket.st_dev);
}

int main(void)
{
    struct statfs by_path, by_fd;
    unsigned long long id;

    files();
    nameless();
    int fd = open("/tmp", O_RDONLY);
    statfs("/tmp", &by_path);
    fstatfs(fd, &by_fd);
    tell(memcmp(&by_path.f_fsid, &by_fd.f_fsid, sizeof by_fd.f_fsid) == 0,
         "an id of the file system by path and by fd: the same");
    memcpy(&id, &by_fd.f_fsid, sizeof id);
    seen(id);
    tell(largest < 100, "all numbers are small");
    return 0;
}
