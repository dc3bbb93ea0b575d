/* SPDX-License-Identifier: MIT */
#include "box/sub.h"
#include "box/special.h"
#include "box/stub_abi.h"
#include "base/fd.h"
#include "base/text.h"
#include "base/trace.h"
#include "base/wall.h"
#include "proc/proc_options.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct proc_options *options_of(const struct box *box)
{
    return &box->options->proc;
}

int subs_open(struct box *box, struct err *err)
{
    const struct proc_options *options = options_of(box);

    if (options->mode == PROC_OFF)
        return 0;
    struct subs *subs = box->subs = mem_alloc(sizeof *subs);
    const char *worktree = box->options->fs.worktree;
    subs->worktree = realpath(worktree                  ? worktree
                              : box->options->directory ? box->options->directory
                                                        : ".",
                              NULL);
    subs->programs = programs_new();
    subs->directory = mem_dup(box->options->record ? box->options->record : "/tmp");
    subs->cassette = cassette_new(&(struct cassette_options){.view = options->view,
                                                             .worktree = subs->worktree,
                                                             .strict_order = options->strict_order,
                                                             .max_age_ns = options->max_age_ns,
                                                             .now_ns = wall_now_ns(),
                                                             .environment = box->options->envp});
    int r = options->cassette ? cassette_load(subs->cassette, options->cassette, err) : 0;
    return r < 0 ? r : sub_input_open(box, err);
}

void sub_free(struct sub *sub)
{
    if (!sub)
        return;
    for (int i = 0; i < 3; i++)
        spool_done(&sub->streams[i].spool);
    recording_done(&sub->recording);
    sub_files_free(sub->files);
    sub_play_free(sub->play);
    free(sub->path);
    free(sub->data);
    free(sub->host);
    free(sub);
}

/* ---- its life ------------------------------------------------------------------------------ */

static const struct program_facts *facts_of(struct box *box, const char *program)
{
    CLEANUP(fd_close) int fd = fd_open_in(box->root_fd, program, O_RDONLY, RESOLVE_IN_ROOT);

    return programs_look(box->subs->programs, fd, program);
}

static void name_process(struct process *process, const char *program)
{
    const char *slash = strrchr(program, '/');
    enum { COMM_LENGTH = 15 };

    free(process->program);
    program = slash ? slash + 1 : program;
    process->program = mem_dupn(program, strnlen(program, COMM_LENGTH));
}

static void tape_start(struct box *box, struct task *task, const struct recording *recording)
{
    struct tape_data data = {0};

    if (!box->tape)
        return;
    tape_data_begin(&data);
    tape_data_texts(&data, "args", (const char *const *)recording->argv);
    tape_data_text(&data, "program", task->process->program);
    tape_data_end(&data);
    tape_event(box, task->process, task->ordinal, TAPE_PROCESS_SPAWN, "%.*s",
               (int)data.text.length - 2, data.text.data + 1);
    tape_data_done(&data);
}

enum sub_exec subs_exec_done(struct box *box, struct task *task)
{
    struct process *process = task->process;
    struct sub *sub = take_ptr(&process->pending);

    if (!sub)
        return process->sub && process->sub->how != SUB_PASSED ? SUB_EXEC_RECORDED : SUB_EXEC_PLAIN;
    sub->path = mem_dup(process->path);
    sub->pid = process->pid;
    sub->live = 1;
    sub->started_ns = vclock_now(&box->clock);
    sub->real_started_ns = wall_monotonic_ns();
    sub->next = box->subs->first;
    box->subs->first = sub;
    process->sub = sub;
    if (sub->how == SUB_PASSED) {
        box->findings->proc.passed++;
        return SUB_EXEC_PLAIN;
    }
    name_process(process, sub->recording.program);
    tape_start(box, task, &sub->recording);
    if (sub->how == SUB_PLAYED)
        return sub_play_begin(box, task, sub) == 0 ? SUB_EXEC_PLAYED : SUB_EXEC_RECORDED;
    struct recording *recording = &sub->recording;
    recording->path = mem_dup(recording->program);
    recording_set_program(recording, facts_of(box, recording->program));
    recording->recorded_at_ns = wall_now_ns();
    sub_io_begin(box, task, sub);
    return SUB_EXEC_RECORDED;
}

void sub_take(struct box *box, struct sub *sub, size_t id)
{
    struct cassette *cassette = box->subs->cassette;
    struct cassette_entry *entry = cassette_entry(cassette, id);
    struct recording recording = {0};
    struct err err = {0};

    if (cassette_recording(cassette, id, &recording, &err) < 0) {
        sub_trouble(box, "%s", err.text); /* it was read before, so this is memory gone bad */
        return;
    }
    cassette_use(cassette, id);
    CLEANUP(mem_free) char *program = take_ptr(&sub->recording.program);
    recording_done(&sub->recording);
    sub->recording = recording;
    sub->data = mem_dup(entry->data);
    sub->host = mem_dup(entry->host);
    if (!recording.has_digest || text_starts(program, box->own_dir))
        return;
    const struct program_facts *now = facts_of(box, program);
    if (now && memcmp(&now->digest, &recording.digest, sizeof now->digest) != 0)
        sub_drift(box, sub, now);
}

void subs_forked(struct process *child, struct process *parent)
{
    child->sub = parent->sub;
    child->tapped = parent->tapped;
    if (child->sub)
        child->sub->live++;
}

