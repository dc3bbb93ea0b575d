/* SPDX-License-Identifier: MIT */
/* The spawner and its queue, and what a test does to a double. The side of the code under test is
 * mock_child.c. */
#include "host/mock_process.h"
#include "base/text.h"
#include "clock/paused.h"
#include "proc/recording.h"
#include <errno.h>
#include <signal.h>
#include <string.h>

enum { PID = 99999 };

static void lock(vitro_spawner *spawner)
{
    (void)pthread_mutex_lock(&spawner->room.lock);
}

static void unlock(vitro_spawner *spawner)
{
    (void)pthread_mutex_unlock(&spawner->room.lock);
}

/* ---- doubles */

bool mock_is_closed(const vitro_mock_process *process, int stream)
{
    return process->ended && (!process->streams[stream].held || process->killed);
}

bool mock_end(vitro_mock_process *process, int exit_code, int signal)
{
    if (process->ended)
        return false;
    process->ended = true;
    process->exit_code = signal ? -1 : exit_code;
    process->signal = signal;
    mock_room_wake(&process->spawner->room);
    return true;
}

/* Clocks that are not paused have no timers: it is looked at by who asks. */
void mock_look(vitro_mock_process *process)
{
    if (process->exit_at_ns && !process->ended &&
        vitro_clock_monotonic(process->spawner->room.clock) >= process->exit_at_ns)
        (void)mock_end(process, process->exit_code, process->signal);
}

static void fire(struct vitro_clock_timer *timer)
{
    vitro_mock_process *process =
        (void *)((char *)timer - offsetof(struct vitro_mock_process, timer));
    vitro_spawner *spawner = process->spawner;

    lock(spawner);
    (void)mock_end(process, process->exit_code, process->signal);
    unlock(spawner);
}

static void mock_free(vitro_mock_process *process)
{
    if (process->timer_armed)
        (void)vitro_clock_disarm(process->spawner->room.clock, &process->timer);
    call_rule_done(&process->rule);
    for (int i = 0; i < 3; i++)
        buf_done(&process->streams[i].bytes);
    free(process->name);
    free(process->cleanup_report);
    free(process->signals);
    free(process);
}

void mock_drop(vitro_mock_process *process)
{
    vitro_spawner *spawner = process->spawner;
    vitro_mock_process **at = &spawner->first;

    lock(spawner);
    while (*at != process)
        at = &(*at)->next;
    *at = process->next;
    if (!*at)
        spawner->last = at;
    if (spawner->queue == process)
        spawner->queue = process->next;
    unlock(spawner);
    mock_free(process);
}

static int config_check(const struct vitro_mock_config *config, struct err *err)
{
    if (config->spawn_error > 0 || config->wait_error > 0)
        return err_set(err, -EINVAL, "a double with %s_error %d: an error is -errno, less than 0",
                       config->spawn_error > 0 ? "spawn" : "wait",
                       config->spawn_error > 0 ? config->spawn_error : config->wait_error);
    if (config->exit_after_ns < 0 || config->exit_code < 0 || config->exit_code > 255 ||
        config->signal < 0 || config->signal >= NSIG || config->pid < 0)
        return err_set(err, -EINVAL,
                       "a double with exit_code %d, signal %d, pid %d and exit_after_ns %lld: no "
                       "program ends like that",
                       config->exit_code, config->signal, config->pid,
                       (long long)config->exit_after_ns);
    if (config->runs && config->exit_after_ns)
        return err_set(err, -EINVAL,
                       "a double that runs does not end by itself: either `runs` or "
                       "`exit_after_ns`");
    return 0;
}

static vitro_mock_process *mock_new(vitro_spawner *spawner, const struct vitro_mock_config *config,
                                    struct err *err)
{
    const char *texts[] = {NULL, config->output, config->error_output};
    const size_t lengths[] = {0, config->output_length, config->error_length};
    struct call_rule rule = {0};

    if (config_check(config, err) < 0 ||
        call_rule_from_texts(&rule, config->program, config->args, err) < 0)
        return NULL;
    vitro_mock_process *process = mem_alloc(sizeof *process);
    process->child.ops = &mock_child_ops;
    process->spawner = spawner;
    process->rule = rule;
    process->timer.fire = fire;
    process->name = mem_dup("");
    process->cleanup_report = mem_dup(config->cleanup_report ? config->cleanup_report : "");
    process->pid = config->pid ? config->pid : PID;
    process->group = config->process_group ? config->process_group : process->pid;
    process->exit_code = config->exit_code;
    process->signal = config->signal;
    process->spawn_error = config->spawn_error;
    process->wait_error = config->wait_error;
    process->exit_after_ns = config->exit_after_ns;
    process->runs = config->runs;
    process->ignores_signals = config->ignores_signals;
    process->force_timeout = config->force_timeout;
    process->streams[1].held = config->holds_output;
    process->streams[2].held = config->holds_error_output;
    for (int i = 1; i < 3; i++)
        if (texts[i])
            buf_add(&process->streams[i].bytes, texts[i],
                    lengths[i] ? lengths[i] : strlen(texts[i]));
    return process;
}

