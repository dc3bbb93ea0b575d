/* SPDX-License-Identifier: MIT */
/* Directories of a worktree, listed by name. A DIR that we gave out is ours to read; all others are
 * libc's. */
#include "interpose/file_calls.h"
#include <fcntl.h>
#include <string.h>

struct vdir {
    struct vdir *next;
    struct vitro_overlay_entry *entries;
    size_t count, at;
    int fd;
    struct dirent entry;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct vdir *first;

static struct vdir *find(const DIR *dir)
{
    struct vdir *found;

    if (!__atomic_load_n(&first, __ATOMIC_ACQUIRE))
        return NULL;
    (void)pthread_mutex_lock(&lock);
    for (found = first; found && found != (const void *)dir; found = found->next)
        ;
    (void)pthread_mutex_unlock(&lock);
    return found;
}

static DIR *give(struct vdir *dir)
{
    (void)pthread_mutex_lock(&lock);
    dir->next = first;
    __atomic_store_n(&first, dir, __ATOMIC_RELEASE);
    (void)pthread_mutex_unlock(&lock);
    return (DIR *)dir;
}

DIR *call_opendir(const void *caller, const char *path)
{
    struct file_call call;
    struct vdir *dir;

    if (!file_begin(&call, caller, AT_FDCWD, path, FILE_READS))
        return REAL.opendir(path);
    struct vitro_overlay_entry *entries = NULL;
    size_t count = 0;
    int r = vitro_overlay_read_dir(call.world->files->overlay, call.path, &entries, &count);
    int fd =
        r < 0 ? r : files_open(call.world->files, call.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    if (file_end(&call, fd) < 0) {
        vitro_overlay_entries_free(entries, count);
        return NULL;
    }
    dir = mem_alloc(sizeof *dir);
    *dir = (struct vdir){.entries = entries, .count = count, .fd = fd};
    return give(dir);
}

struct dirent *call_readdir(const void *caller, DIR *handle)
{
    static const char *const dots[] = {".", ".."};
    static const unsigned char types[] = {DT_REG, DT_DIR, DT_LNK, DT_UNKNOWN};
    struct vdir *dir = find(handle);

    (void)caller;
    if (!dir)
        return REAL.readdir(handle);
    if (dir->at >= dir->count + 2)
        return NULL;
    const char *name = dir->at < 2 ? dots[dir->at] : dir->entries[dir->at - 2].name;
    dir->entry =
        (struct dirent){.d_ino = 1 + dir->at,
                        .d_off = (off_t)dir->at + 1,
                        .d_reclen = sizeof dir->entry,
                        .d_type = dir->at < 2 ? DT_DIR : types[dir->entries[dir->at - 2].type]};
    (void)strncpy(dir->entry.d_name, name, sizeof dir->entry.d_name - 1);
    dir->at++;
    return &dir->entry;
}

void call_rewinddir(const void *caller, DIR *handle)
{
    struct vdir *dir = find(handle);

    (void)caller;
    if (dir)
        dir->at = 0;
    else
        REAL.rewinddir(handle);
}

long call_telldir(const void *caller, DIR *handle)
{
    struct vdir *dir = find(handle);

    (void)caller;
    return dir ? (long)dir->at : REAL.telldir(handle);
}

void call_seekdir(const void *caller, DIR *handle, long at)
{
    struct vdir *dir = find(handle);

    (void)caller;
    if (dir)
        dir->at = (size_t)at;
    else
        REAL.seekdir(handle, at);
}

int call_dirfd(const void *caller, DIR *handle)
{
    struct vdir *dir = find(handle);

    (void)caller;
    return dir ? dir->fd : REAL.dirfd(handle);
}

int call_closedir(const void *caller, DIR *handle)
{
    struct vdir *dir = find(handle);

    if (!dir)
        return REAL.closedir(handle);
    (void)pthread_mutex_lock(&lock);
    for (struct vdir **place = &first; *place; place = &(*place)->next)
        if (*place == dir) {
            *place = dir->next;
            break;
        }
    (void)pthread_mutex_unlock(&lock);
    (void)call_close(caller, dir->fd);
    vitro_overlay_entries_free(dir->entries, dir->count);
    free(dir);
    return 0;
}

int call_scandir(const void *caller, const char *restrict path, struct dirent ***restrict ret,
                 int (*wanted)(const struct dirent *),
                 int (*compare)(const struct dirent **, const struct dirent **))
{
    struct lane *lane = lane_here(caller);
    struct dirent **list = NULL, *entry;
    size_t count = 0;

    if (!lane || !lane_world(lane))
        return REAL.scandir(path, ret, wanted, compare);
    DIR *dir = call_opendir(caller, path);
    if (!dir)
        return -1;
    while ((entry = call_readdir(caller, dir))) {
        if (wanted && !wanted(entry))
            continue;
        list = mem_grow(list, (count + 1) * sizeof *list);
        list[count] = mem_alloc(sizeof *entry);
        memcpy(list[count++], entry, offsetof(struct dirent, d_name) + strlen(entry->d_name) + 1);
    }
    (void)call_closedir(caller, dir);
    if (compare && count)
        qsort(list, count, sizeof *list, (int (*)(const void *, const void *))compare);
    *ret = list ? list : mem_alloc(sizeof *list);
    return (int)count;
}
