/* SPDX-License-Identifier: MIT */
/* What a sandbox refuses to touch. Every path that a test names goes through sandbox_path; it is
 * resolved by the kernel with RESOLVE_BENEATH, so neither ".." nor a symlink leads out. */
#include "sandbox/sandbox_internal.h"
#include "base/fd.h"
#include "base/text.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* `inner` is `outer` or lies below it; both are absolute and resolved. */
static bool lies_in(const char *inner, const char *outer)
{
    size_t length = strlen(outer);

    while (length > 1 && outer[length - 1] == '/')
        length--;
    return strncmp(inner, outer, length) == 0 && (inner[length] == 0 || inner[length] == '/');
}

static int guard_home(const char *root, const char *home, struct err *err)
{
    char resolved[PATH_MAX];

    if (!home || !*home || !realpath(home, resolved) || strcmp(resolved, "/") == 0)
        return 0;
    if (lies_in(resolved, root)) {
        err_set(err, -EPERM, "a sandbox at '%s' would hold the home directory '%s'", root, home);
        return err_hint(err, "set TMPDIR to a directory for temporary files");
    }
    return 0;
}

/* Of this user in /etc/passwd, whatever HOME says. Not by getpwuid, which loads libraries. */
static int guard_listed_home(const char *root, struct err *err)
{
    FILE *people = fopen("/etc/passwd", "re");
    const struct passwd *person;
    int r = 0;

    if (!people)
        return 0;
    while (r == 0 && (person = fgetpwent(people)))
        if (person->pw_uid == getuid())
            r = guard_home(root, person->pw_dir, err);
    (void)fclose(people);
    return r;
}

int sandbox_guard_root(const char *root, struct err *err)
{
    int r = guard_home(root, getenv("HOME"), err);

    return r < 0 ? r : guard_listed_home(root, err);
}

static int open_beneath(int root, const char *path)
{
    return fd_open_in(root, path, O_PATH, RESOLVE_BENEATH);
}

static int refuse(const char *shown, struct err *err)
{
    err_set(err, -EPERM, "'%s' is not in the sandbox", shown);
    return err_hint(err, "write a path below the work directory, or ~/path");
}

static char *path_of_fd(int fd)
{
    CLEANUP(mem_free) char *link = mem_format("/proc/self/fd/%d", fd);
    char path[PATH_MAX];
    ssize_t length = readlink(link, path, sizeof path);

    return length > 0 ? mem_dupn(path, (size_t)length) : NULL;
}

/* The longest part of `path` that exists must lie beneath the root; what is missing behind it is
 * made of plain names. *ret has no links and no dots in it. */
static int resolve(const char *root, const char *path, const char *shown, char **ret,
                   struct err *err)
{
    CLEANUP(fd_close) int root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    CLEANUP(mem_free) char *part = mem_dup(path);

    if (root_fd < 0)
        return err_set(err, -errno, "open the sandbox '%s': %m", root);
    for (;;) {
        CLEANUP(fd_close) int fd = open_beneath(root_fd, *part ? part : ".");
        char *slash = strrchr(part, '/');
        const char *name = slash ? slash + 1 : part;

        if (fd >= 0) {
            CLEANUP(mem_free) char *real = path_of_fd(fd);
            *ret = mem_format("%s%s%s", real ? real : root, *part || !*path ? "" : "/",
                              path + strlen(part));
            return 0;
        }
        if (errno != ENOENT && errno != EXDEV)
            return err_set(err, -errno, "'%s': %m", shown);
        if (errno == EXDEV || strcmp(name, "..") == 0)
            return refuse(shown, err);
        *(slash ? slash : part) = 0;
    }
}

int sandbox_path(const struct sandbox *sandbox, const char *path, char **ret, struct err *err)
{
    CLEANUP(mem_free) char *full = NULL;

    if (!*path)
        return err_set(err, -EINVAL, "the path is empty");
    if (strcmp(path, "~") == 0 || text_starts(path, "~/"))
        full = mem_format("%s%s", sandbox->home, path + 1);
    else if (*path == '/')
        full = mem_dup(path);
    else
        full = mem_format("%s/%s", sandbox->here, path);
    if (!lies_in(full, sandbox->root))
        return refuse(path, err);
    const char *inside = full + strlen(sandbox->root);
    return resolve(sandbox->root, inside + strspn(inside, "/"), path, ret, err);
}

int sandbox_cd(struct sandbox *sandbox, const char *path, struct err *err)
{
    CLEANUP(mem_free) char *full = NULL;
    struct stat st;
    int r = sandbox_path(sandbox, path, &full, err);

    if (r < 0)
        return r;
    if (stat(full, &st) < 0)
        return err_set(err, -errno, "go to '%s': %m", path);
    if (!S_ISDIR(st.st_mode))
        return err_set(err, -ENOTDIR, "go to '%s': it is not a directory", path);
    free(sandbox->here);
    sandbox->here = take_ptr(&full);
    return 0;
}

int sandbox_write(struct sandbox *sandbox, const char *path, const void *bytes, size_t length,
                  struct err *err)
{
    CLEANUP(mem_free) char *full = NULL;
    int r = sandbox_path(sandbox, path, &full, err);

    if (r < 0)
        return r;
    char *slash = strrchr(full, '/');
    *slash = 0;
    r = dir_make_all(full, err);
    *slash = '/';
    if (r < 0)
        return r;
    CLEANUP(fd_close) int fd = open(full, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    r = fd < 0 ? -errno : fd_write_full(fd, bytes, length);
    return r < 0 ? err_set(err, r, "write '%s': %s", path, strerror(-r)) : 0;
}

/* The place of the name itself: a symlink at the end is not followed, one before it is. */
static int place_of_name(const struct sandbox *sandbox, const char *path, char **ret,
                         struct err *err)
{
    size_t end = strlen(path);
    while (end > 1 && path[end - 1] == '/')
        end--;
    size_t start = end;
    while (start && path[start - 1] != '/')
        start--;
    CLEANUP(mem_free) char *name = mem_dupn(path + start, end - start);
    if (!*name || strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || *name == '~')
        return sandbox_path(sandbox, path, ret, err);
    CLEANUP(mem_free) char *parent = start ? mem_dupn(path, start) : mem_dup(".");
    CLEANUP(mem_free) char *directory = NULL;
    int r = sandbox_path(sandbox, parent, &directory, err);
    if (r == 0)
        *ret = mem_format("%s/%s", directory, name);
    return r;
}

int sandbox_remove(struct sandbox *sandbox, const char *path, struct err *err)
{
    CLEANUP(mem_free) char *full = NULL;
    int r = place_of_name(sandbox, path, &full, err);

    if (r < 0)
        return r;
    const char *const kept[] = {sandbox->root, sandbox->home, sandbox->work,
                                sandbox->tmp,  sandbox->bin,  sandbox->shim};
    for (size_t i = 0; i < ARRAY_LENGTH(kept); i++)
        if (lies_in(kept[i], full))
            return err_set(err, -EPERM, "'%s' is the sandbox itself", path);
    return dir_remove_all(full, err);
}
