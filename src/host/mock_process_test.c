/* SPDX-License-Identifier: MIT */
#include "vitro/mock_process.h"
#include "lib/check.h"
#include <errno.h>
#include <signal.h>

#define SECOND INT64_C(1000000000)

static const char *const argv_serve[] = {"serve", "--port", "0", NULL};
static const struct vitro_process_call serve = {.argv = argv_serve};

static vitro_spawner *spawner_on(struct vitro_clock *clock)
{
    return vitro_spawner_new(&(struct vitro_spawner_options){.clock = clock});
}

TEST(a_double_prints_and_ends_as_it_was_told)
{
    vitro_spawner *spawner = vitro_spawner_new(NULL);
    struct vitro_host_error error = {0};
    struct vitro_process_result result;

    CHECK_TRUE(vitro_spawner_enqueue(
        spawner,
        &(struct vitro_mock_config){.output = "hi\n", .error_output = "oh\n", .exit_code = 3},
        &error));
    CHECK_OK(vitro_process_finish(vitro_spawner_processes(spawner), &serve, &result, &error),
             error);
    CHECK_TEXT(result.output, "hi\n");
    CHECK_TEXT(result.error_output, "oh\n");
    CHECK_INT(result.exit_code, 3);
    vitro_process_result_done(&result);
    CHECK_OK(vitro_spawner_check(spawner, &error), error);
    vitro_spawner_free(spawner);
}

TEST(a_spawn_without_a_double_fails_by_name_and_is_remembered)
{
    vitro_spawner *spawner = vitro_spawner_new(NULL);
    struct vitro_host_error error = {0};
    struct vitro_mock_spawn spawn;
    vitro_child *child = NULL;

    CHECK_INT(vitro_process_spawn(vitro_spawner_processes(spawner), &serve, &child, &error),
              -ENODATA);
    CHECK_HAS(error.text, "spawn serve --port 0: no double is queued");
    CHECK_TRUE(child == NULL);
    CHECK_INT(vitro_spawner_count(spawner), 1);
    CHECK_INT(vitro_spawner_at(spawner, 0, &spawn), 0);
    CHECK_TEXT(spawn.argv[1], "--port");
    CHECK_TRUE(spawn.process == NULL);
    CHECK_INT(vitro_spawner_at(spawner, 1, &spawn), -ENOENT);
    CHECK_INT(vitro_spawner_check(spawner, &error), -ENODATA);
    CHECK_HAS(error.text, "1 spawn had no double:\n  serve --port 0");
    vitro_spawner_free(spawner);
}

TEST(doubles_that_nobody_spawned_are_told)
{
    vitro_spawner *spawner = vitro_spawner_new(NULL);
    struct vitro_host_error error = {0};

    CHECK_TRUE(vitro_spawner_enqueue(spawner, NULL, &error));
    CHECK_INT(vitro_spawner_check(spawner, &error), -ENOTEMPTY);
    CHECK_HAS(error.text, "1 double that nobody spawned");
    vitro_spawner_free(spawner);
}

TEST(doubles_are_chosen_by_their_patterns_in_the_order_of_the_queue)
{
    static const char *const pushes[] = {"push", "...", NULL};
    static const char *const argv[] = {"/usr/bin/git", "push", "origin", NULL};
    vitro_spawner *spawner = vitro_spawner_new(NULL);
    struct vitro_host_error error = {0};
    struct vitro_process_result result;

    CHECK_TRUE(vitro_spawner_enqueue(
        spawner, &(struct vitro_mock_config){.program = "hg", .output = "hg"}, &error));
    CHECK_TRUE(vitro_spawner_enqueue(
        spawner, &(struct vitro_mock_config){.program = "git", .args = pushes, .output = "first"},
        &error));
    CHECK_TRUE(
        vitro_spawner_enqueue(spawner, &(struct vitro_mock_config){.output = "second"}, &error));
    for (int i = 0; i < 2; i++) {
        CHECK_OK(vitro_process_finish(vitro_spawner_processes(spawner),
                                      &(struct vitro_process_call){.argv = argv}, &result, &error),
                 error);
        CHECK_TEXT(result.output, i ? "second" : "first");
        vitro_process_result_done(&result);
    }
    CHECK_INT(vitro_process_finish(vitro_spawner_processes(spawner),
                                   &(struct vitro_process_call){.argv = argv}, &result, &error),
              -ENODATA);
    CHECK_HAS(error.text, "double 1 in the queue does not fit: program: wants hg, got");
    vitro_spawner_free(spawner);
}

