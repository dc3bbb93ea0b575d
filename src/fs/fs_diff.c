/* SPDX-License-Identifier: MIT */
#include "fs/fs_diff.h"
#include "base/text.h"
#include "fs/fs_lines.h"
#include <assert.h>
#include <nettle/sha1.h>
#include <stdio.h>
#include <string.h>

enum { CONTEXT_LINES = 3, BINARY_LOOK_BYTES = 8000 };

static const char bold[] = "\033[1m", cyan[] = "\033[36m", red[] = "\033[31m", green[] = "\033[32m",
                  plain[] = "\033[m";

struct side {
    const struct fs_node *node;
    struct buf content;
    char id[41];   /* git's name of the content, zeros if it is not there */
    unsigned mode; /* git's: 100644, 100755 or 120000 */
};

struct writer {
    struct buf *buf;
    bool colour;
};

/* A line with its colour; the newline stays outside of it, as git does. */
static void add_line(const struct writer *writer, const char *colour, const char *text,
                     size_t length)
{
    if (writer->colour)
        buf_adds(writer->buf, colour);
    buf_add(writer->buf, text, length);
    if (writer->colour)
        buf_adds(writer->buf, plain);
    buf_addc(writer->buf, '\n');
}

static void add_head(const struct writer *writer, const char *format, ...) PRINTF_LIKE(2, 3);
static void add_head(const struct writer *writer, const char *format, ...)
{
    CLEANUP(buf_done) struct buf text = {0};
    va_list args;

    va_start(args, format);
    buf_addv(&text, format, args);
    va_end(args);
    add_line(writer, bold, text.data, text.length);
}

static void set_id(struct side *side)
{
    uint8_t digest[SHA1_DIGEST_SIZE];
    char head[64];
    int length = snprintf(head, sizeof head, "blob %zu", side->content.length) + 1;
    struct sha1_ctx context;

    sha1_init(&context);
    sha1_update(&context, (size_t)length, (const uint8_t *)head);
    sha1_update(&context, side->content.length, (const uint8_t *)buf_text(&side->content));
    sha1_digest(&context, sizeof digest, digest);
    for (size_t i = 0; i < sizeof digest; i++)
        (void)snprintf(side->id + 2 * i, 3, "%02x", digest[i]);
}

static int load_side(const struct fs_node *node, struct fs_blobs *blobs, struct side *ret,
                     struct err *err)
{
    static const struct fs_node nothing;

    *ret = (struct side){.node = node ? node : &nothing};
    memset(ret->id, '0', 40);
    if (ret->node->type == FS_NONE)
        return 0;
    ret->mode = node->type == FS_SYMLINK ? 0120000 : node->mode & 0100 ? 0100755 : 0100644;
    int r = fs_content_load(blobs, node, FS_DIFF_BYTES_MAX, &ret->content, err);
    if (r == 0)
        set_id(ret);
    return r;
}

static bool is_binary(const struct buf *content)
{
    size_t length = content->length < BINARY_LOOK_BYTES ? content->length : BINARY_LOOK_BYTES;

    return length && memchr(content->data, 0, length);
}

/* "--- a/name"; a name with a space is followed by a tab, so that patch(1) sees its end. */
static void add_file_line(const struct writer *writer, const char *mark, const char *prefix,
                          const char *path)
{
    CLEANUP(buf_done) struct buf text = {0};

    buf_adds(&text, mark);
    if (path) {
        fs_diff_add_name(&text, prefix, path);
        if (fs_diff_name_is_plain(path) && strchr(path, ' '))
            buf_addc(&text, '\t');
    } else {
        buf_adds(&text, "/dev/null");
    }
    add_line(writer, bold, text.data, text.length);
}

static void add_text_line(const struct writer *writer, const struct fs_text *text, size_t index,
                          char mark)
{
    size_t start = text->starts[index], end = text->starts[index + 1];
    bool ended = text->bytes[end - 1] == '\n';
    CLEANUP(buf_done) struct buf line = {0};

    buf_addc(&line, mark);
    buf_add(&line, text->bytes + start, end - start - ended);
    if (mark == ' ') {
        buf_add(writer->buf, line.data, line.length);
        buf_addc(writer->buf, '\n');
    } else {
        add_line(writer, mark == '-' ? red : green, line.data, line.length);
    }
    if (!ended)
        buf_adds(writer->buf, "\\ No newline at end of file\n");
}

static void add_range(struct buf *buf, char mark, size_t start, size_t count)
{
    buf_addf(buf, "%c%zu", mark, count ? start + 1 : start);
    if (count != 1)
        buf_addf(buf, ",%zu", count);
}

