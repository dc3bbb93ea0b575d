/* SPDX-License-Identifier: MIT */
/* A double as the test sees it, which prints, ends, looks, and waits for what happens to it. */
#include "host/mock_process.h"
#include <errno.h>

static void lock(vitro_mock_process *process)
{
    (void)pthread_mutex_lock(&process->spawner->room.lock);
    mock_look(process);
}

static void unlock(vitro_mock_process *process)
{
    (void)pthread_mutex_unlock(&process->spawner->room.lock);
}

struct wish {
    vitro_mock_process *process;
    int signal;
    size_t bytes;
};

static int append(vitro_mock_process *process, int stream, const void *bytes, size_t length)
{
    lock(process);
    int r = mock_is_closed(process, stream) ? -EPIPE : 0;
    if (r == 0)
        buf_add(&process->streams[stream].bytes, bytes, length);
    mock_room_wake(&process->spawner->room);
    unlock(process);
    return r;
}

int vitro_mock_append_output(vitro_mock_process *process, const void *bytes, size_t length)
{
    return append(process, 1, bytes, length);
}

int vitro_mock_append_error_output(vitro_mock_process *process, const void *bytes, size_t length)
{
    return append(process, 2, bytes, length);
}

static int complete(vitro_mock_process *process, int exit_code, int signal)
{
    lock(process);
    bool first = mock_end(process, exit_code, signal);
    unlock(process);
    return first;
}

int vitro_mock_complete(vitro_mock_process *process, int exit_code)
{
    return complete(process, exit_code, 0);
}

int vitro_mock_complete_signal(vitro_mock_process *process, int signal)
{
    return complete(process, -1, signal);
}

int vitro_mock_was_killed(vitro_mock_process *process)
{
    lock(process);
    int killed = process->killed;
    unlock(process);
    return killed;
}

char *vitro_mock_stdin_written(vitro_mock_process *process, size_t *ret_length, int *ret_closed)
{
    lock(process);
    const struct buf *written = &process->streams[0].bytes;
    char *copy = mem_dupn(buf_text(written), written->length);
    if (ret_length)
        *ret_length = written->length;
    if (ret_closed)
        *ret_closed = process->input_closed;
    unlock(process);
    return copy;
}

size_t vitro_mock_signals(vitro_mock_process *process, int *ret, size_t max)
{
    lock(process);
    size_t count = process->signal_count;
    for (size_t i = 0; i < count && i < max; i++)
        ret[i] = process->signals[i];
    unlock(process);
    return count;
}

static bool is_spawned(void *context)
{
    return ((const struct wish *)context)->process->spawned;
}

static bool got_signal(void *context)
{
    const struct wish *wish = context;

    for (size_t i = 0; i < wish->process->signal_count; i++)
        if (wish->process->signals[i] == wish->signal)
            return true;
    return false;
}

static bool got_input(void *context)
{
    const struct wish *wish = context;

    return wish->process->streams[0].bytes.length >= wish->bytes;
}

static int await_for(struct wish *wish, bool (*ready)(void *), const char *what,
                     struct vitro_host_error *error)
{
    vitro_mock_process *process = wish->process;

    lock(process);
    int r = mock_room_wait(&process->spawner->room, ready, wish, -1, what, host_err(error));
    unlock(process);
    if (r == -EDEADLK && error)
        error->code = -ETIMEDOUT;
    return r == -EDEADLK ? -ETIMEDOUT : r;
}

int vitro_mock_await_spawned(vitro_mock_process *process, struct vitro_host_error *error)
{
    return await_for(&(struct wish){.process = process}, is_spawned, "await a spawn", error);
}

int vitro_mock_await_signal(vitro_mock_process *process, int signal, struct vitro_host_error *error)
{
    CLEANUP(mem_free) char *what = mem_format("await signal %d", signal);

    return await_for(&(struct wish){.process = process, .signal = signal}, got_signal, what, error);
}

int vitro_mock_await_input(vitro_mock_process *process, size_t bytes,
                           struct vitro_host_error *error)
{
    CLEANUP(mem_free) char *what = mem_format("await %zu bytes of input", bytes);

    return await_for(&(struct wish){.process = process, .bytes = bytes}, got_input, what, error);
}
