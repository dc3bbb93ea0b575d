/* SPDX-License-Identifier: MIT */
/* fd: file descriptors and whole files. Every fd is O_CLOEXEC from birth and -1 means "none".
 * Calls that are cut short by a signal go on; short reads and writes are completed. */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

int fd_close(int fd); /* ignores -1, keeps errno, returns -1 */
DEFINE_CLEANUP(int, fd_close)

/* The same file under a number that is not below `lowest`: `fd` itself, or a copy and `fd` closed.
 * -1 with errno set if there is none, or if `fd` is -1. */
int fd_raise(int fd, int lowest);

/* openat2(2), O_CLOEXEC; sets errno. The kernel gives up when it meets ".." or a link while
 * somebody renames something, wherever that is: this tries again. */
int fd_open_in(int directory, const char *path, uint64_t flags, uint64_t resolve);

/* 0, or -errno. -EPIPE for a closed pipe only where SIGPIPE is ignored. */
int fd_write_full(int fd, const void *bytes, size_t length);
/* 0 when all `length` bytes were read, -ENODATA at an early end, else -errno. */
int fd_read_full(int fd, void *bytes, size_t length);
/* Appends up to `limit` bytes until the end of the file; -EFBIG when there is more. */
int fd_read_all(int fd, struct buf *buf, size_t limit);

/* Reads a whole file; `limit` as above. Texts name the path. */
int file_read(const char *path, size_t limit, struct buf *ret, struct err *err);
/* Writes a file so that it is either the old one or the new one, never half: temp, fsync, rename.
 */
int file_write(const char *path, const void *bytes, size_t length, struct err *err);
bool file_exists(const char *path); /* false for a dangling symlink too */

int dir_make_all(const char *path, struct err *err); /* mkdir -p, mode 0777 less umask */
/* Removes a tree without following symlinks; 0 when it was not there. */
int dir_remove_all(const char *path, struct err *err);
