/* SPDX-License-Identifier: MIT */
/* The names in a store's directory: listing, finding, removing. */
#include "base/fd.h"
#include "tape/store.h"
#include "tape/tape_internal.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int compare_entries(const void *a, const void *b)
{
    const struct store_entry *left = a, *right = b;
    int order = memcmp(&left->hash, &right->hash, sizeof left->hash);

    return order ? order : (int)left->compressed - (int)right->compressed;
}

static bool is_stray(const char *name)
{
    return strncmp(name, ".tmp.", 5) == 0;
}

static bool entry_from_name(const char *name, struct store_entry *ret)
{
    char hex[HASH_TEXT_LENGTH + 1];
    size_t length = strlen(name);

    ret->compressed = length == HASH_TEXT_LENGTH + 4 && strcmp(name + length - 4, ".zst") == 0;
    if (!ret->compressed && length != HASH_TEXT_LENGTH)
        return false;
    memcpy(hex, name, HASH_TEXT_LENGTH);
    hex[HASH_TEXT_LENGTH] = '\0';
    return hash_from_text(hex, &ret->hash);
}

static int directory_of(struct store *store, DIR **ret, struct err *err)
{
    int dirfd = store_directory(store, err);
    if (dirfd < 0)
        return dirfd;
    int fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || !(*ret = fdopendir(fd))) {
        int r = err_set(err, -errno, "list store: %m");
        fd_close(fd);
        return r;
    }
    return 0;
}

int store_list(struct store *store, struct store_list *ret, struct err *err)
{
    struct store_list list = {0};
    size_t room = 0;
    DIR *dir = NULL;
    int r = directory_of(store, &dir, err);

    if (r < 0 && r != -ENOENT)
        return r;
    for (struct dirent *item; dir && (item = readdir(dir));) {
        struct store_entry entry = {0};
        struct stat st;
        list.stray_count += is_stray(item->d_name);
        if (!entry_from_name(item->d_name, &entry) ||
            fstatat(dirfd(dir), item->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        entry.disk_bytes = (uint64_t)st.st_size;
        if (list.count == room) {
            room = room ? room * 2 : 64;
            list.entries = mem_grow(list.entries, room * sizeof *list.entries);
        }
        list.entries[list.count++] = entry;
    }
    if (dir)
        (void)closedir(dir);
    if (list.count)
        qsort(list.entries, list.count, sizeof *list.entries, compare_entries);
    *ret = list;
    return 0;
}

void store_list_done(struct store_list *list)
{
    free(list->entries);
    *list = (struct store_list){0};
}

struct store_entry *store_list_find(const struct store_list *list, const struct hash *hash)
{
    size_t low = 0, high = list->count;

    while (low < high) { /* the first entry of that hash */
        size_t middle = low + (high - low) / 2;
        if (memcmp(&list->entries[middle].hash, hash, sizeof *hash) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == list->count || memcmp(&list->entries[low].hash, hash, sizeof *hash) != 0)
        return NULL;
    return &list->entries[low];
}

int store_remove(struct store *store, const struct store_entry *entry, struct err *err)
{
    int dirfd = store_directory(store, err);
    struct hash_text hash = hash_to_text(&entry->hash);
    CLEANUP(mem_free) char *name = mem_format("%s%s", hash.text, entry->compressed ? ".zst" : "");

    if (dirfd < 0)
        return dirfd;
    if (unlinkat(dirfd, name, 0) < 0 && errno != ENOENT)
        return err_set(err, -errno, "remove content '%s': %m", name);
    return 0;
}

int store_remove_strays(struct store *store, struct err *err)
{
    DIR *dir = NULL;
    int r = directory_of(store, &dir, err), count = 0;

    if (r < 0 || !dir)
        return r == -ENOENT ? 0 : r;
    for (struct dirent *item; (item = readdir(dir));)
        if (is_stray(item->d_name) && unlinkat(dirfd(dir), item->d_name, 0) == 0)
            count++;
    (void)closedir(dir);
    return count;
}
