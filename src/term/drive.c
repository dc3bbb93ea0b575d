/* SPDX-License-Identifier: MIT */
/* drive: takes what the program writes, and waits until it is settled (box/settle.h says how that
 * is known). A frame is noted at each such moment, so frames do not depend on how the bytes came.
 *
 * Output is taken whenever there is some, also while writing: neither side can block the other. */
#include "term/term_internal.h"
#include "term/plain.h"
#include "box/settle.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/wall.h"
#include "base/when.h"
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

enum { DRAIN_AT_ONCE = 1 << 20, READ_BYTES = 64 << 10, WRITE_BYTES = 2048 };
/* A program that has shown what was waited for, and goes on computing or writing, is given this
 * long to settle. */
static const uint64_t GRACE_NS = 2 * NS_PER_SEC;

struct term_wait term_wait_begin(vitro_term *t, uint64_t within_ns, uint64_t ceiling_ns)
{
    struct term_wait wait = {
        .budget_ns = within_ns ? within_ns : t->budget_ns,
        .ceiling_ns = ceiling_ns ? ceiling_ns : t->ceiling_ns,
        .started_ns = t->elapsed_ns,
        .real_started_ns = wall_monotonic_ns(),
    };

    if (t->plain && within_ns && within_ns < wait.ceiling_ns)
        wait.ceiling_ns = within_ns; /* there is but one time */
    wait.give_up_ns = wait.real_started_ns + wait.ceiling_ns;
    return wait;
}

bool drive_time_is_up(const struct term_wait *wait)
{
    return wall_monotonic_ns() >= wait->give_up_ns;
}

/* ---- output -------------------------------------------------------------------------------- */

/* Queries of the terminal begin with ESC, or are ENQ; then the answer has to be made now. */
static bool may_ask(const char *bytes, size_t length)
{
    return memchr(bytes, 0x1b, length) || memchr(bytes, 0x05, length);
}

static void send_answers(vitro_term *t)
{
    struct buf *answers = screen_answers(t->screen);

    while (answers->length) {
        ssize_t count = write(t->master, answers->data, answers->length);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            break; /* the program does not read; the rest follows the next output */
        buf_drop(answers, (size_t)count);
    }
    (void)poll(&(struct pollfd){.fd = t->slave, .events = POLLIN}, 1, 0);
}

/* Takes what there is, up to a limit. More than 0 if there was something; -EFBIG beyond the
 * session's limit. An empty master was waited for: n_tty's read flushes its worker first. */
ssize_t drive_drain(vitro_term *t)
{
    size_t before = t->log.stream.length;
    bool asks = false;

    if (t->master < 0)
        return 0;
    while (t->log.stream.length - before < DRAIN_AT_ONCE) {
        buf_reserve(&t->log.stream, READ_BYTES);
        char *at = t->log.stream.data + t->log.stream.length;
        ssize_t count = read(t->master, at, READ_BYTES);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            break;
        asks = asks || may_ask(at, (size_t)count);
        t->log.stream.length += (size_t)count;
    }
    t->log.stream.data[t->log.stream.length] = '\0';
    size_t taken = t->log.stream.length - before;
    if (!taken && !screen_answers(t->screen)->length)
        return 0;
    t->settled = false;
    if (asks)
        (void)term_screen(t);
    if (screen_answers(t->screen)->length)
        send_answers(t);
    return t->log.stream.length > t->output_max ? -EFBIG : (ssize_t)taken;
}

/* How much may be written at once: up to a key that the terminal makes a signal of. */
static size_t piece_of(const vitro_term *t, const char *bytes, size_t length, bool *ret_signal)
{
    static const int keys[] = {VINTR, VQUIT, VSUSP};
    struct termios modes;
    size_t piece = length < WRITE_BYTES ? length : WRITE_BYTES;

    *ret_signal = false;
    if (tcgetattr(t->slave, &modes) < 0 || !(modes.c_lflag & ISIG) || (modes.c_lflag & NOFLSH))
        return piece;
    for (size_t i = 0; i < ARRAY_LENGTH(keys); i++) {
        const char *key = modes.c_cc[keys[i]] == _POSIX_VDISABLE
                              ? NULL
                              : memchr(bytes, modes.c_cc[keys[i]], piece);
        if (key) {
            piece = (size_t)(key - bytes) + 1;
            *ret_signal = true;
        }
    }
    return piece;
}

