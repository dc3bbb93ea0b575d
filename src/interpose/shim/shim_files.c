/* SPDX-License-Identifier: MIT */
/* open and openat, and the names that other programs know these and their kin by: for large files,
 * for the compiler's checks, and as of an older libc. On 64-bit machines they are all the same. */
#include "interpose/shim/shim.h"
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>

#define NEEDS_MODE(flags) ((flags)&O_CREAT || ((flags)&O_TMPFILE) == O_TMPFILE)
#define OPENAT(dirfd, path, flags)                                                                 \
    do {                                                                                           \
        mode_t mode_ = 0;                                                                          \
        if (NEEDS_MODE(flags)) {                                                                   \
            va_list list_;                                                                         \
            va_start(list_, flags);                                                                \
            mode_ = va_arg(list_, mode_t);                                                         \
            va_end(list_);                                                                         \
        }                                                                                          \
        if (SHIM_ASKS)                                                                             \
            return shim.calls->openat(__builtin_return_address(0), dirfd, path, flags, mode_);     \
        return shim.real.openat(dirfd, path, flags, mode_);                                        \
    } while (0)

EXPORT int open(const char *path, int flags, ...)
{
    OPENAT(AT_FDCWD, path, flags);
}

EXPORT int open64(const char *path, int flags, ...)
{
    OPENAT(AT_FDCWD, path, flags);
}

EXPORT int openat(int dirfd, const char *path, int flags, ...)
{
    OPENAT(dirfd, path, flags);
}

EXPORT int openat64(int dirfd, const char *path, int flags, ...)
{
    OPENAT(dirfd, path, flags);
}

int shim_first_openat(int dirfd, const char *path, int flags, ...)
{
    va_list list;

    shim_resolve_openat();
    va_start(list, flags);
    mode_t mode = NEEDS_MODE(flags) ? va_arg(list, mode_t) : 0;
    va_end(list);
    return shim.real.openat(dirfd, path, flags, mode);
}

#define ALSO(result, name, known, parameters, arguments, given)                                    \
    EXPORT result name parameters;                                                                 \
    EXPORT result name parameters                                                                  \
    {                                                                                              \
        if (SHIM_ASKS)                                                                             \
            return shim.calls->known(__builtin_return_address(0), UNWRAP given);                   \
        return shim.real.known arguments;                                                          \
    }
#define ALSO_OPEN(name, parameters, dirfd, flags)                                                  \
    EXPORT int name parameters;                                                                    \
    EXPORT int name parameters                                                                     \
    {                                                                                              \
        if (SHIM_ASKS)                                                                             \
            return shim.calls->openat(__builtin_return_address(0), dirfd, path, flags, 0);         \
        return shim.real.openat(dirfd, path, flags);                                               \
    }
ALSO_OPEN(__open_2, (const char *path, int flags), AT_FDCWD, flags)
ALSO_OPEN(__open64_2, (const char *path, int flags), AT_FDCWD, flags)
ALSO_OPEN(__openat_2, (int dirfd, const char *path, int flags), dirfd, flags)
ALSO_OPEN(__openat64_2, (int dirfd, const char *path, int flags), dirfd, flags)

#define SAME(result, name, known, parameters, arguments)                                           \
    ALSO(result, name, known, parameters, arguments, arguments)
SAME(int, creat64, creat, (const char *path, mode_t mode), (path, mode))
SAME(FILE *, fopen64, fopen, (const char *path, const char *mode), (path, mode))
SAME(FILE *, freopen64, freopen, (const char *path, const char *mode, FILE *stream),
     (path, mode, stream))
SAME(int, mkstemp64, mkstemp, (char *text), (text))
SAME(int, mkostemp64, mkostemp, (char *text, int flags), (text, flags))
SAME(int, truncate64, truncate, (const char *path, off_t length), (path, length))

#define STAT(name, known)                                                                          \
    EXPORT int name(const char *path, struct stat64 *ret)                                          \
    {                                                                                              \
        if (SHIM_ASKS)                                                                             \
            return shim.calls->known(__builtin_return_address(0), path, (struct stat *)ret);       \
        return shim.real.known(path, (struct stat *)ret);                                          \
    }                                                                                              \
    EXPORT int __x##known(int version, const char *path, struct stat *ret);                        \
    EXPORT int __x##known(int version, const char *path, struct stat *ret)                         \
    {                                                                                              \
        (void)version;                                                                             \
        if (SHIM_ASKS)                                                                             \
            return shim.calls->known(__builtin_return_address(0), path, ret);                      \
        return shim.real.known(path, ret);                                                         \
    }
STAT(stat64, stat)
#define __xlstat __lxstat
STAT(lstat64, lstat)

EXPORT int fstat64(int fd, struct stat64 *ret)
{
    if (SHIM_ASKS)
        return shim.calls->fstat(__builtin_return_address(0), fd, (struct stat *)ret);
    return shim.real.fstat(fd, (struct stat *)ret);
}

EXPORT int fstatat64(int dirfd, const char *path, struct stat64 *ret, int flags)
{
    if (SHIM_ASKS)
        return shim.calls->fstatat(__builtin_return_address(0), dirfd, path, (struct stat *)ret,
                                   flags);
    return shim.real.fstatat(dirfd, path, (struct stat *)ret, flags);
}

EXPORT struct dirent64 *readdir64(DIR *dir)
{
    if (SHIM_ASKS)
        return (struct dirent64 *)shim.calls->readdir(__builtin_return_address(0), dir);
    return (struct dirent64 *)shim.real.readdir(dir);
}
