/* SPDX-License-Identifier: MIT */
/* The journal of an apply: written whole before the first step, renamed to "done" after the last.
 * A stage with a journal is undone; one without, or with "done", is only cleaned away. */
#include "base/fd.h"
#include "fs/fs_apply_internal.h"
#include "fs/fs_walk_internal.h"
#include "fs/fs_xattrs.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char head[] = "vitro-journal 1";
enum { JOURNAL_BYTES_MAX = 1 << 30 };

void fs_steps_add(struct fs_steps *steps, const struct fs_step *step)
{
    if (steps->count == steps->capacity) {
        steps->capacity = steps->capacity ? steps->capacity * 2 : 64;
        steps->items = mem_grow(steps->items, steps->capacity * sizeof *steps->items);
    }
    steps->items[steps->count++] = *step;
}

int fs_apply_parent(int root, const char *path, const char **ret_name)
{
    const char *slash = strrchr(path, '/');
    CLEANUP(mem_free) char *directory = mem_dupn(path, slash ? (size_t)(slash - path) : 0);

    *ret_name = slash ? slash + 1 : path;
    return fs_open_beneath(root, directory, O_PATH | O_DIRECTORY | O_NOFOLLOW);
}

/* NUL-ended texts, so that any name fits: "r12 0644 0755 path", "o12 0644 0755 0 0 1000 1000 path",
 * "x12 0 0 path" and two more texts. */
