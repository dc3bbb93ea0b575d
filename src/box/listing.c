/* SPDX-License-Identifier: MIT */
/* listing: directories are listed in the order of their names, on every file system.
 *
 * What fits into one buffer of the guest's is sorted there, at the exit of the call. A larger
 * directory is read whole by the supervisor, sorted, and handed out piece by piece. Where the guest
 * stands in it is kept where the kernel keeps it, in the position of the open file: it holds the
 * number of the listing and of the next entry. So it is shared by whoever shares the open file, and
 * telldir, seekdir and rewinddir do what they should. What is created or removed meanwhile does not
 * show until the directory is read from its beginning again. */
#include "box/policy.h"
#include "box/reads.h"
#include "base/fd.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    ENTRY_MAX = 288,     /* of one entry with the longest name */
    BUFFER_MAX = 1 << 20 /* that a call is given at most */
};
#define LISTING_MARK (INT64_C(3) << 40)
#define INDEX_BITS   20

struct entry { /* struct linux_dirent64; the older form is the same but for where the type stands */
    uint64_t inode;
    int64_t offset;
    unsigned short length;
    char rest[];
};

struct entry_place {
    const struct entry *entry;
    const char *name;
};

struct listing {
    struct listing *next;
    uint64_t number;
    size_t count;
    struct entry_place *places; /* sorted; point into `bytes` */
    struct buf bytes;           /* as linux_dirent64 */
};

/* ---- order */

static bool is_number(const char *name)
{
    return *name && name[strspn(name, "0123456789")] == '\0';
}

/* Numbers by their value, as the kernel lists /proc; everything else by its bytes. */
static int by_name(const void *a, const void *b)
{
    const char *x = ((const struct entry_place *)a)->name;
    const char *y = ((const struct entry_place *)b)->name;

    if (is_number(x) && is_number(y) && strlen(x) != strlen(y))
        return strlen(x) < strlen(y) ? -1 : 1;
    return strcmp(x, y);
}

/* The entries of a buffer, sorted; returns owned. */
static struct entry_place *sorted(const char *bytes, size_t size, size_t name_at, size_t *ret_count)
{
    struct entry_place *places = mem_alloc((size / 24 + 1) * sizeof *places);
    size_t count = 0;

    for (size_t at = 0; at + 24 <= size;) {
        const struct entry *entry = (const struct entry *)(bytes + at);
        if (entry->length < 24 || at + entry->length > size)
            break;
        places[count++] = (struct entry_place){entry, entry->rest + name_at};
        at += entry->length;
    }
    qsort(places, count, sizeof *places, by_name);
    *ret_count = count;
    return places;
}

/* The offsets stay in their places, so that seeking to one goes on behind as many entries as
 * before. */
static void sort_buffer(const struct entry_place *places, size_t count, const char *from, char *to)
{
    size_t used = 0, at = 0;

    for (size_t i = 0; i < count; i++) {
        memcpy(to + used, places[i].entry, places[i].entry->length);
        ((struct entry *)(to + used))->offset = ((const struct entry *)(from + at))->offset;
        used += places[i].entry->length;
        at += ((const struct entry *)(from + at))->length;
    }
}

/* ---- listings */

static struct listing *listing_free(struct listing *listing)
{
    buf_done(&listing->bytes);
    free(listing->places);
    free(listing);
    return NULL;
}

static struct listing *listing_find(struct box *box, uint64_t number)
{
    for (struct listing *listing = box->listings; listing; listing = listing->next)
        if (listing->number == number)
            return listing;
    return NULL;
}

/* Few are read at the same time; the oldest makes room. */
static void listing_keep(struct box *box, struct listing *listing)
{
    enum { KEPT = 128 };
    struct listing **link = &box->listings;

    listing->next = box->listings;
    box->listings = listing;
    for (int i = 0; *link && i < KEPT; i++)
        link = &(*link)->next;
    if (*link)
        *link = listing_free(*link);
}

static struct listing *listing_read(struct box *box, struct task *task, int fd)
{
    char path[48];
    (void)snprintf(path, sizeof path, "/proc/%d/fd/%d", task->tid, fd);
    CLEANUP(fd_close) int directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0)
        return NULL;
    struct listing *listing = mem_alloc(sizeof *listing);
    for (;;) {
        buf_reserve(&listing->bytes, 65536);
        ssize_t count = getdents64(directory, listing->bytes.data + listing->bytes.length, 65536);
        if (count <= 0)
            break;
        listing->bytes.length += (size_t)count;
    }
    listing->places = sorted(buf_text(&listing->bytes), listing->bytes.length, 1, &listing->count);
    if (listing->count >> INDEX_BITS)
        return listing_free(listing); /* a million names: by pieces, then */
    listing->number = ++box->listings_ever;
    listing_keep(box, listing);
    return listing;
}

/* One entry in the guest's form: the older one has no type in front of the name, but one at the
 * very end. */
static size_t put_entry(char *to, const struct entry_place *place, int64_t offset, size_t name_at)
{
    size_t length = (18 + name_at + strlen(place->name) + 1 + (name_at ? 0 : 1) + 7) & ~(size_t)7;
    struct entry *entry = (struct entry *)to;

    memset(to, 0, length);
    entry->inode = place->entry->inode;
    entry->offset = offset;
    entry->length = (unsigned short)length;
    memcpy(to + 18 + name_at, place->name, strlen(place->name));
    to[name_at ? 18 : length - 1] = place->entry->rest[0];
    return length;
}

