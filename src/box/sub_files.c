/* SPDX-License-Identifier: MIT */
/* Recording what became of the files that a subprocess touched: how each was before the first call
 * that might change it, and how it is when the last process of the subprocess has ended. What was
 * made and removed in between leaves no trace. Contents go to the tape's store. */
#include "box/sub.h"
#include "box/file_times.h"
#include "box/policy.h"
#include "base/fd.h"
#include "base/text.h"
#include "base/wall.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

struct touched {
    char *path; /* owned, absolute in the box */
    bool existed, tree;
    struct stat before;
    int64_t at_ns;    /* of the last touch */
    int64_t stamp_ns; /* what the kernel would have stamped a change with at the first one */
};

struct sub_files {
    struct touched *items;
    size_t count, capacity;
    size_t *slots; /* index + 1, by the hash of the path */
    size_t slot_count;
};

enum { TREE_MAX = 1000000, TICK_NS = 20000000 };

void sub_files_free(struct sub_files *files)
{
    if (!files)
        return;
    for (size_t i = 0; i < files->count; i++)
        free(files->items[i].path);
    free(files->items);
    free(files->slots);
    free(files);
}

static int open_inside(const struct box *box, const char *path, uint64_t flags)
{
    return fd_open_in(box->root_fd, path, flags | O_NOFOLLOW, RESOLVE_IN_ROOT);
}

static bool look(const struct box *box, const char *path, struct stat *ret)
{
    CLEANUP(fd_close) int fd = open_inside(box, path, O_PATH);

    return fd >= 0 && fstat(fd, ret) == 0;
}

static size_t slot_of(const struct sub_files *files, const char *path)
{
    uint64_t hash = UINT64_C(14695981039346656037);

    for (const char *at = path; *at; at++)
        hash = (hash ^ (unsigned char)*at) * UINT64_C(1099511628211);
    size_t slot = hash % files->slot_count;
    while (files->slots[slot] && strcmp(files->items[files->slots[slot] - 1].path, path) != 0)
        slot = (slot + 1) % files->slot_count;
    return slot;
}

static void make_room(struct sub_files *files)
{
    if (files->count < files->capacity)
        return;
    files->capacity = files->capacity ? 2 * files->capacity : 16;
    files->items = mem_grow(files->items, files->capacity * sizeof *files->items);
    free(files->slots);
    files->slot_count = 4 * files->capacity;
    files->slots = mem_alloc(files->slot_count * sizeof *files->slots);
    for (size_t i = 0; i < files->count; i++)
        files->slots[slot_of(files, files->items[i].path)] = i + 1;
}

static struct touched *add_touched(struct sub_files *files, const char *path, bool *ret_new)
{
    make_room(files);
    size_t slot = slot_of(files, path);
    *ret_new = !files->slots[slot];
    if (*ret_new) {
        files->items[files->count] = (struct touched){.path = mem_dup(path)};
        files->slots[slot] = ++files->count;
    }
    return &files->items[files->slots[slot] - 1];
}

void sub_files_touch(struct box *box, struct task *task, const char *path, bool tree)
{
    struct sub *sub = task->process->sub;
    bool is_new;

    if (!sub || sub->how != SUB_RECORDED || text_starts(path, "/proc/") ||
        text_starts(path, "/dev/") || text_starts(path, "/sys/"))
        return;
    if (!sub->files)
        sub->files = mem_alloc(sizeof *sub->files);
    struct touched *touched = add_touched(sub->files, path, &is_new);
    if (is_new) {
        touched->existed = look(box, path, &touched->before);
        touched->stamp_ns = wall_coarse_ns();
    }
    touched->tree |= tree;
    touched->at_ns = vclock_now(&box->clock) - sub->started_ns;
}

/* ---- calls --------------------------------------------------------------------------------- */

static void touch(struct box *box, struct task *task, int directory, uint64_t address, bool tree)
{
    char full[FULL_PATH_MAX];

    if (task->process->sub && files_full_path(task, directory, address, full))
        sub_files_touch(box, task, full, tree);
}

