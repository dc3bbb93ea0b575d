/* SPDX-License-Identifier: MIT */
/* Opening files under a bench: in its worktree through files.h, elsewhere the real ones, which is a
 * leak when something is written. /dev/urandom is the bench's chance. */
#include "interpose/file_calls.h"
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

/* What has no content that could differ. */
static bool is_plumbing(const char *path)
{
    return strncmp(path, "/dev/", 5) == 0 || strncmp(path, "/proc/self/", 11) == 0;
}

bool file_begin(struct file_call *call, const void *caller, int dirfd, const char *path,
                enum file_use use)
{
    *call = (struct file_call){.lane = lane_here(caller)};
    struct vitro_world *world = call->lane ? lane_world(call->lane) : NULL;
    bool audited = world && world->audit_real;

    while (world && !world->files)
        world = world->outer;
    if (!world) {
        if (audited && path && !is_plumbing(path))
            leak_here(use == FILE_WRITES ? "fs/write" : "fs/read", caller);
        return false;
    }
    call->world = world;
    inside_begin(call->lane);
    (void)pthread_mutex_lock(&world->lock);
    if (files_path(world->files, dirfd, path, &call->path) > 0)
        return true;
    (void)pthread_mutex_unlock(&world->lock);
    inside_end(call->lane);
    if (path && !is_plumbing(path) && (use == FILE_WRITES || audited))
        leak_here(use == FILE_WRITES ? "fs/write-outside" : "fs/read-outside", caller);
    return false;
}

int file_end(struct file_call *call, int r)
{
    (void)pthread_mutex_unlock(&call->world->lock);
    free(call->path);
    inside_end(call->lane);
    if (r >= 0)
        return r;
    errno = -r;
    return -1;
}

void file_closed(struct lane *lane, int fd)
{
    for (struct vitro_world *world = lane_world(lane); world; world = world->outer) {
        if (!world->files || !world->files->dirs)
            continue;
        inside_begin(lane);
        (void)pthread_mutex_lock(&world->lock);
        files_closed(world->files, fd);
        (void)pthread_mutex_unlock(&world->lock);
        inside_end(lane);
    }
}

/* ---- chance as a file */

enum { RANDOM_BYTES = 64 << 10 };

static int open_random(const void *caller, const char *path, int flags)
{
    struct lane *lane = lane_here(caller);
    struct vitro_world *world = lane ? lane_world(lane) : NULL;
    char bytes[4096];

    if (!path || (strcmp(path, "/dev/urandom") != 0 && strcmp(path, "/dev/random") != 0))
        return -1;
    bool audited = world && world->audit_real;
    while (world && !world->seeded)
        world = world->outer;
    if (!world && audited)
        leak_here("random/urandom", caller);
    if (!world)
        return -1;
    int fd = memfd_create("vitro-random", flags & O_CLOEXEC ? MFD_CLOEXEC : 0);
    for (size_t i = 0; fd >= 0 && i < RANDOM_BYTES / sizeof bytes; i++) {
        (void)call_getrandom(caller, bytes, sizeof bytes, 0);
        (void)!write(fd, bytes, sizeof bytes);
    }
    (void)lseek(fd, 0, SEEK_SET);
    return fd;
}

/* ---- open */

int call_openat(const void *caller, int dirfd, const char *path, int flags, mode_t mode)
{
    bool writes = (flags & O_ACCMODE) != O_RDONLY || flags & (O_CREAT | O_TRUNC);
    struct file_call call;
    int fd = open_random(caller, path, flags);

    if (fd >= 0)
        return fd;
    if (!file_begin(&call, caller, dirfd, path, writes ? FILE_WRITES : FILE_READS))
        return REAL.openat(dirfd, path, flags, mode);
    return file_end(&call, files_open(call.world->files, call.path, flags, mode));
}

int call_creat(const void *caller, const char *path, mode_t mode)
{
    return call_openat(caller, AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, mode);
}

