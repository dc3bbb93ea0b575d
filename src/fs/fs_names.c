/* SPDX-License-Identifier: MIT */
#include "fs/fs_names.h"
#include "base/buf.h"
#include "base/fd.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

void fs_names_put(struct fs_names *names, const char *name)
{
    if (names->count == names->capacity) {
        names->capacity = names->capacity ? names->capacity * 2 : 32;
        names->items = mem_grow(names->items, names->capacity * sizeof *names->items);
    }
    names->items[names->count++] = arena_dup(&names->arena, name, strlen(name));
}

int fs_names_add(struct fs_names *names, int dir)
{
    int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *stream = fd < 0 ? NULL : fdopendir(fd);

    if (!stream) {
        int r = -errno;
        fd_close(fd);
        return r;
    }
    for (;;) {
        errno = 0;
        struct dirent *entry = readdir(stream);
        if (!entry)
            break;
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            fs_names_put(names, entry->d_name);
    }
    int r = -errno;
    (void)closedir(stream);
    return r;
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

void fs_names_sort(struct fs_names *names)
{
    size_t kept = 0;

    if (!names->count)
        return;
    qsort(names->items, names->count, sizeof *names->items, compare);
    for (size_t i = 0; i < names->count; i++)
        if (!kept || strcmp(names->items[kept - 1], names->items[i]) != 0)
            names->items[kept++] = names->items[i];
    names->count = kept;
}

bool fs_names_has(const struct fs_names *names, const char *name)
{
    return names->count &&
           bsearch(&name, names->items, names->count, sizeof *names->items, compare);
}

void fs_names_done(struct fs_names *names)
{
    arena_done(&names->arena);
    free(names->items);
    *names = (struct fs_names){0};
}