TEST(configs_that_make_no_sense_are_refused_in_words)
{
    static const char *const bad[] = {"regex:a(", NULL};
    vitro_spawner *spawner = vitro_spawner_new(NULL);
    struct vitro_host_error error = {0};

    CHECK_TRUE(!vitro_spawner_enqueue(spawner, &(struct vitro_mock_config){.spawn_error = ENOENT},
                                      &error));
    CHECK_HAS(error.text, "an error is -errno");
    CHECK_TRUE(!vitro_spawner_enqueue(spawner, &(struct vitro_mock_config){.args = bad}, &error));
    CHECK_HAS(error.text, "a(");
    CHECK_TRUE(
        !vitro_spawner_enqueue(spawner, &(struct vitro_mock_config){.exit_code = 256}, &error));
    CHECK_TRUE(!vitro_spawner_enqueue(
        spawner, &(struct vitro_mock_config){.runs = 1, .exit_after_ns = 1}, &error));
    CHECK_INT(vitro_process_spawn(vitro_spawner_processes(spawner), &(struct vitro_process_call){0},
                                  &(vitro_child *){NULL}, &error),
              -EINVAL);
    CHECK_INT(vitro_process_spawn(NULL, &serve, &(vitro_child *){NULL}, &error), -EINVAL);
    CHECK_HAS(error.text, "no process sub-handle");
    vitro_spawner_free(spawner);
}

TEST(spawn_and_wait_errors_are_given_as_they_were_set)
{
    vitro_spawner *spawner = vitro_spawner_new(NULL);
    struct vitro_processes *processes = vitro_spawner_processes(spawner);
    struct vitro_host_error error = {0};
    struct vitro_child_end end;
    vitro_child *child = NULL;

    (void)vitro_spawner_enqueue(spawner, &(struct vitro_mock_config){.spawn_error = -EACCES}, NULL);
    (void)vitro_spawner_enqueue(spawner, &(struct vitro_mock_config){.wait_error = -ECHILD}, NULL);
    CHECK_INT(vitro_process_spawn(processes, &serve, &child, &error), -EACCES);
    CHECK_HAS(error.text, "spawn 'serve': Permission denied");
    CHECK_OK(vitro_process_spawn(processes, &serve, &child, &error), error);
    CHECK_INT(vitro_child_wait(child, 0, &end, &error), -ECHILD);
    CHECK_HAS(error.text, "wait for 'serve': No child processes");
    vitro_child_free(child);
    vitro_spawner_free(spawner);
}

TEST(the_first_end_wins)
{
    vitro_spawner *spawner = vitro_spawner_new(NULL);
    struct vitro_child_end end;
    vitro_child *child = NULL;
    vitro_mock_process *process =
        vitro_spawner_enqueue(spawner, &(struct vitro_mock_config){.runs = 1}, NULL);

    CHECK_INT(vitro_process_spawn(vitro_spawner_processes(spawner), &serve, &child, NULL), 0);
    CHECK_INT(vitro_child_wait(child, 0, &end, NULL), 0);
    CHECK_INT(end.how, VITRO_CHILD_TIMED_OUT);
    CHECK_INT(vitro_mock_complete(process, 4), 1);
    CHECK_INT(vitro_mock_complete(process, 5), 0);
    CHECK_INT(vitro_child_kill(child, NULL), 0);
    CHECK_INT(vitro_child_wait(child, 0, &end, NULL), 0);
    CHECK_INT(end.how, VITRO_CHILD_EXITED);
    CHECK_INT(end.exit_code, 4);
    CHECK_INT(end.signal, 0);
    CHECK_INT(vitro_mock_was_killed(process), 1);
    vitro_child_free(child);
    vitro_spawner_free(spawner);
}

