/* SPDX-License-Identifier: MIT */
/* exec: a program without a terminal. Its input is given before it starts, its output is looked at
 * when it has ended. Without a word about it, it must exit with 0. */
#include "script/play.h"
#include "sandbox/shim.h"
#include "base/fd.h"
#include "base/text.h"
#include "base/wall.h"
#include "base/when.h"
#include "match/regex.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OUTPUT_MAX = 256 << 20, PLAIN_SECONDS = 60 };

struct exec {
    const char *const *argv;
    int stdio[3];       /* owned memory files */
    bool exits_checked; /* a line says how it ends */
};

static int memory_file(const char *name)
{
    return fd_raise(memfd_create(name, MFD_CLOEXEC), STDERR_FILENO + 1);
}

/* `stdin` lines come first in meaning, wherever they stand. */
static int prepare(struct play *play, const struct vt_line *line, struct exec *exec,
                   struct err *err)
{
    for (int i = 0; i < 3; i++)
        if ((exec->stdio[i] = memory_file(i ? "output" : "input")) < 0)
            return err_set(err, -errno, "make a memory file: %m");
    for (size_t i = 0; i < line->line_count; i++) {
        const char *verb = line->lines[i].count ? vt_keyword(&line->lines[i].words[0]) : NULL;
        const char *bytes;
        size_t length;
        struct words w = {
            .line = &line->lines[i], .at = 1, .play = play, .arena = &play->arena, .err = err};

        if (text_equal(verb, "exits"))
            exec->exits_checked = true;
        if (!text_equal(verb, "stdin"))
            continue;
        int r = words_bytes(&w, "a text", &bytes, &length);
        if (r < 0 || (r = fd_write_full(exec->stdio[0], bytes, length)) < 0)
            return r;
    }
    (void)lseek(exec->stdio[0], 0, SEEK_SET);
    (void)fcntl(exec->stdio[1], F_SETFL, O_APPEND);
    (void)fcntl(exec->stdio[2], F_SETFL, O_APPEND);
    return 0;
}

static int run_boxed(struct play *play, const struct exec *exec, struct err *err)
{
    struct box_options box = {0};
    struct box_child child;
    struct box_findings *findings = arena_alloc(&play->arena, sizeof *findings);
    int r = play_box(play, &box, err);

    if (r < 0 || (r = play_record(play, &box.record, err)) < 0)
        return r;
    box.argv = exec->argv;
    memcpy(box.stdio, exec->stdio, sizeof box.stdio);
    r = box_spawn(&box, &child, err);
    if (r == 0)
        r = box_wait(&child, findings, err);
    if (r == 0) {
        play->output.code = box_exit_code(&box, findings);
        play->output.virtual_ns = findings->virtual_ns;
        play_clock_after(play, &box, findings->virtual_ns);
        if (findings->text[0] && findings->outcome != BOX_EXITED)
            buf_addf(&play->output.error, "vitro: %s\n", findings->text);
        if (findings->proc.text[0])
            buf_addf(&play->output.error, "vitro: %s\n", findings->proc.text);
        for (size_t i = 0; i < findings->leak_count && i < BOX_LEAKS_MAX; i++)
            buf_addf(&play->output.error, "vitro: leak %s by %s\n", findings->leaks[i].capability,
                     findings->leaks[i].process);
    }
    box.argv = NULL;
    play->options->axes.done(&box);
    return r;
}

int play_spawn(struct play *play, const char *const *argv, const int stdio[3], pid_t *ret)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, all;

    posix_spawn_file_actions_init(&actions);
    for (int i = 0; i < 3; i++)
        posix_spawn_file_actions_adddup2(&actions, stdio[i], i);
    posix_spawn_file_actions_addchdir_np(&actions, play->sandbox->here);
    posix_spawnattr_init(&attributes);
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                              POSIX_SPAWN_SETPGROUP);
    int r =
        posix_spawnp(ret, argv[0], &actions, &attributes, (char *const *)argv, play->sandbox->env);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return -r;
}

