/* SPDX-License-Identifier: MIT */
#include "box/file_times.h"
#include "base/fd.h"
#include "base/when.h"
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { BUCKETS = 4096, TOUCHED_MAX = 65536, WATCHED_MAX = 32 };
static const int64_t DAY_NS = 86400 * (int64_t)NS_PER_SEC;
/* The last day before the clock's start, by hours: what was in it goes into the first, a hundred
 * years from the start on into the others. */
enum { PAST = 24, FUTURE = 36501 * 24 / 23 + 1 };

struct noted {
    struct file_stamp stamp;
    int64_t shown_ns;
    struct noted *next;
};

struct part { /* of real time, by its end */
    int64_t real_ns, shown_ns;
};

struct file_times {
    int64_t real_start_ns, virtual_start_ns;
    struct part *parts; /* in order */
    size_t part_count, part_capacity;
    struct noted *buckets[BUCKETS];
    char **touched; /* owned paths, since the clock last moved */
    size_t touched_count, touched_capacity;
    char *watched[WATCHED_MAX]; /* touched earlier; they may be open and written to still */
    size_t watched_next;
};

struct file_times *file_times_new(int64_t real_start_ns, int64_t virtual_start_ns)
{
    struct file_times *times = mem_alloc(sizeof *times);

    times->real_start_ns = real_start_ns;
    times->virtual_start_ns = virtual_start_ns;
    return times;
}

struct file_times *file_times_free(struct file_times *times)
{
    if (!times)
        return NULL;
    for (size_t i = 0; i < BUCKETS; i++)
        while (times->buckets[i]) {
            struct noted *noted = times->buckets[i];
            times->buckets[i] = noted->next;
            free(noted);
        }
    for (size_t i = 0; i < times->touched_count; i++)
        free(times->touched[i]);
    for (size_t i = 0; i < WATCHED_MAX; i++)
        free(times->watched[i]);
    free(times->touched);
    free(times->parts);
    free(times);
    return NULL;
}

static size_t bucket_of(const struct file_stamp *stamp)
{
    return (stamp->inode * 3 + stamp->which + stamp->device * 31) % BUCKETS;
}

static struct noted *look_up(const struct file_times *times, const struct file_stamp *stamp)
{
    struct noted *noted = times->buckets[bucket_of(stamp)];

    while (noted && (noted->stamp.inode != stamp->inode || noted->stamp.device != stamp->device ||
                     noted->stamp.which != stamp->which))
        noted = noted->next;
    return noted;
}

static struct noted *find(struct file_times *times, const struct file_stamp *stamp)
{
    struct noted *noted = look_up(times, stamp);
    size_t bucket = bucket_of(stamp);

    if (noted)
        return noted;
    noted = mem_alloc(sizeof *noted);
    noted->stamp = *stamp;
    noted->stamp.ns = INT64_MIN; /* no stamp noted yet */
    noted->next = times->buckets[bucket];
    times->buckets[bucket] = noted;
    return noted;
}

static int64_t squash(const struct file_times *times, int64_t ns)
{
    int64_t edge = times->virtual_start_ns - DAY_NS;

    if (ns <= edge)
        return ns;
    if (ns <= times->virtual_start_ns)
        return edge + (ns - edge) / PAST;
    int64_t moved = edge + DAY_NS / PAST + (ns - times->virtual_start_ns) / FUTURE;
    return moved < times->virtual_start_ns ? moved : times->virtual_start_ns - 1;
}

void file_times_part(struct file_times *times, int64_t real_ns, int64_t now_ns)
{
    if (times->part_count == times->part_capacity) {
        times->part_capacity = times->part_capacity ? times->part_capacity * 2 : 16;
        times->parts = mem_grow(times->parts, times->part_capacity * sizeof *times->parts);
    }
    times->parts[times->part_count++] = (struct part){real_ns, now_ns};
}

