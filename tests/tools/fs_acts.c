/* SPDX-License-Identifier: MIT */
/* fs-acts: a guest that does with files what a shell cannot, and checks what it sees.
 *
 *     fs-acts tmpfile NAME    a file without a name (O_TMPFILE), which gets one by linkat(2)
 *     fs-acts mmap FILE       two processes write to one file through shared mappings
 *     fs-acts flock FILE      a lock taken by one process keeps out others, before and after the
 *                             file was first written to
 *     fs-acts posix FILE      the same with record locks of fcntl(2)
 *
 * Ends with 0, or with 1 and a line that says what was not as it should be. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define MUST(what)                                                                                 \
    do {                                                                                           \
        if (!(what)) {                                                                             \
            (void)fprintf(stderr, "fs-acts: not so: %s (%s)\n", #what, strerror(errno));           \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

/* Runs `act` in a process of its own and gives its status. */
static int in_child(int (*act)(const char *), const char *path)
{
    int status = -1;
    pid_t pid = fork();

    if (pid == 0)
        _exit(act(path));
    MUST(pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void act_tmpfile(const char *name)
{
    char link[64];
    struct stat st;
    int fd = open(".", O_TMPFILE | O_RDWR, 0640);

    MUST(fd >= 0);
    MUST(write(fd, "nameless\n", 9) == 9);
    MUST(fstat(fd, &st) == 0 && st.st_nlink == 0);
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    MUST(linkat(AT_FDCWD, link, AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0);
    MUST(write(fd, "named\n", 6) == 6);
    MUST(stat(name, &st) == 0 && st.st_nlink == 1 && st.st_size == 15);
}

static char *map(const char *path)
{
    int fd = open(path, O_RDWR);
    char *bytes = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    MUST(fd >= 0 && bytes != MAP_FAILED);
    close(fd);
    return bytes;
}

static int write_mapped(const char *path)
{
    char *bytes = map(path);

    MUST(bytes[0] == 'P');
    bytes[5000] = 'C';
    return 0;
}

static void act_mmap(const char *path)
{
    char *bytes = map(path), seen[2] = {0};
    int fd = open(path, O_RDONLY);

    bytes[0] = 'P';
    MUST(in_child(write_mapped, path) == 0);
    MUST(bytes[5000] == 'C');
    MUST(pread(fd, seen, 1, 0) == 1 && pread(fd, seen + 1, 1, 5000) == 1);
    MUST(seen[0] == 'P' && seen[1] == 'C');
}

static int try_flock(const char *path)
{
    int fd = open(path, O_RDONLY);

    MUST(fd >= 0);
    return flock(fd, LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
}

static int try_posix(const char *path)
{
    struct flock lock = {.l_type = F_WRLCK, .l_start = 1, .l_len = 1};
    int fd = open(path, O_RDWR);

    MUST(fd >= 0);
    return fcntl(fd, F_SETLK, &lock) == 0 ? 0 : errno;
}

static void write_to(const char *path)
{
    int fd = open(path, O_WRONLY | O_APPEND);

    MUST(fd >= 0 && write(fd, "x", 1) == 1);
    close(fd);
}

static void act_flock(const char *path)
{
    int fd = open(path, O_RDONLY);

    MUST(fd >= 0 && flock(fd, LOCK_EX) == 0);
    MUST(in_child(try_flock, path) == EWOULDBLOCK);
    write_to(path); /* from here on the file is in the upper */
    MUST(in_child(try_flock, path) == EWOULDBLOCK);
    MUST(flock(fd, LOCK_UN) == 0);
    MUST(in_child(try_flock, path) == 0);
}

static void act_posix(const char *path)
{
    struct flock lock = {.l_type = F_RDLCK, .l_len = 10};
    int fd = open(path, O_RDONLY);

    MUST(fd >= 0 && fcntl(fd, F_SETLK, &lock) == 0);
    MUST(in_child(try_posix, path) == EAGAIN);
    lock.l_type = F_UNLCK;
    MUST(fcntl(fd, F_SETLK, &lock) == 0);
    MUST(in_child(try_posix, path) == 0);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*act)(const char *path);
    } acts[] = {
        {"tmpfile", act_tmpfile}, {"mmap", act_mmap}, {"flock", act_flock}, {"posix", act_posix}};

    for (size_t i = 0; argc == 3 && i < sizeof acts / sizeof *acts; i++)
        if (strcmp(acts[i].name, argv[1]) == 0) {
            acts[i].act(argv[2]);
            return 0;
        }
    (void)fputs("usage: fs-acts tmpfile|mmap|flock|posix FILE\n", stderr);
    return 2;
}