int64_t sub_offset(const struct box *box, const struct sub *sub)
{
    return vclock_now(&box->clock) - sub->started_ns;
}

void subs_ended(struct box *box, struct process *process, int status)
{
    struct sub *sub = process->sub;

    if (!sub || sub->pid != process->pid || sub->exited)
        return;
    sub->exited = true;
    if (sub->how != SUB_RECORDED)
        return;
    struct recording *recording = &sub->recording;
    recording->duration_ns = sub_offset(box, sub);
    recording->real_ns = wall_monotonic_ns() - sub->real_started_ns;
    recording->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    recording->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    recording->awaits_signal = recording->signal && sub->awaited >> (recording->signal - 1) & 1;
    recording_add_event(recording, recording->duration_ns, RECORDING_EXIT, 0);
}

void subs_woke(struct box *box, const struct process *process)
{
    struct sub *sub = process->sub;

    if (sub && sub->how == SUB_RECORDED)
        recording_add_event(&sub->recording, sub_offset(box, sub), RECORDING_WAKE, 0);
}

static void still_running(struct box *box, struct sub *sub)
{
    struct recording *recording = &sub->recording;

    recording->duration_ns = sub_offset(box, sub);
    recording->signal = SIGKILL; /* the box ended it */
    recording->awaits_signal = true;
    recording_add_event(recording, recording->duration_ns, RECORDING_EXIT, 0);
}

/* A new recording takes the place of an old one of the same call. */
static void supersede(struct box *box, const struct recording *recording)
{
    struct hash_text digest;
    struct call call = recording_call(recording, &digest);
    size_t id;

    if (cassette_find(box->subs->cassette, &call, &id, 1))
        cassette_use(box->subs->cassette, id);
}

/* Recordings that nobody asked for, of a cassette that is only added to. */
static void keep_unused(struct box *box)
{
    struct cassette *cassette = box->subs->cassette;

    for (size_t i = 0; i < cassette_count(cassette); i++) {
        struct cassette_entry *entry = cassette_entry(cassette, i);
        CLEANUP(recording_done) struct recording recording = {0};
        struct err err = {0};
        if (entry->used || cassette_recording(cassette, i, &recording, &err) < 0)
            continue;
        sub_play_copy(box, &recording, entry->store);
        tape_subprocess(box, "", entry->data, entry->host);
    }
}

static void finish_recorded(struct box *box, struct sub *sub)
{
    CLEANUP(buf_done) struct buf data = {0};
    CLEANUP(buf_done) struct buf host = {0};
    struct err err = {0};

    if (!sub->exited)
        still_running(box, sub);
    int r = sub_io_end(box, sub, &err);
    if (r == 0)
        r = sub_files_end(box, sub, &err);
    if (r < 0) {
        sub_trouble(box, "record %s (%s): %s", sub->path, sub->recording.program, err.text);
        return;
    }
    box->findings->proc.recorded++;
    if (options_of(box)->mode == PROC_VERIFY)
        sub_compare(box, sub);
    else if (options_of(box)->mode == PROC_RECORD)
        supersede(box, &sub->recording);
    recording_add_data(&sub->recording, &data);
    recording_add_host(&sub->recording, &host);
    tape_subprocess(box, sub->path, buf_text(&data), buf_text(&host));
}

/* Its contents come along: a bundle is whole in itself. */
static void finish_played(struct box *box, struct sub *sub)
{
    if (!sub->data)
        return;
    box->findings->proc.played++;
    if (box->tape) {
        sub_play_keep(box, sub);
        tape_subprocess(box, sub->path, sub->data, sub->host);
    }
}

void subs_released(struct box *box, struct process *process)
{
    struct sub *sub = take_ptr(&process->sub);

    sub_free(take_ptr(&process->pending));
    if (!sub || --sub->live)
        return;
    struct sub **link = &box->subs->first;
    while (*link != sub)
        link = &(*link)->next;
    *link = sub->next;
    if (sub->how == SUB_RECORDED)
        finish_recorded(box, sub);
    else if (sub->how == SUB_PLAYED)
        finish_played(box, sub);
    sub_free(sub);
}

bool subs_stub_call(struct box *box, struct task *task)
{
    struct sub *sub = task->process ? task->process->sub : NULL;

    if (!sub || sub->how != SUB_PLAYED || (long)task_regs(task)->orig_rax != STUB_CALL)
        return false;
    sub_play_more(box, task, sub);
    task_skip(task, 0);
    return true;
}

bool subs_on_tape(const struct process *process, enum tape_kind kind)
{
    const struct sub *sub = process->sub;

    if (!sub || sub->how == SUB_PASSED)
        return true;
    return sub->pid == process->pid && (kind == TAPE_PROCESS_SPAWN || kind == TAPE_PROCESS_EXIT);
}

int subs_close(struct box *box, struct err *err)
{
    struct subs *subs = box->subs;

    if (!subs)
        return 0;
    int r = sub_input_close(box, err);
    sub_report_end(box);
    if (options_of(box)->keep_unused && box->tape)
        keep_unused(box);
    cassette_free(subs->cassette);
    free(subs->worktree);
    free(subs->directory);
    programs_free(subs->programs);
    spool_done(&subs->input);
    free(subs);
    box->subs = NULL;
    return r;
}