/* What the clock said when something got this stamp. */
static int64_t time_of(const struct file_times *times, int64_t stamp_ns, int64_t now_ns)
{
    size_t low = 0, high = times->part_count;

    while (low < high) {
        size_t middle = (low + high) / 2;
        if (times->parts[middle].real_ns < stamp_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low < times->part_count ? times->parts[low].shown_ns : now_ns;
}

int64_t file_times_show(struct file_times *times, const struct file_stamp *stamp, int64_t now_ns,
                        bool age)
{
    struct noted *noted = look_up(times, stamp);
    if (noted && noted->stamp.ns == stamp->ns)
        return noted->shown_ns; /* seen before, or set by a guest */
    if (stamp->ns < times->real_start_ns)
        return age ? squash(times, stamp->ns) : stamp->ns;
    noted = find(times, stamp);
    if (noted->stamp.ns != stamp->ns) {
        noted->stamp.ns = stamp->ns;
        noted->shown_ns = time_of(times, stamp->ns, now_ns);
    }
    return noted->shown_ns;
}

void file_times_keep(struct file_times *times, const struct file_stamp *stamp)
{
    struct noted *noted = find(times, stamp);

    noted->stamp.ns = noted->shown_ns = stamp->ns;
}

void file_times_touch(struct file_times *times, const char *path)
{
    if (times->touched_count == TOUCHED_MAX)
        return; /* noted when first looked at, then */
    if (times->touched_count && strcmp(times->touched[times->touched_count - 1], path) == 0)
        return;
    if (times->touched_count == times->touched_capacity) {
        times->touched_capacity = times->touched_capacity ? times->touched_capacity * 2 : 64;
        times->touched = mem_grow(times->touched, times->touched_capacity * sizeof *times->touched);
    }
    times->touched[times->touched_count++] = mem_dup(path);
}

int64_t file_times_start(const struct file_times *times)
{
    return times->real_start_ns;
}

int64_t file_times_age_limit(const struct file_times *times)
{
    int64_t edge = times->virtual_start_ns - DAY_NS;

    return edge < times->real_start_ns ? edge : times->real_start_ns;
}

bool file_times_any_touched(const struct file_times *times)
{
    return times->touched_count || times->watched[0];
}

static void note_all(struct file_times *times, const struct stat *st, int64_t now_ns)
{
    const struct timespec *stamps[] = {
        [WHICH_MTIME] = &st->st_mtim, [WHICH_CTIME] = &st->st_ctim, [WHICH_ATIME] = &st->st_atim};

    for (unsigned i = 0; i < ARRAY_LENGTH(stamps); i++) {
        struct file_stamp stamp = {st->st_dev, st->st_ino, i,
                                   stamps[i]->tv_sec * (int64_t)NS_PER_SEC + stamps[i]->tv_nsec};
        (void)file_times_show(times, &stamp, now_ns, false);
    }
}

/* Notes what is at a path: a new symlink itself, or else what the path leads to. */
static bool note_path(struct file_times *times, int root_fd, const char *path, uint64_t flags,
                      int64_t now_ns)
{
    struct stat st;
    CLEANUP(fd_close) int fd = fd_open_in(root_fd, path, O_PATH | flags, RESOLVE_IN_ROOT);

    if (fd < 0 || fstat(fd, &st) < 0)
        return false;
    note_all(times, &st, now_ns);
    if (S_ISLNK(st.st_mode)) /* opened through it, perhaps */
        (void)note_path(times, root_fd, path, 0, now_ns);
    return true;
}

static void settle_one(struct file_times *times, int root_fd, const char *path, int64_t now_ns)
{
    if (!note_path(times, root_fd, path, O_NOFOLLOW, now_ns))
        return;
    /* Its directory was written to as well, if the file is new. */
    CLEANUP(mem_free) char *parent = mem_dup(path);
    char *slash = strrchr(parent, '/');
    if (!slash || slash == parent)
        return;
    *slash = '\0';
    (void)note_path(times, root_fd, parent, 0, now_ns);
}

void file_times_settle(struct file_times *times, int root_fd, int64_t now_ns)
{
    for (size_t i = 0; i < WATCHED_MAX && times->watched[i]; i++)
        settle_one(times, root_fd, times->watched[i], now_ns);
    for (size_t i = 0; i < times->touched_count; i++) {
        settle_one(times, root_fd, times->touched[i], now_ns);
        char **slot = &times->watched[times->watched_next++ % WATCHED_MAX];
        free(*slot);
        *slot = times->touched[i];
    }
    times->touched_count = 0;
}
