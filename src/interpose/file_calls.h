/* SPDX-License-Identifier: MIT */
/* file_calls: what the calls about files share. */
#pragma once
#include "interpose/calls.h"
#include "interpose/files.h"

enum file_use { FILE_READS, FILE_WRITES };
struct file_call {
    struct lane *lane;
    struct vitro_world *world;
    char *path; /* owned, absolute, in the worktree */
};
/* True: the path is in the worktree of a bench, whose lock is held until file_end. False: the real
 * call is to be made; a leak was noted if it is one. */
bool file_begin(struct file_call *call, const void *caller, int dirfd, const char *path,
                enum file_use use);
/* Returns `r`, or -1 with errno set. */
int file_end(struct file_call *call, int r);
