/* SPDX-License-Identifier: MIT */
/* term_open: from options to a session. */
#include "term/term_internal.h"
#include "box/box_options.h"
#include "term/plain.h"
#include "term/term.h"
#include "box/settle.h"
#include "base/fd.h"
#include "base/fd_pass.h"
#include "base/wall.h"
#include "base/when.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ROWS_MAX = 1000, COLS_MAX = 1000, SCROLLBACK_MAX = 1000000 };

/* The names that are taken out of what is inherited: sizes are asked of the terminal itself. */
static bool is_dropped(const char *entry)
{
    static const char *const names[] = {"TERM=", "COLUMNS=", "LINES=", "TERMCAP="};

    for (size_t i = 0; i < ARRAY_LENGTH(names); i++)
        if (strncmp(entry, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

static bool is_replaced(const char *entry, const char *const *env)
{
    size_t length = strcspn(entry, "=") + 1;

    for (; env && *env; env++)
        if (strncmp(*env, entry, length) == 0)
            return true;
    return false;
}

/* Returns an owned array of borrowed texts; *term is owned too. */
static const char **environment(const struct vitro_term_options *options, char **term)
{
    const char *const *from = options->box.envp ? options->box.envp : (const char *const *)environ;
    size_t count = 0, extra = 0, used = 0;

    while (from[count])
        count++;
    while (options->env && options->env[extra])
        extra++;
    const char **envp = mem_alloc((count + extra + 2) * sizeof *envp);
    for (size_t i = 0; i < count; i++)
        if (!is_dropped(from[i]) && !is_replaced(from[i], options->env))
            envp[used++] = from[i];
    *term = mem_format("TERM=%s", options->term ? options->term : "xterm-256color");
    if (!is_replaced(*term, options->env))
        envp[used++] = *term;
    for (size_t i = 0; i < extra; i++)
        envp[used++] = options->env[i];
    return envp;
}

static int receive_ends(vitro_term *t)
{
    char byte;
    int ends[3];
    int r = fd_receive(t->socket, &byte, ends, ARRAY_LENGTH(ends));

    if (r < 0)
        return r;
    t->master = ends[0];
    t->slave = ends[1];
    t->init_fd = ends[2];
    return fcntl(t->master, F_SETFL, O_RDWR | O_NONBLOCK) < 0 ? -errno : 0;
}

/* Until the box has made the terminal, or has failed. */
static int take_terminal(vitro_term *t, struct err *err)
{
    struct pollfd fds[2] = {{.fd = t->socket, .events = POLLIN},
                            {.fd = vitro_box_fd(t->box), .events = POLLIN}};
    uint64_t give_up_ns = wall_monotonic_ns() + t->ceiling_ns;

    while (wall_monotonic_ns() < give_up_ns) {
        if (poll(fds, 2, 1000) < 0 && errno != EINTR)
            return err_set(err, -errno, "wait for the terminal: %m");
        if (fds[0].revents & POLLIN) {
            int r = receive_ends(t);
            return r < 0 ? err_set(err, r, "take the terminal: %s", strerror(-r)) : 0;
        }
        if (fds[1].revents) {
            struct vitro_box_findings findings;
            if (vitro_box_wait(t->box, &findings, (struct vitro_box_error *)err) < 0)
                return err->code;
            return err_set(err, -EIO, "%s", findings.text);
        }
    }
    return err_set(err, -ETIMEDOUT, "the box did not start in time");
}

static int start_boxed(vitro_term *t, const struct vitro_term_options *options,
                       const struct proc_options *proc, const char *const *envp, struct err *err)
{
    int sockets[2], size = 256 << 10;
    struct vitro_box_options box = options->box;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
        return err_set(err, -errno, "make a socket: %m");
    t->socket = sockets[0];
    CLEANUP(fd_close) int other = sockets[1];
    (void)setsockopt(other, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
    struct box_clock clock = {0}; /* a wrong one is named when the box is made */
    if (box.clock)
        (void)box_clock_parse(box.clock, &clock, NULL);
    t->now_ns = box_clock_start_ns(&clock);
    box.envp = envp;
    memset(box.stdio, 0, sizeof box.stdio);
    box.capture_output = 0;
    t->box =
        box_spawn_in_terminal(&box, &(struct box_terminal){other, t->log.rows, t->log.cols, proc},
                              (struct vitro_box_error *)err);
    if (!t->box)
        return err->code;
    other = fd_close(other);
    return take_terminal(t, err);
}

static int resolve(vitro_term *t, const struct vitro_term_options *options, struct err *err)
{
    unsigned rows = options->rows ? options->rows : 24, cols = options->cols ? options->cols : 80;
    unsigned scrollback = options->scrollback ? options->scrollback : 1000;

    if (cols < 2 || rows > ROWS_MAX || cols > COLS_MAX || scrollback > SCROLLBACK_MAX)
        return err_set(err, -EINVAL,
                       "a screen of %u rows of %u, %u lines above: at most %d, %d, %d", rows, cols,
                       scrollback, ROWS_MAX, COLS_MAX, SCROLLBACK_MAX);
    if (options->cast_version && options->cast_version != 2 && options->cast_version != 3)
        return err_set(err, -EINVAL, "asciicast version %d: 2 and 3 can be written",
                       options->cast_version);
    t->cast_path = mem_dup(options->cast);
    t->cast_version = options->cast_version ? options->cast_version : 3;
    t->records = options->box.record && !options->plain;
    t->budget_ns = options->budget_ns ? options->budget_ns : 60 * NS_PER_SEC;
    t->ceiling_ns = options->ceiling_ns ? options->ceiling_ns : 30 * NS_PER_SEC;
    t->output_max = options->output_max ? options->output_max : (size_t)256 << 20;
    t->log.rows = (unsigned short)rows;
    t->log.cols = (unsigned short)cols;
    t->screen = screen_new(rows, cols, scrollback);
    return 0;
}

vitro_term *vitro_term_open(const struct vitro_term_options *options, struct vitro_box_error *error)
{
    static const struct vitro_term_options none;
    struct err unused = {0};

    return term_open_with(options ? options : &none, NULL, error ? (struct err *)error : &unused);
}

vitro_term *term_open_with(const struct vitro_term_options *options,
                           const struct proc_options *proc, struct err *err)
{
    vitro_term *t = mem_alloc(sizeof *t);
    CLEANUP(mem_free) const char **envp = NULL;
    CLEANUP(mem_free) char *term = NULL;

    t->master = t->slave = t->socket = t->init_fd = -1;
    t->due_ns = -1;
    int r = resolve(t, options, err);
    if (r == 0 && (!options->box.argv || !options->box.argv[0] || !*options->box.argv[0]))
        r = err_set(err, -EINVAL, "the program's name is empty");
    if (r == 0) {
        envp = environment(options, &term);
        r = options->plain ? plain_start(t, options, envp, err)
                           : start_boxed(t, options, proc, envp, err);
    }
    if (r < 0) {
        vitro_term_close(t);
        return NULL;
    }
    t->opened = true;
    return t;
}

vitro_term *vitro_term_still(unsigned rows, unsigned cols, const void *bytes, size_t length,
                             struct vitro_box_error *error)
{
    vitro_term *t = mem_alloc(sizeof *t);
    struct err unused = {0};

    t->master = t->slave = t->socket = t->init_fd = -1;
    t->due_ns = -1;
    t->ended = t->still = true;
    if (resolve(t, &(struct vitro_term_options){.rows = rows, .cols = cols},
                error ? (struct err *)error : &unused) < 0) {
        vitro_term_close(t);
        return NULL;
    }
    buf_add(&t->log.stream, bytes, length);
    (void)log_add(&t->log, LOG_FRAME, 0);
    return t;
}

/* ---- in the words of the Go harness -------------------------------------------------------- */

vitro_term *vitro_term_spawn(const char *const *argv, struct vitro_box_error *error)
{
    return vitro_term_open(&(struct vitro_term_options){.box.argv = argv}, error);
}

vitro_term *vitro_term_spawn_with_env(const char *const *env, const char *const *argv,
                                      struct vitro_box_error *error)
{
    return vitro_term_open(&(struct vitro_term_options){.box.argv = argv, .env = env}, error);
}

int vitro_term_send_text(vitro_term *t, const char *text)
{
    return vitro_term_send(t, text, text ? strlen(text) : 1);
}

int64_t vitro_term_expect_output(vitro_term *t, const char *want, uint64_t timeout_ns)
{
    struct vitro_term_match match;
    int r = vitro_term_expect(
        t,
        &(struct vitro_term_expect){
            .text = want, .from_start = 1, .keep_cursor = 1, .within_ns = timeout_ns},
        &match);

    return r < 0 ? r : (int64_t)match.start;
}

int vitro_term_expect_output_before(vitro_term *t, const char *want, const char *before,
                                    uint64_t timeout_ns)
{
    return vitro_term_expect(t,
                             &(struct vitro_term_expect){.text = want,
                                                         .before = before,
                                                         .from_start = 1,
                                                         .keep_cursor = 1,
                                                         .within_ns = timeout_ns},
                             NULL);
}