/* `timeout`, which boxes know by themselves. */
static uint64_t ceiling_ns(const struct play *play)
{
    uint64_t ns = 0;

    for (size_t i = 0; i < play->axis_count; i++)
        if (strcmp(play->axes[i].name, "timeout") == 0)
            (void)when_parse_duration(play->axes[i].value, &ns, NULL);
    return ns ? ns : PLAIN_SECONDS * NS_PER_SEC;
}

int play_await(const struct play *play, pid_t pid)
{
    CLEANUP(fd_close) int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    uint64_t ms = ceiling_ns(play) / NS_PER_MS;
    bool ended = poll(&wait, 1, ms < INT_MAX ? (int)ms : INT_MAX) > 0;
    int status = 0;

    if (!ended)
        (void)kill(-pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return !ended ? -ETIMEDOUT : WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Without a box: real time, with a ceiling. */
static int run_plain(struct play *play, const struct exec *exec, struct err *err)
{
    pid_t pid;
    int r = -play_spawn(play, exec->argv, exec->stdio, &pid);

    if (r == ENOENT || r == EACCES) {
        play->output.code = r == ENOENT ? 127 : 126;
        buf_addf(&play->output.error, "vitro: '%s': %s\n", exec->argv[0], strerror(r));
        return 0;
    }
    if (r)
        return err_set(err, -r, "start '%s': %s", exec->argv[0], strerror(r));
    play->output.code = play_await(play, pid);
    if (play->output.code < 0) {
        buf_adds(&play->output.error, "vitro: killed after ");
        when_add_duration(&play->output.error, ceiling_ns(play));
        buf_adds(&play->output.error, " of real time\n");
        buf_adds(&play->output.error, "hint: 'timeout DURATION' gives it longer\n");
        play->output.code = 124;
    }
    return 0;
}

static int collect(struct play *play, const struct exec *exec, struct err *err)
{
    CLEANUP(buf_done) struct buf ours = play->output.error;
    struct buf *const to[] = {&play->output.out, &play->output.error};

    play->output.error = (struct buf){0};
    buf_clear(&play->output.out);
    for (int i = 0; i < 2; i++) {
        (void)lseek(exec->stdio[i + 1], 0, SEEK_SET);
        int r = fd_read_all(exec->stdio[i + 1], to[i], OUTPUT_MAX);
        if (r < 0)
            return err_set(err, r, "read the output: %s", strerror(-r));
    }
    buf_add(&play->output.error, buf_text(&ours), ours.length);
    return 0;
}

static int wrong_exit(struct play *play, uint64_t wanted)
{
    CLEANUP(buf_done) struct buf text = {0};

    text_add_tail(&text, "standard output", &play->output.out);
    text_add_tail(&text, "standard error", &play->output.error);
    return play_fail(play, "exited with %d, not %llu\n%s", play->output.code,
                     (unsigned long long)wanted, buf_text(&text));
}

int verb_exec(struct play *play, struct words *w)
{
    const char *const *argv;
    struct exec exec = {.stdio = {-1, -1, -1}};
    int r = words_command(w, &argv);

    if (r < 0 || !play)
        return r;
    ((const char **)argv)[0] = play_program(play, argv[0]);
    exec.argv = argv;
    buf_clear(&play->output.error);
    play->output.virtual_ns = 0;
    play->sandbox->only_boxes &= !play->plain;
    if ((r = shim_flush(play->sandbox, w->err)) == 0 &&
        (r = prepare(play, w->line, &exec, w->err)) == 0 &&
        (r = play->plain ? run_plain(play, &exec, w->err) : run_boxed(play, &exec, w->err)) == 0)
        r = collect(play, &exec, w->err);
    for (int i = 0; i < 3; i++)
        fd_close(exec.stdio[i]);
    if (r < 0)
        return r;
    if (!exec.exits_checked && play->output.code)
        return wrong_exit(play, 0);
    return play_lines(play, w->line->lines, w->line->line_count, AT_EXEC);
}

int verb_stdin(struct play *play, struct words *w)
{
    const char *bytes;
    size_t length;

    (void)play; /* it was given before the program started */
    return words_bytes(w, "a text", &bytes, &length);
}

/* to FILE: keeps it, for a line behind or a program */
static int keep_output(struct play *play, struct words *w, const struct buf *output)
{
    const char *path;
    int r = words_text(w, "a path", &path);

    return r < 0 || !play
               ? r
               : sandbox_write(play->sandbox, path, buf_text(output), output->length, w->err);
}

int verb_stdout(struct play *play, struct words *w)
{
    if (words_take(w, "to"))
        return keep_output(play, w, play ? &play->output.out : NULL);
    return play_compare(play, w, "standard output", play ? buf_text(&play->output.out) : "",
                        play ? play->output.out.length : 0);
}

int verb_stderr(struct play *play, struct words *w)
{
    if (words_take(w, "to"))
        return keep_output(play, w, play ? &play->output.error : NULL);
    return play_compare(play, w, "standard error", play ? buf_text(&play->output.error) : "",
                        play ? play->output.error.length : 0);
}

static int signal_number(const char *name)
{
    name += text_starts(name, "SIG") ? 3 : 0;
    for (int i = 1; i < 32; i++)
        if (text_equal(sigabbrev_np(i), name))
            return i;
    return 0;
}

/* exits CODE, exits signal NAME */
int verb_exits(struct play *play, struct words *w)
{
    uint64_t code;
    int r;

    if (words_take(w, "signal")) {
        const char *name;
        if ((r = words_text(w, "the name of a signal, as TERM", &name)) < 0)
            return r;
        code = 128 + (uint64_t)signal_number(name);
        if (code == 128) {
            w->at--;
            return words_wrong(w, "'%s' is not a signal, as TERM or KILL", name);
        }
    } else if ((r = words_number(w, "an exit code", 255, &code)) < 0) {
        return r;
    }
    if (!play)
        return 0;
    if (play->session)
        return play_session_exits(play, (int)code);
    return play->output.code == (int)code ? 0 : wrong_exit(play, code);
}

int verb_takes(struct play *play, struct words *w)
{
    uint64_t ns;
    int r = words_duration(w, "how long, in virtual time", &ns);
    CLEANUP(buf_done) struct buf text = {0};

    if (r < 0 || !play || play->output.virtual_ns == ns)
        return r;
    when_add_duration(&text, play->output.virtual_ns);
    buf_adds(&text, ", not ");
    when_add_duration(&text, ns);
    return play_fail(play, "took %s", buf_text(&text));
}

/* capture NAME /expression with a (group)/ [from stderr] */
int verb_capture(struct play *play, struct words *w)
{
    const char *name;
    struct words_pattern pattern;
    struct words at = *w;
    int r = words_text(w, "the name of a variable", &name);

    if (r < 0 || (r = words_pattern(w, "an expression with a (group)", &pattern)) < 0)
        return r;
    if (!pattern.regex) {
        at.at++;
        w->at = at.at;
        return words_wrong(w, "expected an expression, as /id: (.*)/");
    }
    int which = words_take(w, "from") ? WORDS_CHOICE(w, "stdout", "stderr") : 0;
    if (which < 0 || !play)
        return which < 0 ? which : 0;
    CLEANUP(buf_done) struct buf found = {0};
    bool error = which == 1;
    const struct buf *from = error ? &play->output.error : &play->output.out;
    if (!play_capture(pattern.text, buf_text(from), from->length, &found))
        return play_fail(play, "standard %s does not match /%s/", error ? "error" : "output",
                         pattern.text);
    play_set(play, name, buf_text(&found), false);
    return 0;
}
