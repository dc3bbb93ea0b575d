/* SPDX-License-Identifier: MIT */
/* Is the worktree still what the run saw? All differences are found before anything is done. */
#include "base/fd.h"
#include "fs/fs_apply_internal.h"
#include "fs/fs_diff.h"
#include "fs/fs_names.h"
#include "fs/fs_walk_internal.h"
#include "fs/fs_xattrs.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

enum { NAMED_MAX = 10 };

struct check {
    int root;
    const struct fs_changes *changes;
    struct fs_names gone; /* paths the changes take away */
    struct fs_names made; /* directories they make */
    struct fs_blobs *nowhere;
    struct buf text;   /* one line a conflict */
    struct buf xattrs; /* of the node that was looked at last */
    bool unread;       /* and it may not be read */
    size_t conflicts;
};

static void add_conflict(struct check *check, const char *path, const char *why)
{
    if (check->conflicts++ >= NAMED_MAX)
        return;
    buf_adds(&check->text, "\n  ");
    fs_diff_add_name(&check->text, "", path);
    buf_addf(&check->text, ": %s", why);
}

/* The node as it is on disk now. */
static int look(struct check *check, const char *path, struct fs_node *ret, struct err *err)
{
    struct fs_side side;
    int r = fs_side_look(check->root, path, &side);

    *ret = (struct fs_node){.type = side.type};
    if (r < 0)
        return err_set(err, r, "look at '%s': %s", path, strerror(-r));
    if (side.type == FS_NONE)
        return 0;
    ret->owner = (struct fs_owner){true, side.st.st_uid, side.st.st_gid};
    ret->mode = side.type == FS_SYMLINK ? 0777 : side.st.st_mode & 07777;
    buf_clear(&check->xattrs);
    CLEANUP(fd_close) int fd = fs_open_beneath(
        check->root, path, (side.type == FS_FILE ? O_RDONLY | O_NONBLOCK : O_PATH) | O_NOFOLLOW);
    check->unread = fd == -EACCES && side.type == FS_FILE;
    if (check->unread) { /* the box may read what its user may not: known by its facts */
        ret->size = (uint64_t)side.st.st_size;
        return 0;
    }
    if (fd < 0)
        return err_set(err, fd, "open '%s': %s", path, strerror(-fd));
    r = side.type == FS_SYMLINK ? 0 : fs_xattrs_read(fd, &check->xattrs);
    if (r < 0)
        return err_set(err, r, "read the attributes of '%s': %s", path, strerror(-r));
    ret->xattrs = buf_text(&check->xattrs);
    if (side.type == FS_FILE)
        return fs_content_put(check->nowhere, fd, ret, err);
    char target[PATH_MAX];
    ssize_t length = side.type == FS_SYMLINK ? readlinkat(fd, "", target, sizeof target) : 0;
    if (length < 0)
        return err_set(err, -errno, "read symlink '%s': %m", path);
    return fs_content_put_bytes(check->nowhere, target, (size_t)length, ret, err);
}

static int check_before(struct check *check, const char *path, const struct fs_node *before,
                        struct err *err)
{
    struct fs_node now;
    int r = look(check, path, &now, err);

    if (r < 0)
        return r;
    bool has_content = before->type == FS_FILE || before->type == FS_SYMLINK;
    if (before->type == FS_NONE && now.type != FS_NONE)
        add_conflict(check, path, "is there, but was not when the run began");
    else if (before->type != FS_NONE && now.type == FS_NONE)
        add_conflict(check, path, "is not there any more");
    else if (now.type != before->type)
        add_conflict(check, path, "is of another type now");
    else if (now.mode != before->mode)
        add_conflict(check, path, "has other permissions now");
    else if (fs_owners_differ(&before->owner, &now.owner))
        add_conflict(check, path, "belongs to somebody else now");
    else if (before->type != FS_NONE && !fs_xattrs_same(before->xattrs, now.xattrs))
        add_conflict(check, path, "has other extended attributes now");
    else if (has_content &&
             (now.size != before->size ||
              (!check->unread && memcmp(&now.hash, &before->hash, sizeof now.hash) != 0)))
        add_conflict(check, path, "has other content than the run saw");
    return 0;
}

/* A directory that goes away must hold nothing but what goes away with it. */
static int check_emptied(struct check *check, const char *path, struct err *err)
{
    CLEANUP(fs_names_done) struct fs_names names = {0};
    CLEANUP(fd_close) int dir = fs_open_beneath(check->root, path, O_RDONLY | O_DIRECTORY);
    int r = dir < 0 ? dir : fs_names_add(&names, dir);

    if (r == -ENOENT || r == -ENOTDIR || r == -ELOOP)
        return 0; /* named already */
    if (r < 0)
        return err_set(err, r, "list '%s': %s", path, strerror(-r));
    fs_names_sort(&names);
    for (size_t i = 0; i < names.count; i++) {
        CLEANUP(mem_free) char *child = mem_format("%s/%s", path, names.items[i]);
        if (!fs_names_has(&check->gone, child))
            add_conflict(check, child, "is there, but was not when the run began");
    }
    return 0;
}

