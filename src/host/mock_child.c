/* SPDX-License-Identifier: MIT */
/* A double as the code under test sees it, which writes, reads, waits and kills. What the test does
 * to it is mock_control.c. */
#include "host/mock_process.h"
#include <errno.h>
#include <signal.h>
#include <string.h>

static vitro_mock_process *of(vitro_child *child)
{
    return (vitro_mock_process *)child;
}

static void lock(vitro_mock_process *process)
{
    (void)pthread_mutex_lock(&process->spawner->room.lock);
    mock_look(process);
}

static void unlock(vitro_mock_process *process)
{
    (void)pthread_mutex_unlock(&process->spawner->room.lock);
}

/* ---- signals */

/* What the kernel does when a program says nothing of it. */
static bool ends_a_program(int signal)
{
    switch (signal) {
    case 0:
    case SIGCHLD:
    case SIGCONT:
    case SIGURG:
    case SIGWINCH:
    case SIGSTOP:
    case SIGTSTP:
    case SIGTTIN:
    case SIGTTOU:
        return false;
    default:
        return true;
    }
}

void mock_signal(vitro_mock_process *process, int signal)
{
    if (signal) {
        process->signals =
            mem_grow(process->signals, (process->signal_count + 1) * sizeof *process->signals);
        process->signals[process->signal_count++] = signal;
    }
    if (signal == SIGKILL)
        process->killed = true;
    if (signal == SIGKILL || (ends_a_program(signal) && !process->ignores_signals))
        (void)mock_end(process, -1, signal);
    mock_room_wake(&process->spawner->room);
}

/* ---- what the code under test does */

static int child_pid(vitro_child *child)
{
    return of(child)->pid;
}

static int child_group(vitro_child *child)
{
    return of(child)->group;
}

static int child_write(vitro_child *child, const void *bytes, size_t length,
                       struct vitro_host_error *error)
{
    vitro_mock_process *process = of(child);
    int r = 0;

    lock(process);
    if (process->ended || process->input_closed)
        r = err_set(host_err(error), -EPIPE, "write to '%s': %s", process->name,
                    process->ended ? "it has ended" : "its input was closed");
    else
        buf_add(&process->streams[0].bytes, bytes, length);
    mock_room_wake(&process->spawner->room);
    unlock(process);
    return r;
}

static int child_close_input(vitro_child *child)
{
    vitro_mock_process *process = of(child);

    lock(process);
    process->input_closed = true;
    mock_room_wake(&process->spawner->room);
    unlock(process);
    return 0;
}

struct wish {
    vitro_mock_process *process;
    int stream;
};

static bool can_read(void *context)
{
    const struct wish *wish = context;

    mock_look(wish->process);
    return wish->process->interrupted || wish->process->streams[wish->stream].bytes.length ||
           mock_is_closed(wish->process, wish->stream);
}

static bool has_ended(void *context)
{
    const struct wish *wish = context;

    mock_look(wish->process);
    return wish->process->ended || wish->process->interrupted;
}

/* Where the clock has no timers, an end that is near is a deadline as well. */
static int await(vitro_mock_process *process, bool (*ready)(void *), struct wish *wish,
                 int64_t timeout_ns, const char *what, struct err *err)
{
    struct mock_room *room = &process->spawner->room;

    if (process->exit_at_ns && !process->ended && !ready(wish)) {
        uint64_t now_ns = vitro_clock_monotonic(room->clock);
        int64_t left_ns = (int64_t)(process->exit_at_ns - now_ns);
        if (timeout_ns < 0 || left_ns <= timeout_ns) {
            int r = mock_room_wait(room, ready, wish, left_ns, what, err);
            return r == -ETIMEDOUT
                       ? mock_room_wait(room, ready, wish,
                                        timeout_ns < 0 ? timeout_ns : timeout_ns - left_ns, what,
                                        err)
                       : r;
        }
    }
    return mock_room_wait(room, ready, wish, timeout_ns, what, err);
}

static int64_t child_read(vitro_child *child, int stream, void *bytes, size_t size,
                          int64_t timeout_ns, struct vitro_host_error *error)
{
    vitro_mock_process *process = of(child);
    struct err *err = host_err(error);
    struct wish wish = {.process = process, .stream = stream};

    lock(process);
    struct buf *from = &process->streams[stream].bytes;
    CLEANUP(mem_free) char *what = mem_format("read stream %d of '%s'", stream, process->name);
    int r = await(process, can_read, &wish, timeout_ns, what, err);
    int64_t count = 0;
    if (r == -ETIMEDOUT) {
        count = err_set(err, r, "%s: nothing came in time", what);
    } else if (r < 0) {
        count = r;
    } else if (process->interrupted) {
        process->interrupted = false;
        count = err_set(err, -EINTR, "%s: interrupted", what);
    } else {
        count = (int64_t)(from->length < size ? from->length : size);
        memcpy(bytes, buf_text(from), (size_t)count);
        buf_drop(from, (size_t)count);
    }
    unlock(process);
    return count;
}

