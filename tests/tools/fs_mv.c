/* SPDX-License-Identifier: MIT */
/* fs-mv: rename(2) as the box does it for its guests: the kernel first, and where that answers
 * EXDEV for a directory, fs_rename_dir. A file named third is kept open meanwhile and read
 * afterwards.
 *
 *     fs-mv [--noreplace|--exchange] OLD NEW [OPEN]
 *
 * Prints "kernel" or "moved", or the name of the error. */
#include "base/fd.h"
#include "fs/fs.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    unsigned flags = 0;
    char text[100] = "";

    if (argc > 1 && argv[1][0] == '-') {
        flags = strcmp(argv[1], "--exchange") == 0 ? RENAME_EXCHANGE : RENAME_NOREPLACE;
        argc--, argv++;
    }
    if (argc < 3)
        return 2;
    int open_fd = argc > 3 ? open(argv[3], O_RDONLY | O_CLOEXEC) : -1;
    int r = renameat2(AT_FDCWD, argv[1], AT_FDCWD, argv[2], flags) < 0 ? -errno : 0;
    const char *by = "kernel";
    if (r == -EXDEV) {
        by = "moved";
        r = fs_rename_dir(AT_FDCWD, argv[1], AT_FDCWD, argv[2], flags);
    }
    puts(r < 0 ? strerrorname_np(-r) : by);
    if (open_fd >= 0 && read(open_fd, text, sizeof text - 1) > 0)
        (void)fputs(text, stdout);
    return r < 0;
}
