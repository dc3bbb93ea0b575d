/* SPDX-License-Identifier: MIT */
/* input: what a person does to the terminal, and how time is let pass. */
#include "term/term_internal.h"
#include "term/plain.h"
#include "box/settle.h"
#include "base/wall.h"
#include "base/when.h"
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

static int type(vitro_term *t, const void *bytes, size_t length)
{
    struct err err = {0};

    if (t->ended)
        return term_fail(t, VITRO_TERM_WRONG, -ESRCH, NULL, "type: the program has ended");
    log_add_text(&t->log, LOG_INPUT, t->elapsed_ns, bytes, length);
    t->settled = false;
    int r = drive_write(t, bytes, length, &err);
    return r < 0 ? term_fail(t, r == -ETIMEDOUT ? VITRO_TERM_CEILING : VITRO_TERM_TROUBLE, r, NULL,
                             "%s", err.text)
                 : 0;
}

/* As a person does, who looks before typing. */
static int rest(vitro_term *t)
{
    enum drive_end end;
    struct term_wait wait = term_wait_begin(t, 0, 2 * NS_PER_SEC);

    return t->settled ? 0 : drive_wait(t, &wait, false, &end);
}

/* Every other key begins with the byte of the Esc key, so programs wait a little before they take
 * it for one: a second at most, where nobody said otherwise (curses, vim). A person's next key
 * comes later than that, or is to. */
static const uint64_t ESCAPE_NS = 3 * NS_PER_SEC / 2;

/* The Esc that was typed last, if any, is a key by itself: what the program has due within that
 * time happens. Manual clocks are moved by others. */
static int part_from_escape(vitro_term *t)
{
    struct term_wait wait = term_wait_begin(t, 0, 2 * NS_PER_SEC);
    enum drive_end end = DRIVE_SETTLED;

    if (!t->escape.alone)
        return 0;
    t->escape.alone = false;
    int r = t->settled ? 0 : drive_wait(t, &wait, false, &end);
    while (r == 0 && end != DRIVE_ENDED && !drive_time_is_up(&wait)) {
        uint64_t until = t->escape.at_ns + ESCAPE_NS;
        if (end != DRIVE_SETTLED)
            r = drive_wait(t, &wait, false, &end);
        else if (!(t->flags & SETTLE_HELD) && wall_monotonic_ns() < t->escape.real_ns + ESCAPE_NS)
            r = plain_pause(t, &wait, &end);
        else if (!(t->flags & SETTLE_HELD) || t->flags & SETTLE_MANUAL || t->due_ns < 0 ||
                 (uint64_t)t->due_ns > until)
            break;
        else
            r = drive_step(t, &wait, until, false, &end);
    }
    return r;
}

/* Keys, with each Esc apart from what follows. */
static int type_keys(vitro_term *t, const struct buf *bytes, const struct buf *escapes)
{
    const char *at = buf_text(bytes), *end = at + bytes->length;
    const size_t *escape = (const void *)escapes->data;
    size_t left = escapes->length / sizeof *escape;
    int r = 0;

    while (at < end && r == 0) {
        size_t piece = (size_t)((left ? buf_text(bytes) + *escape : end) - at);
        r = part_from_escape(t);
        r = r < 0 ? r : type(t, at, piece);
        t->escape.alone = left > 0;
        t->escape.at_ns = t->elapsed_ns;
        t->escape.real_ns = wall_monotonic_ns();
        at += piece;
        escape += left > 0;
        left -= left > 0;
    }
    return r;
}

int vitro_term_send(vitro_term *t, const void *bytes, size_t length)
{
    if (!t)
        return -EINVAL;
    if (length && !bytes)
        return term_misuse(t, -EINVAL, "send: no bytes were given");
    t->escape.alone = false;
    return type(t, bytes, length);
}

int vitro_term_type(vitro_term *t, const char *keys)
{
    if (!t)
        return -EINVAL;
    if (!keys)
        return term_misuse(t, -EINVAL, "type: no keys were given");
    CLEANUP(buf_done) struct buf bytes = {0}, escapes = {0};
    struct err err = {0};

    int r = rest(t); /* keys are encoded as the modes of that moment ask */
    if (r < 0)
        return r;
    r = keys_encode(term_screen(t), keys, &bytes, &escapes, &err);
    return r < 0 ? term_misuse(t, r, "%s", err.text) : type_keys(t, &bytes, &escapes);
}

int vitro_term_eof(vitro_term *t)
{
    if (!t)
        return -EINVAL;
    struct termios modes;
    char eof = 4;

    int r = rest(t);
    r = r < 0 ? r : part_from_escape(t);
    if (r < 0)
        return r;
    if (tcgetattr(t->slave, &modes) == 0 && modes.c_cc[VEOF])
        eof = (char)modes.c_cc[VEOF];
    return type(t, &eof, 1);
}

