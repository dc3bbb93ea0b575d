/* SPDX-License-Identifier: MIT */
/* control: a Unix socket through which somebody outside moves the clock.
 *
 * One request a connection, a line of JSON; one line of JSON back. {"op":"now"}, {"op":"pending"},
 * {"op":"set","ns":N} (since 1970), {"op":"advance","ns":N}. An advance goes from deadline to
 * deadline, each one fired and everything it wakes run to idleness before the next, and is answered
 * when the box stands idle at its end. */
#include "box/control.h"
#include "box/box_internal.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/when.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { REQUEST_BYTES_MAX = 4096 };

struct control {
    int listen_fd;
    int client_fd;     /* who waits for an advance to end; -1 for nobody */
    int64_t target_ns; /* virtual monotonic */
};

static int address_of(const char *path, struct sockaddr_un *ret, struct err *err)
{
    *ret = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof ret->sun_path)
        return err_set(err, -ENAMETOOLONG, "control socket '%s': the path is too long", path);
    memcpy(ret->sun_path, path, strlen(path) + 1);
    return 0;
}

int control_open(struct box *box, struct err *err)
{
    struct sockaddr_un address;
    const char *path = box->options->control;

    if (!path)
        return 0;
    int r = address_of(path, &address, err);
    if (r < 0)
        return r;
    CLEANUP(fd_close) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) < 0 || listen(fd, 8) < 0) {
        err_set(err, -errno, "control socket '%s': %m", path);
        return errno == EADDRINUSE
                   ? err_hint(err, "another box has this name; choose another with --name")
                   : err->code;
    }
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    if (epoll_ctl(box->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0)
        return err_set(err, -errno, "control socket '%s': %m", path);
    box->control = mem_alloc(sizeof *box->control);
    *box->control = (struct control){.listen_fd = take_fd(&fd), .client_fd = -1};
    return 0;
}

static void add_now(struct box *box, struct buf *buf)
{
    int64_t now = vclock_realtime(&box->clock);

    buf_adds(buf, "{\"elapsed_ns\":");
    buf_addf(buf, "%lld,\"now\":\"",
             (long long)(vclock_now(&box->clock) - box->clock.start_monotonic_ns));
    when_add(buf, now);
    buf_addf(buf, "\",\"now_ns\":%lld}\n", (long long)now);
}

static void add_error(struct buf *buf, const char *text)
{
    buf_adds(buf, "{\"error\":");
    json_add_string(buf, text, strlen(text));
    buf_adds(buf, "}\n");
}

static int by_due(const void *a, const void *b)
{
    const struct deadline *x = *(struct deadline *const *)a, *y = *(struct deadline *const *)b;

    if (x->due_ns != y->due_ns)
        return x->due_ns < y->due_ns ? -1 : 1;
    return x->order < y->order ? -1 : 1;
}

void control_add_pending(struct box *box, struct buf *buf, size_t max)
{
    struct deadline_heap *heap = &box->deadlines;
    CLEANUP(mem_free) struct deadline **sorted = mem_alloc((heap->count + 1) * sizeof *sorted);
    bool first = true;

    if (heap->count)
        memcpy(sorted, heap->items, heap->count * sizeof *sorted);
    qsort(sorted, heap->count, sizeof *sorted, by_due);
    buf_addc(buf, '[');
    for (size_t i = 0; i < heap->count && i < max; i++) {
        CLEANUP(buf_done) struct buf who = {0};
        if (sorted[i]->fire == wait_fire) {
            struct task *task = wait_task(sorted[i]);
            (void)idle_blocked_call(task, &task->blocked);
            if (task->state == TASK_RUNNING && !wait_is_current(task))
                continue;
            task_name(task, &who);
        } else {
            buf_adds(&who, "timer");
        }
        buf_addf(buf, "%s{\"in_ns\":%lld,\"who\":", first ? "" : ",",
                 (long long)(sorted[i]->due_ns - vclock_now(&box->clock)));
        json_add_string(buf, who.data, who.length);
        buf_addc(buf, '}');
        first = false;
    }
    buf_addc(buf, ']');
}

