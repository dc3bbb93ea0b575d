/* SPDX-License-Identifier: MIT */
/* fs_stamp: a moment that parts the stamps of files into those before it and those behind it.
 *
 * The kernel stamps files by a clock that moves with its tick, once in 1 to 10 ms. Where a stamp
 * has been looked at since it was given, the next one of that file is as fine as the machine's
 * clock (Linux 6.13), and no file gets an older one from then on. So a file of our own, looked at
 * and written, parts the stamps of all files at once; on kernels before that, the tick is waited
 * for. */
#include "base/fd.h"
#include "base/wall.h"
#include "base/when.h"
#include "fs/fs.h"
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static int64_t stamp_of(int fd)
{
    struct stat status;

    if (fd < 0 || fstat(fd, &status) < 0)
        return 0;
    return status.st_ctim.tv_sec * (int64_t)NS_PER_SEC + status.st_ctim.tv_nsec;
}

/* A stamp of this moment, or of the last tick on kernels without fine ones. 0: none can be had. */
static int64_t part_now(void)
{
    CLEANUP(fd_close) int fd = memfd_create("stamp", MFD_CLOEXEC);

    return stamp_of(fd) && pwrite(fd, "", 1, 0) == 1 ? stamp_of(fd) : 0;
}

int64_t fs_stamp_part(int64_t after_ns)
{
    for (;;) {
        int64_t coarse = wall_coarse_ns();
        if (coarse > after_ns)
            return coarse;
        int64_t fine = part_now();
        if (fine > after_ns)
            return fine;
        (void)nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    }
}
