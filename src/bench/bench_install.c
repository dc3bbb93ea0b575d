/* SPDX-License-Identifier: MIT */
/* From options to axes, one function each, in the order of the table at the end. */
#include "proc/recording.h"
#include "base/when.h"
#include "bench/bench.h"
#include "interpose/files.h"
#include "interpose/net_rules.h"
#include "interpose/programs.h"
#include "interpose/timers.h"
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

int bench_clock_parse(const char *text, struct vitro_paused_options *ret, struct err *err)
{
    const char *comma = strchr(text, ',');
    CLEANUP(mem_free) char *when = mem_dupn(text, comma ? (size_t)(comma - text) : strlen(text));

    *ret = (struct vitro_paused_options){.jumps = 1};
    if (comma && strcmp(comma, ",manual") != 0)
        return err_set(err, -EINVAL, "'%.100s' is not 'manual'", comma + 1);
    ret->jumps = !comma;
    if (strcmp(when, "paused") == 0)
        return 0;
    int r = when_parse(when, &ret->now_ns, err);
    ret->at_epoch = ret->now_ns == 0;
    return r;
}

int bench_options_check(const struct vitro_bench_options *options, struct err *err)
{
    if (options->llm)
        return err_set(err, -ENOSYS, "bench llm: this axis is not built");
    if (options->clock && options->clock_is)
        return err_set(err, -EINVAL, "bench clock: both 'clock' and 'clock_is' are given");
    if ((options->proc_record != NULL) + (options->proc_replay != NULL) +
            (options->proc_wasi != NULL) >
        1)
        return err_set(err, -EINVAL,
                       "bench subprocess: one of proc_record, proc_replay and proc_wasi");
    if (options->net && strcmp(options->net, "deny") != 0)
        return err_set(err, -EINVAL, "bench network: '%.100s' is not 'deny'", options->net);
    if (options->net_allow && !options->net)
        return err_set(err, -EINVAL, "bench network: net_allow without net = \"deny\"");
    return 0;
}

static int install_leaks(struct vitro_bench *bench, const struct vitro_bench_options *options,
                         struct err *err)
{
    (void)err;
    bench->leaks = vitro_leaks_new(NULL);
    bench->world.audit_real = options->audit_real != 0;
    bench->allows_leaks = options->allow_leaks != 0;
    return 0;
}

static int install_clock(struct vitro_bench *bench, const struct vitro_bench_options *options,
                         struct err *err)
{
    struct vitro_paused_options paused;

    bench->clock = options->clock_is;
    if (options->clock) {
        int r = bench_clock_parse(options->clock, &paused, err);
        if (r < 0)
            return err_wrap(err, "bench clock");
        bench->clock = vitro_clock_paused(&paused);
        bench->owns_clock = true;
    }
    if (bench->clock)
        bench->started_ns = vitro_clock_now(bench->clock);
    return 0;
}

static int install_proc(struct vitro_bench *bench, const struct vitro_bench_options *options,
                        struct err *err)
{
    struct vitro_process_error why;
    const char *path = options->proc_record ? options->proc_record : options->proc_replay;
    struct stat st;

    bench->proc_mode = options->proc_record   ? "record"
                       : options->proc_replay ? "replay"
                       : options->proc_wasi   ? "wasi"
                                              : "real";
    if (options->proc_wasi && (stat(options->proc_wasi, &st) < 0 || !S_ISDIR(st.st_mode)))
        return err_set(err, -ENOENT, "bench subprocess: '%s' is not a directory of modules",
                       options->proc_wasi);
    if (options->proc_wasi)
        return err_set(err, -ENOSYS,
                       "bench subprocess: modules run in boxes only\nhint: vitro_bench_spawn takes "
                       "the same options");
    if (!path)
        return 0;
    bench->cassette_path = mem_dup(path);
    bench->cassette = vitro_cassette_open(
        &(struct vitro_cassette_options){.path = path,
                                         .mode = options->proc_record ? "refresh" : "none",
                                         .worktree = options->fs},
        &why);
    if (!bench->cassette)
        return err_set(err, why.code, "bench subprocess: %.900s", why.text);
    bench->world.programs = mem_alloc(sizeof *bench->world.programs);
    programs_init(bench->world.programs, bench->cassette);
    bench_programs_watch(bench);
    return 0;
}

