/* SPDX-License-Identifier: MIT */
/* Changes of owners, for which git has no word: lines beside the patch, never in it. */
#include "fs/fs_diff.h"

enum { NAMED_MAX = 10 };

bool fs_diff_has_owner(const struct fs_change *change)
{
    return change->after.owner.is_told;
}

static void add_ids(struct buf *buf, const struct fs_owner *owner)
{
    buf_addf(buf, "%u:%u", (unsigned)owner->uid, (unsigned)owner->gid);
}

void fs_diff_add_owner(struct buf *buf, const struct fs_change *change)
{
    if (!fs_diff_has_owner(change))
        return;
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

void fs_diff_add_owners(struct buf *buf, const struct fs_changes *changes)
{
    size_t count = 0;

    for (size_t i = 0; i < changes->count; i++)
        if (!changes->items[i].outside && fs_diff_has_owner(&changes->items[i]) &&
            count++ < NAMED_MAX)
            fs_diff_add_owner(buf, &changes->items[i]);
    if (count > NAMED_MAX)
        buf_addf(buf, "and %zu more owners (--stat lists them)\n", count - NAMED_MAX);
}
