/* SPDX-License-Identifier: MIT */
/* Programs of null and mock hosts: a response, then the next step, then the spawner, then the
 * cassette. A program from a response or a step is a double that has printed and ended. */
#include "base/text.h"
#include "clock/clock.h"
#include "host/double.h"
#include <errno.h>
#include <string.h>

static json_t *argv_args(const struct vitro_process_call *call)
{
    json_t *args = json_object(), *argv = json_array();

    for (const char *const *arg = call->argv; *arg; arg++)
        json_array_append_new(argv, double_bytes(*arg, strlen(*arg)));
    json_object_set_new(args, "argv", argv);
    if (call->directory)
        json_object_set_new(args, "cwd", double_bytes(call->directory, strlen(call->directory)));
    if (call->input)
        json_object_set_new(args, "input", double_bytes(call->input, call->input_length));
    return args;
}

/* false: it is not what a program does. Texts are borrowed from the answer, or owned by `keep`. */
static bool config_of(const json_t *answer, struct vitro_mock_config *ret, char *keep[2])
{
    static const char *const names[] = {"stdout", "stderr"};
    const json_t *code = json_object_get(answer, "exit_code");
    const json_t *signal = json_object_get(answer, "signal");
    size_t lengths[2] = {0, 0};

    if (!json_is_object(answer) || (code && !json_is_integer(code)) ||
        (signal && !json_is_integer(signal)))
        return false;
    for (int i = 0; i < 2; i++) {
        const json_t *text = json_object_get(answer, names[i]);
        if (text && !double_bytes_of(text, &keep[i], &lengths[i]))
            return false;
    }
    *ret = (struct vitro_mock_config){.output = keep[0],
                                      .output_length = lengths[0],
                                      .error_output = keep[1],
                                      .error_length = lengths[1],
                                      .exit_code = (int)json_integer_value(code),
                                      .signal = (int)json_integer_value(signal)};
    return true;
}

/* The next step, if it fits. 1: *ret. 0: there are no steps. -ENODATA: another one was expected,
 * and it still is. */
static int take_step(struct host_double *d, const struct vitro_process_call *call,
                     struct vitro_mock_config *ret, struct err *err)
{
    const struct call asked = {.program = call->argv[0], .argv = call->argv};
    CLEANUP(buf_done) struct buf why = {0};
    int r = 0;

    (void)pthread_mutex_lock(&d->lock);
    if (d->step_count && d->step_next == d->step_count) {
        r = d->spawner || d->cassette
                ? 0
                : err_set(err, -ENODATA, "program '%s': all %zu steps are taken", call->argv[0],
                          d->step_count);
    } else if (d->step_count) {
        const struct host_step *step = &d->steps[d->step_next];
        if (call_rule_fits(&step->rule, &asked, NULL, 0, &why)) {
            *ret = (struct vitro_mock_config){.output = step->output,
                                              .error_output = step->error_output,
                                              .exit_code = step->exit_code,
                                              .signal = step->signal};
            d->step_next++;
            r = 1;
        } else {
            r = err_set(err, -ENODATA, "program '%s': step %zu of %zu is another one: %s",
                        call->argv[0], d->step_next + 1, d->step_count, buf_text(&why));
        }
    }
    (void)pthread_mutex_unlock(&d->lock);
    return r;
}

static vitro_spawner *own_spawner(struct host_double *d)
{
    (void)pthread_mutex_lock(&d->lock);
    if (!d->own_spawner)
        d->own_spawner = vitro_spawner_new(&(struct vitro_spawner_options){.clock = d->inner});
    (void)pthread_mutex_unlock(&d->lock);
    return d->own_spawner;
}