/* The open file of the guest, shared with it. */
static int borrow(struct task *task, int fd)
{
    CLEANUP(fd_close) int pidfd = (int)syscall(SYS_pidfd_open, task->process->pid, 0);

    return pidfd < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, pidfd, fd, 0);
}

/* Writes what fits, from entry `index` on, and moves the guest's position; the result of the call,
 * or -1 when it cannot be done this way. */
static long hand_out(struct task *task, int fd, const struct listing *listing, size_t index,
                     uint64_t address, size_t size, size_t name_at)
{
    if (size > BUFFER_MAX)
        size = BUFFER_MAX;
    CLEANUP(fd_close) int file = borrow(task, fd);
    CLEANUP(mem_free) char *bytes = mem_alloc(size + ENTRY_MAX);
    size_t used = 0, first = index;
    int64_t base = LISTING_MARK | (int64_t)(listing->number << INDEX_BITS);

    while (index < listing->count) {
        size_t length =
            put_entry(bytes + used, &listing->places[index], base + (int64_t)index + 1, name_at);
        if (used + length > size)
            break;
        used += length;
        index++;
    }
    if (index == first && index < listing->count)
        return -EINVAL; /* not one fits, says the kernel too */
    if (file < 0 || lseek(file, base + (int64_t)index, SEEK_SET) != base + (int64_t)index ||
        (used && guest_write(task, address, bytes, used) < 0))
        return -1;
    return (long)used;
}

/* ---- the calls */

static int64_t position(struct task *task, int fd)
{
    char path[48], text[128];
    (void)snprintf(path, sizeof path, "/proc/%d/fdinfo/%d", task->tid, fd);
    CLEANUP(fd_close) int info = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t count = info < 0 ? -1 : read(info, text, sizeof text - 1);

    if (count <= 0)
        return -1;
    text[count] = '\0';
    const char *line = strstr(text, "pos:");
    return line ? strtoll(line + 4, NULL, 10) : -1;
}

static void note_names(struct box *box, struct task *task, int fd, const struct entry_place *places,
                       size_t count)
{
    CLEANUP(buf_done) struct buf names = {0};

    if (!box->options->trace_reads)
        return;
    for (size_t i = 0; i < count; i++)
        if (strcmp(places[i].name, ".") != 0 && strcmp(places[i].name, "..") != 0)
            buf_add(&names, places[i].name, strlen(places[i].name) + 1);
    reads_note_directory(box, task, fd, &names);
}

/* note[0]: the buffer, note[1]: where names begin, note[2]: its size, note[3]: the descriptor, and
 * above it whether the call began at the beginning. */
static void getdents_exit(struct box *box, struct task *task)
{
    long size = (long)task_regs(task)->rax;
    int fd = (int)(uint32_t)task->note[3];
    bool first = task->note[3] >> 32;

    task->on_exit = NULL;
    if (size < 0 || (size == 0 && !first))
        return;
    if (first && (size_t)size + ENTRY_MAX > task->note[2]) { /* there may be more of it */
        struct listing *listing = listing_read(box, task, fd);
        long r = listing
                     ? hand_out(task, fd, listing, 0, task->note[0], task->note[2], task->note[1])
                     : -1;
        if (r >= 0) {
            note_names(box, task, fd, listing->places, listing->count);
            task_regs(task)->rax = (unsigned long long)r;
            task_set_regs(task);
            return;
        }
    }
    CLEANUP(mem_free) char *from = mem_alloc((size_t)size + 1);
    CLEANUP(mem_free) char *to = mem_alloc((size_t)size + 1);
    size_t count = 0;
    if (guest_read(task, task->note[0], from, (size_t)size) < 0)
        return;
    CLEANUP(mem_free)
    struct entry_place *places = sorted(from, (size_t)size, task->note[1], &count);
    sort_buffer(places, count, from, to);
    (void)guest_write(task, task->note[0], to, (size_t)size);
    if (first)
        note_names(box, task, fd, places, count);
}

static enum verdict list(struct box *box, struct task *task, size_t name_at)
{
    const struct user_regs_struct *regs = task_regs(task);
    int fd = (int)regs->rdi;
    int64_t at = position(task, fd);

    if (at > LISTING_MARK) {
        uint64_t number = (uint64_t)(at - LISTING_MARK) >> INDEX_BITS;
        const struct listing *listing = listing_find(box, number);
        long r = listing
                     ? hand_out(task, fd, listing, (size_t)(at & ((INT64_C(1) << INDEX_BITS) - 1)),
                                regs->rsi, (uint32_t)regs->rdx, name_at)
                     : -1;
        if (r != -1) {
            return verdict_skip(task, r);
        }
    }
    task->note[0] = regs->rsi;
    task->note[1] = name_at;
    task->note[2] = (uint32_t)regs->rdx;
    task->note[3] = (uint32_t)fd | (uint64_t)(at == 0) << 32;
    task->on_exit = getdents_exit;
    return VERDICT_EXIT;
}

enum verdict sys_getdents64(struct box *box, struct task *task)
{
    return list(box, task, 1); /* behind the type */
}

enum verdict sys_getdents(struct box *box, struct task *task)
{
    return list(box, task, 0);
}

void listings_done(struct box *box)
{
    while (box->listings) {
        struct listing *next = box->listings->next;
        listing_free(box->listings);
        box->listings = next;
    }
}
