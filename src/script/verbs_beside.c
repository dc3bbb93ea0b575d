/* SPDX-License-Identifier: MIT */
/* start: a program beside the scenario, as a server is, without a box and in real time. What it
 * writes goes to a file, of whose growth the kernel tells, so waiting for a text does not poll. It
 * is stopped by a line, or by the end of the scenario. */
#include "script/play.h"
#include "sandbox/shim.h"
#include "base/fd.h"
#include "base/text.h"
#include "base/wall.h"
#include "base/when.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { UNTIL_SECONDS = 15, STOP_SECONDS = 5, END_SECONDS = 60 };

struct play_beside {
    struct play_beside *next;
    char *name;
    pid_t pid; /* 0: it was stopped */
    int pidfd, output;
};

static struct play_beside *find(const struct play *play, const char *name)
{
    struct play_beside *one = play->beside;

    while (one && (!one->pid || strcmp(one->name, name) != 0))
        one = one->next;
    return one;
}

static int read_output(const struct play_beside *one, struct buf *ret)
{
    buf_clear(ret);
    (void)lseek(one->output, 0, SEEK_SET);
    return fd_read_all(one->output, ret, PLAY_FILE_MAX);
}

/* start NAME PROGRAM [ARGUMENT...] */
int verb_start(struct play *play, struct words *w)
{
    const char *name, *const *argv;
    int r = words_text(w, "a name for it", &name);

    if (r == 0 && strchr(name, '/')) {
        w->at--;
        return words_wrong(w, "'%s' is not a name: write one for 'stop', and then the program",
                           name);
    }
    if (r < 0 || (r = words_command(w, &argv)) < 0 || !play)
        return r;
    if (find(play, name))
        return play_fail(play, "there is a program named '%s' already", name);
    ((const char **)argv)[0] = play_program(play, argv[0]);
    play->sandbox->only_boxes = false;
    if ((r = shim_flush(play->sandbox, w->err)) < 0)
        return r;
    CLEANUP(mem_free) char *path = mem_format("%s/beside-%s.log", play->sandbox->root, name);
    CLEANUP(fd_close) int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    CLEANUP(fd_close) int output =
        open(path, O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
    pid_t pid;
    if (nothing < 0 || output < 0)
        return err_set(w->err, -errno, "open '%s': %m", path);
    r = play_spawn(play, argv, (const int[]){nothing, output, output}, &pid);
    if (r < 0)
        return play_fail(play, "start '%s': %s", argv[0], strerror(-r));
    struct play_beside *one = mem_alloc(sizeof *one);
    *one = (struct play_beside){.next = play->beside,
                                .name = mem_dup(name),
                                .pid = pid,
                                .pidfd = (int)syscall(SYS_pidfd_open, pid, 0),
                                .output = take_fd(&output)};
    play->beside = play->current = one;
    buf_clear(&play->output.out);
    return play_lines(play, w->line->lines, w->line->line_count, AT_BESIDE);
}

static int told_too_early(struct play *play, const struct words_pattern *pattern, const char *why)
{
    CLEANUP(buf_done) struct buf text = {0};

    text_add_tail(&text, "its output", &play->output.out);
    return play_fail(play, "%s %s before it wrote %c%s%c\n%s", play->current->name, why,
                     pattern->regex ? '/' : '"', pattern->text, pattern->regex ? '/' : '"',
                     buf_text(&text));
}

/* until TEXT */
int verb_until(struct play *play, struct words *w)
{
    struct words_pattern pattern;
    int r = words_pattern(w, "a text or an expression", &pattern);

    if (r < 0 || !play)
        return r;
    CLEANUP(mem_free) char *path =
        mem_format("%s/beside-%s.log", play->sandbox->root, play->current->name);
    CLEANUP(fd_close) int watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    uint64_t deadline_ns = wall_monotonic_ns() + UNTIL_SECONDS * NS_PER_SEC;

    if (watch < 0 || inotify_add_watch(watch, path, IN_MODIFY) < 0)
        return err_set(w->err, -errno, "watch '%s': %m", path);
    for (bool ended = false;;) {
        char events[4096];
        struct pollfd wait[] = {{.fd = watch, .events = POLLIN},
                                {.fd = play->current->pidfd, .events = POLLIN}};
        uint64_t now = wall_monotonic_ns();

        if ((r = read_output(play->current, &play->output.out)) < 0)
            return err_set(w->err, r, "read what '%s' wrote: %s", play->current->name,
                           strerror(-r));
        if (play_holds(&pattern, buf_text(&play->output.out), play->output.out.length))
            return 0;
        if (ended || now >= deadline_ns)
            return told_too_early(play, &pattern, ended ? "ended" : "ran for 15 s of real time");
        (void)poll(wait, ARRAY_LENGTH(wait), (int)((deadline_ns - now) / NS_PER_MS) + 1);
        ended = wait[1].revents != 0; /* what it wrote last is looked at once more */
        while (read(watch, events, sizeof events) > 0)
            ;
    }
}

static bool has_ended(const struct play_beside *one, int seconds)
{
    struct pollfd wait = {.fd = one->pidfd, .events = POLLIN};

    return poll(&wait, 1, seconds * 1000) > 0;
}

/* Its whole group; how it ended, as a shell would say. */
static int stop(struct play_beside *one)
{
    int status = 0;

    if (!has_ended(one, 0))
        (void)kill(-one->pid, SIGTERM);
    if (!has_ended(one, STOP_SECONDS))
        (void)kill(one->pid, SIGKILL);
    while (waitpid(one->pid, &status, 0) < 0 && errno == EINTR)
        ;
    (void)kill(-one->pid, SIGKILL); /* whoever is left of the group */
    one->pid = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* stop NAME, wait NAME */
static int end(struct play *play, struct words *w, bool by_itself)
{
    const char *name;
    int r = words_text(w, "the name of a program that was started", &name);

    if (r < 0 || !play)
        return r;
    play->current = find(play, name);
    if (!play->current)
        return play_fail(play, "no program named '%s' runs beside the scenario", name);
    if (by_itself && !has_ended(play->current, END_SECONDS))
        return play_fail(play, "%s still runs after %d s of real time", name, END_SECONDS);
    play->output.code = stop(play->current);
    buf_clear(&play->output.error);
    if ((r = read_output(play->current, &play->output.out)) < 0)
        return err_set(w->err, r, "read what '%s' wrote: %s", name, strerror(-r));
    return play_lines(play, w->line->lines, w->line->line_count, AT_BESIDE);
}

int verb_stop(struct play *play, struct words *w)
{
    return end(play, w, false);
}

int verb_wait(struct play *play, struct words *w)
{
    return end(play, w, true);
}

void play_tell_beside(const struct play *play, struct buf *ret)
{
    for (const struct play_beside *one = play->beside; one; one = one->next) {
        CLEANUP(buf_done) struct buf output = {0};
        CLEANUP(mem_free) char *name = mem_format("%s, beside the scenario", one->name);
        if (read_output(one, &output) == 0 && output.length)
            text_add_tail(ret, name, &output);
    }
}

void play_stop_all(struct play *play)
{
    for (struct play_beside *one = play->beside, *next; one; one = next) {
        next = one->next;
        if (one->pid)
            (void)stop(one);
        fd_close(one->pidfd);
        fd_close(one->output);
        free(one->name);
        free(one);
    }
    play->beside = play->current = NULL;
}