TEST(signals_end_a_double_unless_it_ignores_them)
{
    vitro_spawner *spawner = vitro_spawner_new(NULL);
    struct vitro_processes *processes = vitro_spawner_processes(spawner);
    struct vitro_host_error error = {0};
    struct vitro_child_end end;
    vitro_child *meek = NULL, *stubborn = NULL;
    int signals[4];

    (void)vitro_spawner_enqueue(spawner, &(struct vitro_mock_config){.runs = 1}, NULL);
    vitro_mock_process *second = vitro_spawner_enqueue(
        spawner, &(struct vitro_mock_config){.runs = 1, .ignores_signals = 1, .pid = 7}, NULL);
    CHECK_INT(vitro_process_spawn(processes, &serve, &meek, NULL), 0);
    CHECK_INT(vitro_process_spawn(processes, &serve, &stubborn, NULL), 0);
    CHECK_INT(vitro_child_pid(meek), 99999);
    CHECK_INT(vitro_child_pid(stubborn), 7);
    CHECK_INT(vitro_child_group(stubborn), 7);
    CHECK_INT(vitro_child_signal(meek, SIGWINCH, NULL), 0);
    CHECK_INT(vitro_child_signal(meek, SIGTERM, NULL), 0);
    CHECK_INT(vitro_child_signal(meek, SIGTERM, &error), -ESRCH);
    CHECK_HAS(error.text, "it has ended");
    CHECK_INT(vitro_child_wait(meek, 0, &end, NULL), 0);
    CHECK_INT(end.signal, SIGTERM);
    CHECK_INT(end.exit_code, -1);
    CHECK_INT(vitro_child_signal(stubborn, SIGTERM, NULL), 0);
    CHECK_INT(vitro_child_wait(stubborn, 0, &end, NULL), 0);
    CHECK_INT(end.how, VITRO_CHILD_TIMED_OUT);
    CHECK_INT(vitro_child_kill(stubborn, NULL), 0);
    CHECK_INT(vitro_mock_signals(second, signals, 4), 2);
    CHECK_INT(signals[0], SIGTERM);
    CHECK_INT(signals[1], SIGKILL);
    CHECK_INT(vitro_child_signal(stubborn, 999, &error), -EINVAL);
    vitro_child_free(meek);
    vitro_child_free(stubborn);
    vitro_spawner_free(spawner);
}

TEST(held_outputs_stay_open_behind_the_end_until_a_kill)
{
    vitro_spawner *spawner = vitro_spawner_new(NULL);
    struct vitro_processes *processes = vitro_spawner_processes(spawner);
    struct vitro_host_error error = {0};
    struct vitro_child_end end;
    struct vitro_process_result result;
    vitro_child *child = NULL;
    char bytes[16];
    const struct vitro_mock_config holding = {
        .output = "up\n", .holds_output = 1, .cleanup_report = "killed 99999\n"};

    vitro_mock_process *process = vitro_spawner_enqueue(spawner, &holding, NULL);
    (void)vitro_spawner_enqueue(spawner, &holding, NULL);
    CHECK_INT(vitro_process_spawn(processes, &serve, &child, NULL), 0);
    CHECK_INT(vitro_child_wait(child, VITRO_CHILD_FOREVER, &end, NULL), 0);
    CHECK_INT(end.how, VITRO_CHILD_EXITED);
    CHECK_INT(vitro_child_read(child, 1, bytes, sizeof bytes, 0, NULL), 3);
    CHECK_INT(vitro_child_read(child, 1, bytes, sizeof bytes, 0, &error), -ETIMEDOUT);
    CHECK_INT(vitro_child_read(child, 2, bytes, sizeof bytes, 0, NULL), 0);
    CHECK_INT(vitro_mock_append_output(process, "more", 4), 0);
    CHECK_INT(vitro_mock_append_error_output(process, "more", 4), -EPIPE);
    CHECK_INT(vitro_child_read(child, 1, bytes, sizeof bytes, 0, NULL), 4);
    char *report = NULL;
    CHECK_INT(vitro_child_cleanup(child, &report, NULL), 0);
    CHECK_TEXT(report, "killed 99999\n");
    free(report);
    CHECK_INT(vitro_child_read(child, 1, bytes, sizeof bytes, 0, NULL), 0);
    CHECK_INT(vitro_child_read(child, 3, bytes, sizeof bytes, 0, &error), -EINVAL);
    vitro_child_free(child);
    CHECK_INT(vitro_process_finish(processes, &serve, &result, &error), -EDEADLK);
    CHECK_HAS(error.text, "run 'serve': its standard output stays open behind its end");
    vitro_spawner_free(spawner);
}

