/* SPDX-License-Identifier: MIT */
#include "fs/fs_bundle.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/text.h"
#include "fs/fs_xattrs.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

enum { VERSION = 2 };
#define MANIFEST_BYTES_MAX ((size_t)4 << 30)

static void add_key(struct buf *buf, const char *key)
{
    if (buf->data[buf->length - 1] != '{')
        buf_addc(buf, ',');
    buf_addc(buf, '"');
    buf_adds(buf, key);
    buf_adds(buf, "\":");
}

static void add_text(struct buf *buf, const char *key, const char *text)
{
    add_key(buf, key);
    json_add_string(buf, text, strlen(text));
}

static void add_number(struct buf *buf, const char *key, uint64_t number)
{
    add_key(buf, key);
    buf_addu(buf, number);
}

static void add_true(struct buf *buf, const char *key)
{
    add_key(buf, key);
    buf_adds(buf, "true");
}

/* Names are bytes, JSON is Unicode: a name that is not UTF-8 is written in hex beside. */
static void add_path(struct buf *buf, const char *key, const char *path)
{
    if (text_is_utf8(path, strlen(path))) {
        add_text(buf, key, path);
        return;
    }
    CLEANUP(mem_free) char *hex_key = mem_format("%s_hex", key);
    add_key(buf, hex_key);
    buf_addc(buf, '"');
    for (const char *s = path; *s; s++)
        buf_addf(buf, "%02x", (unsigned char)*s);
    buf_addc(buf, '"');
}

/* Members are sorted, as in all canonical JSON. */
static void add_node(struct buf *buf, const char *key, const struct fs_node *node)
{
    bool has_content = node->type == FS_FILE || node->type == FS_SYMLINK;
    struct hash_text hash = hash_to_text(&node->hash);

    add_key(buf, key);
    if (node->type == FS_NONE) {
        buf_adds(buf, "null");
        return;
    }
    buf_addc(buf, '{');
    if (node->owner.is_told)
        add_number(buf, "gid", node->owner.gid);
    if (has_content && node->has_blob)
        add_true(buf, "kept");
    const char mode[] = {(char)('0' + (node->mode >> 9 & 7)), (char)('0' + (node->mode >> 6 & 7)),
                         (char)('0' + (node->mode >> 3 & 7)), (char)('0' + (node->mode & 7)), 0};
    add_text(buf, "mode", mode);
    if (has_content) {
        add_text(buf, "sha256", hash.text);
        add_number(buf, "size", node->size);
        if (node->sparse)
            add_true(buf, "sparse");
    }
    add_text(buf, "type", fs_type_name(node->type));
    if (node->owner.is_told)
        add_number(buf, "uid", node->owner.uid);
    if (node->xattrs)
        add_text(buf, "xattrs", node->xattrs);
    buf_addc(buf, '}');
}

static const char *kind_of(const struct fs_change *change)
{
    if (change->from)
        return "rename";
    if (change->before.type == FS_NONE)
        return "add";
    return change->after.type == FS_NONE ? "delete" : "modify";
}

void fs_change_add_json(struct buf *buf, const struct fs_change *change)
{
    buf_addc(buf, '{');
    add_node(buf, "after", &change->after);
    add_node(buf, "before", &change->before);
    if (change->from)
        add_path(buf, "from", change->from);
    add_text(buf, "kind", kind_of(change));
    if (change->link)
        add_path(buf, "link", change->link);
    if (change->outside)
        add_true(buf, "outside");
    add_path(buf, "path", change->path);
    if (change->stale)
        add_true(buf, "stale");
    buf_addc(buf, '}');
}

static void add_head(struct buf *buf, const struct fs_changes *changes)
{
    buf_addc(buf, '{');
    add_text(buf, "format", "vitro-changes");
    add_key(buf, "host");
    buf_addc(buf, '{');
    add_path(buf, "worktree", changes->worktree);
    buf_addc(buf, '}');
    add_key(buf, "notes");
    buf_addc(buf, '[');
    size_t first = buf->length;
    for (size_t i = 0; i < changes->note_count; i++) {
        size_t length = strlen(changes->notes[i]);
        if (!text_is_utf8(changes->notes[i], length))
            continue;
        if (buf->length > first)
            buf_addc(buf, ',');
        json_add_string(buf, changes->notes[i], length);
    }
    buf_addc(buf, ']');
    add_number(buf, "version", VERSION);
    buf_addc(buf, '}');
}

static char *contents_path(const char *bundle)
{
    return mem_format("%s/fs/contents.pack", bundle);
}

struct fs_blobs *fs_bundle_begin(const char *bundle)
{
    CLEANUP(mem_free) char *path = contents_path(bundle);

    return fs_blobs_new(path);
}

