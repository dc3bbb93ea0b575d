/* SPDX-License-Identifier: MIT */
/* fs_xattrs: the extended attributes of a file or directory that belong to its user: user.*, access
 * lists and file capabilities. Not the overlay's own marks, nor what a security module writes.
 *
 * As one text, "user.a=6162,user.b=": sorted by name, values in hex; in a name, what is not
 * printable and "%", "=" and "," are %XX. "" is a file without any. */
#pragma once
#include "base/buf.h"
#include <stdbool.h>

/* Appends the text. `fd` may be one of O_PATH. Without support there are none. */
int fs_xattrs_read(int fd, struct buf *ret);
/* Gives the file exactly those; -EINVAL for what is no such text. */
int fs_xattrs_write(int fd, const char *text);
bool fs_xattrs_valid(const char *text);
bool fs_xattrs_same(const char *a, const char *b); /* true if one of them is NULL: not told */

/* Takes one attribute off the front of a text: false at its end. Both are borrowed, with their
 * lengths; the name is as in the text. */
struct fs_xattr {
    const char *name, *hex;
    size_t name_length, hex_length;
};
bool fs_xattrs_next(const char **text, struct fs_xattr *ret);