/* ---- spawning */

static void add_call(struct buf *buf, const struct call *call)
{
    for (const char *const *arg = call->argv; *arg; arg++) {
        if (arg != call->argv)
            buf_addc(buf, ' ');
        text_add_quoted(buf, *arg);
    }
}

static struct mock_spawned *note(vitro_spawner *spawner, const struct vitro_process_call *call)
{
    struct mock_spawned *spawned = mem_alloc(sizeof *spawned);

    spawned->call = (struct call){
        .program = mem_dup(call->argv[0]),
        .argv = (const char *const *)strings_copy(call->argv),
        .env = call->envp ? (const char *const *)strings_copy(call->envp) : NULL,
        .cwd = mem_dup(call->directory),
    };
    spawner->spawned =
        mem_grow(spawner->spawned, (spawner->spawned_count + 1) * sizeof(struct mock_spawned *));
    spawner->spawned[spawner->spawned_count++] = spawned;
    return spawned;
}

static vitro_mock_process *choose(vitro_spawner *spawner, const struct vitro_process_call *call,
                                  const struct call *asked, struct err *err)
{
    CLEANUP(buf_done) struct buf words = {0};
    CLEANUP(buf_done) struct buf why = {0};
    size_t number = 0;

    while (spawner->queue && spawner->queue->spawned)
        spawner->queue = spawner->queue->next;
    for (vitro_mock_process *process = spawner->queue; process; process = process->next) {
        if (process->spawned)
            continue;
        number++;
        CLEANUP(buf_done) struct buf reason = {0};
        if (call_rule_fits(&process->rule, asked, call->input, call->input_length, &reason))
            return process;
        buf_addf(&why, "\n  double %zu in the queue does not fit: %s", number, buf_text(&reason));
    }
    add_call(&words, asked);
    (void)err_set(err, -ENODATA, "spawn %s: no double is queued for it%s%s", buf_text(&words),
                  buf_text(&why),
                  spawner->first && !why.length ? "; all that were queued are spawned" : "");
    return NULL;
}

/* With the lock held; gives it away meanwhile. */
static int begin(vitro_spawner *spawner, vitro_mock_process *process,
                 const struct vitro_process_call *call, struct err *err)
{
    free(process->name);
    process->name = mem_dup(call->argv[0]);
    process->spawned = true;
    mock_room_wake(&spawner->room);
    if (process->spawn_error)
        return err_set(err, process->spawn_error, "spawn '%s': %s", call->argv[0],
                       strerror(-process->spawn_error));
    if (call->input) {
        buf_add(&process->streams[0].bytes, call->input, call->input_length);
        process->input_closed = true;
    }
    if (process->runs)
        return 0;
    if (!process->exit_after_ns) {
        (void)mock_end(process, process->exit_code, process->signal);
        return 0;
    }
    if (paused_of(spawner->room.clock)) {
        process->timer_armed = true;
        return vitro_clock_arm(spawner->room.clock, &process->timer, process->exit_after_ns);
    }
    process->exit_at_ns =
        vitro_clock_monotonic(spawner->room.clock) + (uint64_t)process->exit_after_ns;
    return 0;
}

static int call_check(const struct vitro_process_call *call, struct err *err)
{
    if (!call || !call->argv || !call->argv[0] || !*call->argv[0])
        return err_set(err, -EINVAL, "a call needs a program");
    return 0;
}

static int spawn(struct vitro_processes *processes, const struct vitro_process_call *call,
                 vitro_child **ret, struct vitro_host_error *error)
{
    vitro_spawner *spawner = (vitro_spawner *)processes;
    struct err *err = host_err(error);
    int r = call_check(call, err);

    if (r < 0)
        return r;
    lock(spawner);
    struct mock_spawned *spawned = note(spawner, call);
    vitro_mock_process *process = choose(spawner, call, &spawned->call, err);
    spawned->process = process;
    r = process ? begin(spawner, process, call, err) : -ENODATA;
    unlock(spawner);
    if (r == 0)
        *ret = &process->child;
    return r;
}

static int run(struct vitro_processes *processes, const struct vitro_process_call *call,
               struct vitro_process_result *ret, struct vitro_host_error *error)
{
    vitro_child *child = NULL;
    int r = spawn(processes, call, &child, error);

