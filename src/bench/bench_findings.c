/* SPDX-License-Identifier: MIT */
/* What a bench found, in the order: files, programs, tape, leaks. */
#include "bench/bench.h"
#include "interpose/files.h"
#include "proc/process_findings.h"
#include <errno.h>
#include <string.h>

struct hidden { /* what the findings point at */
    struct vitro_leak_list leaks;
    struct process_findings calls;
    struct bench_program *programs;
    size_t program_count;
    char *tape;
};

static int find_diff(struct vitro_bench *bench, struct vitro_bench_findings *ret, struct err *err)
{
    if (!bench->overlay) {
        ret->diff = mem_dup("");
        return 0;
    }
    (void)pthread_mutex_lock(&bench->world.lock);
    int r = files_sync(bench->world.files);
    if (r == 0)
        r = vitro_overlay_diff(bench->overlay, &ret->diff, &ret->diff_length);
    (void)pthread_mutex_unlock(&bench->world.lock);
    if (r == 0)
        return 0;
    ret->diff = mem_dup("");
    return err_set(err, r, "bench fs: %.900s", vitro_overlay_error(bench->overlay));
}

/* The programs go from the bench to the findings. */
static void take_programs(struct vitro_bench *bench, struct vitro_bench_findings *ret,
                          struct hidden *hidden)
{
    (void)pthread_mutex_lock(&bench->world.lock);
    bench_programs_sort(bench);
    hidden->programs = take_ptr(&bench->programs);
    hidden->program_count = bench->program_count;
    bench->program_count = bench->program_capacity = 0;
    (void)pthread_mutex_unlock(&bench->world.lock);
    ret->programs = mem_alloc((hidden->program_count + 1) * sizeof *ret->programs);
    for (size_t i = 0; i < hidden->program_count; i++) {
        const struct bench_program *program = &hidden->programs[i];
        ret->programs[i] = (struct vitro_bench_program){.program = program->argv[0],
                                                        .argv = (const char *const *)program->argv,
                                                        .exit_code = program->exit_code,
                                                        .signal = program->signal,
                                                        .played = program->played,
                                                        .worker = program->worker,
                                                        .at_ns = program->now_ns};
    }
    ret->program_count = hidden->program_count;
}

static int find_programs(struct vitro_bench *bench, struct vitro_bench_findings *ret,
                         struct hidden *hidden, struct err *err)
{
    if (!bench->cassette)
        return 0;
    ret->recorded = vitro_cassette_recorded(bench->cassette);
    int r = process_close(take_ptr(&bench->cassette), &hidden->calls, err);
    take_programs(bench, ret, hidden);
    ret->unmatched = (const char *const *)hidden->calls.unmatched;
    ret->unmatched_count = hidden->calls.unmatched_count;
    ret->unused = (const char *const *)hidden->calls.unused;
    ret->unused_count = hidden->calls.unused_count;
    return r < 0 ? err_wrap(err, "bench subprocess") : 0;
}

static int find_tape(struct vitro_bench *bench, struct vitro_bench_findings *ret,
                     struct hidden *hidden, struct err *err)
{
    if (!bench->tape_path)
        return 0;
    int r = bench_tape_write(bench, &ret->tape_records, err);
    if (r < 0)
        return err_wrap(err, "bench tape");
    ret->tape = hidden->tape = mem_dup(bench->tape_path);
    return 0;
}

static void find_leaks(struct vitro_bench *bench, struct vitro_bench_findings *ret,
                       struct hidden *hidden)
{
    hidden->leaks = vitro_leaks_drain(bench->leaks);
    ret->leak_count = hidden->leaks.count;
    ret->leaks = mem_alloc((ret->leak_count + 1) * sizeof *ret->leaks);
    for (size_t i = 0; i < ret->leak_count; i++) {
        const struct vitro_leak *row = &hidden->leaks.rows[i];
        ret->leaks[i] =
            (struct vitro_bench_leak){row->capability, row->worker, row->callers, row->count};
    }
}

static int judge(const struct vitro_bench *bench, const struct vitro_bench_findings *found,
                 struct err *err)
{
    CLEANUP(buf_done) struct buf text = {0};

    for (size_t i = 0; !bench->allows_leaks && i < found->leak_count; i++)
        buf_addf(&text, "leak %s %llu%s%s\n", found->leaks[i].capability,
                 (unsigned long long)found->leaks[i].count, found->leaks[i].callers ? " from " : "",
                 found->leaks[i].callers ? found->leaks[i].callers : "");
    for (size_t i = 0; i < found->unmatched_count; i++)
        buf_addf(&text, "%.*s\n", (int)strcspn(found->unmatched[i], "\n"), found->unmatched[i]);
    for (size_t i = 0; i < found->unused_count; i++)
        buf_addf(&text, "nobody asked for %s\n", found->unused[i]);
    return text.length ? err_set(err, -EUCLEAN, "bench: %.900s", buf_text(&text)) : 0;
}

int bench_find(struct vitro_bench *bench, struct vitro_bench_findings *ret, struct err *err)
{
    struct hidden *hidden = mem_alloc(sizeof *hidden);
    struct err first = {0}, next;

    ret->hidden = hidden;
    int r = find_diff(bench, ret, &first);
    int s = find_programs(bench, ret, hidden, r == 0 ? &first : &next);
    r = r < 0 ? r : s;
    s = find_tape(bench, ret, hidden, r == 0 ? &first : &next);
    r = r < 0 ? r : s;
    find_leaks(bench, ret, hidden);
    (void)pthread_mutex_lock(&bench->world.lock);
    ret->denied = mem_dup(buf_text(&bench->world.denied));
    ret->denied_count = bench->world.denied_count;
    (void)pthread_mutex_unlock(&bench->world.lock);
    if (r < 0)
        return err_set(err, r, "%s", first.text);
    return judge(bench, ret, err);
}

void vitro_bench_findings_done(struct vitro_bench_findings *findings)
{
    struct hidden *hidden = findings ? findings->hidden : NULL;

    if (!findings)
        return;
    if (hidden) {
        vitro_leak_list_done(&hidden->leaks);
        process_findings_done(&hidden->calls);
        bench_programs_done(hidden->programs, hidden->program_count);
        free(hidden->tape);
    }
    free(hidden);
    free(findings->diff);
    free(findings->leaks);
    free(findings->programs);
    free(findings->denied);
    *findings = (struct vitro_bench_findings){0};
}
