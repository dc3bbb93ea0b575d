/* SPDX-License-Identifier: MIT */
#include "fs/fs_bundle.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/text.h"
#include <errno.h>
#include <string.h>

enum { VERSION = 1 };
#define MANIFEST_BYTES_MAX ((size_t)4 << 30)

/* Names are bytes, JSON is Unicode: a name that is not UTF-8 is written in hex beside. */
static void add_path(json_t *object, const char *key, const char *path)
{
    if (text_is_utf8(path, strlen(path))) {
        json_object_set_new(object, key, json_string(path));
        return;
    }
    CLEANUP(buf_done) struct buf hex = {0};
    CLEANUP(mem_free) char *hex_key = mem_format("%s_hex", key);
    for (const char *s = path; *s; s++)
        buf_addf(&hex, "%02x", (unsigned char)*s);
    json_object_set_new(object, hex_key, json_string(buf_text(&hex)));
}

static json_t *node_to_json(const struct fs_node *node)
{
    if (node->type == FS_NONE)
        return json_null();
    json_t *object = json_object();
    CLEANUP(mem_free) char *mode = mem_format("%04o", (unsigned)node->mode);
    struct hash_text hash = hash_to_text(&node->hash);
    json_object_set_new(object, "type", json_string(fs_type_name(node->type)));
    json_object_set_new(object, "mode", json_string(mode));
    if (node->owner.is_told) {
        json_object_set_new(object, "uid", json_integer(node->owner.uid));
        json_object_set_new(object, "gid", json_integer(node->owner.gid));
    }
    if (node->type == FS_FILE || node->type == FS_SYMLINK) {
        json_object_set_new(object, "size", json_integer((json_int_t)node->size));
        json_object_set_new(object, "sha256", json_string(hash.text));
        if (node->sparse)
            json_object_set_new(object, "sparse", json_true());
        if (node->has_blob)
            json_object_set_new(object, "kept", json_true());
    }
    return object;
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
    CLEANUP(json_free) json_t *object = json_object();

    json_object_set_new(object, "kind", json_string(kind_of(change)));
    add_path(object, "path", change->path);
    if (change->from)
        add_path(object, "from", change->from);
    if (change->outside)
        json_object_set_new(object, "outside", json_true());
    if (change->stale)
        json_object_set_new(object, "stale", json_true());
    json_object_set_new(object, "before", node_to_json(&change->before));
    json_object_set_new(object, "after", node_to_json(&change->after));
    json_add_canonical(buf, object);
}

int fs_bundle_begin(const char *bundle, struct fs_blobs **ret, struct err *err)
{
    CLEANUP(mem_free) char *path = mem_format("%s/fs/blobs", bundle);

    return fs_blobs_open(path, ret, err);
}

int fs_bundle_write(const char *bundle, const struct fs_changes *changes, struct err *err)
{
    CLEANUP(mem_free) char *path = mem_format("%s/fs/changes.jsonl", bundle);
    CLEANUP(json_free) json_t *head = json_object();
    json_t *host = json_object(), *notes = json_array();
    CLEANUP(buf_done) struct buf text = {0};

    json_object_set_new(head, "format", json_string("vitro-changes"));
    json_object_set_new(head, "version", json_integer(VERSION));
    json_object_set_new(head, "host", host);
    add_path(host, "worktree", changes->worktree);
    for (size_t i = 0; i < changes->note_count; i++)
        if (text_is_utf8(changes->notes[i], strlen(changes->notes[i])))
            json_array_append_new(notes, json_string(changes->notes[i]));
    json_object_set_new(head, "notes", notes);
    json_add_canonical(&text, head);
    buf_addc(&text, '\n');
    for (size_t i = 0; i < changes->count; i++) {
        fs_change_add_json(&text, &changes->items[i]);
        buf_addc(&text, '\n');
    }
    return file_write(path, text.data, text.length, err);
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

static bool read_node(const json_t *object, struct fs_node *ret)
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
    return read_node(json_object_get(object, "before"), &change->before) &&
           read_node(json_object_get(object, "after"), &change->after) &&
           (change->before.type != FS_NONE || change->after.type != FS_NONE) &&
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
    CLEANUP(mem_free) char *blobs_path = mem_format("%s/fs/blobs", bundle);
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
