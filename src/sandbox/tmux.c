/* SPDX-License-Identifier: MIT */
/* A tmux server of the sandbox's own. It starts with the first command that needs one, listens at
 * the sandbox's socket and reads no configuration; the person's own server is never asked. */
#include "sandbox/shim.h"
#include "base/fd.h"
#include "base/text.h"
#include "base/tool.h"
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TMUX_OUTPUT_MAX = 64 << 20 };

const char *sandbox_tmux_socket(struct sandbox *sandbox)
{
    sandbox->tmux_asked = true;
    return sandbox->socket;
}

/* Only who wants tmux needs a path that a socket can have. */
static int check_socket(const struct sandbox *sandbox, struct err *err)
{
    if (strlen(sandbox->socket) < sizeof((struct sockaddr_un *)0)->sun_path)
        return 0;
    err_set(err, -ENAMETOOLONG, "tmux: '%s' is too long for a socket", sandbox->socket);
    return err_hint(err, "set TMPDIR to a shorter path");
}

int sandbox_tmux_install(struct sandbox *sandbox, struct err *err)
{
    if (shim_is_installed(sandbox, "tmux"))
        return 0;
    int r = check_socket(sandbox, err);
    if (r == 0)
        r = shim_set_stdin(sandbox, "tmux", false, err);
    return r < 0 ? r
                 : shim_set_else(sandbox, "tmux",
                                 json_pack("{s:s}", "tmux", sandbox_tmux_socket(sandbox)), err);
}

/* The socket is ours to choose. */
static int check_args(const char *const *args, struct err *err)
{
    for (; *args && (*args)[0] == '-' && (*args)[1]; args++)
        if ((*args)[1] == 'L' || (*args)[1] == 'S')
            return err_set(err, -EPERM, "tmux %s: a sandbox only asks its own server", *args);
    return 0;
}

static char *real_tmux(const struct sandbox *sandbox)
{
    const char *path = sandbox_env_get(sandbox, "PATH");

    return tool_find("tmux", path ? path : "", sandbox->bin);
}

int sandbox_tmux(struct sandbox *sandbox, const char *const *args, struct buf *ret_output,
                 struct err *err)
{
    CLEANUP(mem_free) char *real = real_tmux(sandbox);
    CLEANUP(fd_close) int output = memfd_create("tmux", MFD_CLOEXEC);
    posix_spawn_file_actions_t actions;
    size_t count = 0;
    int status = 0;
    pid_t pid;

    int r = check_args(args, err);
    if (r < 0 || (r = check_socket(sandbox, err)) < 0)
        return r;
    if (!real) {
        err_set(err, -ENOENT, "there is no tmux on PATH");
        return err_hint(err, "install tmux, or write 'needs tmux' to skip where it is missing");
    }
    if (output < 0)
        return err_set(err, -errno, "make a memory file: %m");
    while (args[count])
        count++;
    const char **argv = mem_alloc((count + 6) * sizeof *argv);
    memcpy(argv, (const char *[]){"tmux", "-f", "/dev/null", "-S", sandbox_tmux_socket(sandbox)},
           5 * sizeof *argv);
    memcpy(argv + 5, args, count * sizeof *argv);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, output, 1);
    posix_spawn_file_actions_adddup2(&actions, output, 2);
    posix_spawn_file_actions_addchdir_np(&actions, sandbox->here);
    r = posix_spawn(&pid, real, &actions, NULL, (char *const *)argv, sandbox->env);
    posix_spawn_file_actions_destroy(&actions);
    free(argv);
    if (r)
        return err_set(err, -r, "run '%s': %s", real, strerror(r));
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    (void)lseek(output, 0, SEEK_SET);
    r = fd_read_all(output, ret_output, TMUX_OUTPUT_MAX);
    if (r < 0)
        return err_set(err, r, "output of tmux: %s", strerror(-r));
    while (ret_output->length && ret_output->data[ret_output->length - 1] == '\n')
        buf_cut(ret_output, ret_output->length - 1);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* tmux tells facts and rows at once, so they belong together. The attributes of a row go on in the
 * next one, and line drawing is the second set of characters. */
int sandbox_tmux_pane(struct sandbox *sandbox, const char *target, unsigned *ret_rows,
                      unsigned *ret_cols, struct buf *ret, struct err *err)
{
    static const char facts[] =
        "#{pane_height} #{pane_width} #{cursor_y} #{cursor_x} "
        "#{cursor_flag} #{alternate_on} "
        "#{?#{==:#{pane_title},#{host}},,#{pane_title}}"; /* a name of its own */
    const char *const args[] = {"-u", "display-message", "-p", "-t", target, facts,
                                ";",  "capture-pane",    "-e", "-p", "-t",   target,
                                NULL};
    CLEANUP(buf_done) struct buf told = {0};
    unsigned y, x, shown, alternate, row = 0;
    int title = 0;
    int r = sandbox_tmux(sandbox, args, &told, err);

    if (r < 0)
        return r;
    if (r > 0 || sscanf(buf_text(&told), "%u %u %u %u %u %u%n", ret_rows, ret_cols, &y, &x, &shown,
                        &alternate, &title) != 6)
        return err_set(err, -ENOENT, "tmux has no pane '%s': %s", target, buf_text(&told));
    const char *at = buf_text(&told) + title;
    at += *at == ' '; /* a title may be empty */
    size_t length = strcspn(at, "\n");
    buf_addf(ret, "\033)0%s\033]2;%.*s\a", alternate ? "\033[?1049h" : "", (int)length, at);
    for (at += length; *at == '\n'; at += length) {
        length = strcspn(++at, "\n");
        buf_addf(ret, "\033[%u;1H%.*s", ++row, (int)length, at);
    }
    buf_addf(ret, "\017\033[m\033[%u;%uH%s", y + 1, x + 1, shown ? "" : "\033[?25l");
    return 0;
}