int fs_journal_write(int stage, const struct fs_steps *steps, struct err *err)
{
    CLEANUP(buf_done) struct buf text = {0};
    CLEANUP(fd_close) int fd =
        openat(stage, "journal.new", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    buf_add(&text, head, sizeof head);
    for (size_t i = 0; i < steps->count; i++) {
        const struct fs_step *step = &steps->items[i];
        buf_addf(&text, "%c%u %o %o ", step->kind, step->number, (unsigned)step->old_mode,
                 (unsigned)step->new_mode);
        if (step->kind == FS_STEP_CHOWN)
            buf_addf(&text, "%u %u %u %u ", (unsigned)step->old_owner.uid,
                     (unsigned)step->old_owner.gid, (unsigned)step->new_owner.uid,
                     (unsigned)step->new_owner.gid);
        buf_add(&text, step->path, strlen(step->path) + 1);
        if (step->kind == FS_STEP_XATTR) {
            buf_add(&text, step->old_xattrs, strlen(step->old_xattrs) + 1);
            buf_add(&text, step->new_xattrs, strlen(step->new_xattrs) + 1);
        }
    }
    int r = fd < 0 ? -errno : fd_write_full(fd, text.data, text.length);
    if (r == 0 && (fsync(fd) < 0 || syncfs(fd) < 0 || /* the staged contents too */
                   renameat(stage, "journal.new", stage, "journal") < 0 || fsync(stage) < 0))
        r = -errno;
    return r < 0 ? err_set(err, r, "write the journal: %s", strerror(-r)) : 0;
}

/* Owner first: giving a file away clears its set-id bits. */
static int facts_step(int root, const struct fs_step *step, bool undo)
{
    const struct fs_owner *owner = undo ? &step->old_owner : &step->new_owner;
    CLEANUP(fd_close) int fd = fs_open_beneath(root, step->path, O_PATH | O_NOFOLLOW);
    char link[64];

    if (fd < 0)
        return fd;
    if (step->kind == FS_STEP_XATTR)
        return fs_xattrs_write(fd, undo ? step->old_xattrs : step->new_xattrs);
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    if (step->kind == FS_STEP_CHOWN && chown(link, owner->uid, owner->gid) < 0)
        return -errno;
    return chmod(link, undo ? step->old_mode : step->new_mode) < 0 ? -errno : 0;
}

static bool is_facts(const struct fs_step *step)
{
    return step->kind == FS_STEP_CHMOD || step->kind == FS_STEP_CHOWN ||
           step->kind == FS_STEP_XATTR;
}

static int rename_step(int root, int stage, const struct fs_step *step, bool into_stage)
{
    const char *name;
    CLEANUP(fd_close) int parent = fs_apply_parent(root, step->path, &name);
    char staged[32];

    if (parent < 0)
        return parent;
    (void)snprintf(staged, sizeof staged, "%u.%s", step->number,
                   step->kind == FS_STEP_REMOVE ? "old" : "new");
    int r = into_stage ? renameat2(parent, name, stage, staged, RENAME_NOREPLACE)
                       : renameat2(stage, staged, parent, name, RENAME_NOREPLACE);
    return r < 0 ? -errno : 0;
}

int fs_journal_do(int root, int stage, const struct fs_step *step, struct err *err)
{
    int r = is_facts(step) ? facts_step(root, step, false)
                           : rename_step(root, stage, step, step->kind == FS_STEP_REMOVE);

    if (r == -EXDEV) {
        err_set(err, r, "apply '%s': it is on another file system than the worktree", step->path);
        return r;
    }
    return r < 0 ? err_set(err, r, "apply '%s': %s", step->path, strerror(-r)) : 0;
}

static bool was_done(int stage, const struct fs_step *step)
{
    char staged[32];
    struct stat st;
    bool removed = step->kind == FS_STEP_REMOVE;

    (void)snprintf(staged, sizeof staged, "%u.%s", step->number, removed ? "old" : "new");
    return (fstatat(stage, staged, &st, AT_SYMLINK_NOFOLLOW) == 0) == removed;
}

int fs_journal_undo(int root, int stage, const struct fs_steps *steps, struct err *err)
{
    for (size_t i = steps->count; i-- > 0;) {
        const struct fs_step *step = &steps->items[i];
        int r = 0;
        if (is_facts(step)) {
            r = facts_step(root, step, true);
            r = r == -ENOENT ? 0 : r;
        } else if (was_done(stage, step)) {
            r = rename_step(root, stage, step, step->kind == FS_STEP_CREATE);
        }
        if (r == -ENOENT && step->kind == FS_STEP_CREATE)
            r = 0; /* neither staged nor in place: somebody else took it away */
        if (r < 0) {
            err_set(err, r, "undo '%s': %s", step->path, strerror(-r));
            return err_hint(err, "what was there is kept in %s; move it out of the way and repeat",
                            FS_APPLY_DIR);
        }
    }
    return 0;
}

int fs_journal_commit(int root, int stage, struct err *err)
{
    if (syncfs(root) < 0 || renameat(stage, "journal", stage, "done") < 0 || fsync(stage) < 0)
        return err_set(err, -errno, "commit: %m");
    return 0;
}

static bool parse_step(const char *text, struct fs_step *ret)
{
    char kind;
    unsigned number, old_mode, new_mode;
    int used = 0;

    if (sscanf(text, "%c%u %o %o %n", &kind, &number, &old_mode, &new_mode, &used) != 4 || !used ||
        !strchr("rcmox", kind))
        return false;
    *ret = (struct fs_step){.kind = (enum fs_step_kind)kind, .number = number};
    if (kind == FS_STEP_CHOWN) {
        struct fs_owner *old = &ret->old_owner, *new = &ret->new_owner;
        int more = 0;
        if (sscanf(text + used, "%u %u %u %u %n", &old->uid, &old->gid, &new->uid, &new->gid,
                   &more) != 4)
            return false;
        used += more;
    }
    if (!text[used])
        return false;
    ret->path = text + used;
    ret->old_mode = old_mode & 07777;
    ret->new_mode = new_mode & 07777;
    return true;
}

static const char *next_text(const char **next, const char *end)
{
    const char *text = *next;

    if (text >= end)
        return NULL;
    *next += strlen(text) + 1;
    return text;
}

static int read_journal(int stage, struct buf *text, struct fs_steps *ret, struct err *err)
{
    CLEANUP(fd_close) int fd = openat(stage, "journal", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0)
        return errno == ENOENT ? 0 : err_set(err, -errno, "open the journal: %m");
    int r = fd_read_all(fd, text, JOURNAL_BYTES_MAX);
    if (r < 0)
        return err_set(err, r, "read the journal: %s", strerror(-r));
    if (text->length < sizeof head || memcmp(text->data, head, sizeof head) != 0)
        return err_set(err, -EBADMSG, "the journal in %s is of another version", FS_APPLY_DIR);
    for (const char *next = text->data + sizeof head, *end = text->data + text->length;
         next < end;) {
        struct fs_step step;
        bool is_step = parse_step(next, &step);
        next += strlen(next) + 1;
        if (is_step && step.kind == FS_STEP_XATTR)
            is_step = (step.old_xattrs = next_text(&next, end)) &&
                      (step.new_xattrs = next_text(&next, end));
        if (!is_step)
            return err_set(err, -EBADMSG, "the journal in %s is damaged", FS_APPLY_DIR);
        fs_steps_add(ret, &step);
    }
    return 0;
}

int fs_journal_recover(int root, bool *ret_recovered, struct err *err)
{
    CLEANUP(fd_close) int stage =
        openat(root, FS_APPLY_DIR, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    CLEANUP(buf_done) struct buf text = {0};
    struct fs_steps steps = {0};

    *ret_recovered = false;
    if (stage < 0)
        return errno == ENOENT ? 0 : err_set(err, -errno, "open '%s': %m", FS_APPLY_DIR);
    int r = read_journal(stage, &text, &steps, err);
    if (r == 0)
        r = fs_journal_undo(root, stage, &steps, err);
    free(steps.items);
    if (r < 0)
        return r;
    *ret_recovered = true;
    CLEANUP(mem_free) char *path = mem_format("/proc/self/fd/%d/%s", root, FS_APPLY_DIR);
    return dir_remove_all(path, err);
}
