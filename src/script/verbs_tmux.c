/* SPDX-License-Identifier: MIT */
/* tmux: asking the sandbox's own server, as a person would. A pane's text is awaited: a client in
 * control mode tells when something was written there, so nothing is polled. */
#include "script/play.h"
#include "sandbox/shim.h"
#include "base/fd.h"
#include "base/text.h"
#include "base/wall.h"
#include "base/when.h"
#include "match/match.h"
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

static int capture(struct play *play, const char *target, struct buf *ret, struct err *err)
{
    buf_clear(ret);
    int r = sandbox_tmux(play->sandbox,
                         (const char *const[]){"capture-pane", "-p", "-t", target, NULL}, ret, err);
    if (r > 0)
        return err_set(err, -ENOENT, "tmux has no pane '%s': %s", target, buf_text(ret));
    return r;
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

static bool holds(const struct words_pattern *pattern, const struct buf *text)
{
    struct match_text match;

    if (!pattern->regex)
        return strstr(buf_text(text), pattern->text) != NULL;
    if (match_text_init(&match, MATCH_REGEX, pattern->text, NULL) < 0)
        return false;
    bool fits = match_text_fits(&match, buf_text(text), text->length);
    match_text_done(&match);
    return fits;
}

/* pane TARGET shows|lacks TEXT */
int verb_pane(struct play *play, struct words *w)
{
    CLEANUP(buf_done) struct buf text = {0};
    struct words_pattern pattern;
    struct listener listener;
    const char *target;
    int r = words_text(w, "a pane, as deck:0.0", &target);

    if (r < 0)
        return r;
    int which = WORDS_CHOICE(w, "shows", "lacks");
    if (which < 0 || (r = words_pattern(w, "a text or an expression", &pattern)) < 0 || !play)
        return which < 0 ? which : r;
    if ((r = listener_open(play, target, &listener, w->err)) < 0)
        return r;
    uint64_t deadline_ns = wall_monotonic_ns() + 15 * NS_PER_SEC;
    bool ok = false;
    do {
        if ((r = capture(play, target, &text, w->err)) < 0)
            break;
        ok = holds(&pattern, &text) == (which == 0);
    } while (!ok && listener_wait(&listener, deadline_ns));
    listener_close(&listener);
    if (r < 0 || ok)
        return r;
    CLEANUP(buf_done) struct buf framed = {0};
    for (const char *p = buf_text(&text); *p; p += strcspn(p, "\n"), p += *p == '\n')
        buf_addf(&framed, "    | %.*s\n", (int)strcspn(p, "\n"), p);
    return play_fail(play, "the pane %s %s %s%s%s within 15 s of real time\n  it shows:\n%s",
                     target, which ? "did not get rid of" : "did not show",
                     pattern.regex ? "/" : "\"", pattern.text, pattern.regex ? "/" : "\"",
                     buf_text(&framed));
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