    if (r == 0)
        r = mock_child_finish(child, call, ret, host_err(error));
    vitro_child_free(child);
    return r;
}

static void enqueue(vitro_spawner *spawner, vitro_mock_process *process)
{
    *spawner->last = process;
    spawner->last = &process->next;
    if (!spawner->queue)
        spawner->queue = process;
}

int spawner_start(vitro_spawner *spawner, const struct vitro_mock_config *config,
                  const struct vitro_process_call *call, vitro_child **ret, struct err *err)
{
    vitro_mock_process *process = mock_new(spawner, config, err);

    if (!process)
        return -EINVAL;
    process->is_childs = true;
    lock(spawner);
    enqueue(spawner, process);
    int r = begin(spawner, process, call, err);
    unlock(spawner);
    if (r == 0)
        *ret = &process->child;
    else
        mock_drop(process);
    return r;
}

/* ---- the spawner */

vitro_spawner *vitro_spawner_new(const struct vitro_spawner_options *options)
{
    static const struct vitro_processes_ops ops = {.run = run, .spawn = spawn};
    static const struct vitro_spawner_options none;
    vitro_spawner *spawner = mem_alloc(sizeof *spawner);

    options = options ? options : &none;
    spawner->processes.ops = &ops;
    spawner->last = &spawner->first;
    mock_room_init(&spawner->room, options->clock ? options->clock : vitro_clock_in_force(),
                   options->ceiling_ns);
    return spawner;
}

void vitro_spawner_free(vitro_spawner *spawner)
{
    if (!spawner)
        return;
    for (vitro_mock_process *process = spawner->first, *next; process; process = next) {
        next = process->next;
        mock_free(process);
    }
    for (size_t i = 0; i < spawner->spawned_count; i++) {
        struct call *call = &spawner->spawned[i]->call;
        free((char *)call->program);
        free((char *)call->cwd);
        strings_free((char **)call->argv);
        if (call->env)
            strings_free((char **)call->env);
        free(spawner->spawned[i]);
    }
    free(spawner->spawned);
    mock_room_done(&spawner->room);
    free(spawner);
}

struct vitro_processes *vitro_spawner_processes(vitro_spawner *spawner)
{
    return &spawner->processes;
}

vitro_mock_process *vitro_spawner_enqueue(vitro_spawner *spawner,
                                          const struct vitro_mock_config *config,
                                          struct vitro_host_error *error)
{
    static const struct vitro_mock_config none;
    vitro_mock_process *process = mock_new(spawner, config ? config : &none, host_err(error));

    if (!process)
        return NULL;
    lock(spawner);
    enqueue(spawner, process);
    unlock(spawner);
    return process;
}

size_t spawner_queued(vitro_spawner *spawner)
{
    size_t count = 0;

    lock(spawner);
    for (vitro_mock_process *process = spawner->first; process; process = process->next)
        count += !process->spawned;
    unlock(spawner);
    return count;
}

size_t vitro_spawner_count(const vitro_spawner *spawner)
{
    lock((vitro_spawner *)spawner);
    size_t count = spawner->spawned_count;
    unlock((vitro_spawner *)spawner);
    return count;
}

int vitro_spawner_at(const vitro_spawner *spawner, size_t index, struct vitro_mock_spawn *ret)
{
    int r = -ENOENT;

    lock((vitro_spawner *)spawner);
    if (index < spawner->spawned_count) {
        const struct mock_spawned *spawned = spawner->spawned[index];
        *ret = (struct vitro_mock_spawn){.program = spawned->call.program,
                                         .argv = spawned->call.argv,
                                         .env = spawned->call.env,
                                         .cwd = spawned->call.cwd,
                                         .process = spawned->process};
        r = 0;
    }
    unlock((vitro_spawner *)spawner);
    return r;
}

int vitro_spawner_check(const vitro_spawner *spawner, struct vitro_host_error *error)
{
    CLEANUP(buf_done) struct buf words = {0};
    size_t missing = 0, left = spawner_queued((vitro_spawner *)spawner);

    lock((vitro_spawner *)spawner);
    for (size_t i = 0; i < spawner->spawned_count; i++)
        if (!spawner->spawned[i]->process) {
            missing++;
            buf_adds(&words, "\n  ");
            add_call(&words, &spawner->spawned[i]->call);
        }
    unlock((vitro_spawner *)spawner);
    if (missing)
        return err_set(host_err(error), -ENODATA, "%zu spawn%s had no double:%s", missing,
                       missing == 1 ? "" : "s", buf_text(&words));
    if (left)
        return err_set(host_err(error), -ENOTEMPTY, "%zu double%s that nobody spawned", left,
                       left == 1 ? "" : "s");
    return 0;
}
