/* SPDX-License-Identifier: MIT */
#include "box/bare.h"
#include "base/fd.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/personality.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SLOTS = 1000 };

bool bare_is_why(int code)
{
    return code == -EPERM || code == -EACCES || code == -ENOSPC || code == -EINVAL ||
           code == -ENOSYS || code == -EUSERS;
}

static int refuse(const char *axis, struct err *err)
{
    err->text[strcspn(err->text, "\n")] = '\0'; /* a hint for who wants namespaces at any price */
    err_wrap(err, "%s", axis);
    return err_hint(err, "'vitro doctor' names the remedy; 'vitro run --fs real --net real' makes "
                         "do with the clock, chance and recorded programs");
}

static void empty(int dir)
{
    int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *listing = copy < 0 ? NULL : fdopendir(copy);

    for (struct dirent *entry; listing && (entry = readdir(listing));) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (unlinkat(dir, entry->d_name, 0) == 0)
            continue;
        CLEANUP(fd_close)
        int below = openat(dir, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (below >= 0)
            empty(below);
        (void)unlinkat(dir, entry->d_name, AT_REMOVEDIR);
    }
    if (listing)
        (void)closedir(listing);
}

/* The first directory that nobody uses: the same in every run, as its name can be seen in PATH. It
 * is locked as long as the box lives. One that a killed supervisor left is emptied and used. */
static int take_directory(struct box *box)
{
    for (int i = 0; i < SLOTS; i++) {
        struct stat st;
        (void)snprintf(box->own_dir, sizeof box->own_dir, "/tmp/vitro.%u.%d", (unsigned)geteuid(),
                       i);
        (void)mkdir(box->own_dir, 0711);
        CLEANUP(fd_close)
        int fd = open(box->own_dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0 || fstat(fd, &st) < 0 ||
            st.st_uid != geteuid() || !st.st_nlink || fchmod(fd, 0711) < 0)
            continue;
        empty(fd);
        box->bare_fd = take_fd(&fd);
        return 0;
    }
    return -EUSERS;
}

bool bare_may_be(const struct box *box)
{
    const struct box_options *options = box->options;

    return options->fs.mode == FS_REAL && (options->net_real || options->tape_net_real) &&
           !options->fs.file_count && !(options->fs.hide && options->fs.hide[0]);
}

int bare_begin(struct box *box, struct err *err)
{
    const struct box_options *options = box->options;

    box->findings->lacks_namespaces = true;
    if (options->fs.mode != FS_REAL)
        return refuse("files of its own (--fs)", err);
    if (!bare_may_be(box))
        return refuse(options->fs.file_count || (options->fs.hide && options->fs.hide[0])
                          ? "files that are hidden or put over others"
                          : "a network of its own (--net)",
                      err);
    int r = take_directory(box);
    if (r < 0)
        return err_set(err, r, "make a directory '/tmp/vitro.%u.0' for the box: %s",
                       (unsigned)geteuid(), strerror(-r));
    box->bare = true;
    leak_note(box, "no namespaces here (vitro doctor): files, network and process numbers are the "
                   "machine's");
    if (!options->identity_real && personality(ADDR_NO_RANDOMIZE) < 0)
        leak_note(box, "addresses are random here: personality(2) is refused");
    return 0;
}

void bare_end(struct box *box)
{
    if (!box->bare)
        return;
    empty(box->bare_fd);
    (void)rmdir(box->own_dir);
    box->bare_fd = fd_close(box->bare_fd);
}
