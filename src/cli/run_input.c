/* SPDX-License-Identifier: MIT */
/* Standard input of a recorded run, given again: the file, or a pipe with what was read from it. As
 * much of that as a pipe holds is there before the program starts; a child feeds the rest. */
#include "cli/run_plan.h"
#include "base/fd.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PIPE_SIZE = 1 << 20 };

static void feed(int from, int to, bool ends)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)signal(SIGPIPE, SIG_DFL);
    (void)fcntl(to, F_SETFL, 0);
    while (sendfile(to, from, NULL, PIPE_SIZE) > 0)
        ;
    while (!ends)
        (void)pause(); /* its end was never read: it may not have come */
    _exit(0);
}

static int open_pipe(int from, bool ends, struct run_input *ret, struct err *err)
{
    int ends_of[2];

    if (pipe2(ends_of, O_CLOEXEC) < 0)
        return err_set(err, -errno, "make a pipe for standard input: %m");
    ret->fd = ends_of[0];
    CLEANUP(fd_close) int to = ends_of[1];
    (void)fcntl(to, F_SETPIPE_SZ, PIPE_SIZE);
    (void)fcntl(to, F_SETFL, O_NONBLOCK);
    ssize_t count;
    while ((count = sendfile(to, from, NULL, PIPE_SIZE)) > 0)
        ;
    if (count == 0 && ends)
        return 0;
    ret->feeder = fork();
    if (ret->feeder == 0) {
        (void)close(ret->fd);
        feed(from, to, ends);
    }
    return ret->feeder < 0 ? err_set(err, -errno, "feed standard input: %m") : 0;
}

int run_input_open(const char *bundle, const struct run_file *file, struct run_input *ret,
                   struct err *err)
{
    CLEANUP(mem_free) char *path = mem_format("%s/stdin", bundle);

    ret->fd = -1;
    if (file->input == BOX_INPUT_UNKNOWN)
        return 0;
    CLEANUP(fd_close)
    int fd = open(file->input == BOX_INPUT_NOTHING ? "/dev/null" : path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_set(err, -errno, "open the recorded standard input '%s': %m", path);
    if (file->input == BOX_INPUT_STREAM)
        return open_pipe(fd, file->input_ends, ret, err);
    if (file->input == BOX_INPUT_FILE && lseek(fd, (off_t)file->input_at, SEEK_SET) < 0)
        return err_set(err, -errno, "seek in '%s': %m", path);
    ret->fd = take_fd(&fd);
    return 0;
}

void run_input_close(struct run_input *input)
{
    fd_close(input->fd);
    if (input->feeder > 0) {
        (void)kill(input->feeder, SIGKILL);
        (void)waitpid(input->feeder, NULL, 0);
    }
    *input = (struct run_input){.fd = -1};
}
