/* SPDX-License-Identifier: MIT */
/* Processes under a bench: forks are real, and what they become is asked of its cassette. */
#include "base/fd.h"
#include "interpose/calls.h"
#include "interpose/programs.h"
#include "interpose/spawn_actions.h"
#include <fcntl.h>
#include <paths.h>
#include <string.h>
#include <unistd.h>

static struct vitro_world *programs_here(const void *caller, const char *capability,
                                         struct lane **ret_lane)
{
    struct lane *lane = *ret_lane = lane_here(caller);
    struct vitro_world *world = lane ? lane_world(lane) : NULL;
    bool audited = world && world->audit_real;

    while (world && !world->programs)
        world = world->outer;
    if (!world && audited)
        leak_here(capability, caller);
    return world;
}

/* ---- fork */

pid_t call_fork(const void *caller)
{
    struct lane *lane;
    struct vitro_world *world = programs_here(caller, "proc/fork", &lane);

    if (!lane)
        return REAL.fork();
    inside_begin(lane);
    pid_t pid = world ? programs_fork(lane, world, fork_with_clock) : fork_with_clock();
    int code = errno;
    inside_end(lane);
    errno = code;
    return pid;
}

/* As fork: a child that shares the parent's memory could not ask for anything. */
pid_t call_vfork(const void *caller)
{
    return call_fork(caller);
}

/* ---- exec */

static int call_exec(const void *caller, const char *file, char *const argv[], char *const envp[],
                     bool search)
{
    struct lane *lane;
    struct vitro_world *world = programs_here(caller, "proc/exec", &lane);
    char *const *env = envp ? envp : environ;

    if (!world || !file || !argv || !argv[0])
        return search ? REAL.execvpe(file, argv, env) : REAL.execve(file, argv, env);
    if (world->programs->socket < 0) { /* the bench's own process would be gone */
        errno = EPERM;
        return -1;
    }
    inside_begin(lane);
    if (!envp && world->env)
        env = world->env;
    int r = programs_exec(world->programs, file, argv, env);
    inside_end(lane);
    errno = -r;
    return -1;
}

int call_execve(const void *caller, const char *path, char *const argv[], char *const envp[])
{
    return call_exec(caller, path, argv, envp, false);
}

int call_execv(const void *caller, const char *path, char *const argv[])
{
    return call_exec(caller, path, argv, NULL, false);
}

int call_execvp(const void *caller, const char *file, char *const argv[])
{
    return call_exec(caller, file, argv, NULL, true);
}

int call_execvpe(const void *caller, const char *file, char *const argv[], char *const envp[])
{
    return call_exec(caller, file, argv, envp, true);
}

/* ---- posix_spawn: a fork, and in the child what the actions and attributes say */

static int spawn(const void *caller, pid_t *ret, const char *file,
                 const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attributes,
                 char *const argv[], char *const envp[])
{
    if (actions && !spawn_actions_known())
        return ENOSYS;
    pid_t pid = call_fork(caller);
    if (pid < 0)
        return errno;
    if (pid == 0) {
        if (spawn_attributes_apply(attributes) == 0 && spawn_actions_apply(actions) == 0)
            (void)call_exec(caller, file, argv, envp, true);
        _exit(127);
    }
    if (ret)
        *ret = pid;
    return 0;
}

int call_posix_spawn(const void *caller, pid_t *restrict ret, const char *restrict path,
                     const posix_spawn_file_actions_t *actions,
                     const posix_spawnattr_t *restrict attributes, char *const argv[restrict],
                     char *const envp[restrict])
{
    struct lane *lane;

    return programs_here(caller, "proc/posix_spawn", &lane)
               ? spawn(caller, ret, path, actions, attributes, argv, envp)
               : REAL.posix_spawn(ret, path, actions, attributes, argv, envp);
}

int call_posix_spawnp(const void *caller, pid_t *ret, const char *file,
                      const posix_spawn_file_actions_t *actions,
                      const posix_spawnattr_t *attributes, char *const argv[], char *const envp[])
{
    struct lane *lane;

    return programs_here(caller, "proc/posix_spawn", &lane)
               ? spawn(caller, ret, file, actions, attributes, argv, envp)
               : REAL.posix_spawnp(ret, file, actions, attributes, argv, envp);
}

/* ---- the shell */

static pid_t shell(const void *caller, const char *command, int fd, int as)
{
    char *argv[] = {"sh", "-c", (char *)command, NULL};
    pid_t pid = call_fork(caller);

    if (pid != 0)
        return pid;
    if (fd >= 0 && fd != as)
        (void)dup2(fd, as);
    else if (fd >= 0)
        (void)fcntl(fd, F_SETFD, 0);
    (void)call_exec(caller, "sh", argv, NULL, true);
    _exit(127);
}

int call_system(const void *caller, const char *command)
{
    struct lane *lane;
    int status;

    if (!programs_here(caller, "proc/system", &lane))
        return REAL.system(command);
    if (!command)
        return 1;
    pid_t pid = shell(caller, command, -1, -1);
    if (pid < 0)
        return -1;
    pid_t r;
    do
        r = call_waitpid(caller, pid, &status, 0);
    while (r < 0 && errno == EINTR);
    return r < 0 ? -1 : status;
}

struct pipe_to {
    struct pipe_to *next;
    FILE *file;
    pid_t pid;
};
static pthread_mutex_t pipes_lock = PTHREAD_MUTEX_INITIALIZER;
static struct pipe_to *pipes;

FILE *call_popen(const void *caller, const char *command, const char *mode)
{
    struct lane *lane;
    bool reads = mode && *mode == 'r';
    int ends[2];

    if (!programs_here(caller, "proc/popen", &lane))
        return REAL.popen(command, mode);
    if (!mode || (*mode != 'r' && *mode != 'w') || !command) {
        errno = EINVAL;
        return NULL;
    }
    if (pipe2(ends, O_CLOEXEC) < 0)
        return NULL;
    FILE *file = fdopen(ends[reads ? 0 : 1], reads ? "r" : "w");
    pid_t pid = file ? shell(caller, command, ends[reads ? 1 : 0], reads ? 1 : 0) : -1;
    (void)REAL.close(ends[reads ? 1 : 0]);
    if (pid < 0) {
        if (file)
            (void)fclose(file);
        return NULL;
    }
    struct pipe_to *pipe = mem_alloc(sizeof *pipe);
    *pipe = (struct pipe_to){.file = file, .pid = pid};
    (void)pthread_mutex_lock(&pipes_lock);
    pipe->next = pipes;
    pipes = pipe;
    (void)pthread_mutex_unlock(&pipes_lock);
    return file;
}

int call_pclose(const void *caller, FILE *file)
{
    struct pipe_to *found = NULL;
    int status = -1;

    (void)pthread_mutex_lock(&pipes_lock);
    for (struct pipe_to **place = &pipes; *place; place = &(*place)->next)
        if ((*place)->file == file) {
            found = *place;
            *place = found->next;
            break;
        }
    (void)pthread_mutex_unlock(&pipes_lock);
    if (!found)
        return REAL.pclose(file);
    (void)fclose(file);
    pid_t pid = found->pid, r;
    free(found);
    do
        r = call_waitpid(caller, pid, &status, 0);
    while (r < 0 && errno == EINTR);
    return r < 0 ? -1 : status;
}