/* Appears whole. Not synced: neither are the contents, and who loses power runs again. */
static int write_list(const char *bundle, const struct buf *text, struct err *err)
{
    CLEANUP(mem_free) char *path = mem_format("%s/fs/changes.jsonl", bundle);
    CLEANUP(mem_free) char *new_path = mem_format("%s.new", path);
    CLEANUP(fd_close)
    int fd = open(new_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    int r = fd < 0 ? -errno : fd_write_full(fd, text->data, text->length);

    if (r == 0 && rename(new_path, path) < 0)
        r = -errno;
    return r < 0 ? err_set(err, r, "write '%s': %s", path, strerror(-r)) : 0;
}

int fs_bundle_write(const char *bundle, const struct fs_changes *changes, struct fs_blobs *blobs,
                    struct err *err)
{
    CLEANUP(mem_free) char *directory = mem_format("%s/fs", bundle);
    CLEANUP(buf_done) struct buf text = {0};
    int r = fs_blobs_finish(blobs, err);

    if (r == 0)
        r = dir_make_all(directory, err);
    if (r < 0)
        return r;
    add_head(&text, changes);
    buf_addc(&text, '\n');
    for (size_t i = 0; i < changes->count; i++) {
        fs_change_add_json(&text, &changes->items[i]);
        buf_addc(&text, '\n');
    }
    return write_list(bundle, &text, err);
}

/* Reading: nothing in the file is believed. */

static bool read_hex(const char *hex, struct buf *ret)
{
    for (; hex[0]; hex += 2) {
        unsigned value;
        int used = 0;
        if (!hex[1] || sscanf(hex, "%2x%n", &value, &used) != 1 || used != 2 || !value)
            return false;
        buf_addc(ret, (char)value);
    }
    return true;
}

static bool read_path(const json_t *object, const char *key, struct buf *ret)
{
    CLEANUP(mem_free) char *hex_key = mem_format("%s_hex", key);
    const json_t *plain = json_object_get(object, key), *hex = json_object_get(object, hex_key);

    if (json_is_string(plain)) {
        buf_add(ret, json_string_value(plain), json_string_length(plain));
        return strlen(buf_text(ret)) == ret->length && ret->length;
    }
    return json_is_string(hex) && read_hex(json_string_value(hex), ret) && ret->length;
}

/* Relative, without empty, "." or ".." parts. */
static bool is_tame(const char *path)
{
    for (const char *part = path;; part++) {
        size_t length = strcspn(part, "/");
        if (length == 0 || (length == 1 && part[0] == '.') ||
            (length == 2 && part[0] == '.' && part[1] == '.'))
            return false;
        part += length;
        if (!*part)
            return true;
    }
}

static bool read_type(const char *name, enum fs_type *ret)
{
    for (int type = FS_FILE; type <= FS_DEVICE; type++)
        if (text_equal(fs_type_name((enum fs_type)type), name)) {
            *ret = (enum fs_type)type;
            return true;
        }
    return false;
}

/* Both numbers or neither; the largest means "leave it" to chown(2). */
static bool read_owner(const json_t *object, struct fs_owner *ret)
{
    const json_t *uid = json_object_get(object, "uid"), *gid = json_object_get(object, "gid");
    json_int_t u = json_integer_value(uid), g = json_integer_value(gid);

    if (!uid && !gid)
        return true;
    *ret = (struct fs_owner){true, (uid_t)u, (gid_t)g};
    return json_is_integer(uid) && json_is_integer(gid) && u >= 0 && u < UINT32_MAX && g >= 0 &&
           g < UINT32_MAX;
}

static bool read_xattrs(const json_t *object, struct arena *arena, struct fs_node *ret)
{
    const json_t *xattrs = json_object_get(object, "xattrs");
    const char *text = json_string_value(xattrs);

    if (!xattrs)
        return true;
    if (!text || strlen(text) != json_string_length(xattrs) || !fs_xattrs_valid(text) ||
        (ret->type != FS_FILE && ret->type != FS_DIR))
        return false;
    ret->xattrs = arena_dup(arena, text, strlen(text));
    return true;
}

static bool read_node(const json_t *object, struct arena *arena, struct fs_node *ret)
{
    char *end;

    if (json_is_null(object))
        return true;
    const char *mode = json_string_value(json_object_get(object, "mode"));
    if (!mode || !read_type(json_string_value(json_object_get(object, "type")), &ret->type))
        return false;
    unsigned long bits = strtoul(mode, &end, 8);
    if (*end || bits > 07777 || !read_owner(object, &ret->owner))
        return false;
    ret->mode = (mode_t)bits;
    if (!read_xattrs(object, arena, ret))
        return false;
    if (ret->type != FS_FILE && ret->type != FS_SYMLINK)
        return true;
    const char *hash = json_string_value(json_object_get(object, "sha256"));
    json_int_t size = json_integer_value(json_object_get(object, "size"));
    ret->size = (uint64_t)size;
    ret->sparse = json_is_true(json_object_get(object, "sparse"));
    ret->has_blob = json_is_true(json_object_get(object, "kept"));
    return size >= 0 && hash && hash_from_text(hash, &ret->hash);
}

static bool read_change(const json_t *object, struct fs_changes *changes)
{
    CLEANUP(buf_done) struct buf path = {0};
    CLEANUP(buf_done) struct buf from = {0};
    CLEANUP(buf_done) struct buf link = {0};
    bool outside = json_is_true(json_object_get(object, "outside"));

    if (!read_path(object, "path", &path) || (!outside && !is_tame(buf_text(&path))))
        return false;
    struct fs_change *change = fs_changes_add(changes, buf_text(&path));
    change->outside = outside;
    change->stale = json_is_true(json_object_get(object, "stale"));
    if (read_path(object, "from", &from)) {
        if (!is_tame(buf_text(&from)))
            return false;
        change->from = arena_dup(&changes->arena, from.data, from.length);
    }
    if (read_path(object, "link", &link)) {
        if (!is_tame(buf_text(&link)) || outside)
            return false;
        change->link = arena_dup(&changes->arena, link.data, link.length);
    }
    return read_node(json_object_get(object, "before"), &changes->arena, &change->before) &&
           read_node(json_object_get(object, "after"), &changes->arena, &change->after) &&
           (change->before.type != FS_NONE || change->after.type != FS_NONE) &&
           (!change->link || change->after.type == FS_FILE) &&
           (!change->from || (change->before.type != FS_NONE && change->after.type != FS_NONE));
}

static int read_head(const json_t *head, const char *path, struct fs_changes **ret, struct err *err)
{
    CLEANUP(buf_done) struct buf worktree = {0};
    json_t *note;
    size_t i;

    if (!text_equal(json_string_value(json_object_get(head, "format")), "vitro-changes"))
        return err_set(err, -EBADMSG, "'%s' is not a list of changes", path);
    json_int_t version = json_integer_value(json_object_get(head, "version"));
    if (version != VERSION) {
        err_set(err, -EPROTO, "'%s' has version %lld", path, (long long)version);
        return err_hint(err, "this vitro reads version %d", VERSION);
    }
    if (!read_path(json_object_get(head, "host"), "worktree", &worktree))
        return err_set(err, -EBADMSG, "%s:1: names no worktree", path);
    *ret = fs_changes_new(buf_text(&worktree));
    json_array_foreach(json_object_get(head, "notes"), i, note) if (json_is_string(note))
        fs_changes_note(*ret, "%s", json_string_value(note));
    return 0;
}

int fs_bundle_parse(const char *text, size_t length, const char *path, struct fs_changes **ret,
                    struct err *err)
{
    CLEANUP(fs_changes_free) struct fs_changes *changes = NULL;
    const char *next = text, *end = text + length;

    for (unsigned long number = 1; next < end; number++) {
        const char *stop = memchr(next, '\n', (size_t)(end - next));
        CLEANUP(json_free) json_t *line = NULL;
        CLEANUP(mem_free) char *where = mem_format("%s:%lu", path, number);
        if (!stop)
            return err_set(err, -EBADMSG, "%s: the last line is cut short", where);
        int r = json_parse(next, (size_t)(stop - next), where, &line, err);
        if (r == 0 && number == 1)
            r = read_head(line, path, &changes, err);
        else if (r == 0 && !read_change(line, changes))
            r = err_set(err, -EBADMSG, "%s: this is no change", where);
        if (r < 0)
            return r;
        next = stop + 1;
    }
    if (!changes)
        return err_set(err, -EBADMSG, "'%s' is empty", path);
    *ret = take_ptr(&changes);
    return 0;
}

int fs_bundle_read(const char *bundle, struct fs_changes **ret, struct fs_blobs **ret_blobs,
                   struct err *err)
{
    CLEANUP(mem_free) char *path = mem_format("%s/fs/changes.jsonl", bundle);
    CLEANUP(mem_free) char *blobs_path = contents_path(bundle);
    CLEANUP(fs_changes_free) struct fs_changes *changes = NULL;
    CLEANUP(buf_done) struct buf text = {0};
    int r = file_read(path, MANIFEST_BYTES_MAX, &text, err);

    if (r == -ENOENT)
        return err_hint(err, "'%s' is not the bundle of a run with --fs overlay", bundle);
    if (r == 0)
        r = fs_bundle_parse(buf_text(&text), text.length, path, &changes, err);
    if (r == 0)
        r = fs_blobs_open(blobs_path, ret_blobs, err);
    if (r < 0)
        return r;
    *ret = take_ptr(&changes);
    return 0;
}
