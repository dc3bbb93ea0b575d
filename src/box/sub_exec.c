/* SPDX-License-Identifier: MIT */
/* What is to become of an exec: whether it is a call that counts, which recordings may answer it,
 * and the stub in its place. */
#include "box/sub.h"
#include "box/special.h"
#include "box/stub_abi.h"
#include "base/fd.h"
#include "base/text.h"
#include "proc/proc_options.h"
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <linux/openat2.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

void subs_path(const struct box *box, const char *name, char ret[SUBS_PATH_MAX])
{
    (void)snprintf(ret, SUBS_PATH_MAX, "%s/%s", box->own_dir, name);
}

enum { CANDIDATES_MAX = 4096 };

static const struct proc_options *options_of(const struct box *box)
{
    return &box->options->proc;
}

static bool is_named(const char *const *patterns, const char *program)
{
    const char *slash = strrchr(program, '/');

    for (; patterns && *patterns; patterns++)
        if (fnmatch(*patterns,
                    strchr(*patterns, '/') ? program
                    : slash                ? slash + 1
                                           : program,
                    0) == 0)
            return true;
    return false;
}

static bool is_ours(const struct box *box, const char *program)
{
    const struct proc_options *options = options_of(box);

    return (!options->only || !*options->only || is_named(options->only, program)) &&
           !is_named(options->except, program);
}

static bool can_be_executed(const struct box *box, const struct task *task, const char *program)
{
    char cwd[40];
    struct stat st;

    (void)snprintf(cwd, sizeof cwd, "/proc/%d/cwd", task->tid);
    CLEANUP(fd_close)
    int base = program[0] == '/' ? -1 : open(cwd, O_PATH | O_DIRECTORY | O_CLOEXEC);
    CLEANUP(fd_close)
    int fd = base < 0 ? fd_open_in(box->root_fd, program, O_PATH, RESOLVE_IN_ROOT)
                      : openat(base, program, O_PATH | O_CLOEXEC);
    return fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_mode & 0111;
}

/* ---- the decision -------------------------------------------------------------------------- */

static struct sub *sub_new(enum sub_how how, const struct call_forms *forms)
{
    struct sub *sub = mem_alloc(sizeof *sub);

    sub->how = how;
    sub->recording.program = mem_dup(forms->program);
    sub->recording.cwd = mem_dup(forms->cwd);
    sub->recording.argv = strings_copy((const char *const *)forms->argv);
    sub->recording.env = strings_copy((const char *const *)forms->env);
    return sub;
}

static void install_stub(struct box *box)
{
    extern const char box_stub_image[], box_stub_image_end[];
    char path[96];

    if (box->subs->stub_there)
        return;
    box->subs->stub_there = true;
    (void)snprintf(path, sizeof path, "/proc/%d/root%s/stub", box->init_pid, box->own_dir);
    CLEANUP(fd_close) int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
    if (fd < 0 || fchmod(fd, 0755) < 0 ||
        fd_write_full(fd, box_stub_image, (size_t)(box_stub_image_end - box_stub_image)) < 0)
        sub_trouble(box, "the stub could not be put into the box: %s", strerror(errno));
}

/* A search of PATH looks before it executes: recorded programs that are not on this machine are to
 * be found, in a directory that comes last. */
void subs_program_started(struct box *box)
{
    char path[96], stub[SUBS_PATH_MAX], last[128] = "";

    if (!box->subs || options_of(box)->mode == PROC_RECORD)
        return;
    install_stub(box);
    subs_path(box, "stub", stub);
    (void)snprintf(path, sizeof path, "/proc/%d/root%s/bin", box->init_pid, box->own_dir);
    (void)mkdir(path, 0755);
    (void)chmod(path, 0755);
    CLEANUP(fd_close) int dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    for (size_t i = 0; i < cassette_count(box->subs->cassette); i++) {
        const char *name = cassette_entry(box->subs->cassette, i)->name;
        if (strcmp(name, last) != 0)
            (void)symlinkat(stub, dir, name);
        (void)snprintf(last, sizeof last, "%s", name);
    }
}

