/* SPDX-License-Identifier: MIT */
#include "cli/box_cli.h"
#include "base/text.h"
#include "base/when.h"
#include <errno.h>
#include <string.h>

static int read_number(const struct cli_args *args, const char *name, uint64_t max, uint64_t *ret,
                       struct err *err)
{
    const char *text = cli_value(args, name);

    if (!text)
        return 0;
    if (text_to_u64(text, ret) && *ret >= 1 && *ret <= max)
        return 0;
    return err_set(err, -EINVAL, "--%s '%s' is not a number from 1 to %llu", name, text,
                   (unsigned long long)max);
}

static int read_duration(const struct cli_args *args, const char *name, uint64_t *ret,
                         struct err *err)
{
    const char *text = cli_value(args, name);

    if (!text || when_parse_duration(text, ret, err) == 0)
        return 0;
    return err_wrap(err, "--%s", name);
}

/* One of two words; the second one sets the flag. */
static int read_choice(const struct cli_args *args, const char *name, const char *off,
                       const char *on, bool *ret, struct err *err)
{
    const char *text = cli_value(args, name);

    if (!text || strcmp(text, off) == 0)
        return 0;
    if (strcmp(text, on) == 0) {
        *ret = true;
        return 0;
    }
    err_set(err, -EINVAL, "--%s '%s' is not known", name, text);
    return err_hint(err, "write --%s %s or --%s %s", name, off, name, on);
}

static int read_allow(const struct cli_args *args, struct box_options *ret, struct err *err)
{
    static const char *const words[] = {"leak", "miss", "orphan", "unused"};
    const char *const *values;
    size_t count = cli_values(args, "allow", &values);

    for (size_t i = 0; i < count; i++) {
        if (strcmp(values[i], "leak") == 0) {
            ret->allow_leak = true;
        } else if (strcmp(values[i], "orphan") == 0) {
            ret->allow_orphan = true;
        } else if (strcmp(values[i], "miss") == 0) {
            ret->proc.allow_miss = true;
        } else if (strcmp(values[i], "unused") == 0) {
            ret->proc.allow_unused = true;
        } else {
            const char *closest = text_closest(values[i], words, ARRAY_LENGTH(words));
            err_set(err, -EINVAL, "--allow '%s' is not known", values[i]);
            return err_hint(err, "write --allow %s", closest ? closest : "leak or --allow orphan");
        }
    }
    return 0;
}

static int read_size(const struct cli_args *args, const char *name, uint64_t *ret, struct err *err)
{
    const char *text = cli_value(args, name);

    if (!text || text_to_size(text, ret))
        return 0;
    err_set(err, -EINVAL, "--%s '%s' is not a size", name, text);
    return err_hint(err, "write a number of bytes, or 512k, 64m, 2g");
}

/* Lists that must live as long as the arguments do. */
static const char *const *keep_list(const struct cli_args *args, const char *name)
{
    const char *const *values;
    size_t count = cli_values(args, name, &values);
    const char **kept = mem_alloc((count + 1) * sizeof *kept);

    memcpy(kept, values, count * sizeof *kept);
    return kept;
}

static int read_files(const struct cli_args *args, struct fs_options *fs, struct err *err)
{
    static const char *const modes[] = {"overlay", "real", "ro"};
    const char *mode = cli_value(args, "fs");

    fs->worktree = cli_value(args, "worktree");
    fs->upper_dir = cli_value(args, "upper");
    fs->share_tmp = cli_flag(args, "share-tmp");
    fs->writable = keep_list(args, "writable");
    fs->hide = keep_list(args, "hide");
    for (size_t i = 0; mode && i < ARRAY_LENGTH(modes); i++)
        if (strcmp(mode, modes[i]) == 0) {
            fs->mode = (enum fs_mode)i;
            mode = NULL;
        }
    if (mode) {
        err_set(err, -EINVAL, "--fs '%s' is not known", mode);
        return err_hint(err, "write --fs overlay, --fs ro or --fs real");
    }
    return read_size(args, "size-limit", &fs->size_limit, err);
}

void box_cli_done(struct box_options *options)
{
    free((void *)options->fs.writable);
    free((void *)options->fs.hide);
    options->fs.writable = options->fs.hide = NULL;
    wasi_cli_done(options);
}

int box_cli_read(const struct cli_args *args, struct box_options *ret, struct err *err)
{
    const char *clock = cli_value(args, "clock");
    uint64_t cpus = 0, procs = 0, memory = 0;
    int r = clock ? box_clock_parse(clock, &ret->clock, err) : 0;

    cli_operands(args, &ret->argv);
    ret->trace_reads = cli_flag(args, "trace-reads");
    if (!*ret->argv[0])
        return err_set(err, -EINVAL, "the program's name is empty");
    if (r < 0 || (r = read_number(args, "seed", UINT64_MAX, &ret->seed, err)) < 0 ||
        (r = read_number(args, "cpus", 64, &cpus, err)) < 0 ||
        (r = read_number(args, "max-steps", UINT64_MAX, &ret->max_steps, err)) < 0 ||
        (r = read_number(args, "max-procs", 1000000, &procs, err)) < 0 ||
        (r = read_duration(args, "max-time", &ret->max_time_ns, err)) < 0 ||
        (r = read_duration(args, "timeout", &ret->timeout_ns, err)) < 0 ||
        (r = read_choice(args, "net", "deny", "real", &ret->net_real, err)) < 0 ||
        (r = read_choice(args, "random", "virtual", "real", &ret->random_real, err)) < 0 ||
        (r = read_choice(args, "identity", "virtual", "real", &ret->identity_real, err)) < 0 ||
        (r = read_files(args, &ret->fs, err)) < 0 ||
        (r = read_size(args, "wasi-memory", &memory, err)) < 0)
        return r;
    ret->cpus = (unsigned)cpus;
    ret->max_procs = (unsigned)procs;
    r = read_allow(args, ret, err);
    return r < 0 ? r : wasi_cli_read(args, memory, ret, err);
}
