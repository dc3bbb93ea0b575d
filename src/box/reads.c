/* SPDX-License-Identifier: MIT */
/* What guests read. A file is noted as it is when it is opened: path, length and the hash of its
 * content. Hashing is done once for a file that does not change. */
#include "box/reads.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/text.h"
#include "tape/tape_data.h"
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct known_read { /* content by identity: while none of it changes, neither does the content */
    dev_t device;
    ino_t inode;
    off_t size;
    struct timespec modified, changed;
    struct hash hash;
};

struct reads {
    struct known_read *known; /* open addressing, a power of two */
    size_t slots, used;
    char *worktree; /* owned; absolute */
};

static struct reads *reads_of(struct box *box)
{
    if (!box->reads) {
        box->reads = mem_alloc(sizeof *box->reads);
        box->reads->slots = 1024;
        box->reads->known = mem_alloc(box->reads->slots * sizeof *box->reads->known);
        const char *worktree = box->options->fs.worktree;
        box->reads->worktree = realpath(worktree ? worktree : ".", NULL);
    }
    return box->reads;
}

static bool is_same(const struct known_read *known, const struct stat *st)
{
    return known->device == st->st_dev && known->inode == st->st_ino &&
           known->size == st->st_size &&
           memcmp(&known->modified, &st->st_mtim, sizeof st->st_mtim) == 0 &&
           memcmp(&known->changed, &st->st_ctim, sizeof st->st_ctim) == 0;
}

static struct known_read *slot_of(struct reads *reads, dev_t device, ino_t inode)
{
    uint64_t at = ((uint64_t)inode * UINT64_C(0x9e3779b97f4a7c15)) >> 20 ^ device;

    for (;; at++) {
        struct known_read *known = &reads->known[at & (reads->slots - 1)];
        if (!known->inode || (known->inode == inode && known->device == device))
            return known;
    }
}

static void make_room(struct reads *reads)
{
    if (reads->used * 2 < reads->slots)
        return;
    struct known_read *old = reads->known;
    size_t slots = reads->slots;
    reads->slots *= 2;
    reads->known = mem_alloc(reads->slots * sizeof *reads->known);
    for (size_t i = 0; i < slots; i++)
        if (old[i].inode)
            *slot_of(reads, old[i].device, old[i].inode) = old[i];
    free(old);
}

static bool hash_file(const char *path, struct hash *ret)
{
    char piece[65536];
    CLEANUP(fd_close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return false;
    struct hash_state *state = hash_begin();
    ssize_t count;
    while ((count = read(fd, piece, sizeof piece)) > 0)
        hash_add(state, piece, (size_t)count);
    *ret = hash_end(state);
    return count == 0;
}

/* Relative to the worktree when inside it. */
static const char *shown_path(const struct reads *reads, const char *path)
{
    size_t length = reads->worktree ? strlen(reads->worktree) : 0;

    if (!length || strncmp(path, reads->worktree, length) != 0)
        return path;
    if (path[length] == '\0')
        return ".";
    return path[length] == '/' ? path + length + 1 : path;
}

static bool path_of(struct task *task, int fd, char *link, size_t link_size, char *path,
                    size_t size)
{
    (void)snprintf(link, link_size, "/proc/%d/fd/%d", task->tid, fd);
    ssize_t length = readlink(link, path, size - 1);

    if (length <= 0 || path[0] != '/')
        return false;
    path[length] = '\0';
    return !text_starts(path, "/proc/") && !text_starts(path, "/sys/");
}

static void note(struct box *box, struct task *task, enum tape_kind kind, const char *path,
                 const char *counter, uint64_t count, const struct hash *hash)
{
    CLEANUP(tape_data_done) struct tape_data data = {0};

    tape_data_begin(&data);
    tape_data_hash(&data, "content_hash", hash);
    tape_data_u64(&data, counter, count);
    tape_data_text(&data, "path", shown_path(reads_of(box), path));
    tape_data_end(&data);
    tape_event_data(box, task->process, task->ordinal, kind, &data);
}

static void open_exit(struct box *box, struct task *task)
{
    char link[48], path[4096];
    struct stat st;
    long fd = (long)task_regs(task)->rax;

    task->on_exit = NULL;
    if (fd < 0 || !path_of(task, (int)fd, link, sizeof link, path, sizeof path) ||
        stat(link, &st) < 0 || !S_ISREG(st.st_mode))
        return;
    struct reads *reads = reads_of(box);
    make_room(reads);
    struct known_read *known = slot_of(reads, st.st_dev, st.st_ino);
    if (!known->inode || !is_same(known, &st)) {
        struct hash hash;
        if (!hash_file(link, &hash))
            return;
        reads->used += !known->inode;
        *known =
            (struct known_read){st.st_dev, st.st_ino, st.st_size, st.st_mtim, st.st_ctim, hash};
    }
    note(box, task, TAPE_FILE_READ, path, "len_bytes", (uint64_t)st.st_size, &known->hash);
}

enum verdict reads_watch_open(struct box *box, struct task *task, enum verdict verdict,
                              uint64_t flags)
{
    if (!box->options->trace_reads || verdict != VERDICT_GO || flags & (O_TRUNC | O_PATH) ||
        (flags & O_ACCMODE) == O_WRONLY || flags & O_DIRECTORY)
        return verdict;
    task->on_exit = open_exit;
    return VERDICT_EXIT;
}

void reads_note_directory(struct box *box, struct task *task, int fd, const struct buf *names)
{
    char link[48], path[4096];
    uint64_t count = 0;

    if (!path_of(task, fd, link, sizeof link, path, sizeof path))
        return;
    for (size_t i = 0; i < names->length; i++)
        count += names->data[i] == '\0';
    struct hash hash = hash_of(buf_text(names), names->length);
    note(box, task, TAPE_DIR_LIST, path, "entries", count, &hash);
}

void reads_done(struct box *box)
{
    if (!box->reads)
        return;
    free(box->reads->known);
    free(box->reads->worktree);
    free(box->reads);
    box->reads = NULL;
}
