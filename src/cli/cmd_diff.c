/* SPDX-License-Identifier: MIT */
/* vitro diff: what a run changed, as a patch. The patch alone goes to standard output; what it
 * cannot say goes to standard error. */
#include "cli/cli.h"
#include "base/json.h"
#include "fs/fs_bundle.h"
#include "fs/fs_diff.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct cli_option options[] = {
    {"all", NULL, "list writes outside the worktree too, before the patch", 0, false},
    {"stat", NULL, "only how many lines of each file changed", 0, false},
    {"exit-code", NULL, "exit with 1 if anything changed", 0, false},
    {0},
};

static const char *const examples[] = {
    "vitro diff .vitro/last",
    "the changes of the last run",
    "vitro diff out/ | git apply",
    "the same changes, in another checkout",
    NULL,
};

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
}

/* Large lists go out piece by piece. */
static void flush(struct buf *buf)
{
    (void)fwrite(buf_text(buf), 1, buf->length, stdout);
    buf_clear(buf);
}

static int print_patch(const struct fs_changes *changes, struct fs_blobs *blobs,
                       const struct cli_args *args, struct err *err)
{
    CLEANUP(buf_done) struct buf text = {0};
    struct fs_diff_counts counts = {0};
    bool stat = cli_flag(args, "stat"), colour = cli_colour(STDOUT_FILENO);
    int r = 0;

    for (size_t i = 0; cli_flag(args, "all") && i < changes->count; i++)
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

static int diff_run(const struct cli_args *args)
{
    CLEANUP(fs_changes_free) struct fs_changes *changes = NULL;
    CLEANUP(fs_blobs_free) struct fs_blobs *blobs = NULL;
    const char *const *operands;
    struct err err = {0};

    (void)cli_operands(args, &operands);
    if (fs_bundle_read(operands[0], &changes, &blobs, &err) < 0)
        return cli_fail(EXIT_USAGE, &err);
    if (cli_json(args))
        print_json(changes);
    else if (print_patch(changes, blobs, args, &err) < 0)
        return cli_fail(EXIT_USAGE, &err);
    return cli_flag(args, "exit-code") && changes->count ? EXIT_FINDINGS : EXIT_CLEAN;
}

const struct command command_diff = {
    .name = "diff",
    .summary = "show what a run changed, as a patch",
    .operands = "BUNDLE",
    .operands_min = 1,
    .operands_max = 1,
    .options = options,
    .examples = examples,
    .run = diff_run,
};
