/* SPDX-License-Identifier: MIT */
/* Comparing two trees: names, kinds, modes, where links lead, and bytes. Times and owners are not
 * looked at: they are those of whoever made the tree. */
#include "script/play.h"
#include "base/fd.h"
#include <dirent.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DIFFERENCES_SHOWN = 20 };

struct pair { /* the same place in both trees */
    const char *one, *other, *name;
};
struct told {
    struct buf *text;
    size_t count;
};

static void tell(struct told *told, const char *name, const char *what)
{
    if (told->count++ < DIFFERENCES_SHOWN)
        buf_addf(told->text, "  %s: %s\n", *name ? name : ".", what);
}

static const char *kind_of(mode_t mode)
{
    return S_ISDIR(mode)    ? "a directory"
           : S_ISLNK(mode)  ? "a link"
           : S_ISREG(mode)  ? "a file"
           : S_ISFIFO(mode) ? "a fifo"
                            : "something special";
}

static int is_name(const struct dirent *entry)
{
    return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static void compare(struct told *told, const struct pair *pair);

static void compare_below(struct told *told, const struct pair *pair, const char *name)
{
    CLEANUP(mem_free) char *one = mem_format("%s/%s", pair->one, name);
    CLEANUP(mem_free) char *other = mem_format("%s/%s", pair->other, name);
    CLEANUP(mem_free) char *shown = mem_format("%s%s%s", pair->name, *pair->name ? "/" : "", name);

    compare(told, &(struct pair){.one = one, .other = other, .name = shown});
}

static void compare_directories(struct told *told, const struct pair *pair)
{
    struct dirent **one = NULL, **other = NULL;
    int one_count = scandir(pair->one, &one, is_name, by_bytes);
    int other_count = scandir(pair->other, &other, is_name, by_bytes);

    if (one_count < 0 || other_count < 0)
        tell(told, pair->name, "cannot be read");
    for (int i = 0, k = 0; i < one_count || k < other_count;) {
        int order = i >= one_count     ? 1
                    : k >= other_count ? -1
                                       : strcmp(one[i]->d_name, other[k]->d_name);
        compare_below(told, pair, order <= 0 ? one[i]->d_name : other[k]->d_name);
        i += order <= 0;
        k += order >= 0;
    }
    for (int i = 0; i < one_count; i++)
        free(one[i]);
    for (int i = 0; i < other_count; i++)
        free(other[i]);
    free(one);
    free(other);
}

static bool same_bytes(const struct pair *pair)
{
    CLEANUP(buf_done) struct buf one = {0};
    CLEANUP(buf_done) struct buf other = {0};

    return file_read(pair->one, PLAY_FILE_MAX, &one, NULL) == 0 &&
           file_read(pair->other, PLAY_FILE_MAX, &other, NULL) == 0 && one.length == other.length &&
           memcmp(buf_text(&one), buf_text(&other), one.length) == 0;
}

static bool same_target(const struct pair *pair)
{
    char one[PATH_MAX], other[PATH_MAX];
    ssize_t length = readlink(pair->one, one, sizeof one);

    return length == readlink(pair->other, other, sizeof other) && length >= 0 &&
           memcmp(one, other, (size_t)length) == 0;
}

static void compare(struct told *told, const struct pair *pair)
{
    struct stat one, other;
    bool first = lstat(pair->one, &one) == 0, second = lstat(pair->other, &other) == 0;

    if (!first || !second) {
        tell(told, pair->name, first ? "only in the first" : "only in the second");
        return;
    }
    if ((one.st_mode & S_IFMT) != (other.st_mode & S_IFMT)) {
        CLEANUP(mem_free) char *text =
            mem_format("%s, and %s in the second", kind_of(one.st_mode), kind_of(other.st_mode));
        tell(told, pair->name, text);
        return;
    }
    if (!S_ISLNK(one.st_mode) && (one.st_mode & 07777) != (other.st_mode & 07777)) {
        CLEANUP(mem_free) char *text =
            mem_format("mode %o, and %o in the second", one.st_mode & 07777, other.st_mode & 07777);
        tell(told, pair->name, text);
    }
    if (S_ISDIR(one.st_mode))
        compare_directories(told, pair);
    else if (S_ISREG(one.st_mode) && !same_bytes(pair))
        tell(told, pair->name, "the bytes differ");
    else if (S_ISLNK(one.st_mode) && !same_target(pair))
        tell(told, pair->name, "the link leads elsewhere");
}

void play_tree_differences(const char *one, const char *other, struct buf *ret)
{
    struct told told = {.text = ret};

    compare(&told, &(struct pair){.one = one, .other = other, .name = ""});
    if (told.count > DIFFERENCES_SHOWN)
        buf_addf(ret, "  and %zu more\n", told.count - DIFFERENCES_SHOWN);
}
