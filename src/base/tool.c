/* SPDX-License-Identifier: MIT */
#include "base/tool.h"
#include "base/fd.h"
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OUTPUT_MAX = 64 << 20 };

/* A directory may have the name of a program, and may be entered. */
static bool is_program(const char *file)
{
    struct stat st;

    return stat(file, &st) == 0 && S_ISREG(st.st_mode) && access(file, X_OK) == 0;
}

char *tool_find(const char *name, const char *path, const char *except)
{
    if (strchr(name, '/'))
        return is_program(name) ? mem_dup(name) : NULL;
    path = path ? path : getenv("PATH");
    for (const char *p = path ? path : "/usr/bin:/bin"; *p;) {
        size_t length = strcspn(p, ":");
        CLEANUP(mem_free) char *directory = mem_dupn(p, length);
        CLEANUP(mem_free) char *file = mem_format("%s/%s", directory, name);
        if (length && !(except && strcmp(directory, except) == 0) && is_program(file))
            return take_ptr(&file);
        p += length + (p[length] == ':');
    }
    return NULL;
}

int tool_run(const char *const *argv, const char *directory, struct buf *ret_output,
             int *ret_status)
{
    CLEANUP(fd_close) int output = memfd_create("output", MFD_CLOEXEC);
    posix_spawn_file_actions_t actions;
    pid_t pid;

    if (output < 0)
        return -errno;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, output, 1);
    posix_spawn_file_actions_adddup2(&actions, output, 2);
    if (directory)
        posix_spawn_file_actions_addchdir_np(&actions, directory);
    int r = posix_spawnp(&pid, argv[0], &actions, NULL, (char *const *)argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (r)
        return -r;
    while (waitpid(pid, ret_status, 0) < 0 && errno == EINTR)
        ;
    (void)lseek(output, 0, SEEK_SET);
    (void)fd_read_all(output, ret_output, OUTPUT_MAX);
    return 0;
}
