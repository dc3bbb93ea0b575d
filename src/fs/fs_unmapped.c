/* SPDX-License-Identifier: MIT */
#include "fs/fs_unmapped.h"
#include "base/fd.h"
#include "fs/fs_diff.h"
#include "fs/fs_names.h"
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

const char fs_unmapped_remedy[] = "sg GROUP -c 'vitro run ...' if all is yours and of one group, "
                                  "sudo vitro run ..., or vitro run "
                                  "--writable DIR ... for real writes";

enum { OVERFLOW_ID = 65534, MAP_BYTES_MAX = 65536 }; /* kernel.overflowuid, where not changed */

struct search {
    struct fs_unmapped *found;
    size_t limit;
    dev_t device;
};

static void look_in(struct search *search, int dir, const char *path);

/* What may not be written natively either gives EACCES, which needs no words of ours. */
static bool is_unmapped(int dir, const char *name, const struct stat *st)
{
    return (st->st_uid != geteuid() || st->st_gid != getegid()) && !S_ISLNK(st->st_mode) &&
           (st->st_uid == geteuid() || faccessat(dir, name, W_OK, AT_EACCESS) == 0);
}

static void look_at(struct search *search, int dir, const char *name, const char *path)
{
    struct fs_unmapped *found = search->found;
    struct stat st;

    found->looked++;
    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || st.st_dev != search->device)
        return;
    if (is_unmapped(dir, name, &st) && found->count++ == 0) {
        buf_adds(&found->path, path);
        found->uid = st.st_uid;
        found->gid = st.st_gid;
    }
    if (!S_ISDIR(st.st_mode))
        return;
    CLEANUP(fd_close)
    int child = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (child >= 0)
        look_in(search, child, path);
}

static void look_in(struct search *search, int dir, const char *path)
{
    CLEANUP(fs_names_done) struct fs_names names = {0};

    if (fs_names_add(&names, dir) < 0)
        return;
    fs_names_sort(&names);
    for (size_t i = 0; i < names.count && search->found->looked < search->limit; i++) {
        CLEANUP(mem_free)
        char *child = *path ? mem_format("%s/%s", path, names.items[i]) : mem_dup(names.items[i]);
        look_at(search, dir, names.items[i], child);
    }
}

void fs_unmapped_find(const char *directory, size_t limit, struct fs_unmapped *ret)
{
    CLEANUP(fd_close) int dir = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct search search = {.found = ret, .limit = limit};
    struct stat st;

    *ret = (struct fs_unmapped){0};
    if (dir < 0 || fstat(dir, &st) < 0)
        return;
    search.device = st.st_dev;
    look_in(&search, dir, "");
}

void fs_unmapped_done(struct fs_unmapped *unmapped)
{
    buf_done(&unmapped->path);
}

bool fs_id_is_true(const char *which, unsigned id)
{
    CLEANUP(mem_free) char *path = mem_format("/proc/self/%s_map", which);
    CLEANUP(buf_done) struct buf map = {0};
    unsigned first, outer, count;
    int used = 0;

    if (id != OVERFLOW_ID || file_read(path, MAP_BYTES_MAX, &map, NULL) < 0)
        return true;
    for (const char *line = buf_text(&map);
         sscanf(line, "%u %u %u%n", &first, &outer, &count, &used) == 3; line += used)
        if (id >= first && id - first < count)
            return true;
    return false;
}

static void add_id(struct buf *buf, const char *word, const char *which, unsigned id)
{
    if (fs_id_is_true(which, id))
        buf_addf(buf, "%s %u", word, id);
    else
        buf_addf(buf, "another %s", word);
}

void fs_unmapped_add_text(struct buf *buf, const struct fs_unmapped *unmapped)
{
    if (!unmapped->count)
        return;
    buf_addc(buf, '\'');
    fs_diff_add_name(buf, "", buf_text((struct buf *)&unmapped->path));
    buf_adds(buf, "' (");
    add_id(buf, "user", "uid", unmapped->uid);
    buf_adds(buf, ", ");
    add_id(buf, "group", "gid", unmapped->gid);
    buf_addc(buf, ')');
    if (unmapped->count > 1)
        buf_addf(buf, " and %zu more", unmapped->count - 1);
}
