/* SPDX-License-Identifier: MIT */
#include "fs/fs_apply.h"
#include "base/fd.h"
#include "fs/fs_apply_internal.h"
#include "fs/fs_walk_internal.h"
#include "fs/fs_xattrs.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

struct apply {
    const struct fs_changes *changes;
    struct fs_blobs *blobs;
    const struct fs_apply_options *options;
    int root, stage;
    struct fs_steps steps;
};

static void tell(const struct apply *apply)
{
    if (apply->options->step)
        apply->options->step(apply->options->step_arg);
}

bool fs_apply_keeps_content(const struct fs_change *change)
{
    const struct fs_node *a = &change->before, *b = &change->after;

    if (change->from || a->type != b->type || (a->type != FS_FILE && a->type != FS_DIR))
        return false;
    return a->type == FS_DIR ||
           (a->size == b->size && memcmp(&a->hash, &b->hash, sizeof a->hash) == 0);
}

static void plan_chmod(struct apply *apply, size_t index, mode_t old_mode, mode_t new_mode)
{
    const struct fs_change *change = &apply->changes->items[index];
    struct fs_step step = {.kind = FS_STEP_CHMOD,
                           .number = (unsigned)index,
                           .path = change->path,
                           .old_mode = old_mode,
                           .new_mode = new_mode};

    if (change->after.owner.is_told && fs_apply_keeps_content(change)) {
        step.kind = FS_STEP_CHOWN;
        step.old_owner = change->before.owner;
        step.new_owner = change->after.owner;
    }
    fs_steps_add(&apply->steps, &step);
}

static bool is_applied(const struct fs_change *change)
{
    return !change->outside && change->after.type != FS_SOCKET && change->after.type != FS_DEVICE;
}

/* Attributes of what stays; the rest is staged with its own. */
static void plan_xattrs(struct apply *apply, size_t index)
{
    const struct fs_change *change = &apply->changes->items[index];

    if (is_applied(change) && fs_apply_keeps_content(change) && change->after.xattrs)
        fs_steps_add(&apply->steps, &(struct fs_step){.kind = FS_STEP_XATTR,
                                                      .number = (unsigned)index,
                                                      .path = change->path,
                                                      .old_xattrs = change->before.xattrs,
                                                      .new_xattrs = change->after.xattrs});
}

static int compare_deepest_first(const void *a, const void *b)
{
    return strcmp(((const struct fs_step *)b)->path, ((const struct fs_step *)a)->path);
}

/* Directories that become open; removals from the deepest up; creations from the top down; last all
 * other permissions, for a closed directory takes no children. */
static void plan(struct apply *apply)
{
    const struct fs_change *items = apply->changes->items;
    size_t count = apply->changes->count;

    for (size_t i = 0; i < count; i++)
        if (is_applied(&items[i]) && fs_apply_keeps_content(&items[i]) &&
            items[i].after.mode & 0200)
            plan_chmod(apply, i, items[i].before.mode, items[i].after.mode);
    size_t first = apply->steps.count;
    for (size_t i = 0; i < count; i++) {
        struct fs_step step = {.kind = FS_STEP_REMOVE, .number = (unsigned)i};
        step.path = items[i].from ? items[i].from : items[i].path;
        if (!items[i].outside && items[i].before.type != FS_NONE &&
            !fs_apply_keeps_content(&items[i]))
            fs_steps_add(&apply->steps, &step);
    }
    if (apply->steps.count >
        first) /* what a rename takes away has a place of its own in the order */
        qsort(apply->steps.items + first, apply->steps.count - first, sizeof *apply->steps.items,
              compare_deepest_first);
    for (size_t i = 0; i < count; i++) {
        struct fs_step step = {.kind = FS_STEP_CREATE, .number = (unsigned)i};
        step.path = items[i].path;
        if (is_applied(&items[i]) && items[i].after.type != FS_NONE &&
            !fs_apply_keeps_content(&items[i]))
            fs_steps_add(&apply->steps, &step);
    }
    for (size_t i = 0; i < count; i++)
        plan_xattrs(apply, i);
    for (size_t i = count; i-- > 0;) {
        mode_t mode = items[i].after.mode;
        if (!is_applied(&items[i]))
            continue;
        if (fs_apply_keeps_content(&items[i]) && !(mode & 0200))
            plan_chmod(apply, i, items[i].before.mode, mode);
        else if (items[i].after.type == FS_DIR && items[i].before.type != FS_DIR &&
                 (mode & 0700) != 0700)
            plan_chmod(apply, i, mode | 0700, mode);
    }
}

