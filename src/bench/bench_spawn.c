/* SPDX-License-Identifier: MIT */
/* The same options for a program of its own: a box. */
#include "bench/bench.h"
#include "proc/recording.h"
#include "proc/wasi.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int check(const struct vitro_bench_options *options, const struct vitro_box_options *box,
                 struct err *err)
{
    int r = bench_options_check(options, err);

    if (r < 0)
        return r;
    if (!box || !box->argv || !box->argv[0])
        return err_set(err, -EINVAL, "bench spawn: no program");
    if (options->clock_is)
        return err_set(err, -EINVAL,
                       "bench clock: a clock of this process cannot be a box's\n"
                       "hint: options.clock, in words");
    if (options->net_allow && options->net_allow[0])
        return err_set(err, -ENOSYS,
                       "bench network: a box has its own loopback or all of the "
                       "network; rules are not built");
    return 0;
}

/* The environment with programs made of modules first in PATH. Returns owned. */
static int wasi_env(const char *modules, const char *worktree, const char *const *envp, char ***ret,
                    struct err *err)
{
    CLEANUP(mem_free) char *directory = NULL;
    CLEANUP(mem_free) char *root = realpath(worktree ? worktree : ".", NULL);
    const char *path = "/usr/bin:/bin";
    size_t count = 0, kept = 0;
    int r = wasi_prepare(&(struct wasi_options){.directory = modules}, &directory, err);

    if (r < 0)
        return err_wrap(err, "bench subprocess");
    while (envp[count])
        count++;
    char **env = mem_alloc((count + 3) * sizeof *env);
    for (size_t i = 0; i < count; i++)
        if (strncmp(envp[i], "PATH=", 5) == 0)
            path = envp[i] + 5;
        else
            env[kept++] = mem_dup(envp[i]);
    env[kept++] = mem_format("PATH=%s:%s", directory, path);
    env[kept] = mem_format("VITRO_WASI_ROOT=%s", root ? root : "/");
    *ret = env;
    return 0;
}

vitro_box *vitro_bench_spawn(const struct vitro_bench_options *options,
                             const struct vitro_box_options *box, struct vitro_bench_error *error)
{
    static const struct vitro_bench_options none;
    struct vitro_box_error why;

    options = options ? options : &none;
    if (check(options, box, bench_err(error)) < 0)
        return NULL;
    struct vitro_box_options all = *box;
    all.clock =
        options->clock && strncmp(options->clock, "paused", 6) != 0 ? options->clock : all.clock;
    all.seed = options->seed ? options->seed : all.seed;
    all.random_real = !options->seed && all.random_real;
    all.worktree = options->fs ? options->fs : all.worktree;
    all.envp = options->env ? options->env : all.envp;
    all.net_real = options->net ? 0 : all.net_real;
    all.record = options->tape ? options->tape : all.record;
    struct vitro_cassette_options cassette = {.path = options->proc_record ? options->proc_record
                                                                           : options->proc_replay,
                                              .mode = options->proc_record ? "refresh" : "none"};
    if (cassette.path)
        all.cassette = &cassette;
    char **env = NULL;
    if (options->proc_wasi) {
        const char *const *base = all.envp ? all.envp : (const char *const *)environ;
        if (wasi_env(options->proc_wasi, all.worktree, base, &env, bench_err(error)) < 0)
            return NULL;
        all.envp = (const char *const *)env;
    }
    vitro_box *spawned = vitro_box_spawn(&all, &why);
    strings_free(env);
    if (!spawned)
        (void)err_set(bench_err(error), why.code, "bench spawn: %.900s", why.text);
    return spawned;
}
