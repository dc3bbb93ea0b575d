/* SPDX-License-Identifier: MIT */
/* Debian's package manager is asked by reading what it keeps: /var/lib/dpkg/info/PACKAGE.list names
 * the files of a package, a line each, and /var/lib/dpkg/status its version. Its own query takes a
 * tenth of a second, which is more than most recordings; all lists together are read in a tenth of
 * that, once, when the first program of a package is met. */
#include "proc/programs.h"
#include "base/buf.h"
#include "base/fd.h"
#include "base/text.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DPKG "/var/lib/dpkg"
enum { STATUS_MAX = 256 << 20, LIST_MAX = 64 << 20, PROGRAM_MAX = 1 << 30 };

struct program {
    dev_t device;
    ino_t inode;
    struct timespec modified;
    struct program_facts facts;
    char *version; /* owned */
};

struct programs {
    struct program **items; /* facts are lent: they stay where they are */
    size_t count;
    struct buf lists;  /* NUL, package, newline, its files a line each; for every package */
    struct buf status; /* of all packages */
    bool asked;        /* both were read, or are not there */
};

struct programs *programs_new(void)
{
    return mem_alloc(sizeof(struct programs));
}

struct programs *programs_free(struct programs *programs)
{
    if (!programs)
        return NULL;
    for (size_t i = 0; i < programs->count; i++) {
        free(programs->items[i]->version);
        free(programs->items[i]);
    }
    free(programs->items);
    buf_done(&programs->lists);
    buf_done(&programs->status);
    free(programs);
    return NULL;
}

/* ---- packages ------------------------------------------------------------------------------ */

static void read_packages(struct programs *programs)
{
    DIR *listing = opendir(DPKG "/info");

    programs->asked = true;
    if (!listing || file_read(DPKG "/status", STATUS_MAX, &programs->status, NULL) < 0) {
        if (listing)
            (void)closedir(listing);
        return;
    }
    for (struct dirent *entry; (entry = readdir(listing));) {
        CLEANUP(buf_done) struct buf list = {0};
        CLEANUP(mem_free) char *path = mem_format(DPKG "/info/%s", entry->d_name);
        if (!text_ends(entry->d_name, ".list") || file_read(path, LIST_MAX, &list, NULL) < 0)
            continue;
        size_t length = strcspn(entry->d_name, ":");
        if (length == strlen(entry->d_name))
            length -= strlen(".list");
        buf_addc(&programs->lists, '\0');
        buf_add(&programs->lists, entry->d_name, length);
        buf_addc(&programs->lists, '\n');
        buf_add(&programs->lists, list.data, list.length);
    }
    (void)closedir(listing);
}

/* "Version:" of the package's paragraph. Returns owned; NULL: none. */
static char *version_of(const struct programs *programs, const char *package, size_t length)
{
    CLEANUP(mem_free) char *head = mem_format("\nPackage: %.*s\n", (int)length, package);
    const char *text = buf_text(&programs->status), *at = text;

    if (strncmp(text, head + 1, strlen(head) - 1) != 0)
        at = strstr(text, head);
    const char *end = at ? strstr(at + 1, "\n\n") : NULL;
    const char *version = at ? strstr(at + 1, "\nVersion: ") : NULL;
    if (!version || (end && version > end))
        return NULL;
    version += strlen("\nVersion: ");
    return mem_format("%.*s %.*s", (int)length, package, (int)strcspn(version, "\n"), version);
}

/* Returns owned; NULL: no package has such a file. */
static char *find_package(const struct programs *programs, const char *path)
{
    CLEANUP(mem_free) char *line = mem_format("\n%s\n", path);
    const struct buf *lists = &programs->lists;
    const char *at = lists->length ? memmem(lists->data, lists->length, line, strlen(line)) : NULL;

    if (!at)
        return NULL;
    const char *package = (const char *)memrchr(lists->data, '\0', (size_t)(at - lists->data)) + 1;
    return version_of(programs, package, strcspn(package, "\n"));
}

/* Packages may still have a file in /bin that is found in /usr/bin. */
static char *version_at(struct programs *programs, const char *path)
{
    CLEANUP(mem_free) char *real = realpath(path, NULL);

    if (!real ||
        (!text_starts(real, "/usr/") && !text_starts(real, "/bin/") &&
         !text_starts(real, "/sbin/") && !text_starts(real, "/lib") && !text_starts(real, "/opt/")))
        return NULL;
    if (!programs->asked)
        read_packages(programs);
    char *version = find_package(programs, real);
    return version || !text_starts(real, "/usr/") ? version
                                                  : find_package(programs, real + strlen("/usr"));
}

/* ---- files --------------------------------------------------------------------------------- */

const struct program_facts *programs_look(struct programs *programs, int fd, const char *path)
{
    CLEANUP(buf_done) struct buf bytes = {0};
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || !st.st_size)
        return NULL; /* empty: hidden */
    for (size_t i = 0; i < programs->count; i++) {
        const struct program *known = programs->items[i];
        if (known->device == st.st_dev && known->inode == st.st_ino &&
            known->modified.tv_sec == st.st_mtim.tv_sec &&
            known->modified.tv_nsec == st.st_mtim.tv_nsec)
            return &known->facts;
    }
    if (fd_read_all(fd, &bytes, PROGRAM_MAX) < 0)
        return NULL;
    struct program *program = mem_alloc(sizeof *program);
    *program = (struct program){.device = st.st_dev,
                                .inode = st.st_ino,
                                .modified = st.st_mtim,
                                .facts.digest = hash_of(buf_text(&bytes), bytes.length),
                                .version = version_at(programs, path)};
    program->facts.version = program->version;
    programs->items = mem_grow(programs->items, (programs->count + 1) * sizeof(struct program *));
    programs->items[programs->count++] = program;
    return &program->facts;
}