/* True if the connection is kept, because its answer comes later. */
static bool answer(struct box *box, int fd, const char *line, size_t length, struct buf *reply)
{
    struct err err = {0};
    CLEANUP(json_free) json_t *request = NULL;
    struct control *control = box->control;

    if (json_parse(line, length, "request", &request, &err) < 0) {
        add_error(reply, err.text);
        return false;
    }
    const char *op = json_string_value(json_object_get(request, "op"));
    json_int_t ns = json_integer_value(json_object_get(request, "ns"));
    op = op ? op : "";
    if (strcmp(op, "now") == 0) {
        add_now(box, reply);
    } else if (strcmp(op, "pending") == 0) {
        buf_adds(reply, "{\"pending\":");
        control_add_pending(box, reply, SIZE_MAX);
        buf_adds(reply, "}\n");
    } else if (box->clock.mode != BOX_CLOCK_MANUAL) {
        add_error(reply, "the clock of this box is not manual (run it with --clock WHEN,manual)");
    } else if (strcmp(op, "set") == 0 && ns > 0) {
        int64_t by = vclock_realtime(&box->clock) - ns;
        vclock_set_realtime(&box->clock, ns);
        deadline_shift_realtime(&box->deadlines, by);
        add_now(box, reply);
    } else if (strcmp(op, "advance") == 0 && ns >= 0 && ns < INT64_MAX / 4) {
        if (control->client_fd >= 0) {
            add_error(reply, "another advance of this box is still going on");
            return false;
        }
        control->client_fd = fd;
        control->target_ns = vclock_now(&box->clock) + ns;
        return true;
    } else {
        add_error(reply, "no such request");
    }
    return false;
}

static void send_and_close(int fd, const struct buf *reply)
{
    (void)send(fd, buf_text(reply), reply->length, MSG_NOSIGNAL);
    fd_close(fd);
}

void control_serve(struct box *box, int listen_fd)
{
    char line[REQUEST_BYTES_MAX];
    CLEANUP(buf_done) struct buf reply = {0};
    const struct timeval limit = {.tv_sec = 1};
    int fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC);

    if (fd < 0)
        return;
    /* A client that connects and says nothing holds the box up for a second, not for ever. */
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    size_t have = 0;
    while (have < sizeof line) {
        ssize_t count = recv(fd, line + have, sizeof line - have, 0);
        if (count <= 0)
            break;
        have += (size_t)count;
        if (memchr(line, '\n', have))
            break;
    }
    if (!answer(box, fd, line, have, &reply))
        send_and_close(fd, &reply);
}

bool control_idle(struct box *box, struct deadline *next)
{
    struct control *control = box->control;
    CLEANUP(buf_done) struct buf reply = {0};

    if (!control || control->client_fd < 0)
        return false;
    if (next && next->due_ns <= control->target_ns) {
        box->clock.jumps++;
        box_move_clock(box, next->due_ns);
        next->fire(box, next);
        return true;
    }
    box_move_clock(box, control->target_ns);
    add_now(box, &reply);
    send_and_close(take_fd(&control->client_fd), &reply);
    return true;
}

void control_close(struct box *box)
{
    if (!box->control)
        return;
    if (box->control->client_fd >= 0) { /* the program ended on the way */
        CLEANUP(buf_done) struct buf reply = {0};
        add_now(box, &reply);
        send_and_close(box->control->client_fd, &reply);
    }
    (void)unlink(box->options->control);
    fd_close(box->control->listen_fd);
    free(box->control);
    box->control = NULL;
}

int control_ask(const char *path, const char *request, struct buf *ret, struct err *err)
{
    struct sockaddr_un address;
    int r = address_of(path, &address, err);

    if (r < 0)
        return r;
    CLEANUP(fd_close) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return err_set(err, -errno, "make a socket: %m");
    if (connect(fd, (struct sockaddr *)&address, sizeof address) < 0) {
        err_set(err, -errno, "reach the box at '%s': %m", path);
        return err_hint(err, "is it still running? start it with --name NAME or --control PATH");
    }
    if (send(fd, request, strlen(request), MSG_NOSIGNAL) < 0)
        return err_set(err, -errno, "ask the box at '%s': %m", path);
    r = fd_read_all(fd, ret, 16 << 20);
    if (r < 0)
        return err_set(err, r, "the answer of the box at '%s': %s", path, strerror(-r));
    if (!ret->length)
        return err_set(err, -EPIPE, "the box at '%s' ended before it answered", path);
    return 0;
}

char *control_path(const char *box)
{
    const char *directory = getenv("XDG_RUNTIME_DIR");

    if (strchr(box, '/'))
        return mem_dup(box);
    if (directory && *directory)
        return mem_format("%s/vitro-%s.sock", directory, box);
    return mem_format("/tmp/vitro-%u-%s.sock", geteuid(), box);
}
