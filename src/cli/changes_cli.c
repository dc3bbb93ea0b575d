/* SPDX-License-Identifier: MIT */
#include "cli/changes_cli.h"
#include "base/fd.h"
#include "base/json.h"
#include "box/box_options.h"
#include "fs/fs_apply.h"
#include "fs/fs_bundle.h"
#include "fs/fs_diff.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void add_outside(struct buf *buf, const struct fs_change *change)
{
    const char *verb = change->before.type == FS_NONE  ? "added"
                       : change->after.type == FS_NONE ? "deleted"
                                                       : "changed";
    const struct fs_node *node = change->after.type == FS_NONE ? &change->before : &change->after;

    buf_addf(buf, "outside: %s %s ", verb, fs_type_name(node->type));
    fs_diff_add_name(buf, "", change->path);
    if (change->after.type == FS_FILE)
        buf_addf(buf, " (%llu bytes)", (unsigned long long)change->after.size);
    buf_addc(buf, '\n');
    if (fs_diff_is_beside(change)) {
        buf_adds(buf, "outside: ");
        fs_diff_add_beside(buf, change);
    }
}

/* Large lists go out piece by piece. */
static void flush(struct buf *buf)
{
    (void)fwrite(buf_text(buf), 1, buf->length, stdout);
    buf_clear(buf);
}

static int print_patch(const struct fs_changes *changes, struct fs_blobs *blobs,
                       const struct changes_view *view, struct err *err)
{
    CLEANUP(buf_done) struct buf text = {0};
    struct fs_diff_counts counts = {0};
    bool stat = view->stat, colour = cli_colour(STDOUT_FILENO);
    int r = 0;

    for (size_t i = 0; view->all && i < changes->count; i++)
        if (changes->items[i].outside)
            add_outside(&text, &changes->items[i]);
    for (size_t i = 0; r == 0 && i < changes->count; i++) {
        const struct fs_change *change = &changes->items[i];
        r = stat ? fs_diff_add_stat(&text, change, blobs, &counts, err)
                 : fs_diff_add(&text, change, blobs, colour, &counts, err);
        flush(&text);
    }
    if (r < 0)
        return r;
    fs_diff_add_summary(&text, &counts);
    if (!stat)
        fs_diff_add_all_beside(&text, changes);
    for (size_t i = 0; i < changes->note_count; i++)
        buf_addf(&text, "%s\n", changes->notes[i]);
    for (size_t i = 0; i < changes->count; i++)
        if (changes->items[i].stale)
            buf_addf(&text, "'%s' changed on disk while the run went on\n", changes->items[i].path);
    (void)fwrite(text.data, 1, text.length, stat ? stdout : stderr);
    return 0;
}

static void print_json(const struct fs_changes *changes)
{
    CLEANUP(buf_done) struct buf text = {0};

    buf_adds(&text, "{\"changes\":[");
    for (size_t i = 0; i < changes->count; i++) {
        if (i)
            buf_addc(&text, ',');
        fs_change_add_json(&text, &changes->items[i]);
        flush(&text);
    }
    buf_adds(&text, "],\"notes\":[");
    for (size_t i = 0; i < changes->note_count; i++) {
        if (i)
            buf_addc(&text, ',');
        json_add_string(&text, changes->notes[i], strlen(changes->notes[i]));
    }
    buf_adds(&text, "]}\n");
    flush(&text);
}

int changes_print(const char *bundle, const struct changes_view *view, bool *ret_any,
                  struct err *err)
{
    CLEANUP(fs_changes_free) struct fs_changes *changes = NULL;
    CLEANUP(fs_blobs_free) struct fs_blobs *blobs = NULL;
    int r = fs_bundle_read(bundle, &changes, &blobs, err);

    if (r < 0)
        return r;
    *ret_any = changes->count;
    if (!view->json)
        return print_patch(changes, blobs, view, err);
    print_json(changes);
    return 0;
}

int changes_apply(const char *bundle, const char *worktree, bool dry_run, bool json,
                  struct err *err)
{
    CLEANUP(fs_changes_free) struct fs_changes *changes = NULL;
    CLEANUP(fs_blobs_free) struct fs_blobs *blobs = NULL;
    struct fs_apply_options apply = {.worktree = worktree, .dry_run = dry_run};
    struct fs_apply_report report = {0};
    int r = fs_bundle_read(bundle, &changes, &blobs, err);

    if (r == 0)
        r = fs_apply(changes, blobs, &apply, &report, err);
    if (r < 0)
        return r;
    if (report.recovered)
        (void)fputs("vitro: an apply that was interrupted has been undone first\n", stderr);
    if (json) {
        printf("{\"applied\":%zu,\"dry_run\":%s,\"outside\":%zu,\"recovered\":%s}\n",
               report.applied, dry_run ? "true" : "false", report.outside,
               report.recovered ? "true" : "false");
        return 0;
    }
    printf("%zu %s %s\n", report.applied, report.applied == 1 ? "change" : "changes",
           dry_run ? "would be applied" : "applied");
    if (report.outside)
        printf("%zu outside the worktree not applied\n", report.outside);
    return 0;
}

/* A run that changes nothing leaves no bundle behind, unless it is recorded. */
bool changes_none(const struct cli_args *args, const char *bundle)
{
    CLEANUP(mem_free) char *list = mem_format("%s/fs/changes.jsonl", bundle);
    const char *const *operands;

    if (cli_operands(args, &operands) || file_exists(list))
        return false;
    (void)fputs("vitro: the last run in this directory changed nothing, or there was none\n",
                stderr);
    return true;
}

char *changes_bundle(const struct cli_args *args)
{
    const char *const *operands;

    return cli_operands(args, &operands) ? mem_dup(operands[0]) : box_last_bundle(NULL);
}