/* Edits [first, end) with the lines around and between them. */
static void add_hunk(const struct writer *writer, const struct fs_edits *edits, size_t first,
                     size_t end)
{
    const struct fs_edit *from = &edits->items[first], *to = &edits->items[end - 1];
    const struct fs_text *old = &edits->old_text, *new = &edits->new_text;
    size_t before = from->old_start < CONTEXT_LINES ? from->old_start : CONTEXT_LINES;
    size_t after = old->line_count - to->old_start - to->old_count;
    CLEANUP(buf_done) struct buf head = {0};

    after = after < CONTEXT_LINES ? after : CONTEXT_LINES;
    size_t at = from->old_start - before, new_at = from->new_start - before;
    buf_adds(&head, "@@ ");
    add_range(&head, '-', at, to->old_start + to->old_count + after - at);
    buf_addc(&head, ' ');
    add_range(&head, '+', new_at, to->new_start + to->new_count + after - new_at);
    buf_adds(&head, " @@");
    add_line(writer, cyan, head.data, head.length);
    for (const struct fs_edit *edit = from; edit <= to; edit++) {
        for (; at < edit->old_start; at++)
            add_text_line(writer, old, at, ' ');
        for (; at < edit->old_start + edit->old_count; at++)
            add_text_line(writer, old, at, '-');
        for (size_t i = 0; i < edit->new_count; i++)
            add_text_line(writer, new, edit->new_start + i, '+');
    }
    for (size_t i = 0; i < after; i++)
        add_text_line(writer, old, at + i, ' ');
}

static void add_hunks(const struct writer *writer, const struct side *old, const struct side *new,
                      struct fs_diff_counts *counts)
{
    CLEANUP(fs_edits_done) struct fs_edits edits = {0};

    fs_lines_compare(buf_text(&old->content), old->content.length, buf_text(&new->content),
                     new->content.length, &edits);
    for (size_t first = 0, end; first < edits.count; first = end) {
        for (end = first + 1; end < edits.count; end++) {
            const struct fs_edit *last = &edits.items[end - 1];
            if (edits.items[end].old_start - last->old_start - last->old_count > 2 * CONTEXT_LINES)
                break;
        }
        if (writer->buf)
            add_hunk(writer, &edits, first, end);
    }
    for (size_t i = 0; i < edits.count; i++) {
        counts->lines_removed += edits.items[i].old_count;
        counts->lines_added += edits.items[i].new_count;
    }
}

static void add_mode_lines(const struct writer *writer, const struct side *old,
                           const struct side *new)
{
    if (!old->mode)
        add_head(writer, "new file mode %o", new->mode);
    else if (!new->mode)
        add_head(writer, "deleted file mode %o", old->mode);
    else if (old->mode != new->mode)
        add_head(writer, "old mode %o\nnew mode %o", old->mode, new->mode);
}

static void add_header(const struct writer *writer, const char *from, const char *to,
                       const struct side *old, const struct side *new)
{
    CLEANUP(buf_done) struct buf line = {0};

    buf_adds(&line, "diff --git ");
    fs_diff_add_name(&line, "a/", from);
    buf_addc(&line, ' ');
    fs_diff_add_name(&line, "b/", to);
    add_line(writer, bold, line.data, line.length);
    add_mode_lines(writer, old, new);
    if (strcmp(from, to) != 0) {
        buf_clear(&line);
        buf_adds(&line, "similarity index 100%\nrename from ");
        fs_diff_add_name(&line, "", from);
        buf_adds(&line, "\nrename to ");
        fs_diff_add_name(&line, "", to);
        add_line(writer, bold, line.data, line.length);
    }
}

/* One file on both sides, of one type; either may be missing. */
static void add_pair(const struct writer *writer, const char *from, const char *to,
                     const struct side *old, const struct side *new, struct fs_diff_counts *counts)
{
    bool same = old->mode && new->mode &&strcmp(old->id, new->id) == 0;

    if (same && old->mode == new->mode &&strcmp(from, to) == 0) {
        counts->unsaid++;
        return;
    }
    counts->files++;
    if (!writer->buf) {
        if (!same && !is_binary(&old->content) && !is_binary(&new->content))
            add_hunks(writer, old, new, counts);
        return;
    }
    add_header(writer, from, to, old, new);
    if (same)
        return;
    if (old->mode == new->mode)
        add_head(writer, "index %s..%s %o", old->id, new->id, new->mode);
    else
        add_head(writer, "index %s..%s", old->id, new->id);
    if (is_binary(&old->content) || is_binary(&new->content)) {
        fs_diff_add_binary(writer->buf, &old->content, &new->content);
        return;
    }
    if (!old->content.length && !new->content.length)
        return; /* an empty file came or went: the header says it all */
    add_file_line(writer, "--- ", "a/", old->mode ? from : NULL);
    add_file_line(writer, "+++ ", "b/", new->mode ? to : NULL);
    add_hunks(writer, old, new, counts);
}

static bool is_content(const struct fs_node *node)
{
    return node->type == FS_FILE || node->type == FS_SYMLINK;
}

static bool is_in_git(const char *path)
{
    for (const char *part = path; part; part = strchr(part, '/')) {
        part += *part == '/';
        if (strncmp(part, ".git", 4) == 0 && (part[4] == '/' || !part[4]))
            return true;
    }
    return false;
}

