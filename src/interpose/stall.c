/* SPDX-License-Identifier: MIT */
#include "interpose/stall.h"
#include "interpose/calls.h"
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

enum { LOOKS = 4 };

static char state_of(const char *tid)
{
    char path[64], text[512];

    (void)snprintf(path, sizeof path, "/proc/self/task/%.20s/stat", tid);
    int fd = REAL.openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 'S'; /* it ended */
    ssize_t length = REAL.read(fd, text, sizeof text - 1);
    (void)REAL.close(fd);
    text[length > 0 ? length : 0] = '\0';
    const char *end = strrchr(text, ')'); /* names may have anything in them */
    return end && end[1] ? end[2] : 'R';
}

static bool all_blocked(void)
{
    char own[24];
    DIR *dir = opendir("/proc/self/task");
    struct dirent *entry;
    bool blocked = dir != NULL;

    (void)snprintf(own, sizeof own, "%d", (int)REAL.gettid());
    while (blocked && (entry = readdir(dir)))
        blocked = entry->d_name[0] == '.' || strcmp(entry->d_name, own) == 0 ||
                  state_of(entry->d_name) == 'S';
    if (dir)
        (void)closedir(dir);
    return blocked;
}

void stall_look(struct stall *stall, struct paused *paused)
{
    (void)pthread_mutex_lock(&paused->lock);
    bool stands = paused->jumps && !paused->moving && paused->running > 0 &&
                  paused_next(paused) != UINT64_MAX &&
                  stall->monotonic_ns == atomic_load(&paused->monotonic_ns) &&
                  stall->running == paused->running;
    stall->monotonic_ns = atomic_load(&paused->monotonic_ns);
    stall->running = paused->running;
    (void)pthread_mutex_unlock(&paused->lock);
    stall->looks = stands && all_blocked() ? stall->looks + 1 : 0;
    if (stall->looks < LOOKS)
        return;
    stall->looks = 0;
    (void)pthread_mutex_lock(&paused->lock);
    if (stall->monotonic_ns == atomic_load(&paused->monotonic_ns) &&
        stall->running == paused->running) {
        paused->running = 0;
        paused_jumps(paused);
        paused->running += stall->running;
        leak_here("clock/stalled", NULL);
    }
    (void)pthread_mutex_unlock(&paused->lock);
}
