/* SPDX-License-Identifier: MIT */
/* How much a sandbox holds. */
#include "sandbox/sandbox_internal.h"
#include <errno.h>
#include <fts.h>
#include <sys/stat.h>

int sandbox_check_quota(const struct sandbox *sandbox, uint64_t *ret_bytes, struct err *err)
{
    char *const roots[] = {sandbox->root, NULL};
    FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    uint64_t bytes = 0;
    FTSENT *entry;

    if (!walk)
        return err_set(err, -errno, "walk '%s': %m", sandbox->root);
    while ((entry = fts_read(walk)))
        if (entry->fts_info == FTS_F && entry->fts_statp->st_nlink > 0)
            bytes += (uint64_t)entry->fts_statp->st_size / (uint64_t)entry->fts_statp->st_nlink;
    (void)fts_close(walk);
    if (ret_bytes)
        *ret_bytes = bytes;
    if (bytes <= sandbox->quota_bytes)
        return 0;
    err_set(err, -EDQUOT, "the sandbox holds %llu bytes, more than its quota of %llu",
            (unsigned long long)bytes, (unsigned long long)sandbox->quota_bytes);
    return err_hint(err, "a larger quota can be asked for: quota 512m");
}
