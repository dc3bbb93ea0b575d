/* SPDX-License-Identifier: MIT */
/* Programs that a bench ran or played, however they were started: its cassette tells. Several
 * threads start programs at the same time, so the order is (time, worker, the worker's own). */
#include "bench/bench.h"
#include "clock/clock.h"
#include "proc/process_findings.h"
#include "proc/recording.h"
#include "tape/tape_data.h"
#include <string.h>

static void note(struct vitro_bench *bench, const struct vitro_process_call *call,
                 const struct vitro_process_result *result)
{
    CLEANUP(tape_data_done) struct tape_data data = {0};

    tape_data_begin(&data);
    tape_data_texts(&data, "args", call->argv);
    tape_data_i64(&data, "exit_code", result->exit_code);
    tape_data_u64(&data, "output_bytes", result->output_length);
    tape_data_text(&data, "program", call->argv[0]);
    if (result->signal)
        tape_data_i64(&data, "signal", result->signal);
    tape_data_end(&data);
    world_note(&bench->world, "process_spawn", "%s", buf_text(&data.text));
}

static void ran(void *arg, const struct vitro_process_call *call,
                const struct vitro_process_result *result)
{
    struct vitro_bench *bench = arg;
    struct bench_program program = {.argv = strings_copy(call->argv),
                                    .worker = mem_dup(vitro_worker_name()),
                                    .exit_code = result->exit_code,
                                    .signal = result->signal,
                                    .played = result->played != 0,
                                    .now_ns = vitro_clock_now(NULL),
                                    .monotonic_ns = vitro_clock_monotonic(NULL)};

    (void)pthread_mutex_lock(&bench->world.lock);
    program.number = bench->program_count;
    if (bench->program_count == bench->program_capacity) {
        bench->program_capacity = bench->program_capacity ? bench->program_capacity * 2 : 16;
        bench->programs =
            mem_grow(bench->programs, bench->program_capacity * sizeof *bench->programs);
    }
    bench->programs[bench->program_count++] = program;
    (void)pthread_mutex_unlock(&bench->world.lock);
    note(bench, call, result);
}

void bench_programs_watch(struct vitro_bench *bench)
{
    process_watch(bench->cassette, ran, bench);
}

static int by_time(const void *a, const void *b)
{
    const struct bench_program *x = a, *y = b;

    if (x->monotonic_ns != y->monotonic_ns)
        return x->monotonic_ns < y->monotonic_ns ? -1 : 1;
    int order = lane_compare(x->worker, y->worker);
    return order ? order : x->number < y->number ? -1 : 1;
}

void bench_programs_sort(struct vitro_bench *bench)
{
    if (bench->program_count)
        qsort(bench->programs, bench->program_count, sizeof *bench->programs, by_time);
}

void bench_programs_done(struct bench_program *programs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        strings_free(programs[i].argv);
        free(programs[i].worker);
    }
    free(programs);
}