void sub_files_rename(struct box *box, struct task *task, bool at)
{
    const struct user_regs_struct *regs = task_regs(task);

    touch(box, task, at ? (int)regs->rdi : AT_FDCWD, at ? regs->rsi : regs->rdi, false);
    touch(box, task, at ? (int)regs->rdx : AT_FDCWD, at ? regs->r10 : regs->rsi, true);
}

enum verdict sys_effect(struct box *box, struct task *task)
{
    touch(box, task, AT_FDCWD, task_regs(task)->rdi, false);
    return VERDICT_GO;
}

enum verdict sys_effect_at(struct box *box, struct task *task)
{
    touch(box, task, (int)task_regs(task)->rdi, task_regs(task)->rsi, false);
    return VERDICT_GO;
}

enum verdict sys_effect_fd(struct box *box, struct task *task)
{
    char link[48], path[4096];

    if (!task->process->sub)
        return VERDICT_GO;
    (void)snprintf(link, sizeof link, "/proc/%d/fd/%d", task->tid, (int)task_regs(task)->rdi);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length > 0 && path[0] == '/') {
        path[length] = '\0';
        sub_files_touch(box, task, path, false);
    }
    return VERDICT_GO;
}

/* ---- the end ------------------------------------------------------------------------------- */

static bool is_unchanged(const struct touched *touched, const struct stat *after)
{
    const struct stat *before = &touched->before;

    if (S_ISDIR(after->st_mode) && S_ISDIR(before->st_mode)) /* its entries speak for themselves */
        return before->st_mode == after->st_mode && !touched->tree;
    /* Two changes within one tick of the kernel's stamps may carry the same one. */
    int64_t stamp = after->st_mtim.tv_sec * INT64_C(1000000000) + after->st_mtim.tv_nsec;
    return before->st_mode == after->st_mode && before->st_size == after->st_size &&
           before->st_mtim.tv_sec == after->st_mtim.tv_sec &&
           before->st_mtim.tv_nsec == after->st_mtim.tv_nsec && before->st_ino == after->st_ino &&
           stamp < touched->stamp_ns - TICK_NS;
}

static char *path_form(const struct box *box, const char *path)
{
    const char *worktree = box->subs->worktree;
    size_t length = worktree ? strlen(worktree) : 0;

    if (length > 1 && strncmp(path, worktree, length) == 0 && path[length] == '/')
        return mem_dup(path + length + 1);
    return mem_dup(path);
}

static int64_t written_at(struct box *box, const struct sub *sub, const struct stat *st)
{
    struct file_stamp stamp = {st->st_dev, st->st_ino, 0,
                               st->st_mtim.tv_sec * INT64_C(1000000000) + st->st_mtim.tv_nsec};
    int64_t now = vclock_realtime(&box->clock);

    if (!vclock_held(&box->clock) || stamp.ns < file_times_start(box->times))
        return 0;
    int64_t age = now - file_times_show(box->times, &stamp, now, false);
    int64_t at = vclock_now(&box->clock) - age - sub->started_ns;
    return at > 0 ? at : 0;
}

/* A file has to come back as it was: what is secret in it is not hidden, but said. */
static void tell_secret(struct box *box, const struct sub *sub, int fd, const char *path)
{
    enum { LOOK_MAX = 4 << 20 };
    CLEANUP(buf_done) struct buf bytes = {0};

    if (lseek(fd, 0, SEEK_SET) < 0 || fd_read_all(fd, &bytes, LOOK_MAX) < 0 || !bytes.length ||
        !text_is_utf8(bytes.data, bytes.length))
        return; /* pictures, objects, archives */
    const char *what =
        secrets_find_bytes(tape_writer_secrets(box_tape_writer(box)), bytes.data, bytes.length);
    if (what)
        leak_note(box,
                  "the recording of %s keeps '%s', in which there is what looks like a "
                  "secret (%s)",
                  sub->recording.program, path, what);
}