/* A key that is a signal empties the terminal's input, whoever has not read it. So when there is
 * nothing left, the kernel's worker has come to it; polling an end that is empty waits for the rest
 * of its work. */
static void await_signal_key(vitro_term *t)
{
    struct pollfd input = {.fd = t->slave, .events = POLLIN};
    uint64_t give_up_ns = wall_monotonic_ns() + NS_PER_SEC;

    while (poll(&input, 1, 0) > 0 && !(input.revents & (POLLHUP | POLLERR)) &&
           wall_monotonic_ns() < give_up_ns) {
        (void)drive_drain(t); /* echoes may be in its way */
        (void)sched_yield();
    }
}

int drive_write(vitro_term *t, const void *bytes, size_t length, struct err *err)
{
    const char *at = bytes;
    uint64_t give_up_ns = wall_monotonic_ns() + t->ceiling_ns;

    while (length) {
        bool signal;
        size_t piece = piece_of(t, at, length, &signal);
        ssize_t count = write(t->master, at, piece);
        if (count > 0) {
            at += count;
            length -= (size_t)count;
            if (signal && (size_t)count == piece)
                await_signal_key(t);
            continue;
        }
        if (count < 0 && errno != EAGAIN && errno != EINTR)
            return err_set(err, -errno, "type into the terminal: %m");
        if (drive_drain(t) < 0)
            return err_set(err, -EFBIG, "the program wrote more than output_max (%zu bytes)",
                           t->output_max);
        struct pollfd fd = {.fd = t->master, .events = POLLIN | POLLOUT};
        (void)poll(&fd, 1, 20);
        if (wall_monotonic_ns() >= give_up_ns)
            return err_set(err, -ETIMEDOUT,
                           "the program does not read what is typed: "
                           "%zu bytes are left",
                           length);
    }
    /* Waits for the kernel's worker that carries the bytes over. */
    (void)poll(&(struct pollfd){.fd = t->slave, .events = POLLIN}, 1, 0);
    return 0;
}

/* ---- the supervisor ------------------------------------------------------------------------ */

static void ask(vitro_term *t, enum settle_op op, uint64_t until_ns)
{
    bool counts = op != SETTLE_NUDGE && op != SETTLE_CANCEL;
    struct settle_request request = {
        .op = op, .serial = counts ? ++t->serial : 0, .until_ns = (int64_t)until_ns};

    (void)send(t->socket, &request, sizeof request, MSG_NOSIGNAL);
}

/* True if it answers the last request. *ret_gone when nothing will come any more. */
static bool take_reply(vitro_term *t, bool *ret_gone)
{
    struct settle_reply reply;
    ssize_t count = recv(t->socket, &reply, sizeof reply, MSG_DONTWAIT);

    *ret_gone = count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR);
    if (count != sizeof reply || reply.serial != t->serial)
        return false;
    t->elapsed_ns = (uint64_t)reply.elapsed_ns;
    t->now_ns = reply.now_ns;
    t->due_ns = reply.due_ns;
    t->flags = reply.flags;
    return true;
}

static void note_frame(vitro_term *t)
{
    const struct log *log = &t->log;
    size_t last = log->count;

    while (last && log->events[last - 1].kind != LOG_FRAME &&
           log->events[last - 1].kind != LOG_SIZE)
        last--;
    bool same = last && log->events[last - 1].kind == LOG_FRAME &&
                log->events[last - 1].offset == log->stream.length;
    if (!same && (log->stream.length || last))
        (void)log_add(&t->log, LOG_FRAME, t->elapsed_ns);
}

static int note_end(vitro_term *t)
{
    struct vitro_box_error error = {0};

    while (drive_drain(t) > 0)
        ;
    int r = vitro_box_wait(t->box, &t->findings, &error);
    if (r < 0)
        return term_fail(t, VITRO_TERM_TROUBLE, r, NULL, "the session's box: %s", error.text);
    t->ended = true;
    t->exit_code = t->findings.exit_code;
    if (t->findings.virtual_ns > t->elapsed_ns) {
        t->now_ns += (int64_t)(t->findings.virtual_ns - t->elapsed_ns);
        t->elapsed_ns = t->findings.virtual_ns;
    }
    t->due_ns = -1;
    t->flags &= ~(uint32_t)SETTLE_READING;
    note_frame(t);
    return 0;
}

