/* SPDX-License-Identifier: MIT */
/* tmux: asking the sandbox's own server, as a person would. A pane's text is awaited: a client in
 * control mode tells when something was written there, so nothing is polled. */
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
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* tmux [try] ARGUMENT... */
int verb_tmux(struct play *play, struct words *w)
{
    const char *const *argv;
    bool may_fail = words_take(w, "try");
    int r = words_command(w, &argv);

    if (r < 0 || !play)
        return r;
    play->current = NULL;
    buf_clear(&play->output.out);
    buf_clear(&play->output.error);
    if ((r = sandbox_tmux(play->sandbox, argv, &play->output.out, w->err)) < 0)
        return r;
    play->output.code = r;
    if (r && !may_fail)
        return play_fail(play, "tmux exited with %d: %s", r, buf_text(&play->output.out));
    return play_lines(play, w->line->lines, w->line->line_count, AT_TMUX);
}

int verb_output(struct play *play, struct words *w)
{
    return play_compare(play, w, play && play->current ? "its output" : "the output of tmux",
                        play ? buf_text(&play->output.out) : "",
                        play ? play->output.out.length : 0);
}

struct listener { /* a client that hears of every change */
    pid_t pid;
    int in, out; /* owned */
};

static int listener_open(struct play *play, const char *target, struct listener *ret,
                         struct err *err)
{
    const char *const argv[] = {
        "tmux", "-S", sandbox_tmux_socket(play->sandbox), "-C", "attach-session", "-r", "-t",
        target, NULL};
    posix_spawn_file_actions_t actions;
    int in[2], out[2];

    if (pipe2(in, O_CLOEXEC) < 0)
        return err_set(err, -errno, "make a pipe: %m");
    if (pipe2(out, O_CLOEXEC) < 0) {
        fd_close(in[0]);
        fd_close(in[1]);
        return err_set(err, -errno, "make a pipe: %m");
    }
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[0], 0);
    posix_spawn_file_actions_adddup2(&actions, out[1], 1);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    int r =
        posix_spawnp(&ret->pid, "tmux", &actions, NULL, (char *const *)argv, play->sandbox->env);
    posix_spawn_file_actions_destroy(&actions);
    fd_close(in[0]);
    fd_close(out[1]);
    ret->in = in[1];
    ret->out = out[0];
    if (r == 0)
        return 0;
    fd_close(ret->in);
    fd_close(ret->out);
    return err_set(err, -r, "run tmux: %s", strerror(r));
}

static void listener_close(struct listener *listener)
{
    fd_close(listener->in); /* the end of its input ends it */
    (void)kill(listener->pid, SIGTERM);
    while (waitpid(listener->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    fd_close(listener->out);
}

/* Until something was written, or the time is up: false. */
static bool listener_wait(const struct listener *listener, uint64_t deadline_ns)
{
    struct pollfd wait = {.fd = listener->out, .events = POLLIN};
    uint64_t now = wall_monotonic_ns();
    char bytes[4096];

    if (now >= deadline_ns || poll(&wait, 1, (int)((deadline_ns - now) / NS_PER_MS) + 1) <= 0)
        return false;
    return read(listener->out, bytes, sizeof bytes) > 0;
}

/* What the pane shows now, as the session that words about screens speak of. */
static int look_at(struct play *play, const char *target, struct err *err)
{
    CLEANUP(buf_done) struct buf bytes = {0};
    unsigned rows, cols;
    int r = sandbox_tmux_pane(play->sandbox, target, &rows, &cols, &bytes, err);

    if (r < 0)
        return r;
    vitro_term_close(play->session);
    play->session =
        vitro_term_still(rows, cols, bytes.data, bytes.length, (struct vitro_box_error *)err);
    return play->session ? 0 : err->code;
}

/* Until it is as it should be, or the time is up. */
static int await_pane(struct play *play, const char *target, const struct vitro_term_look *look,
                      bool wanted, struct err *err)
{
    struct listener listener;
    int r = listener_open(play, target, &listener, err), held = 0;

    if (r < 0)
        return r;
    uint64_t deadline_ns = wall_monotonic_ns() + 15 * NS_PER_SEC;
    do {
        if ((r = look_at(play, target, err)) < 0)
            break;
        held = wanted ? vitro_term_see(play->session, look, NULL)
                      : vitro_term_see_not(play->session, look);
    } while (held < 0 && held != -EINVAL && listener_wait(&listener, deadline_ns));
    listener_close(&listener);
    if (r == 0 && held < 0)
        r = play_fail(play, "the pane %s, within 15 s of real time: %s", target,
                      vitro_term_failure(play->session)->text);
    return r;
}

/* pane TARGET shows|lacks TEXT [as of 'screen contains'], pane TARGET is FILE */
int verb_pane(struct play *play, struct words *w)
{
    struct vitro_term_look look = {0};
    const char *target;
    int r = words_text(w, "a pane, as deck:0.0", &target);

    if (r < 0)
        return r;
    int which = WORDS_CHOICE(w, "shows", "lacks", "is");
    if (which < 0)
        return which;
    if (which < 2) {
        if ((r = screen_read_look(w, &look)) < 0 || !play)
            return r;
        r = await_pane(play, target, &look, which == 0, w->err);
    } else {
        if (play && (r = look_at(play, target, w->err)) < 0)
            return r;
        r = screen_read_golden(play, w);
    }
    if (play) {
        vitro_term_close(play->session);
        play->session = NULL;
    }
    return r;
}

/* clients TARGET COLSxROWS...: people who look at a session, until the scenario ends */
int verb_clients(struct play *play, struct words *w)
{
    const char *target, *size;
    int r = words_text(w, "a session, as deck", &target);

    if (r == 0 && !words_next(w))
        return words_wrong(w, "expected sizes, as 80x24 120x40");
    while (r == 0 && words_next(w)) {
        struct vitro_term_options options = {.plain = 1};
        char more;
        if ((r = words_text(w, "a size, as 80x24", &size)) < 0)
            return r;
        if (sscanf(size, "%ux%u%c", &options.cols, &options.rows, &more) != 2 || !options.cols ||
            !options.rows || options.cols > 1000 || options.rows > 1000) {
            w->at--;
            return words_wrong(w, "expected a size, as 80x24, found %s", size);
        }
        if (!play)
            continue;
        if (play->client_count == ARRAY_LENGTH(play->clients))
            return play_fail(play, "more than %zu clients", ARRAY_LENGTH(play->clients));
        options.box.argv = (const char *const[]){
            "tmux", "-S", sandbox_tmux_socket(play->sandbox), "attach-session", "-t", target, NULL};
        options.box.envp = (const char *const *)play->sandbox->env;
        options.box.directory = play->sandbox->here;
        vitro_term *client = vitro_term_open(&options, (struct vitro_box_error *)w->err);
        if (!client)
            return w->err->code;
        play->clients[play->client_count++] = client;
        /* tmux draws its status line when the client is in. */
        if (vitro_term_see(client, &(struct vitro_term_look){.alternate = 1}, NULL) < 0)
            return play_fail(play, "tmux took no client of %s: %s", size,
                             vitro_term_failure(client)->text);
    }
    return r;
}