static bool is_beside_alone(const struct fs_change *change)
{
    const struct fs_node *a = &change->before, *b = &change->after;

    return fs_diff_is_beside(change) && !change->from && a->type == b->type && a->mode == b->mode &&
           (!is_content(a) ||
            (a->size == b->size && memcmp(&a->hash, &b->hash, sizeof a->hash) == 0));
}

/* Counts what the format cannot carry; true if that is all there is to say. */
static bool is_unsaid(const struct fs_change *change, struct fs_diff_counts *counts)
{
    const struct fs_node *before = &change->before, *after = &change->after;

    if (change->outside)
        return ++counts->outside;
    counts->owners += after->owner.is_told;
    counts->xattrs += after->xattrs != NULL;
    counts->links += change->link != NULL;
    if (is_in_git(change->path))
        return ++counts->in_git;
    if (is_beside_alone(change))
        return true;
    if (!is_content(before) && !is_content(after))
        return ++counts->unsaid;
    if ((is_content(before) && (before->size > FS_DIFF_BYTES_MAX || before->sparse)) ||
        (is_content(after) && (after->size > FS_DIFF_BYTES_MAX || after->sparse)))
        return ++counts->too_large;
    if ((is_content(before) && !before->has_blob) || (is_content(after) && !after->has_blob))
        return ++counts->unsaid;
    return false;
}

static int add_change(const struct writer *writer, const struct fs_change *change,
                      struct fs_blobs *blobs, struct fs_diff_counts *counts, struct err *err)
{
    const struct fs_node *before = is_content(&change->before) ? &change->before : NULL;
    const struct fs_node *after = is_content(&change->after) ? &change->after : NULL;
    const char *from = change->from ? change->from : change->path;
    struct side old, new, nothing;

    if (is_unsaid(change, counts))
        return 0;
    int r = load_side(before, blobs, &old, err);
    if (r == 0)
        r = load_side(after, blobs, &new, err);
    else
        new = (struct side){0};
    (void)load_side(NULL, blobs, &nothing, err);
    if (r == 0 && before && after && before->type != after->type) {
        add_pair(writer, from, from, &old, &nothing, counts); /* git has no word for it: two */
        add_pair(writer, change->path, change->path, &nothing, &new, counts);
        counts->files--;
    } else if (r == 0) {
        add_pair(writer, from, change->path, &old, &new, counts);
    }
    buf_done(&old.content);
    buf_done(&new.content);
    return r < 0 ? err_wrap(err, "'%s'", change->path) : 0;
}

int fs_diff_add(struct buf *buf, const struct fs_change *change, struct fs_blobs *blobs,
                bool colour, struct fs_diff_counts *counts, struct err *err)
{
    return add_change(&(struct writer){buf, colour}, change, blobs, counts, err);
}

int fs_diff_add_stat(struct buf *buf, const struct fs_change *change, struct fs_blobs *blobs,
                     struct fs_diff_counts *counts, struct err *err)
{
    struct fs_diff_counts before = *counts;
    int r = add_change(&(struct writer){NULL, false}, change, blobs, counts, err);

    if (r == 0 && !change->outside)
        fs_diff_add_beside(buf, change);
    if (r < 0 || counts->files == before.files)
        return r;
    buf_addf(buf, "%6zu + %6zu -  ", counts->lines_added - before.lines_added,
             counts->lines_removed - before.lines_removed);
    if (change->from) {
        fs_diff_add_name(buf, "", change->from);
        buf_adds(buf, " => ");
    }
    fs_diff_add_name(buf, "", change->path);
    buf_addc(buf, '\n');
    return 0;
}

static void add_count(struct buf *buf, size_t count, const char *one, const char *many)
{
    if (count)
        buf_addf(buf, "%zu %s\n", count, count == 1 ? one : many);
}

void fs_diff_add_summary(struct buf *buf, const struct fs_diff_counts *counts)
{
    buf_addf(buf, "%zu %s changed, %zu %s, %zu %s\n", counts->files,
             counts->files == 1 ? "file" : "files", counts->lines_added,
             counts->lines_added == 1 ? "line added" : "lines added", counts->lines_removed,
             "removed");
    add_count(buf, counts->in_git, "change inside .git is not in the patch",
              "changes inside .git are not in the patch");
    add_count(buf, counts->too_large, "file is too large for the patch",
              "files are too large for the patch");
    add_count(buf, counts->unsaid,
              "change of a directory, permission or special file is not in the patch",
              "changes of directories, permissions or special files are not in the patch");
    add_count(buf, counts->owners, "change of an owner is not in the patch",
              "changes of owners are not in the patch");
    add_count(buf, counts->xattrs, "change of extended attributes is not in the patch",
              "changes of extended attributes are not in the patch");
    add_count(buf, counts->links, "name is one of several of one file, which the patch cannot say",
              "names are one of several of one file, which the patch cannot say");
    add_count(buf, counts->outside, "write outside the worktree (--all lists it)",
              "writes outside the worktree (--all lists them)");
}