TEST(what_is_written_to_a_double_can_be_seen)
{
    vitro_spawner *spawner = vitro_spawner_new(NULL);
    struct vitro_host_error error = {0};
    vitro_child *child = NULL;
    size_t length = 0;
    int closed = 1;
    vitro_mock_process *process =
        vitro_spawner_enqueue(spawner, &(struct vitro_mock_config){.runs = 1}, NULL);

    CHECK_INT(vitro_process_spawn(vitro_spawner_processes(spawner), &serve, &child, NULL), 0);
    CHECK_INT(vitro_child_write(child, "a\0b", 3, NULL), 0);
    char *written = vitro_mock_stdin_written(process, &length, &closed);
    CHECK_INT(length, 3);
    CHECK_INT(memcmp(written, "a\0b", 3), 0);
    CHECK_INT(closed, 0);
    free(written);
    CHECK_INT(vitro_child_close_input(child), 0);
    CHECK_INT(vitro_child_write(child, "c", 1, &error), -EPIPE);
    CHECK_HAS(error.text, "its input was closed");
    vitro_child_free(child);
    vitro_spawner_free(spawner);
}

/* ---- on a paused clock */

struct patience {
    struct vitro_processes *processes;
    struct vitro_clock *clock;
    int stages; /* how far it got */
    struct vitro_child_end end;
};

/* Waits 30 s, asks politely, waits 5 s more, kills. */
static int supervise(void *arg)
{
    struct patience *patience = arg;
    vitro_child *child;

    if (vitro_process_spawn(patience->processes, &serve, &child, NULL) < 0)
        return -1;
    (void)vitro_child_wait(child, 30 * SECOND, &patience->end, NULL);
    patience->stages = 1;
    if (patience->end.how == VITRO_CHILD_TIMED_OUT) {
        (void)vitro_child_signal(child, SIGTERM, NULL);
        patience->stages = 2;
        (void)vitro_child_wait(child, 5 * SECOND, &patience->end, NULL);
        if (patience->end.how == VITRO_CHILD_TIMED_OUT) {
            (void)vitro_child_kill(child, NULL);
            patience->stages = 3;
        }
    }
    vitro_child_free(child);
    return 0;
}

TEST(a_worker_that_waits_times_out_when_the_clock_says_so)
{
    struct vitro_clock *clock = vitro_clock_paused(NULL);
    vitro_spawner *spawner = spawner_on(clock);
    struct patience patience = {.processes = vitro_spawner_processes(spawner), .clock = clock};
    struct vitro_host_error error = {0};
    vitro_mock_process *process = vitro_spawner_enqueue(
        spawner, &(struct vitro_mock_config){.runs = 1, .ignores_signals = 1}, NULL);

    vitro_worker *worker = vitro_worker_start(clock, supervise, &patience);
    CHECK_INT(vitro_clock_advance(clock, 30 * SECOND - 1, NULL), 0);
    CHECK_INT(patience.stages, 0);
    CHECK_INT(vitro_clock_advance(clock, 1, NULL), 1);
    CHECK_INT(patience.stages, 2); /* the advance waited for it */
    CHECK_OK(vitro_mock_await_signal(process, SIGTERM, &error), error);
    CHECK_INT(vitro_clock_advance(clock, 5 * SECOND, NULL), 1);
    CHECK_INT(vitro_worker_join(worker), 0);
    CHECK_INT(patience.stages, 3);
    CHECK_INT(vitro_mock_was_killed(process), 1);
    vitro_spawner_free(spawner);
    vitro_clock_free(clock);
}