static int from_cassette(struct host_double *d, const struct vitro_process_call *call,
                         vitro_child **ret, struct err *err)
{
    struct vitro_process_result result;
    struct vitro_process_error problem = {0};
    int r = vitro_process_run(d->cassette, call, &result, &problem);

    if (r < 0)
        return err_set(err, r, "%s", problem.text);
    /* It took its time when it was recorded: so it does on the mock's clock, and not for real. */
    bool real = clock_innermost(d->inner) == vitro_clock_real();
    int64_t duration_ns =
        result.played && !real && result.duration_ns <= INT64_MAX ? (int64_t)result.duration_ns : 0;
    r = spawner_start(own_spawner(d),
                      &(struct vitro_mock_config){.output = result.output,
                                                  .output_length = result.output_length,
                                                  .error_output = result.error_output,
                                                  .error_length = result.error_length,
                                                  .exit_code = result.signal ? 0 : result.exit_code,
                                                  .signal = result.signal,
                                                  .exit_after_ns = duration_ns},
                      call, ret, err);
    vitro_process_result_done(&result);
    return r;
}

/* Finds who plays the program, and starts it. */
static int start(struct host_double *d, struct ask *ask, bool answered,
                 const struct vitro_process_call *call, vitro_child **ret, struct err *err)
{
    struct vitro_mock_config config = {0};
    char *keep[2] = {NULL, NULL};
    int r = 1;

    if (answered && !config_of(ask->answer, &config, keep))
        r = -EPROTO;
    else if (!answered)
        r = take_step(d, call, &config, err);
    if (r == 1)
        r = spawner_start(own_spawner(d), &config, call, ret, err);
    else if (r == 0 && d->spawner && (!d->cassette || spawner_queued(d->spawner)))
        r = vitro_process_spawn(vitro_spawner_processes(d->spawner), call, ret,
                                (struct vitro_host_error *)err);
    else if (r == 0 && d->cassette)
        r = from_cassette(d, call, ret, err);
    else if (r == 0)
        r = -ENOMSG; /* nobody */
    free(keep[0]);
    free(keep[1]);
    return r;
}

static int refuse(struct ask *ask, int r, const struct vitro_process_call *call, struct err *err)
{
    if (r == -EPROTO && ask->answer)
        return double_wrong(ask, err);
    if (r == -ENOMSG)
        return double_missing(ask, call->argv[0], err);
    return double_end(ask, r, NULL);
}

static int process_spawn(struct vitro_processes *processes, const struct vitro_process_call *call,
                         vitro_child **ret, struct vitro_host_error *error)
{
    struct host_double *d = DOUBLE_OF(processes, processes);
    struct ask ask;
    int r = double_begin(d, PROCESS_SPAWN, argv_args(call), &ask, host_err(error));

    if (r < 0)
        return r;
    r = start(d, &ask, r == 1, call, ret, host_err(error));
    return r < 0 ? refuse(&ask, r, call, host_err(error)) : double_end(&ask, 0, NULL);
}

static int process_run(struct vitro_processes *processes, const struct vitro_process_call *call,
                       struct vitro_process_result *ret, struct vitro_host_error *error)
{
    struct host_double *d = DOUBLE_OF(processes, processes);
    vitro_child *child = NULL;
    struct ask ask;
    int r = double_begin(d, PROCESS_RUN, argv_args(call), &ask, host_err(error));

    if (r < 0)
        return r;
    r = start(d, &ask, r == 1, call, &child, host_err(error));
    if (r < 0)
        return refuse(&ask, r, call, host_err(error));
    r = mock_child_finish(child, call, ret, host_err(error));
    vitro_child_free(child);
    if (r < 0)
        return double_end(&ask, r, NULL);
    json_t *given = json_object();
    json_object_set_new(given, "exit_code", json_integer(ret->exit_code));
    json_object_set_new(given, "stdout", double_bytes(ret->output, ret->output_length));
    json_object_set_new(given, "stderr", double_bytes(ret->error_output, ret->error_length));
    return double_end(&ask, 0, given);
}

void double_process_init(struct host_double *d)
{
    static const struct vitro_processes_ops ops = {.run = process_run, .spawn = process_spawn};

    d->processes.ops = &ops;
}
