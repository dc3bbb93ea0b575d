/* SPDX-License-Identifier: MIT */
#include "proc/proc_plan.h"
#include "base/fd.h"
#include "proc/cassette_file.h"
#include "proc/proc_mode.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
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

static bool in_ci(const struct proc_asked_for *asked)
{
    const char *ci = getenv("CI");

    return ci && *ci && !asked->record_in_ci;
}

static int refuse_in_ci(struct err *err)
{
    err_set(err, -EINVAL, "recording is refused while CI is set");
    return err_hint(err, "--record-in-ci allows it");
}

/* The bundle is made beside what it replaces, so that one rename puts it there. */
static int stage(const struct proc_asked_for *asked, struct proc_plan *plan, const char *target,
                 struct err *err)
{
    if (target && plan->to_tape && asked->record) { /* a bundle is wanted as well */
        plan->record = mem_dup(asked->record);
        plan->target = mem_dup(target);
        return 0;
    }
    if (target && !is_directory(target) && !file_exists(target) && !plan->to_tape) {
        plan->record = mem_dup(target); /* nothing is replaced */
        return 0;
    }
    plan->is_staging = true;
    if (!target) {
        int r = scratch_make(NULL, "record", &plan->scratch, err);
        plan->record = r < 0 ? NULL : mem_format("%s/bundle", plan->scratch.path);
        return r;
    }
    plan->target = mem_dup(target);
    plan->record = mem_format("%s.%ld.new", target, (long)getpid());
    return dir_remove_all(plan->record, err);
}

static int use_mode(const struct proc_asked_for *asked, struct proc_options *proc,
                    struct proc_plan *plan, enum proc_asked mode, const char *where,
                    struct err *err)
{
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
    if (in_ci(asked) && mode == ASKED_NEW && exists) { /* a miss is then a failure */
        mode = ASKED_NONE;
        records = proc->on_miss == PROC_MISS_RECORDS;
    }
    if (records && in_ci(asked))
        return refuse_in_ci(err);
    plan->to_tape = !is_directory(where) && asked->cassette && strcmp(asked->cassette, where) == 0;
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
        return stage(asked, plan, NULL, err);
    case ASKED_OFF:
    case ASKED_COUNT:
        break;
    }
    if (mode == ASKED_OFF) {
        plan->record = mem_dup(asked->record);
        return plan->record && in_ci(asked) ? refuse_in_ci(err) : 0;
    }
    return records ? stage(asked, plan, where, err) : 0;
}

/* --record alone makes a bundle; --cassette alone plays one. */
int proc_plan_make(const struct proc_asked_for *asked, struct proc_options *proc,
                   struct proc_plan *plan, struct err *err)
{
    const char *record = asked->record, *cassette = asked->cassette, *replay = asked->replay_list;
    enum proc_asked mode = ASKED_NONE;

    plan->list = mem_dup(asked->record_list);
    if ((replay && (cassette || plan->list)) || (plan->list && cassette))
        return err_set(err, -EINVAL,
                       "--cassette, --process-record and --process-replay are three "
                       "ways to say one thing: give one");
    if (asked->mode) {
        const char *where = cassette ? cassette : replay ? replay : record;
        int r = proc_asked_parse(asked->mode, &mode, err);
        if (r < 0)
            return err_wrap(err, "--proc");
        if (r == 0 && !where && mode != ASKED_OFF) {
            err_set(err, -EINVAL, "--proc %s: where are the recordings?", proc_asked_words[mode]);
            return err_hint(err, "give --record DIR or --cassette PATH as well");
        }
        r = r < 0 ? r : use_mode(asked, proc, plan, mode, where ? where : "", err);
        if (r == 0 && cassette && record && !plan->record)
            plan->record = mem_dup(record); /* a bundle of this run, too */
        return r;
    }
    if ((record || plan->list) && in_ci(asked))
        return refuse_in_ci(err);
    if (cassette || replay)
        return use_mode(asked, proc, plan, ASKED_NONE, cassette ? cassette : replay, err);
    if (plan->list || record)
        proc->mode = PROC_RECORD;
    plan->record = mem_dup(record);
    return plan->list && !record ? stage(asked, plan, NULL, err) : 0;
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

int proc_plan_convert(const struct proc_plan *plan, struct err *err)
{
    int r = 0;

    if (plan->list)
        r = cassette_write_list(plan->record, plan->list, err);
    if (r == 0 && plan->to_tape && plan->target)
        r = cassette_write_tape(plan->record, plan->target, err);
    return r;
}

bool proc_plan_keeps_bundle(const struct proc_plan *plan)
{
    return plan->record && (!plan->is_staging || (plan->target && !plan->to_tape));
}

int proc_plan_place(const struct proc_plan *plan, struct err *err)
{
    return plan->is_staging && plan->target && !plan->to_tape
               ? bundle_replace(plan->record, plan->target, err)
               : 0;
}

void proc_plan_done(struct proc_plan *plan)
{
    if (plan->is_staging && plan->record)
        (void)dir_remove_all(plan->record, NULL);
    scratch_remove(&plan->scratch);
    free(plan->record);
    free(plan->target);
    free(plan->list);
    *plan = (struct proc_plan){0};
}