int vitro_term_resize(vitro_term *t, unsigned rows, unsigned cols)
{
    if (!t)
        return -EINVAL;
    struct winsize size = {.ws_row = (unsigned short)rows, .ws_col = (unsigned short)cols};

    if (rows < 1 || cols < 2 || rows > 1000 || cols > 1000) /* a wide character needs two */
        return term_misuse(t, -EINVAL, "a size of %u rows of %u: at least 1 of 2, at most 1000",
                           rows, cols);
    int r = rest(t); /* what was written before is for the old size */
    if (r < 0)
        return r;
    (void)term_screen(t);
    struct log_event *event = log_add(&t->log, LOG_SIZE, t->elapsed_ns);
    event->rows = size.ws_row;
    event->cols = size.ws_col;
    t->settled = false;
    if (ioctl(t->master, TIOCSWINSZ, &size) < 0)
        return term_misuse(t, -errno, "resize the terminal: %s", strerror(errno));
    return 0;
}

int vitro_term_signal(vitro_term *t, int signal)
{
    if (!t)
        return -EINVAL;
    int r = rest(t);
    if (r < 0)
        return r;
    pid_t group = t->ended ? -1 : tcgetpgrp(t->master);
    if (t->ended)
        return term_fail(t, VITRO_TERM_WRONG, -ESRCH, NULL,
                         "signal %d (%s): the program has ended before", signal,
                         sigabbrev_np(signal) ? sigabbrev_np(signal) : "?");
    t->settled = false;
    if (group <= 1 || kill(-group, signal) < 0)
        return term_misuse(t, -errno, "signal %d: %s", signal, strerror(errno));
    return 0;
}

void vitro_term_mark(vitro_term *t, const char *label)
{
    if (!t || !label)
        return;
    log_add_text(&t->log, LOG_MARK, t->elapsed_ns, label, strlen(label));
}

/* ---- time ---------------------------------------------------------------------------------- */

struct quiet {
    uint64_t quiet_ns;
};

static int check_quiet(vitro_term *t, void *arg, bool settled)
{
    const struct quiet *quiet = arg;

    if (!settled)
        return 0;
    return t->ended || t->due_ns < 0 || !quiet->quiet_ns || !(t->flags & SETTLE_HELD) ||
           (uint64_t)t->due_ns > t->elapsed_ns + quiet->quiet_ns;
}

int vitro_term_settle(vitro_term *t, uint64_t quiet_ns)
{
    if (!t)
        return -EINVAL;
    struct term_wait wait = term_wait_begin(t, 0, 0);
    struct quiet quiet = {quiet_ns};

    return drive_until(t, &wait, false, check_quiet, &quiet,
                       quiet_ns ? "a settled program with nothing due soon" : "a settled program");
}

int vitro_term_advance(vitro_term *t, uint64_t by_ns)
{
    if (!t)
        return -EINVAL;
    struct term_wait wait = term_wait_begin(t, by_ns, 0);
    enum drive_end end;

    if (by_ns > INT64_MAX / 4)
        return term_misuse(t, -ERANGE, "an advance of more than 73 years");
    int r = drive_wait(t, &wait, false, &end);
    if (r == 0 && end == DRIVE_SETTLED && !(t->flags & SETTLE_HELD))
        return term_misuse(t, -EINVAL,
                           "advance: the clock of this session is real; a box with a "
                           "paused or manual clock has one that can be moved");
    uint64_t target = t->elapsed_ns + by_ns;
    while (r == 0 && end != DRIVE_ENDED) {
        if (end == DRIVE_CEILING)
            return term_fail(t, VITRO_TERM_CEILING, -ETIMEDOUT, &wait,
                             "advance: real time is up, the program still runs");
        if (end == DRIVE_SETTLED && t->elapsed_ns >= target)
            return 0;
        r = end == DRIVE_SETTLED ? drive_step(t, &wait, target, false, &end)
                                 : drive_wait(t, &wait, false, &end);
    }
    return r;
}

int vitro_term_clock_set(vitro_term *t, int64_t to_ns)
{
    if (!t)
        return -EINVAL;
    struct settle_request request = {.op = SETTLE_SET, .until_ns = to_ns};

    if (t->plain || t->ended || to_ns <= 0)
        return term_misuse(t, -EINVAL, "set the clock: %s",
                           t->plain ? "it is the real one" : "the program has ended");
    t->settled = false;
    (void)send(t->socket, &request, sizeof request, MSG_NOSIGNAL);
    return vitro_term_settle(t, 0);
}