/* A new path needs a directory to be in: one of the worktree, or one that is made with it. */
static void check_parent(struct check *check, const char *path)
{
    const char *slash = strrchr(path, '/'), *name;
    CLEANUP(mem_free) char *directory = mem_dupn(path, slash ? (size_t)(slash - path) : 0);
    CLEANUP(fd_close) int parent = fs_apply_parent(check->root, path, &name);

    if (parent < 0 && !fs_names_has(&check->made, directory))
        add_conflict(check, path, "its directory is gone, or is a symlink or a file now");
}

static bool is_in_group(gid_t gid)
{
    gid_t groups[1024];
    int count = getgroups(ARRAY_LENGTH(groups), groups);

    for (int i = 0; i < count; i++)
        if (groups[i] == gid)
            return true;
    return gid == getegid();
}

/* Root gives files to anybody; others keep their own, and may choose among their groups. */
static int check_owner(const struct fs_change *change, struct err *err)
{
    const struct fs_owner *was = &change->before.owner, *owner = &change->after.owner;
    uid_t self = geteuid();
    bool is_ours = !fs_apply_keeps_content(change) || was->uid == self;

    if (!owner->is_told || self == 0 || (is_ours && owner->uid == self && is_in_group(owner->gid)))
        return 0;
    err_set(err, -EPERM, "'%s' is to belong to %u:%u, which only root may do", change->path,
            (unsigned)owner->uid, (unsigned)owner->gid);
    return err_hint(err, "nothing was changed; apply as root, or keep contents without owners with "
                         "'vitro diff | git apply'");
}

/* The name that stays, of a file that gets another, is still that file. */
static int check_link(struct check *check, const struct fs_change *change, struct err *err)
{
    struct fs_node now;

    if (!change->link || fs_changes_find(check->changes, change->link) < check->changes->count)
        return 0;
    int r = look(check, change->link, &now, err);
    if (r == 0 && (now.type != FS_FILE || now.size != change->after.size ||
                   memcmp(&now.hash, &change->after.hash, sizeof now.hash) != 0))
        add_conflict(check, change->link, "has other content than the run saw");
    return r;
}

static int check_change(struct check *check, const struct fs_change *change, struct err *err)
{
    static const struct fs_node nothing;
    int r = check_before(check, change->from ? change->from : change->path, &change->before, err);

    if (change->before.type == FS_NONE || change->from)
        check_parent(check, change->path);
    if (r == 0 && change->from)
        r = check_before(check, change->path, &nothing, err);
    size_t length = strlen(FS_APPLY_DIR);
    if (strncmp(change->path, FS_APPLY_DIR, length) == 0 &&
        (change->path[length] == '/' || !change->path[length]))
        add_conflict(check, change->path, "is a name that vitro uses itself");
    if (r == 0 && change->stale)
        add_conflict(check, change->path, "changed while the run went on");
    if (r == 0 && change->before.type == FS_DIR && change->after.type != FS_DIR)
        r = check_emptied(check, change->path, err);
    bool kept = change->after.has_blob ||
                (change->after.type != FS_FILE && change->after.type != FS_SYMLINK);
    if (r == 0)
        r = check_link(check, change, err);
    if (r == 0)
        r = check_owner(change, err);
    if (r == 0 && !kept)
        r = err_set(err, -ENOENT, "the content of '%s' was not kept", change->path);
    return r;
}

int fs_apply_check(int root, const struct fs_changes *changes, struct err *err)
{
    struct check check = {.root = root, .changes = changes, .nowhere = fs_blobs_nowhere()};
    int r = 0;

    for (size_t i = 0; i < changes->count; i++) {
        const struct fs_change *change = &changes->items[i];
        if (change->from)
            fs_names_put(&check.gone, change->from);
        else if (change->before.type != FS_NONE && change->after.type != change->before.type)
            fs_names_put(&check.gone, change->path);
        if (change->after.type == FS_DIR && change->before.type != FS_DIR)
            fs_names_put(&check.made, change->path);
    }
    fs_names_sort(&check.gone);
    fs_names_sort(&check.made);
    for (size_t i = 0; r == 0 && i < changes->count; i++)
        if (!changes->items[i].outside)
            r = check_change(&check, &changes->items[i], err);
    if (r == 0 && check.conflicts) {
        if (check.conflicts > NAMED_MAX)
            buf_addf(&check.text, "\n  and %zu more", check.conflicts - NAMED_MAX);
        err_set(err, -ESTALE, "the worktree moved on:%s", buf_text(&check.text));
        r = err_hint(err, "nothing was changed; run again, or look at 'vitro diff'");
    }
    buf_done(&check.text);
    buf_done(&check.xattrs);
    fs_names_done(&check.gone);
    fs_names_done(&check.made);
    fs_blobs_free(check.nowhere);
    return r;
}
