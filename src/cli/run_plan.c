/* SPDX-License-Identifier: MIT */
#include "cli/run_plan.h"
#include "base/fd.h"
#include "base/text.h"
#include "proc/cassette_file.h"
#include "proc/proc_mode.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_bundle(const char *path)
{
    CLEANUP(mem_free) char *manifest = mem_format("%s/manifest.json", path);

    return file_exists(manifest);
}

static bool is_directory(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool in_ci(const struct cli_args *args)
{
    const char *ci = getenv("CI");

    return ci && *ci && !cli_flag(args, "record-in-ci");
}

static int refuse_in_ci(struct err *err)
{
    err_set(err, -EINVAL, "recording is refused while CI is set");
    return err_hint(err, "--record-in-ci allows it");
}

/* The bundle is made beside what it replaces, so that one rename puts it there. */
static int stage(struct run_plan *plan, const char *target, struct err *err)
{
    if (target && !is_directory(target) && !file_exists(target) && !plan->to_tape) {
        plan->box.record = target; /* nothing is replaced */
        return 0;
    }
    if (!target) {
        CLEANUP(mem_free) char *root = NULL;
        int r = dir_make_temp("vitro-record", &root, err);
        plan->staging = take_ptr(&root);
        plan->box.record = plan->staging;
        return r;
    }
    plan->target = mem_dup(target);
    plan->staging = mem_format("%s.%ld.new", target, (long)getpid());
    plan->box.record = plan->staging;
    return dir_remove_all(plan->staging, err);
}

static int use_mode(const struct cli_args *args, struct run_plan *plan, enum proc_asked mode,
                    const char *where, struct err *err)
{
    struct proc_options *proc = &plan->box.proc;
    bool exists = is_bundle(where) || (file_exists(where) && !is_directory(where));
    bool records = mode == ASKED_ALL || mode == ASKED_REFRESH || mode == ASKED_NEW ||
                   (mode == ASKED_ONCE && !exists) || proc->on_miss == PROC_MISS_RECORDS;

    if (is_directory(where) && !exists && mode != ASKED_OFF && rmdir(where) < 0)
        return err_set(err, -EINVAL, "'%s' is a directory, and not a bundle", where);
    if ((mode == ASKED_NONE || mode == ASKED_VERIFY) && !exists) {
        err_set(err, -EINVAL, "--proc %s needs a recording, and there is none at '%s'",
                proc_asked_words[mode], where);
        return err_hint(err, "record one with --record '%s'", where);
    }
    if (in_ci(args) && mode == ASKED_NEW && exists) { /* a miss is then a failure */
        mode = ASKED_NONE;
        records = proc->on_miss == PROC_MISS_RECORDS;
    }
    if (records && in_ci(args))
        return refuse_in_ci(err);
    plan->to_tape = !is_directory(where) && cli_value(args, "cassette") &&
                    strcmp(cli_value(args, "cassette"), where) == 0;
    proc->cassette = exists && mode != ASKED_REFRESH && mode != ASKED_OFF ? where : NULL;
    switch (mode) {
    case ASKED_ONCE:
    case ASKED_NONE:
        proc->mode = exists ? PROC_REPLAY : PROC_RECORD;
        break;
    case ASKED_NEW:
        proc->mode = exists ? PROC_NEW : PROC_RECORD;
        proc->keep_unused = true;
        break;
    case ASKED_ALL:
        proc->keep_unused = true;
        proc->mode = PROC_RECORD;
        break;
    case ASKED_REFRESH:
        proc->mode = PROC_RECORD;
        break;
    case ASKED_VERIFY:
        proc->mode = PROC_VERIFY;
        return stage(plan, NULL, err);
    case ASKED_OFF:
    case ASKED_COUNT:
        break;
    }
    if (mode == ASKED_OFF) {
        plan->box.record = cli_value(args, "record");
        return plan->box.record && in_ci(args) ? refuse_in_ci(err) : 0;
    }
    return records ? stage(plan, where, err) : 0;
}

/* --record alone makes a bundle; --cassette alone plays one. */
static int plan_cassettes(const struct cli_args *args, struct run_plan *plan, struct err *err)
{
    struct proc_options *proc = &plan->box.proc;
    const char *record = cli_value(args, "record"), *cassette = cli_value(args, "cassette");
    const char *replay = cli_value(args, "process-replay");
    enum proc_asked mode = ASKED_NONE;

    plan->list = cli_value(args, "process-record");
    if ((replay && (cassette || plan->list)) || (plan->list && cassette))
        return err_set(err, -EINVAL,
                       "--cassette, --process-record and --process-replay are three "
                       "ways to say one thing: give one");
    if (cli_value(args, "proc")) {
        const char *where = cassette ? cassette : replay ? replay : record;
        int r = proc_asked_parse(cli_value(args, "proc"), &mode, err);
        if (r < 0)
            return err_wrap(err, "--proc");
        if (r == 0 && !where && mode != ASKED_OFF) {
            err_set(err, -EINVAL, "--proc %s: where are the recordings?", proc_asked_words[mode]);
            return err_hint(err, "give --record DIR or --cassette PATH as well");
        }
        r = r < 0 ? r : use_mode(args, plan, mode, where ? where : "", err);
        if (r == 0 && cassette && record && !plan->box.record)
            plan->box.record = record; /* a bundle of this run, too */
        return r;
    }
    if ((record || plan->list) && in_ci(args))
        return refuse_in_ci(err);
    if (cassette || replay)
        return use_mode(args, plan, ASKED_NONE, cassette ? cassette : replay, err);
    if (plan->list || record)
        proc->mode = PROC_RECORD;
    plan->box.record = record;
    return plan->list && !record ? stage(plan, NULL, err) : 0;
}

int run_plan_read(const struct cli_args *args, struct run_plan *plan, struct err *err)
{
    int r = box_cli_read(args, &plan->box, err);

    if (r == 0)
        r = proc_cli_read(args, &plan->box.proc, &plan->proc, err);
    return r < 0 ? r : plan_cassettes(args, plan, err);
}

int bundle_replace(const char *staging, const char *target, struct err *err)
{
    CLEANUP(mem_free) char *old = mem_format("%s.%ld.old", target, (long)getpid());

    if (rename(target, old) < 0 && errno != ENOENT)
        return err_set(err, -errno, "move '%s' aside: %m", target);
    if (rename(staging, target) < 0) {
        int code = -errno;
        (void)rename(old, target);
        return err_set(err, code, "replace '%s': %s", target, strerror(-code));
    }
    return dir_remove_all(old, err);
}

int run_plan_keep(const struct cli_args *args, struct run_plan *plan, int code, struct err *err)
{
    const char *bundle = plan->box.record;
    int r = 0;

    if (!bundle || !is_bundle(bundle) || code == EXIT_TROUBLE)
        return 0;
    if (plan->list)
        r = cassette_write_list(bundle, plan->list, err);
    if (r == 0 && plan->to_tape && plan->target)
        return cassette_write_tape(bundle, plan->target, err);
    if (r == 0 && (!plan->staging || plan->target))
        r = run_file_write(args, bundle, err);
    if (r == 0 && plan->staging && plan->target)
        r = bundle_replace(bundle, plan->target, err);
    return r;
}

void run_plan_done(struct run_plan *plan)
{
    if (plan->staging)
        (void)dir_remove_all(plan->staging, NULL);
    free(plan->staging);
    free(plan->target);
    proc_cli_done(&plan->proc);
    box_cli_done(&plan->box);
    *plan = (struct run_plan){0};
}
