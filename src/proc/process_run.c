/* SPDX-License-Identifier: MIT */
#include "proc/process_run.h"
#include "base/fd.h"
#include "base/wall.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OUTPUT_MAX = 64 << 20, PIECE = 65536 };

void process_output_done(struct process_output *output)
{
    for (int i = 0; i < 3; i++)
        buf_done(&output->streams[i]);
    recording_done(&output->recording);
}

struct pipes {
    int ours[3], theirs[3];
};

static void close_pipes(struct pipes *pipes)
{
    for (int i = 0; i < 3; i++) {
        fd_close(pipes->ours[i]);
        fd_close(pipes->theirs[i]);
    }
}

static int open_pipes(struct pipes *pipes)
{
    *pipes = (struct pipes){{-1, -1, -1}, {-1, -1, -1}};
    for (int i = 0; i < 3; i++) {
        int ends[2];
        if (pipe2(ends, O_CLOEXEC) < 0)
            return -errno;
        pipes->ours[i] = ends[i == 0];
        pipes->theirs[i] = ends[i != 0];
        (void)fcntl(pipes->ours[i], F_SETFL, O_NONBLOCK);
    }
    return 0;
}

static int start(const struct vitro_process_call *call, const struct pipes *pipes, pid_t *ret)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t set;

    if (posix_spawn_file_actions_init(&actions) != 0 || posix_spawnattr_init(&attributes) != 0)
        return -ENOMEM;
    for (int i = 0; i < 3; i++)
        (void)posix_spawn_file_actions_adddup2(&actions, pipes->theirs[i], i);
    if (call->directory)
        (void)posix_spawn_file_actions_addchdir_np(&actions, call->directory);
    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    (void)posix_spawnattr_setsigdefault(&attributes, &set);
    (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    int r = posix_spawnp(ret, call->argv[0], &actions, &attributes, (char *const *)call->argv,
                         call->envp ? (char *const *)call->envp : environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)posix_spawnattr_destroy(&attributes);
    return -r;
}

/* send() with MSG_NOSIGNAL is for sockets only: SIGPIPE is kept from this thread meanwhile. */
static ssize_t write_quietly(int fd, const void *bytes, size_t length)
{
    sigset_t set, old, pending;
    const struct timespec now = {0, 0};

    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    (void)pthread_sigmask(SIG_BLOCK, &set, &old);
    ssize_t count = write(fd, bytes, length);
    int saved = errno;
    if (count < 0 && saved == EPIPE && sigpending(&pending) == 0 && sigismember(&pending, SIGPIPE))
        (void)sigtimedwait(&set, NULL, &now);
    (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
    errno = saved;
    return count;
}

static void feed(const struct vitro_process_call *call, struct pipes *pipes, size_t *fed,
                 struct recording *recording)
{
    size_t left = call->input_length - *fed;
    ssize_t count =
        left ? write_quietly(pipes->ours[0], (const char *)call->input + *fed, left) : 0;

    if (count > 0) {
        recording_add_event(recording, 0, RECORDING_IN, (uint64_t)count);
        *fed += (size_t)count;
    }
    if (*fed == call->input_length || (count < 0 && errno != EAGAIN && errno != EINTR))
        pipes->ours[0] = fd_close(pipes->ours[0]);
}

static int drain(struct pipes *pipes, int stream, size_t limit, struct process_output *ret)
{
    char piece[PIECE];
    ssize_t count = read(pipes->ours[stream], piece, sizeof piece);

    if (count < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (count <= 0) {
        pipes->ours[stream] = fd_close(pipes->ours[stream]);
        return 0;
    }
    if (ret->streams[1].length + ret->streams[2].length + (size_t)count > limit)
        return -EFBIG;
    buf_add(&ret->streams[stream], piece, (size_t)count);
    recording_add_event(&ret->recording, 0, stream == 1 ? RECORDING_OUT : RECORDING_ERR,
                        (uint64_t)count);
    return 0;
}

static int follow(const struct vitro_process_call *call, struct pipes *pipes,
                  struct process_output *ret)
{
    size_t fed = 0, limit = call->output_max ? call->output_max : OUTPUT_MAX;
    int r = 0;

    feed(call, pipes, &fed, &ret->recording);
    while (r == 0 && (pipes->ours[1] >= 0 || pipes->ours[2] >= 0)) {
        struct pollfd fds[3] = {
            {pipes->ours[0], POLLOUT, 0}, {pipes->ours[1], POLLIN, 0}, {pipes->ours[2], POLLIN, 0}};
        if (poll(fds, 3, -1) < 0 && errno != EINTR)
            return -errno;
        if (fds[0].revents)
            feed(call, pipes, &fed, &ret->recording);
        for (int i = 1; r == 0 && i < 3; i++)
            if (fds[i].revents)
                r = drain(pipes, i, limit, ret);
    }
    return r;
}

int process_run(const struct vitro_process_call *call, struct process_output *ret, struct err *err)
{
    struct pipes pipes;
    struct recording *recording = &ret->recording;
    uint64_t started = wall_monotonic_ns();
    pid_t pid = 0;
    int status = 0, r = open_pipes(&pipes);

    if (r == 0)
        r = start(call, &pipes, &pid);
    for (int i = 0; i < 3; i++)
        pipes.theirs[i] = fd_close(pipes.theirs[i]);
    if (r == 0) {
        r = follow(call, &pipes, ret);
        if (r < 0)
            (void)kill(pid, SIGKILL);
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
            ;
    }
    close_pipes(&pipes);
    if (r < 0)
        return err_set(err, r, "run '%s': %s", call->argv[0],
                       r == -EFBIG ? "more output than output_max" : strerror(-r));
    recording->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    recording->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    recording->real_ns = wall_monotonic_ns() - started;
    recording->recorded_at_ns = wall_now_ns();
    recording->duration_ns = (int64_t)recording->real_ns;
    recording_add_event(recording, recording->duration_ns, RECORDING_EXIT, 0);
    return 0;
}