static int add_effect(struct box *box, struct sub *sub, const char *path, int64_t at_ns,
                      const struct stat *after, struct err *err)
{
    char target[4096];
    CLEANUP(fd_close) int fd = -1;
    struct recording_file file = {.path = path_form(box, path), .at_ns = at_ns};
    int r = 0;

    file.mode = after ? after->st_mode & 07777 : 0;
    if (after && S_ISREG(after->st_mode)) {
        int64_t written = written_at(box, sub, after);
        file.at_ns = written > at_ns ? written : at_ns;
        file.type = RECORDING_FILE;
        file.length = (uint64_t)after->st_size;
        fd = open_inside(box, path, O_RDONLY | O_NONBLOCK);
        r = fd < 0 ? err_set(err, -errno, "read '%s': %m", path)
                   : tape_writer_put_file(box_tape_writer(box), fd, &file.hash, err);
        if (r == 0)
            tell_secret(box, sub, fd, file.path);
    } else if (after && S_ISDIR(after->st_mode)) {
        file.type = RECORDING_DIRECTORY;
    } else if (after && S_ISLNK(after->st_mode)) {
        file.type = RECORDING_LINK;
        fd = open_inside(box, path, O_PATH);
        ssize_t length = fd < 0 ? -1 : readlinkat(fd, "", target, sizeof target - 1);
        if (length < 0)
            r = err_set(err, -errno, "read link '%s': %m", path);
        else
            file.target = mem_dupn(target, (size_t)length);
    } else if (after && (S_ISFIFO(after->st_mode) || S_ISSOCK(after->st_mode))) {
        file.type = S_ISFIFO(after->st_mode) ? RECORDING_FIFO : RECORDING_SOCKET;
    } else if (after) {
        free(file.path); /* a device: nothing that can be kept */
        return 0;
    }
    if (r < 0) {
        free(file.path);
        return r;
    }
    *recording_add_file(&sub->recording) = file;
    return 0;
}

/* What a renamed directory holds came along with it. */
static int add_tree(struct box *box, struct sub *sub, const char *path, int64_t at_ns,
                    struct err *err)
{
    int fd = open_inside(box, path, O_RDONLY | O_DIRECTORY);
    DIR *listing = fd < 0 ? NULL : fdopendir(fd);
    int r = 0;

    for (struct dirent *entry; r == 0 && listing && (entry = readdir(listing));) {
        bool is_new;
        struct stat st;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        CLEANUP(mem_free) char *child = mem_format("%s/%s", path, entry->d_name);
        (void)add_touched(sub->files, child, &is_new);
        if (!is_new || !look(box, child, &st) || sub->files->count > TREE_MAX)
            continue;
        sub->files->items[sub->files->count - 1].at_ns = at_ns;
        sub->files->items[sub->files->count - 1].tree = true;
    }
    if (listing)
        (void)closedir(listing);
    return r < 0 ? err_wrap(err, "'%s'", path) : 0;
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct recording_file *)a)->path,
                  ((const struct recording_file *)b)->path);
}

int sub_files_end(struct box *box, struct sub *sub, struct err *err)
{
    struct sub_files *files = sub->files;

    for (size_t i = 0; files && i < files->count; i++) { /* grows while it is walked */
        struct touched touched = files->items[i];
        struct stat after;
        bool exists = look(box, touched.path, &after);
        int r = 0;
        if (exists ? touched.existed && is_unchanged(&touched, &after) : !touched.existed)
            continue;
        r = add_effect(box, sub, touched.path, touched.at_ns, exists ? &after : NULL, err);
        if (r == 0 && exists && S_ISDIR(after.st_mode) && touched.tree)
            r = add_tree(box, sub, touched.path, touched.at_ns, err);
        if (r < 0)
            return r;
    }
    if (sub->recording.file_count)
        qsort(sub->recording.files, sub->recording.file_count, sizeof *sub->recording.files,
              by_path);
    return 0;
}
