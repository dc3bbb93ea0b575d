/* SPDX-License-Identifier: MIT */
/* What time the sandbox's files carry for the next box.
 *
 * Words of a scenario and programs in boxes write to the disk, where the kernel stamps real time; a
 * box shows virtual times of what was written in it, and knows nothing of the box before. So before
 * a program starts, every file of the sandbox that carries a time since the scenario began gets a
 * virtual one: the clock's, by the line of the scenario that wrote it, and apart enough for
 * box/file_times.h. What one line wrote carries one time: how far apart its stamps are is the
 * machine's business. The clock of the program goes on behind the last of them, in whole
 * microseconds. Files that are there before the clock's first program are older than it instead.
 * Times that somebody set are not those of the machine, and stay; where the clock is ahead of the
 * machine's, all do. */
#include "script/play.h"
#include "base/wall.h"
#include "fs/fs.h"
#include <fcntl.h>
#include <fts.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { FILES_MAX = 100000, TICK_NS = 10 * 1000 * 1000, STEP_NS = 1000, APART_NS = 100 };

struct stamped {
    int64_t real_ns;
    char *path; /* in the arena */
};

struct stamps {
    struct arena arena;
    struct stamped *items; /* owned */
    size_t count, capacity;
};

static int64_t ns_of(const struct timespec *time)
{
    return (int64_t)time->tv_sec * 1000000000 + time->tv_nsec;
}

static void add(struct stamps *stamps, int64_t real_ns, const char *path)
{
    if (stamps->count == stamps->capacity) {
        stamps->capacity = stamps->capacity ? 2 * stamps->capacity : 64;
        stamps->items = mem_grow(stamps->items, stamps->capacity * sizeof *stamps->items);
    }
    stamps->items[stamps->count++] =
        (struct stamped){real_ns, arena_dup(&stamps->arena, path, strlen(path))};
}

static void gather(const struct sandbox *sandbox, int64_t from_ns, int64_t to_ns,
                   struct stamps *ret)
{
    char *const roots[] = {sandbox->root, NULL};
    FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);

    for (FTSENT *entry; walk && ret->count < FILES_MAX && (entry = fts_read(walk));) {
        if (entry->fts_info == FTS_DP || entry->fts_info == FTS_NS || entry->fts_info == FTS_ERR)
            continue;
        int64_t ns = ns_of(&entry->fts_statp->st_mtim);
        if (ns >= from_ns && ns <= to_ns)
            add(ret, ns, entry->fts_path);
    }
    if (walk)
        (void)fts_close(walk);
}

void play_mark(struct play *play)
{
    if (play->plain)
        return;
    play->marks = mem_grow(play->marks, (play->mark_count + 1) * sizeof *play->marks);
    play->marks[play->mark_count++] = fs_stamp_part(wall_coarse_ns());
}

/* How many lines had begun when the file was written. */
static size_t line_of(const struct play *play, int64_t real_ns)
{
    size_t low = 0, high = play->mark_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (play->marks[middle] <= real_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void set_times(const struct play *play, const struct stamps *stamps, int64_t start_ns)
{
    for (size_t i = 0; i < stamps->count; i++) {
        int64_t ns = start_ns + (int64_t)line_of(play, stamps->items[i].real_ns) * APART_NS;
        struct timespec time = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
        /* Somebody else's, or gone meanwhile: it keeps what it has. */
        (void)utimensat(AT_FDCWD, stamps->items[i].path, (struct timespec[]){time, time},
                        AT_SYMLINK_NOFOLLOW);
    }
}

int64_t play_stamp(struct play *play, int64_t start_ns, bool first)
{
    struct stamps stamps = {0};

    if (start_ns <= 0 || start_ns >= play->real_start_ns)
        return start_ns;
    gather(play->sandbox, play->real_start_ns - TICK_NS, wall_now_ns(), &stamps);
    size_t lines = play->mark_count + 1;
    int64_t span =
        stamps.count ? (int64_t)((lines * APART_NS + STEP_NS - 1) / STEP_NS) * STEP_NS : 0;
    set_times(play, &stamps, first ? start_ns - span : start_ns);
    play->mark_count = 0;
    free(stamps.items);
    arena_done(&stamps.arena);
    return first ? start_ns : start_ns + span;
}
