/* SPDX-License-Identifier: MIT */
/* settle: the supervisor's side of settle.h. A box with a terminal never moves its clock by itself:
 * each step is asked for. Only guests that compute for seconds, while a request waits for them and
 * somebody else for a time, make it move (computing.c). */
#include "box/settle.h"
#include "box/box_internal.h"
#include "box/control.h"
#include "base/fd.h"
#include "base/json.h"
#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>

enum { DESCRIPTION_BYTES_MAX = 128 << 10 };

struct settle {
    int fd;
    bool asked, nudged;
    struct settle_request request; /* while asked */
};

int settle_open(struct box *box, struct err *err)
{
    if (!box->options->terminal)
        return 0;
    int fd = box->options->terminal->socket;
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    if (epoll_ctl(box->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0)
        return err_set(err, -errno, "watch the terminal's socket: %m");
    box->settle = mem_alloc(sizeof *box->settle);
    box->settle->fd = fd;
    return 0;
}

bool settle_owns(const struct box *box, int fd)
{
    return box->settle && box->settle->fd == fd;
}

bool settle_asked(const struct box *box)
{
    return box->settle && box->settle->asked;
}

bool settle_nudged(struct box *box)
{
    bool nudged = box->settle && box->settle->nudged;

    if (nudged)
        box->settle->nudged = false;
    return nudged;
}

static int64_t elapsed(const struct box *box)
{
    return vclock_now(&box->clock) - box->clock.start_monotonic_ns;
}

static void reply(struct box *box, const struct deadline *next, bool idle)
{
    struct settle_reply packet = {
        .serial = box->settle->request.serial,
        .elapsed_ns = elapsed(box),
        .now_ns = vclock_realtime(&box->clock),
        .due_ns = next ? next->due_ns - box->clock.start_monotonic_ns : -1,
    };

    if (idle && terminal_is_read(box))
        packet.flags |= SETTLE_READING;
    if (vclock_held(&box->clock))
        packet.flags |= SETTLE_HELD;
    if (box->clock.mode == BOX_CLOCK_MANUAL)
        packet.flags |= SETTLE_MANUAL;
    if (box->options->net_real || !vclock_held(&box->clock))
        packet.flags |= SETTLE_OUTSIDE;
    box->settle->asked = false;
    (void)send(box->settle->fd, &packet, sizeof packet, MSG_NOSIGNAL);
}

static void describe(struct box *box)
{
    CLEANUP(buf_done) struct buf blocked = {0}, text = {0};

    report_blocked(box, &blocked);
    if (blocked.length > DESCRIPTION_BYTES_MAX / 4)
        buf_cut(&blocked, DESCRIPTION_BYTES_MAX / 4);
    buf_adds(&text, "{\"blocked\":");
    json_add_string(&text, buf_text(&blocked), blocked.length);
    buf_adds(&text, ",\"pending\":");
    control_add_pending(box, &text, 64);
    buf_addc(&text, '}');
    (void)send(box->settle->fd, text.data, text.length, MSG_NOSIGNAL);
}

void settle_serve(struct box *box)
{
    struct settle *settle = box->settle;
    struct settle_request request = {0};
    ssize_t count = recv(settle->fd, &request, sizeof request, MSG_DONTWAIT);

    if (count < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (count != sizeof request) { /* whoever made the session is gone */
        box_end(box, BOX_KILLED, "the caller has closed the terminal");
        return;
    }
    settle->nudged = true;
    switch ((enum settle_op)request.op) {
    case SETTLE_WAIT:
    case SETTLE_STEP:
        settle->request = request;
        settle->asked = true;
        /* What was typed may have sent signals, of which a task that we hold knows nothing. */
        wait_check_signals(box, NULL);
        break;
    case SETTLE_DESCRIBE:
        describe(box);
        break;
    case SETTLE_SET: {
        int64_t by = vclock_realtime(&box->clock) - request.until_ns;
        vclock_set_realtime(&box->clock, request.until_ns);
        deadline_shift_realtime(&box->deadlines, by);
        break;
    }
    case SETTLE_CANCEL:
        settle->asked = false;
        break;
    case SETTLE_NUDGE:
        break;
    }
}

bool settle_idle(struct box *box, struct deadline *next)
{
    struct settle *settle = box->settle;

    if (!settle->asked)
        return false;
    if (settle->request.op == SETTLE_STEP && vclock_held(&box->clock)) {
        int64_t until = settle->request.until_ns + box->clock.start_monotonic_ns;
        if (until < vclock_now(&box->clock))
            until = vclock_now(&box->clock); /* guests that computed were faster: computing.c */
        bool due = next && next->due_ns <= until;
        settle->request.op = SETTLE_WAIT;
        if (box_over_max_time(box, due ? next->due_ns : until))
            return true;
        if (due)
            box->clock.jumps++;
        int64_t landing = due ? deadline_landing(next) : until;
        box_move_clock(box, landing < until ? landing : until);
        if (due)
            next->fire(box, next);
        return true;
    }
    reply(box, next, true);
    return true;
}

void settle_close(struct box *box)
{
    if (!box->settle)
        return;
    fd_close(box->settle->fd);
    free(box->settle);
    box->settle = NULL;
}