static int too_much(vitro_term *t)
{
    return term_fail(t, VITRO_TERM_TROUBLE, -EFBIG, NULL,
                     "the program wrote more than output_max (%zu bytes)", t->output_max);
}

static int poll_ms(uint64_t until_ns)
{
    uint64_t now = wall_monotonic_ns();

    return now >= until_ns ? 0 : (int)((until_ns - now) / NS_PER_MS % 60000) + 1;
}

static int wait_for_box(vitro_term *t, uint64_t give_up_ns, bool at_output, enum drive_end *ret)
{
    bool gone = false; /* the supervisor, which is taking the box down */

    for (;;) {
        struct pollfd fds[3] = {{.fd = gone ? -1 : t->socket, .events = POLLIN},
                                {.fd = t->master, .events = POLLIN},
                                {.fd = vitro_box_fd(t->box), .events = POLLIN}};
        if (poll(fds, 3, poll_ms(give_up_ns)) < 0 && errno != EINTR)
            return term_fail(t, VITRO_TERM_TROUBLE, -errno, NULL, "wait for the session: %m");
        ssize_t taken = fds[1].revents ? drive_drain(t) : 0;
        if (taken < 0)
            return too_much(t);
        if (fds[2].revents) {
            *ret = DRIVE_ENDED;
            return note_end(t);
        }
        if (fds[0].revents && take_reply(t, &gone)) {
            ssize_t more = drive_drain(t);
            if (more < 0)
                return too_much(t);
            if (taken + more == 0) {
                t->settled = true;
                note_frame(t);
                *ret = DRIVE_SETTLED;
                return 0;
            }
            taken += more;
            ask(t, SETTLE_WAIT, 0); /* somebody may have waited for room in the terminal */
        } else if (taken > 0) {
            ask(t, SETTLE_NUDGE, 0);
        }
        if (wall_monotonic_ns() >= give_up_ns) {
            ask(t, SETTLE_CANCEL, 0);
            *ret = DRIVE_CEILING;
            return 0;
        }
        if (taken > 0 && at_output) {
            *ret = DRIVE_OUTPUT;
            return 0;
        }
    }
}

static int wait_until(vitro_term *t, uint64_t give_up_ns, bool at_output, enum drive_end *ret)
{
    if (t->ended) {
        *ret = DRIVE_ENDED;
        return 0;
    }
    if (t->plain)
        return plain_wait(t, give_up_ns, at_output, ret);
    ask(t, SETTLE_WAIT, 0);
    return wait_for_box(t, give_up_ns, at_output, ret);
}

int drive_wait(vitro_term *t, const struct term_wait *wait, bool at_output, enum drive_end *ret)
{
    return wait_until(t, wait->give_up_ns, at_output, ret);
}

int drive_step(vitro_term *t, const struct term_wait *wait, uint64_t until_ns, bool at_output,
               enum drive_end *ret)
{
    assert(t->settled && !t->plain);
    if (t->due_ns >= 0 && (uint64_t)t->due_ns < until_ns)
        until_ns = (uint64_t)t->due_ns;
    if (until_ns > t->elapsed_ns) /* what is written from now on is written then */
        t->elapsed_ns = until_ns;
    ask(t, SETTLE_STEP, until_ns);
    return wait_for_box(t, wait->give_up_ns, at_output, ret);
}