static int flags_of(const char *mode)
{
    int flags = *mode == 'r'   ? 0
                : *mode == 'w' ? O_CREAT | O_TRUNC
                : *mode == 'a' ? O_CREAT | O_APPEND
                               : -1;

    if (flags < 0)
        return flags;
    bool both = strchr(mode, '+') != NULL;
    flags |= both ? O_RDWR : *mode == 'r' ? O_RDONLY : O_WRONLY;
    for (const char *c = mode + 1; *c && *c != ','; c++)
        flags |= *c == 'x' ? O_EXCL : *c == 'e' ? O_CLOEXEC : 0;
    return flags;
}

static bool asks_files(const void *caller)
{
    struct lane *lane = lane_here(caller);

    return lane && lane_world(lane);
}

FILE *call_fopen(const void *caller, const char *restrict path, const char *restrict mode)
{
    int flags = mode ? flags_of(mode) : -1;

    if (flags < 0 || !asks_files(caller))
        return REAL.fopen(path, mode);
    int fd = call_openat(caller, AT_FDCWD, path, flags, 0666);
    if (fd < 0)
        return NULL;
    FILE *file = fdopen(fd, mode);
    if (!file)
        (void)REAL.close(fd);
    return file;
}

FILE *call_freopen(const void *caller, const char *restrict path, const char *restrict mode,
                   FILE *restrict stream)
{
    int flags = mode ? flags_of(mode) : -1;
    char link[64];

    if (!path || flags < 0 || !asks_files(caller))
        return REAL.freopen(path, mode, stream);
    int fd = call_openat(caller, AT_FDCWD, path, flags, 0666);
    if (fd < 0) {
        int code = errno;
        (void)fclose(stream);
        errno = code;
        return NULL;
    }
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    FILE *file = REAL.freopen(link, mode, stream);
    (void)REAL.close(fd);
    return file;
}

/* ---- names for temporary files, by the bench's chance if it has one */

static bool next_name(const void *caller, char *place)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    unsigned char bytes[6];

    if (call_getrandom(caller, bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return false;
    for (size_t i = 0; i < sizeof bytes; i++)
        place[i] = letters[bytes[i] % (sizeof letters - 1)];
    return true;
}

static char *places_of(char *template, int suffix)
{
    size_t length = template ? strlen(template) : 0;

    if (suffix < 0 || length < (size_t)suffix + 6)
        return NULL;
    char *place = template + length - (size_t)suffix - 6;
    return strncmp(place, "XXXXXX", 6) == 0 ? place : NULL;
}

static int make_temporary(const void *caller, char *template, int suffix, int flags, bool directory)
{
    char *place = places_of(template, suffix);

    if (!place) {
        errno = EINVAL;
        return -1;
    }
    for (int i = 0; i < 1000 && next_name(caller, place); i++) {
        int r = directory ? call_mkdir(caller, template, 0700)
                          : call_openat(caller, AT_FDCWD, template,
                                        (flags & ~O_ACCMODE) | O_RDWR | O_CREAT | O_EXCL, 0600);
        if (r >= 0 || errno != EEXIST)
            return r;
    }
    errno = EEXIST;
    return -1;
}

int call_mkostemps(const void *caller, char *template, int suffix, int flags)
{
    return asks_files(caller) ? make_temporary(caller, template, suffix, flags, false)
                              : REAL.mkostemps(template, suffix, flags);
}

int call_mkstemp(const void *caller, char *template)
{
    return call_mkostemps(caller, template, 0, 0);
}

int call_mkostemp(const void *caller, char *template, int flags)
{
    return call_mkostemps(caller, template, 0, flags);
}

int call_mkstemps(const void *caller, char *template, int suffix)
{
    return call_mkostemps(caller, template, suffix, 0);
}

char *call_mkdtemp(const void *caller, char *template)
{
    if (!asks_files(caller))
        return REAL.mkdtemp(template);
    return make_temporary(caller, template, 0, 0, true) < 0 ? NULL : template;
}