/* A told owner must be had; else what it replaces, or was, lends its own where it may be given. */
static int give_owner(const struct apply *apply, const struct fs_change *change, const char *staged,
                      struct err *err)
{
    const struct fs_owner *owner = &change->after.owner;
    const char *name;
    struct stat st;

    if (owner->is_told) {
        if (fchownat(apply->stage, staged, owner->uid, owner->gid, AT_SYMLINK_NOFOLLOW) == 0)
            return 0;
        return err_set(err, -errno, "give '%s' to %u:%u: %m", change->path, (unsigned)owner->uid,
                       (unsigned)owner->gid);
    }
    if (change->before.type != change->after.type)
        return 0;
    CLEANUP(fd_close)
    int parent = fs_apply_parent(apply->root, change->from ? change->from : change->path, &name);
    if (parent >= 0 && fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
        (void)!fchownat(apply->stage, staged, st.st_uid, st.st_gid, AT_SYMLINK_NOFOLLOW);
    return 0;
}

/* Attributes that are told must be had; else what it replaces, or was, lends its own. */
static int give_xattrs(const struct apply *apply, const struct fs_change *change, int fd,
                       struct err *err)
{
    const char *wanted = change->after.xattrs;
    CLEANUP(buf_done) struct buf lent = {0};

    if (!wanted && change->before.type == change->after.type) {
        CLEANUP(fd_close)
        int old = fs_open_beneath(apply->root, change->from ? change->from : change->path,
                                  O_PATH | O_NOFOLLOW);
        if (old >= 0 && fs_xattrs_read(old, &lent) == 0 && lent.length)
            (void)fs_xattrs_write(fd, buf_text(&lent));
    }
    int r = wanted ? fs_xattrs_write(fd, wanted) : 0;
    return r < 0 ? err_set(err, r, "give '%s' its extended attributes: %s", change->path,
                           strerror(-r))
                 : 0;
}

/* A file with several names: staged once, then linked. */
static int stage_link(const struct apply *apply, const struct fs_change *change, const char *name,
                      struct err *err)
{
    size_t first = fs_changes_find(apply->changes, change->link);
    const char *base = NULL;
    char staged[32];
    int r;