TEST(a_completion_wakes_a_worker_before_the_clock_may_move)
{
    struct vitro_clock *clock = vitro_clock_paused(NULL);
    vitro_spawner *spawner = spawner_on(clock);
    struct patience patience = {.processes = vitro_spawner_processes(spawner), .clock = clock};
    struct vitro_host_error error = {0};
    vitro_mock_process *process =
        vitro_spawner_enqueue(spawner, &(struct vitro_mock_config){.runs = 1}, NULL);

    vitro_worker *worker = vitro_worker_start(clock, supervise, &patience);
    CHECK_OK(vitro_mock_await_spawned(process, &error), error);
    CHECK_INT(vitro_mock_complete(process, 9), 1);
    CHECK_INT(vitro_clock_advance(clock, 60 * SECOND, NULL), 0);
    CHECK_INT(patience.stages, 1);
    CHECK_INT(patience.end.exit_code, 9);
    CHECK_INT(vitro_worker_join(worker), 0);
    vitro_spawner_free(spawner);
    vitro_clock_free(clock);
}

TEST(a_double_ends_by_itself_when_its_time_has_come)
{
    struct vitro_clock *clock = vitro_clock_paused(NULL);
    vitro_spawner *spawner = spawner_on(clock);
    struct patience patience = {.processes = vitro_spawner_processes(spawner), .clock = clock};

    (void)vitro_spawner_enqueue(
        spawner, &(struct vitro_mock_config){.exit_after_ns = 10 * SECOND, .exit_code = 2}, NULL);
    vitro_worker *worker = vitro_worker_start(clock, supervise, &patience);
    CHECK_INT(vitro_clock_advance(clock, 10 * SECOND - 1, NULL), 0);
    CHECK_INT(patience.stages, 0);
    CHECK_INT(vitro_clock_advance(clock, 1, NULL), 1);
    CHECK_INT(patience.stages, 1);
    CHECK_INT(patience.end.exit_code, 2);
    CHECK_INT(vitro_worker_join(worker), 0);
    vitro_spawner_free(spawner);
    vitro_clock_free(clock);
}

TEST(on_a_clock_that_jumps_waiting_alone_moves_it_to_the_next_deadline)
{
    struct vitro_clock *clock = vitro_clock_paused(&(struct vitro_paused_options){.jumps = 1});
    vitro_spawner *spawner = spawner_on(clock);
    struct vitro_processes *processes = vitro_spawner_processes(spawner);
    struct vitro_child_end end;
    vitro_child *child = NULL;

    (void)vitro_spawner_enqueue(spawner, &(struct vitro_mock_config){.exit_after_ns = 3 * SECOND},
                                NULL);
    (void)vitro_spawner_enqueue(spawner, &(struct vitro_mock_config){.runs = 1}, NULL);
    CHECK_INT(vitro_process_spawn(processes, &serve, &child, NULL), 0);
    CHECK_INT(vitro_child_wait(child, SECOND, &end, NULL), 0);
    CHECK_INT(end.how, VITRO_CHILD_TIMED_OUT);
    CHECK_INT(vitro_clock_monotonic(clock), SECOND);
    CHECK_INT(vitro_child_wait(child, VITRO_CHILD_FOREVER, &end, NULL), 0);
    CHECK_INT(end.how, VITRO_CHILD_EXITED);
    CHECK_INT(vitro_clock_monotonic(clock), 3 * SECOND);
    vitro_child_free(child);
    CHECK_INT(vitro_process_spawn(processes, &serve, &child, NULL), 0);
    CHECK_INT(vitro_child_wait(child, 2 * SECOND, &end, NULL), 0);
    CHECK_INT(end.how, VITRO_CHILD_TIMED_OUT);
    CHECK_INT(vitro_clock_monotonic(clock), 5 * SECOND);
    vitro_child_free(child);
    vitro_spawner_free(spawner);
    vitro_clock_free(clock);
}

