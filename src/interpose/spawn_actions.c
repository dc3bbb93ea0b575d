/* SPDX-License-Identifier: MIT */
#include "interpose/spawn_actions.h"
#include "base/cleanup.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

enum { DO_CLOSE, DO_DUP2, DO_OPEN, DO_CHDIR, DO_FCHDIR, DO_CLOSEFROM };
struct action { /* as glibc has had it since 2.29 */
    int tag;
    union {
        struct {
            int fd, to;
        } fds;
        struct {
            int fd;
            char *path;
            int flags;
            mode_t mode;
        } open;
        char *path;
    };
};

bool spawn_actions_known(void)
{
    posix_spawn_file_actions_t list;
    bool known = posix_spawn_file_actions_init(&list) == 0;

    known = known && posix_spawn_file_actions_addclose(&list, 71) == 0 &&
            posix_spawn_file_actions_adddup2(&list, 72, 73) == 0 &&
            posix_spawn_file_actions_addopen(&list, 74, "/x", 75, 0640) == 0 &&
            posix_spawn_file_actions_addchdir_np(&list, "/y") == 0 &&
            posix_spawn_file_actions_addfchdir_np(&list, 76) == 0;
    const struct action *actions = known ? (const void *)list.__actions : NULL;
    known = known && list.__used == 5 && actions[0].tag == DO_CLOSE && actions[0].fds.fd == 71 &&
            actions[1].tag == DO_DUP2 && actions[1].fds.fd == 72 && actions[1].fds.to == 73 &&
            actions[2].tag == DO_OPEN && actions[2].open.fd == 74 &&
            strcmp(actions[2].open.path, "/x") == 0 && actions[2].open.flags == 75 &&
            actions[2].open.mode == 0640 && actions[3].tag == DO_CHDIR &&
            strcmp(actions[3].path, "/y") == 0 && actions[4].tag == DO_FCHDIR &&
            actions[4].fds.fd == 76;
    (void)posix_spawn_file_actions_destroy(&list);
    return known;
}

static int apply(const struct action *action)
{
    int fd;

    switch (action->tag) {
    case DO_CLOSE:
        (void)close(action->fds.fd);
        return 0;
    case DO_DUP2:
        if (action->fds.fd == action->fds.to)
            return fcntl(action->fds.fd, F_SETFD, 0);
        return dup2(action->fds.fd, action->fds.to) < 0 ? -1 : 0;
    case DO_OPEN:
        fd = open(action->open.path, action->open.flags, action->open.mode);
        if (fd < 0 || fd == action->open.fd)
            return fd < 0 ? -1 : 0;
        (void)dup2(fd, action->open.fd);
        return close(fd);
    case DO_CHDIR:
        return chdir(action->path);
    case DO_FCHDIR:
        return fchdir(action->fds.fd);
    case DO_CLOSEFROM:
        return 0; /* nothing is inherited: the program does not run in this process */
    default:
        errno = ENOSYS;
        return -1;
    }
}

int spawn_actions_apply(const posix_spawn_file_actions_t *actions)
{
    for (int i = 0; actions && i < actions->__used; i++)
        if (apply((const struct action *)(const void *)actions->__actions + i) < 0)
            return -errno;
    return 0;
}

int spawn_attributes_apply(const posix_spawnattr_t *attributes)
{
    short flags = 0;
    sigset_t set;
    pid_t group;

    if (!attributes)
        return 0;
    (void)posix_spawnattr_getflags(attributes, &flags);
    (void)posix_spawnattr_getpgroup(attributes, &group);
    if (flags & POSIX_SPAWN_SETPGROUP && setpgid(0, group) < 0)
        return -errno;
    if (flags & POSIX_SPAWN_SETSID && setsid() < 0)
        return -errno;
    if (flags & POSIX_SPAWN_SETSIGDEF && posix_spawnattr_getsigdefault(attributes, &set) == 0)
        for (int i = 1; i < NSIG; i++)
            if (sigismember(&set, i) == 1)
                (void)signal(i, SIG_DFL);
    if (flags & POSIX_SPAWN_SETSIGMASK && posix_spawnattr_getsigmask(attributes, &set) == 0)
        (void)sigprocmask(SIG_SETMASK, &set, NULL);
    return 0;
}
