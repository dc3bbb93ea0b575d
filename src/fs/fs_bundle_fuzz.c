/* SPDX-License-Identifier: MIT */
/* A list of changes from somewhere: whatever is accepted can be written and read back the same, and
 * no path in the worktree leads out of it. */
#include "fs/fs_bundle.h"
#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP(fs_changes_free) struct fs_changes *changes = NULL;
    struct err err = {0};

    if (fs_bundle_parse((const char *)data, size, "fuzz", &changes, &err) < 0)
        return 0;
    for (size_t i = 0; i < changes->count; i++) {
        const struct fs_change *change = &changes->items[i];
        CLEANUP(buf_done) struct buf text = {0};
        CLEANUP(buf_done) struct buf again = {0};
        CLEANUP(fs_changes_free) struct fs_changes *copy = NULL;
        assert(change->outside || (change->path[0] != '/' && strncmp(change->path, "../", 3) != 0 &&
                                   !strstr(change->path, "/../")));
        buf_adds(&text,
                 "{\"format\":\"vitro-changes\",\"host\":{\"worktree\":\"/\"},\"version\":2}\n");
        size_t head = text.length;
        fs_change_add_json(&text, change);
        buf_addc(&text, '\n');
        int r = fs_bundle_parse(text.data, text.length, "again", &copy, &err);
        assert(r == 0 && copy->count == 1);
        fs_change_add_json(&again, &copy->items[0]);
        assert(again.length + 1 == text.length - head &&
               memcmp(again.data, text.data + head, again.length) == 0);
    }
    return 0;
}