TEST(a_forced_timeout_comes_at_once_and_time_does_not_pass)
{
    struct vitro_clock *clock = vitro_clock_paused(NULL);
    vitro_spawner *spawner = spawner_on(clock);
    struct vitro_child_end end;
    vitro_child *child = NULL;

    (void)vitro_spawner_enqueue(spawner, &(struct vitro_mock_config){.force_timeout = 1}, NULL);
    CHECK_INT(vitro_process_spawn(vitro_spawner_processes(spawner), &serve, &child, NULL), 0);
    CHECK_INT(vitro_child_wait(child, 3600 * SECOND, &end, NULL), 0);
    CHECK_INT(end.how, VITRO_CHILD_TIMED_OUT);
    CHECK_INT(vitro_clock_monotonic(clock), 0);
    vitro_child_free(child);
    vitro_spawner_free(spawner);
    vitro_clock_free(clock);
}

static int read_it(void *arg)
{
    char bytes[8];

    return (int)vitro_child_read(arg, 1, bytes, sizeof bytes, VITRO_CHILD_FOREVER, NULL);
}

static int wait_it(void *arg)
{
    struct vitro_child_end end;
    int r = vitro_child_wait(arg, VITRO_CHILD_FOREVER, &end, NULL);

    return r < 0 ? r : (int)end.how;
}

TEST(who_reads_or_waits_can_be_interrupted_or_told)
{
    struct vitro_clock *clock = vitro_clock_paused(NULL);
    vitro_spawner *spawner = spawner_on(clock);
    vitro_child *child = NULL;
    vitro_mock_process *process =
        vitro_spawner_enqueue(spawner, &(struct vitro_mock_config){.runs = 1}, NULL);

    CHECK_INT(vitro_process_spawn(vitro_spawner_processes(spawner), &serve, &child, NULL), 0);
    vitro_worker *worker = vitro_worker_start(clock, wait_it, child);
    vitro_child_interrupt(child);
    CHECK_INT(vitro_worker_join(worker), VITRO_CHILD_INTERRUPTED);
    worker = vitro_worker_start(clock, read_it, child);
    vitro_child_interrupt(child);
    CHECK_INT(vitro_worker_join(worker), -EINTR);
    worker = vitro_worker_start(clock, read_it, child);
    CHECK_INT(vitro_mock_append_output(process, "12345", 5), 0);
    CHECK_INT(vitro_worker_join(worker), 5);
    worker = vitro_worker_start(clock, read_it, child);
    CHECK_INT(vitro_child_kill(child, NULL), 0); /* closes what is read */
    CHECK_INT(vitro_worker_join(worker), 0);
    vitro_child_free(child);
    vitro_spawner_free(spawner);
    vitro_clock_free(clock);
}

TEST(waiting_for_what_never_comes_ends_at_the_ceiling_of_real_time)
{
    struct vitro_clock *clock = vitro_clock_paused(NULL);
    vitro_spawner *spawner =
        vitro_spawner_new(&(struct vitro_spawner_options){.clock = clock, .ceiling_ns = 1000});
    struct vitro_host_error error = {0};
    struct vitro_child_end end;
    vitro_child *child = NULL;
    vitro_mock_process *process =
        vitro_spawner_enqueue(spawner, &(struct vitro_mock_config){.runs = 1}, NULL);

    CHECK_INT(vitro_mock_await_spawned(process, &error), -ETIMEDOUT);
    CHECK_HAS(error.text, "await a spawn: nothing happened");
    CHECK_INT(error.code, -ETIMEDOUT);
    CHECK_INT(vitro_process_spawn(vitro_spawner_processes(spawner), &serve, &child, NULL), 0);
    CHECK_INT(vitro_child_wait(child, VITRO_CHILD_FOREVER, &end, &error), -EDEADLK);
    CHECK_HAS(error.text, "wait for 'serve': nothing happened");
    CHECK_INT(vitro_mock_await_input(process, 1, &error), -ETIMEDOUT);
    vitro_child_free(child);
    vitro_spawner_free(spawner);
    vitro_clock_free(clock);
}
