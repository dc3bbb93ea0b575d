/* SPDX-License-Identifier: MIT */
/* fs_names: the names in one or more directories, sorted by their bytes, each once. */
#pragma once
#include "base/arena.h"
#include <stdbool.h>
#include <stddef.h>

struct fs_names {
    struct arena arena;
    char **items; /* owned array; the names are in the arena */
    size_t count, capacity;
};

int fs_names_add(struct fs_names *names, int dir); /* all but "." and ".."; borrows dir */
void fs_names_put(struct fs_names *names, const char *name);
void fs_names_sort(struct fs_names *names);                        /* and drops doubles */
bool fs_names_has(const struct fs_names *names, const char *name); /* sorted before */
void fs_names_done(struct fs_names *names);
static inline __attribute__((unused)) void fs_names_done_cleanup(struct fs_names *names)
{
    fs_names_done(names);
}