/* The image that is executed becomes the stub. Its path is in the guest's memory since the last
 * exec (exec.c). */
static enum verdict redirect(struct box *box, struct task *task)
{
    struct user_regs_struct *regs = task_regs(task);

    install_stub(box);
    if (!task->process->vdso_ready) {
        sub_trouble(box,
                    "%s (%s) runs without the box's pages, and what it starts cannot be played",
                    task->process->path, task->process->program);
        return VERDICT_GO;
    }
    if ((long)regs->orig_rax == SYS_execveat) {
        regs->rsi = regs->rdx;
        regs->rdx = regs->r10;
        regs->orig_rax = SYS_execve;
    }
    task_set_arg(task, 0, BOX_BASE + offsetof(struct box_guest_page, stub_path));
    return VERDICT_GO;
}

void sub_play_nothing(struct sub *sub, const char *why)
{
    struct recording *recording = &sub->recording;
    CLEANUP(buf_done) struct buf text = {0};

    buf_addf(&text, "vitro: %s", why);
    for (char *const *arg = recording->argv; *arg; arg++) {
        buf_addc(&text, ' ');
        text_add_quoted(&text, *arg);
    }
    buf_addc(&text, '\n');
    recording->streams[2] = (struct recording_bytes){.length = text.length};
    recording->streams[2].text = mem_dupn(text.data, text.length);
    recording_add_event(recording, 0, RECORDING_ERR, text.length);
    recording_add_event(recording, 0, RECORDING_EXIT, 0);
    recording->exit_code = 122;
}

static enum verdict answer(struct box *box, struct task *task, const struct call_forms *forms)
{
    const struct proc_options *options = options_of(box);
    struct process *process = task->process;
    static size_t ids[CANDIDATES_MAX];
    struct call call = call_of_forms(forms);

    size_t count = cassette_find(box->subs->cassette, &call, ids, ARRAY_LENGTH(ids));
    if (count) {
        process->pending = sub_new(SUB_PLAYED, forms);
        sub_play_choose(process->pending, ids, count);
        return redirect(box, task);
    }
    /* What is not there now and was not there then fails as it did. */
    if (!cassette_knows(box->subs->cassette, call.program) &&
        !can_be_executed(box, task, call.program))
        return VERDICT_GO;
    if (options->mode == PROC_NEW || options->on_miss == PROC_MISS_RECORDS) {
        process->pending = sub_new(SUB_RECORDED, forms);
        return VERDICT_GO;
    }
    if (options->on_miss == PROC_MISS_PASSES) {
        process->pending = sub_new(SUB_PASSED, forms);
        return VERDICT_GO;
    }
    sub_miss(box, process, &call);
    process->pending = sub_new(SUB_PLAYED, forms);
    sub_play_nothing(process->pending, "no recording of");
    return redirect(box, task);
}

enum verdict subs_exec(struct box *box, struct task *task)
{
    struct process *process = task->process;
    struct sub_wanted wanted = {0};
    struct call_forms forms = {0};
    enum verdict verdict = VERDICT_GO;

    if (!box->subs || process->sub || process == box->first || !box->program_started)
        return VERDICT_GO;
    sub_free(take_ptr(&process->pending));
    wanted.program = sub_read_program(task);
    if (wanted.program && is_ours(box, wanted.program) && sub_read_wanted(task, &wanted)) {
        struct call call = {.program = wanted.program,
                            .argv = (const char *const *)wanted.argv,
                            .cwd = wanted.cwd,
                            .env = (const char *const *)wanted.env};
        cassette_form(box->subs->cassette, &call, &forms);
        enum proc_mode mode = options_of(box)->mode;
        if (mode == PROC_RECORD || mode == PROC_VERIFY)
            process->pending = sub_new(SUB_RECORDED, &forms);
        else
            verdict = answer(box, task, &forms);
        call_forms_done(&forms);
    }
    sub_wanted_done(&wanted);
    return verdict;
}