int drive_describe(vitro_term *t, struct buf *blocked, struct buf *pending)
{
    static const size_t LIMIT = 256 << 10;
    CLEANUP(json_free) json_t *value = NULL;
    CLEANUP(mem_free) char *text = mem_alloc(LIMIT);
    struct err err;
    size_t i;
    json_t *one;

    if (t->ended || t->plain)
        return -ESRCH;
    ask(t, SETTLE_DESCRIBE, 0);
    for (;;) { /* replies to earlier requests may come first */
        struct pollfd fds[2] = {{.fd = t->socket, .events = POLLIN},
                                {.fd = vitro_box_fd(t->box), .events = POLLIN}};
        if (poll(fds, 2, 2000) <= 0 || !(fds[0].revents & POLLIN))
            return -ESRCH;
        ssize_t count = recv(t->socket, text, LIMIT, MSG_DONTWAIT);
        if (count <= 0)
            return -ESRCH;
        if (text[0] == '{' && json_parse(text, (size_t)count, "answer", &value, &err) == 0)
            break;
    }
    buf_adds(blocked, json_string_value(json_object_get(value, "blocked")));
    json_array_foreach(json_object_get(value, "pending"), i, one)
    {
        buf_adds(pending, "  ");
        buf_adds(pending, json_string_value(json_object_get(one, "who")));
        buf_adds(pending, " in ");
        when_add_duration(pending, (uint64_t)json_integer_value(json_object_get(one, "in_ns")));
        buf_addc(pending, '\n');
    }
    return 0;
}

/* ---- a wait with a question ---------------------------------------------------------------- */

/* It is there. The program goes on until it is settled, so that the next step finds it so. */
static int finish(vitro_term *t)
{
    enum drive_end end;
    uint64_t give_up_ns = wall_monotonic_ns() + GRACE_NS;

    if (t->settled || t->ended)
        return 0;
    int r;
    do
        r = wait_until(t, give_up_ns, false, &end);
    while (r == 0 && end == DRIVE_OUTPUT);
    return r;
}

static int nothing_more(vitro_term *t, const struct term_wait *wait, const char *wanted)
{
    if (t->still)
        return term_fail(t, VITRO_TERM_NOT_SEEN, -ENOMSG, NULL, "%s: it does not", wanted);
    if (t->ended)
        return term_fail(t, VITRO_TERM_NOT_SEEN, -ENOMSG, wait,
                         "%s: the program has ended without it", wanted);
    if (t->due_ns >= 0 && t->flags & SETTLE_MANUAL)
        return term_fail(t, VITRO_TERM_NOT_SEEN, -ENOMSG, wait,
                         "%s: the program waits for time to pass, and the clock is manual", wanted);
    return term_fail(t, VITRO_TERM_NOT_SEEN, -ENOMSG, wait,
                     "%s: the program waits%s, and nothing is due", wanted,
                     t->flags & SETTLE_READING ? " for input" : "");
}

/* What is due next comes too late. */
static int time_is_up(vitro_term *t, const struct term_wait *wait, const char *wanted)
{
    CLEANUP(buf_done) struct buf left = {0};

    when_add_duration(&left, (uint64_t)t->due_ns - t->elapsed_ns);
    return term_fail(t, VITRO_TERM_BUDGET, -ETIME, wait,
                     "%s: virtual time is up, nothing happens for another %s", wanted,
                     buf_text(&left));
}

int drive_until(vitro_term *t, const struct term_wait *wait, bool at_output, drive_check check,
                void *arg, const char *wanted)
{
    enum drive_end end;
    int r = drive_wait(t, wait, at_output, &end);

    for (;;) {
        if (r < 0)
            return r;
        bool settled = end == DRIVE_SETTLED || end == DRIVE_ENDED;
        r = check(t, arg, settled);
        if (r != 0)
            return r < 0 ? r : finish(t);
        if (end == DRIVE_CEILING || drive_time_is_up(wait))
            return term_fail(t, VITRO_TERM_CEILING, -ETIMEDOUT, wait,
                             "%s: real time is up, the program still %s", wanted,
                             t->settled ? "waits" : "runs");
        bool held = t->flags & SETTLE_HELD;
        if (end == DRIVE_ENDED)
            return nothing_more(t, wait, wanted);
        if (end == DRIVE_OUTPUT) {
            r = drive_wait(t, wait, at_output, &end);
        } else if (!held) { /* time is real */
            r = plain_pause(t, wait, &end);
        } else if (t->due_ns < 0 && t->flags & SETTLE_OUTSIDE) {
            r = plain_pause(t, wait, &end);
        } else if (t->due_ns < 0 || t->flags & SETTLE_MANUAL) {
            return nothing_more(t, wait, wanted);
        } else if ((uint64_t)t->due_ns > wait->started_ns + wait->budget_ns) {
            return time_is_up(t, wait, wanted);
        } else {
            r = drive_step(t, wait, (uint64_t)t->due_ns, at_output, &end);
        }
    }
}
