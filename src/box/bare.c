/* SPDX-License-Identifier: MIT */
#include "box/bare.h"
#include "base/fd.h"
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

/* The lock of a directory that is ours and that nobody uses; -1 without. */
static int lock_directory(const char *path)
{
    CLEANUP(fd_close) int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;

    if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0 || fstat(fd, &st) < 0 ||
        st.st_uid != geteuid() || !st.st_nlink || fchmod(fd, 0711) < 0)
        return -1;
    return take_fd(&fd);
}

/* The first directory that nobody uses: the same in every run, as its name can be seen in PATH. It
 * is locked as long as the box lives. One that a killed supervisor left is made anew. */
static int take_directory(struct box *box)
{
    for (int i = 0; i < SLOTS; i++) {
        (void)snprintf(box->own_dir, sizeof box->own_dir, "/tmp/vitro.%u.%d", (unsigned)geteuid(),
                       i);
        bool left = mkdir(box->own_dir, 0711) < 0 && errno == EEXIST;
        CLEANUP(fd_close) int fd = lock_directory(box->own_dir);
        if (fd >= 0 && left) {
            (void)dir_remove_all(box->own_dir, NULL);
            (void)mkdir(box->own_dir, 0711);
            fd_close(take_fd(&fd));
            fd = lock_directory(box->own_dir);
        }
        if (fd < 0)
            continue;
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
    (void)dir_remove_all(box->own_dir, NULL);
    box->bare_fd = fd_close(box->bare_fd);
}