    if (first < apply->changes->count && !fs_apply_keeps_content(&apply->changes->items[first])) {
        (void)snprintf(staged, sizeof staged, "%zu.new", first);
        r = linkat(apply->stage, staged, apply->stage, name, 0);
    } else {
        CLEANUP(fd_close) int parent = fs_apply_parent(apply->root, change->link, &base);
        r = parent < 0 ? -1 : linkat(parent, base, apply->stage, name, 0);
    }
    return r < 0 ? err_set(err, -errno, "make '%s' another name of '%s': %m", change->path,
                           change->link)
                 : 0;
}

static int stage_file(const struct apply *apply, const struct fs_change *change, const char *name,
                      struct err *err)
{
    if (change->link)
        return stage_link(apply, change, name, err);
    CLEANUP(fd_close) int fd =
        openat(apply->stage, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    if (fd < 0)
        return err_set(err, -errno, "stage '%s': %m", change->path);
    int r = fs_content_write(apply->blobs, &change->after, fd, err);
    if (r < 0)
        return err_wrap(err, "stage '%s'", change->path);
    r = give_owner(apply, change, name, err);
    if (r < 0)
        return r;
    if (fchmod(fd, change->after.mode) < 0)
        return err_set(err, -errno, "stage '%s': %m", change->path);
    return give_xattrs(apply, change, fd, err);
}

static int stage_symlink(const struct apply *apply, const struct fs_change *change,
                         const char *name, struct err *err)
{
    CLEANUP(buf_done) struct buf target = {0};
    int r = fs_content_load(apply->blobs, &change->after, PATH_MAX, &target, err);

    if (r < 0)
        return r;
    if (strlen(buf_text(&target)) != target.length ||
        symlinkat(buf_text(&target), apply->stage, name) < 0)
        return err_set(err, -errno, "stage symlink '%s': %m", change->path);
    return give_owner(apply, change, name, err);
}

static int stage_change(const struct apply *apply, const struct fs_step *step, struct err *err)
{
    const struct fs_change *change = &apply->changes->items[step->number];
    char name[32];
    int r = 0;

    (void)snprintf(name, sizeof name, "%u.new", step->number);
    if (change->after.type == FS_FILE)
        return stage_file(apply, change, name, err);
    if (change->after.type == FS_SYMLINK)
        return stage_symlink(apply, change, name, err);
    if (change->after.type == FS_DIR)
        r = mkdirat(apply->stage, name, 0700);
    else
        r = mkfifoat(apply->stage, name, 0600);
    if (r < 0)
        return err_set(err, -errno, "stage '%s': %m", change->path);
    r = give_owner(apply, change, name, err);
    if (r < 0)
        return r;
    mode_t open_mode = change->after.type == FS_DIR ? 0700 : 0; /* closed at the end: see plan */
    if (fchmodat(apply->stage, name, change->after.mode | open_mode, 0) < 0)
        return err_set(err, -errno, "stage '%s': %m", change->path);
    if (change->after.type != FS_DIR)
        return 0;
    CLEANUP(fd_close) int fd = openat(apply->stage, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    return give_xattrs(apply, change, fd, err);
}

static int stage_all(struct apply *apply, struct err *err)
{
    int r = 0;

    tell(apply);
    if (mkdirat(apply->root, FS_APPLY_DIR, 0700) < 0)
        return err_set(err, -errno, "create '%s': %m", FS_APPLY_DIR);
    apply->stage =
        openat(apply->root, FS_APPLY_DIR, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (apply->stage < 0)
        return err_set(err, -errno, "open '%s': %m", FS_APPLY_DIR);
    for (size_t i = 0; r == 0 && i < apply->steps.count; i++) {
        if (apply->steps.items[i].kind != FS_STEP_CREATE)
            continue;
        tell(apply);
        r = stage_change(apply, &apply->steps.items[i], err);
    }
    tell(apply);
    return r < 0 ? r : fs_journal_write(apply->stage, &apply->steps, err);
}

static int perform(struct apply *apply, struct err *err)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < apply->steps.count; i++) {
        tell(apply);
        r = fs_journal_do(apply->root, apply->stage, &apply->steps.items[i], err);
    }
    tell(apply);
    return r < 0 ? r : fs_journal_commit(apply->root, apply->stage, err);
}

static int open_root(const char *worktree, int *ret, struct err *err)
{
    CLEANUP(fd_close) int root = open(worktree, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (root < 0)
        return err_set(err, -errno, "open worktree '%s': %m", worktree);
    if (flock(root, LOCK_EX | LOCK_NB) < 0)
        return err_set(err, errno == EWOULDBLOCK ? -EBUSY : -errno,
                       "lock worktree '%s': another apply is at work there", worktree);
    *ret = take_fd(&root);
    return 0;
}

static int apply_all(struct apply *apply, struct fs_apply_report *ret, struct err *err)
{
    struct err second = {0};
    bool undone;

    for (size_t i = 0; i < apply->changes->count; i++) {
        ret->outside += apply->changes->items[i].outside;
        ret->applied += !apply->changes->items[i].outside;
    }
    int r = fs_apply_check(apply->root, apply->changes, err);
    if (r < 0 || apply->options->dry_run)
        return r;
    plan(apply);
    r = stage_all(apply, err);
    if (r == 0)
        r = perform(apply, err);
    tell(apply);
    /* With "done" this cleans up, without it undoes: the same that the next run would do. */
    if (fs_journal_recover(apply->root, &undone, &second) == 0)
        return r;
    if (r == 0)
        return err_set(err, second.code, "%s", second.text);
    return err_wrap(err, "%s; and that because", second.text);
}

int fs_apply(const struct fs_changes *changes, struct fs_blobs *blobs,
             const struct fs_apply_options *options, struct fs_apply_report *ret, struct err *err)
{
    const char *worktree = options->worktree ? options->worktree : changes->worktree;
    struct apply apply = {.changes = changes, .blobs = blobs, .options = options, .stage = -1};
    struct fs_apply_report report = {0};
    CLEANUP(fd_close) int root = -1;
    int r = open_root(worktree, &root, err);

    apply.root = root;
    if (r == 0 && !options->dry_run)
        r = fs_journal_recover(root, &report.recovered, err);
    if (r == 0)
        r = apply_all(&apply, &report, err);
    free(apply.steps.items);
    fd_close(apply.stage);
    if (r == 0)
        *ret = report;
    return r;
}

int fs_apply_recover(const char *worktree, bool *ret_recovered, struct err *err)
{
    CLEANUP(fd_close) int root = -1;
    int r = open_root(worktree, &root, err);

    return r < 0 ? r : fs_journal_recover(root, ret_recovered, err);
}
