/* SPDX-License-Identifier: MIT */
/* What git has no word for, as lines beside the patch, never in it: owners, extended attributes,
 * and names of one file. */
#include "fs/fs_diff.h"
#include "fs/fs_xattrs.h"
#include <string.h>

enum { NAMED_MAX = 10 };

bool fs_diff_is_beside(const struct fs_change *change)
{
    return change->after.owner.is_told || change->after.xattrs || change->link;
}

static void add_ids(struct buf *buf, const struct fs_owner *owner)
{
    buf_addf(buf, "%u:%u", (unsigned)owner->uid, (unsigned)owner->gid);
}

static void add_owner(struct buf *buf, const struct fs_change *change)
{
    buf_adds(buf, "owner of ");
    fs_diff_add_name(buf, "", change->path);
    buf_adds(buf, ": ");
    if (change->before.owner.is_told) {
        add_ids(buf, &change->before.owner);
        buf_adds(buf, " -> ");
    }
    add_ids(buf, &change->after.owner);
    buf_addc(buf, '\n');
}

static const char *find(const char *text, const struct fs_xattr *wanted, size_t *ret_length)
{
    struct fs_xattr xattr;

    while (fs_xattrs_next(&text, &xattr))
        if (xattr.name_length == wanted->name_length &&
            memcmp(xattr.name, wanted->name, wanted->name_length) == 0) {
            *ret_length = xattr.hex_length;
            return xattr.hex;
        }
    return NULL;
}

static void add_xattr(struct buf *buf, size_t *count, const struct fs_xattr *xattr,
                      const char *verb)
{
    buf_addf(buf, "%s%.*s %s", (*count)++ ? ", " : "", (int)xattr->name_length, xattr->name, verb);
}

static void add_xattrs(struct buf *buf, const struct fs_change *change)
{
    const char *before = change->before.xattrs ? change->before.xattrs : "";
    const char *after = change->after.xattrs;
    struct fs_xattr xattr;
    size_t count = 0, length;

    buf_adds(buf, "attributes of ");
    fs_diff_add_name(buf, "", change->path);
    buf_adds(buf, ": ");
    for (const char *next = after; fs_xattrs_next(&next, &xattr);) {
        const char *old = find(before, &xattr, &length);
        if (!old)
            add_xattr(buf, &count, &xattr, "added");
        else if (length != xattr.hex_length || memcmp(old, xattr.hex, length) != 0)
            add_xattr(buf, &count, &xattr, "changed");
    }
    for (const char *next = before; fs_xattrs_next(&next, &xattr);)
        if (!find(after, &xattr, &length))
            add_xattr(buf, &count, &xattr, "removed");
    buf_addc(buf, '\n');
}

void fs_diff_add_beside(struct buf *buf, const struct fs_change *change)
{
    if (change->after.owner.is_told)
        add_owner(buf, change);
    if (change->after.xattrs)
        add_xattrs(buf, change);
    if (change->link) {
        fs_diff_add_name(buf, "", change->path);
        buf_adds(buf, " is another name of ");
        fs_diff_add_name(buf, "", change->link);
        buf_addc(buf, '\n');
    }
}

void fs_diff_add_all_beside(struct buf *buf, const struct fs_changes *changes)
{
    size_t count = 0;

    for (size_t i = 0; i < changes->count; i++)
        if (!changes->items[i].outside && fs_diff_is_beside(&changes->items[i]) &&
            count++ < NAMED_MAX)
            fs_diff_add_beside(buf, &changes->items[i]);
    if (count > NAMED_MAX)
        buf_addf(buf, "and %zu more (--stat lists them)\n", count - NAMED_MAX);
}
