/* SPDX-License-Identifier: MIT */
/* files_internal: files that are memfds, shared by the files of files.h. */
#pragma once
#include "interpose/files.h"

struct live {
    struct live *next;
    char *path; /* owned: relative to the worktree, without symlinks */
    int fd;     /* the memfd */
    ino_t inode;
    int64_t modified_ns;
    struct timespec seen; /* the kernel's time of change, when modified_ns was set */
};

struct live *live_find(struct files *files, const char *path); /* NULL: none */
int live_make(struct files *files, const struct overlay_target *target, struct live **ret);
int live_sync(struct files *files, struct live *live); /* its content goes to the overlay */
void live_drop(struct files *files, const char *path); /* who has it open keeps it */