static int install_fs(struct vitro_bench *bench, const struct vitro_bench_options *options,
                      struct err *err)
{
    int r = options->fs ? vitro_overlay_open(options->fs, &bench->overlay) : 0;

    if (r < 0)
        return err_set(err, r, "bench fs: worktree '%s': %s", options->fs, strerror(-r));
    if (bench->overlay) {
        bench->world.files = mem_alloc(sizeof *bench->world.files);
        files_init(bench->world.files, bench->overlay);
    }
    return 0;
}

static int install_net(struct vitro_bench *bench, const struct vitro_bench_options *options,
                       struct err *err)
{
    int r = options->net ? net_rules_new(options->net_allow, &bench->world.net, err) : 0;

    return r < 0 ? err_wrap(err, "bench network") : 0;
}

static int install_tape(struct vitro_bench *bench, const struct vitro_bench_options *options,
                        struct err *err)
{
    if (!options->tape)
        return 0;
    if (!*options->tape)
        return err_set(err, -EINVAL, "bench tape: no path");
    bench->tape_path = mem_dup(options->tape);
    bench->tape_script = mem_dup(options->tape_script);
    bench->tape_argv = strings_copy(options->tape_argv);
    bench->world.tape = &bench->notes;
    return 0;
}

static int install_chance(struct vitro_bench *bench, const struct vitro_bench_options *options,
                          struct err *err)
{
    (void)err;
    bench->world.seed = options->seed;
    bench->world.seeded = options->seed != 0;
    return 0;
}

static int install_env(struct vitro_bench *bench, const struct vitro_bench_options *options,
                       struct err *err)
{
    if (!options->env)
        return 0;
    for (const char *const *text = options->env; *text; text++)
        if (!strchr(*text, '=') || **text == '=')
            return err_set(err, -EINVAL, "bench env: '%.200s' is not NAME=VALUE", *text);
    bench->world.env = strings_copy(options->env);
    while (bench->world.env[bench->world.env_count])
        bench->world.env_count++;
    return 0;
}

int bench_install(struct vitro_bench *bench, const struct vitro_bench_options *options,
                  struct err *err)
{
    static int (*const axes[])(struct vitro_bench *, const struct vitro_bench_options *,
                               struct err *) = {install_leaks,  install_clock, install_proc,
                                                install_fs,     install_net,   install_tape,
                                                install_chance, install_env};
    int r = bench_options_check(options, err);

    for (size_t i = 0; r == 0 && i < ARRAY_LENGTH(axes); i++)
        r = axes[i](bench, options, err);
    return r;
}

/* Ends what was installed, the last first; of a bench that is half built, too. */
void bench_free(struct vitro_world *world)
{
    struct vitro_bench *bench = (struct vitro_bench *)world;
    struct vitro_world *outer = world->outer;

    strings_free(world->env);
    for (size_t i = 0; i < world->env_old_count; i++)
        free(world->env_old[i]);
    free(world->env_old);
    tape_notes_done(&bench->notes);
    free(bench->tape_path);
    free(bench->tape_script);
    strings_free(bench->tape_argv);
    net_rules_free(world->net);
    buf_done(&world->denied);
    if (world->files)
        files_done(world->files);
    free(world->files);
    (void)vitro_overlay_free(bench->overlay);
    free(world->programs);
    bench_programs_done(bench->programs, bench->program_count);
    vitro_cassette_discard(bench->cassette);
    free(bench->cassette_path);
    if (bench->owns_clock) {
        timers_forget(bench->clock);
        vitro_clock_free(bench->clock);
    }
    vitro_leaks_free(bench->leaks);
    (void)pthread_mutex_destroy(&world->lock);
    free(bench);
    world_unref(outer);
}
