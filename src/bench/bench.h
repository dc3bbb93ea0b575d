/* SPDX-License-Identifier: MIT */
/* bench: options to axes to findings. The public face is include/vitro/bench.h; this header is for
 * the files of src/bench. A bench is a world (interpose/world.h) with a handle: its memory, clock
 * and audit stay until the last thread that was started in it has ended. */
#pragma once
#include "base/err.h"
#include "fs/fs_changes.h"
#include "interpose/tape_notes.h"
#include "interpose/world.h"
#include "vitro/bench.h"

/* A program that was recorded or played. */
struct bench_program {
    char **argv, *worker; /* owned */
    int exit_code, signal;
    bool played;
    int64_t now_ns;
    uint64_t monotonic_ns, number;
};

struct vitro_bench {
    struct vitro_world world; /* first */
    struct vitro_frame frame;
    struct vitro_clock *lane_clock; /* whose worker the thread was before */
    struct vitro_clock *clock;      /* NULL: real, or the outer one's */
    bool owns_clock, allows_leaks;
    int64_t started_ns; /* of a mocked clock */
    int64_t ended_ns;   /* when it was finalized, by both */
    uint64_t ended_monotonic_ns;
    vitro_leaks *leaks;
    struct vitro_overlay *overlay;
    vitro_cassette *cassette;
    char *cassette_path;
    const char *proc_mode;          /* a literal */
    struct bench_program *programs; /* owned; under the world's lock */
    size_t program_count, program_capacity;
    struct tape_notes notes;
    char *tape_path, *tape_script;
    char **tape_argv;
};

static inline struct err *bench_err(struct vitro_bench_error *error)
{
    return (struct err *)error;
}

/* bench_install.c: the axes that options ask for. What was installed when one fails is ended by
 * bench_free. */
int bench_install(struct vitro_bench *bench, const struct vitro_bench_options *options,
                  struct err *err);
void bench_free(struct vitro_world *world);
int bench_clock_parse(const char *text, struct vitro_paused_options *ret, struct err *err);
/* -ENOSYS for an axis that is not built, -EINVAL for what contradicts itself. */
int bench_options_check(const struct vitro_bench_options *options, struct err *err);

/* bench_programs.c: what the cassette is asked for, as it happens. */
void bench_programs_watch(struct vitro_bench *bench);
void bench_programs_sort(struct vitro_bench *bench);
void bench_programs_done(struct bench_program *programs, size_t count);

/* bench_tape.c: the notes, and then what is known at the end alone: chance and files. */
int bench_tape_write(struct vitro_bench *bench, uint64_t *ret_records, struct err *err);

/* bench_findings.c: what is found, in the order of the header. */
int bench_find(struct vitro_bench *bench, struct vitro_bench_findings *ret, struct err *err);
