/* SPDX-License-Identifier: MIT */
#include "fs/fs_xattrs.h"
#include "base/cleanup.h"
#include "base/text.h"
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>

enum { LINK_BYTES = 32 };

static bool is_told(const char *name)
{
    return (text_starts(name, "user.") && !text_starts(name, "user.overlay.")) ||
           text_starts(name, "system.posix_acl_") || strcmp(name, "security.capability") == 0;
}

static void link_of(int fd, char link[LINK_BYTES])
{
    (void)snprintf(link, LINK_BYTES, "/proc/self/fd/%d", fd);
}

/* The names, each with its NUL; how many bytes, or -errno. */
static ssize_t list(int fd, char names[XATTR_LIST_MAX])
{
    char link[LINK_BYTES];
    ssize_t length = flistxattr(fd, names, XATTR_LIST_MAX);

    if (length < 0 && errno == EBADF) { /* O_PATH */
        link_of(fd, link);
        length = listxattr(link, names, XATTR_LIST_MAX);
    }
    if (length < 0)
        return errno == EOPNOTSUPP || errno == EACCES || errno == EPERM ? 0 : -errno;
    return length;
}

static void add_name(struct buf *buf, const char *name)
{
    for (; *name; name++)
        if (*name > ' ' && *name <= '~' && !strchr("%=,", *name))
            buf_addc(buf, *name);
        else
            buf_addf(buf, "%%%02x", (unsigned char)*name);
}

static int add_one(int fd, const char *name, struct buf *ret)
{
    static const char digits[] = "0123456789abcdef";
    CLEANUP(mem_free) unsigned char *value = mem_alloc(XATTR_SIZE_MAX);
    char link[LINK_BYTES];

    link_of(fd, link);
    ssize_t length = getxattr(link, name, value, XATTR_SIZE_MAX);
    if (length < 0)
        return errno == ENODATA || errno == EACCES || errno == EPERM ? 0 : -errno;
    if (ret->length)
        buf_addc(ret, ',');
    add_name(ret, name);
    buf_addc(ret, '=');
    for (ssize_t i = 0; i < length; i++) {
        buf_addc(ret, digits[value[i] >> 4]);
        buf_addc(ret, digits[value[i] & 15]);
    }
    return 0;
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The names we tell of, sorted; `names` owns them. */
static size_t sort_names(char *names, ssize_t length, const char **ret)
{
    size_t count = 0;

    for (char *name = names; name < names + length; name += strlen(name) + 1)
        if (is_told(name))
            ret[count++] = name;
    if (count)
        qsort(ret, count, sizeof *ret, compare);
    return count;
}

int fs_xattrs_read(int fd, struct buf *ret)
{
    char names[XATTR_LIST_MAX];
    ssize_t length = list(fd, names);
    int r = length < 0 ? (int)length : 0;

    if (length <= 0)
        return r;
    CLEANUP(mem_free) const char **sorted = mem_alloc((size_t)length * sizeof *sorted);
    size_t count = sort_names(names, length, sorted);
    CLEANUP(buf_done) struct buf text = {0};
    for (size_t i = 0; r == 0 && i < count; i++)
        r = add_one(fd, sorted[i], &text);
    buf_adds(ret, buf_text(&text));
    return r;
}

bool fs_xattrs_next(const char **text, struct fs_xattr *ret)
{
    const char *at = *text + (**text == ',');

    if (!*at)
        return false;
    ret->name = at;
    ret->name_length = strcspn(at, "=,");
    ret->hex = at + ret->name_length + (at[ret->name_length] == '=');
    ret->hex_length = strcspn(ret->hex, ",");
    *text = ret->hex + ret->hex_length;
    return true;
}

static int digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool read_byte(const char *hex, char *ret)
{
    int high = digit(hex[0]), low = high < 0 ? -1 : digit(hex[1]);

    *ret = (char)(high * 16 + low);
    return low >= 0;
}

static bool read_name(const struct fs_xattr *xattr, struct buf *ret)
{
    for (size_t i = 0; i < xattr->name_length; i++) {
        char c = xattr->name[i];
        if (c == '%') {
            if (i + 2 >= xattr->name_length || !read_byte(xattr->name + i + 1, &c) || !c)
                return false;
            i += 2;
        }
        buf_addc(ret, c);
    }
    return ret->length && ret->length <= XATTR_NAME_MAX && is_told(buf_text(ret));
}

static bool read_value(const struct fs_xattr *xattr, struct buf *ret)
{
    char byte;

    for (size_t i = 0; i < xattr->hex_length; i += 2) {
        if (i + 1 == xattr->hex_length || !read_byte(xattr->hex + i, &byte))
            return false;
        buf_addc(ret, byte);
    }
    return ret->length <= XATTR_SIZE_MAX && xattr->hex > xattr->name + xattr->name_length;
}

bool fs_xattrs_valid(const char *text)
{
    struct fs_xattr xattr;

    while (fs_xattrs_next(&text, &xattr)) {
        CLEANUP(buf_done) struct buf name = {0};
        CLEANUP(buf_done) struct buf value = {0};
        if (!read_name(&xattr, &name) || !read_value(&xattr, &value))
            return false;
    }
    return true;
}

bool fs_xattrs_same(const char *a, const char *b)
{
    return !a || !b || strcmp(a, b) == 0;
}

static bool has_name(const char *text, const char *wanted)
{
    struct fs_xattr xattr;

    while (fs_xattrs_next(&text, &xattr)) {
        CLEANUP(buf_done) struct buf name = {0};
        if (read_name(&xattr, &name) && strcmp(buf_text(&name), wanted) == 0)
            return true;
    }
    return false;
}

/* Takes away what is not wanted. */
static int clear(int fd, const char *link, const char *wanted)
{
    char names[XATTR_LIST_MAX];
    ssize_t length = list(fd, names);

    for (char *name = names; name < names + length; name += strlen(name) + 1)
        if (is_told(name) && !has_name(wanted, name) && removexattr(link, name) < 0)
            return -errno;
    return length < 0 ? (int)length : 0;
}

int fs_xattrs_write(int fd, const char *text)
{
    char link[LINK_BYTES];
    struct fs_xattr xattr;

    if (!fs_xattrs_valid(text))
        return -EINVAL;
    link_of(fd, link);
    int r = clear(fd, link, text);
    while (r == 0 && fs_xattrs_next(&text, &xattr)) {
        CLEANUP(buf_done) struct buf name = {0};
        CLEANUP(buf_done) struct buf value = {0};
        (void)read_name(&xattr, &name);
        (void)read_value(&xattr, &value);
        if (setxattr(link, buf_text(&name), buf_text(&value), value.length, 0) < 0)
            r = -errno;
    }
    return r;
}
