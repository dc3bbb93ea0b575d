/* SPDX-License-Identifier: MIT */
/* fs_mounts: the mount points a process can reach, from /proc/self/mountinfo. */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include <stdbool.h>
#include <stddef.h>

struct fs_mount {
    const char *path;    /* absolute, unescaped */
    const char *type;    /* "ext4", "tmpfs", "fuse.sshfs" */
    unsigned long flags; /* MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC */
    bool kernel;         /* a view into the kernel (sysfs, cgroup2), not files somebody keeps */
};

struct fs_mounts {
    struct arena arena;
    struct fs_mount *items; /* sorted by path; only what is not covered by another mount */
    size_t count;
};

int fs_mounts_read(const char *mountinfo, struct fs_mounts *ret, struct err *err);
/* The same from a text, for tests. */
int fs_mounts_parse(const char *text, struct fs_mounts *ret, struct err *err);
void fs_mounts_done(struct fs_mounts *mounts);
static inline __attribute__((unused)) void fs_mounts_done_cleanup(struct fs_mounts *mounts)
{
    fs_mounts_done(mounts);
}

/* The mount at exactly this path, or NULL. */
const struct fs_mount *fs_mounts_at(const struct fs_mounts *mounts, const char *path);
/* The mount that holds this path. */
const struct fs_mount *fs_mounts_of(const struct fs_mounts *mounts, const char *path);
/* The first mount strictly below the path, as an index; *ret_end is one behind the last. */
size_t fs_mounts_below(const struct fs_mounts *mounts, const char *path, size_t *ret_end);

bool fs_path_is_below(const char *path, const char *parent); /* strictly; "/" is above all */
