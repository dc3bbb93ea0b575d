/* SPDX-License-Identifier: MIT */
#include "cli/wasi_cli.h"
#include "base/text.h"
#include "proc/wasi.h"
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

/* Making a program takes seconds, once. */
static void show_progress(void *context, const char *name, size_t done, size_t of)
{
    (void)context;
    if (name)
        (void)fprintf(stderr, "\r\033[Kvitro: making programs of modules: %s (%zu of %zu)", name,
                      done + 1, of);
    else
        (void)fputs("\r\033[K", stderr);
}

static int need_wasi(const struct cli_args *args, uint64_t memory, struct err *err)
{
    if (!memory && !cli_value(args, "wasi-steps"))
        return 0;
    return err_set(err, -EINVAL,
                   "--wasi-memory and --wasi-steps limit modules, and no --wasi DIR is given");
}

int wasi_cli_read(const struct cli_args *args, uint64_t memory, struct box_options *ret,
                  struct err *err)
{
    const char *steps = cli_value(args, "wasi-steps");
    struct wasi_options wasi = {.directory = cli_value(args, "wasi"), .memory_bytes = memory};
    char *directory = NULL;

    if (!wasi.directory)
        return need_wasi(args, memory, err);
    if (steps && (!text_to_u64(steps, &wasi.steps) || !wasi.steps))
        return err_set(err, -EINVAL, "--wasi-steps '%s' is not a number from 1 up", steps);
    wasi.progress = isatty(STDERR_FILENO) ? show_progress : NULL;
    int r = wasi_prepare(&wasi, &directory, err);
    if (r < 0)
        return err_wrap(err, "--wasi");
    char **env = mem_alloc(4 * sizeof *env);
    size_t count = 0;
    const char *root = ret->fs.worktree ? ret->fs.worktree : ".";
    CLEANUP(mem_free) char *absolute = realpath(root, NULL);
    env[count++] = mem_format("VITRO_WASI_ROOT=%s", absolute ? absolute : root);
    if (memory)
        env[count++] = mem_format("VITRO_WASI_MEMORY=%llu", (unsigned long long)memory);
    if (wasi.steps)
        env[count++] = mem_format("VITRO_WASI_STEPS=%llu", (unsigned long long)wasi.steps);
    ret->path_first = directory;
    ret->add_env = (const char *const *)env;
    return 0;
}

void wasi_cli_done(struct box_options *options)
{
    for (size_t i = 0; options->add_env && options->add_env[i]; i++)
        free((void *)options->add_env[i]);
    free((void *)options->add_env);
    free((void *)options->path_first);
    options->add_env = NULL;
    options->path_first = NULL;
}
