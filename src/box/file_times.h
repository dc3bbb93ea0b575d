/* SPDX-License-Identifier: MIT */
/* file_times: what time files carry in the box.
 *
 * The kernel stamps what guests write with real time. A stamp that is not older than the box
 * therefore means "written in here", and the virtual time of it is:
 *   what was noted for that inode and stamp, if it was looked at before, or when the clock moved
 *     since (files opened for writing are noted at every move, file_times_settle);
 *   what the clock said then, if it was written before a move that parted stamps (file_times_part):
 *     very many files are not noted one by one;
 *   now, if not: the clock has not moved since it was written.
 *
 * Files from before the box keep their times, so that whoever recorded them (git, python, ninja)
 * finds them unchanged. But where a call asks how old a file is (stat, which follows links), a file
 * from the box's future would look broken ("clock skew"): such times are moved, in their order,
 * into the last day before the box's clock started. lstat and fstat, by which tools recognise a
 * file they know, tell the time as it is. */
#pragma once
#include "box/box_internal.h"

struct file_times;
struct file_times *file_times_new(int64_t real_start_ns, int64_t virtual_start_ns);
struct file_times *file_times_free(struct file_times *times);

enum { WHICH_MTIME, WHICH_CTIME, WHICH_ATIME, WHICH_BTIME };

struct file_stamp { /* one of mtime, ctime, atime of one inode */
    uint64_t device, inode;
    unsigned which; /* WHICH_... */
    int64_t ns;
};

/* The time to show for a stamp. `age`: the call asks how old the file is. */
int64_t file_times_show(struct file_times *times, const struct file_stamp *stamp, int64_t now_ns,
                        bool age);
/* A guest set this time itself: it is shown as it is. */
void file_times_keep(struct file_times *times, const struct file_stamp *stamp);
/* Remembers a file that was opened for writing; `path` is absolute in the box. */
void file_times_touch(struct file_times *times, const char *path);
/* The clock is about to leave `now_ns`: notes what was written since it last moved. `root_fd` is
 * the box's root directory. */
void file_times_settle(struct file_times *times, int root_fd, int64_t now_ns);
/* The clock is about to leave `now_ns`, and all that was written until now has a stamp not above
 * `real_ns`, all that will be, one above it. */
void file_times_part(struct file_times *times, int64_t real_ns, int64_t now_ns);
int64_t file_times_start(const struct file_times *times); /* stamps from here on are the box's */
int64_t file_times_age_limit(const struct file_times *times); /* older ones are never moved */
bool file_times_any_touched(const struct file_times *times);