static int child_wait(vitro_child *child, int64_t timeout_ns, struct vitro_child_end *ret,
                      struct vitro_host_error *error)
{
    vitro_mock_process *process = of(child);
    struct wish wish = {.process = process};
    struct err *err = host_err(error);
    int r = 0;

    lock(process);
    CLEANUP(mem_free) char *what = mem_format("wait for '%s'", process->name);
    if (process->wait_error)
        r = err_set(err, process->wait_error, "%s: %s", what, strerror(-process->wait_error));
    else if (process->force_timeout)
        r = -ETIMEDOUT;
    else
        r = await(process, has_ended, &wish, timeout_ns, what, err);
    if (r == 0 && process->ended) {
        *ret = (struct vitro_child_end){
            .exit_code = process->exit_code, .signal = process->signal, .how = VITRO_CHILD_EXITED};
    } else if (r == 0 || r == -ETIMEDOUT) {
        *ret = (struct vitro_child_end){
            .exit_code = -1, .how = r == 0 ? VITRO_CHILD_INTERRUPTED : VITRO_CHILD_TIMED_OUT};
        process->interrupted = false;
        r = 0;
    }
    unlock(process);
    return r;
}

static int child_signal(vitro_child *child, int signal, struct vitro_host_error *error)
{
    vitro_mock_process *process = of(child);
    int r = 0;

    lock(process);
    if (signal < 0 || signal >= NSIG)
        r = err_set(host_err(error), -EINVAL, "signal %d to '%s': there is no such signal", signal,
                    process->name);
    else if (process->ended)
        r = err_set(host_err(error), -ESRCH, "signal %d to '%s': it has ended", signal,
                    process->name);
    else
        mock_signal(process, signal);
    unlock(process);
    return r;
}

static int child_kill(vitro_child *child, struct vitro_host_error *error)
{
    vitro_mock_process *process = of(child);

    (void)error;
    lock(process);
    mock_signal(process, SIGKILL); /* with it its outputs are closed */
    unlock(process);
    return 0;
}

static void child_interrupt(vitro_child *child)
{
    vitro_mock_process *process = of(child);

    lock(process);
    process->interrupted = true;
    mock_room_wake(&process->spawner->room);
    unlock(process);
}

static int child_cleanup(vitro_child *child, char **ret_report, struct vitro_host_error *error)
{
    vitro_mock_process *process = of(child);

    (void)child_kill(child, error);
    *ret_report = mem_dup(process->cleanup_report);
    return 0;
}

static void child_free(vitro_child *child)
{
    vitro_mock_process *process = of(child);

    lock(process);
    if (!process->ended)
        mock_signal(process, SIGKILL);
    unlock(process);
    if (process->is_childs)
        mock_drop(process); /* otherwise it is the spawner's: the test may still look */
}

const struct vitro_child_ops mock_child_ops = {.pid = child_pid,
                                               .group = child_group,
                                               .write = child_write,
                                               .close_input = child_close_input,
                                               .read = child_read,
                                               .wait = child_wait,
                                               .signal = child_signal,
                                               .kill = child_kill,
                                               .interrupt = child_interrupt,
                                               .cleanup = child_cleanup,
                                               .free = child_free};

static char *take_all(struct buf *buf, size_t *ret_length)
{
    *ret_length = buf->length;
    return buf->data ? buf_take(buf) : mem_dup("");
}

int mock_child_finish(vitro_child *child, const struct vitro_process_call *call,
                      struct vitro_process_result *ret, struct err *err)
{
    vitro_mock_process *process = of(child);
    struct vitro_child_end end;

    *ret = (struct vitro_process_result){.played = 1};
    (void)child_close_input(child);
    uint64_t from_ns = vitro_clock_monotonic(process->spawner->room.clock);
    int r = child_wait(child, VITRO_CHILD_FOREVER, &end, (struct vitro_host_error *)err);
    if (r < 0)
        return r;
    if (end.how != VITRO_CHILD_EXITED)
        return err_set(err, end.how == VITRO_CHILD_INTERRUPTED ? -EINTR : -ETIMEDOUT,
                       "run '%s': %s", call->argv[0],
                       end.how == VITRO_CHILD_INTERRUPTED ? "interrupted" : "timed out");
    lock(process);
    for (int i = 1; r == 0 && i < 3; i++)
        if (!mock_is_closed(process, i))
            r = err_set(err, -EDEADLK,
                        "run '%s': its standard %s stays open behind its end, and nobody is there "
                        "to kill it",
                        call->argv[0], i == 1 ? "output" : "error");
    if (r == 0) {
        ret->exit_code = end.exit_code;
        ret->signal = end.signal;
        ret->output = take_all(&process->streams[1].bytes, &ret->output_length);
        ret->error_output = take_all(&process->streams[2].bytes, &ret->error_length);
        ret->duration_ns = vitro_clock_monotonic(process->spawner->room.clock) - from_ns;
    }
    unlock(process);
    return r;
}
