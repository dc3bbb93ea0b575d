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
#include <fnmatch.h>
#include <linux/openat2.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

const char subs_stub_path[] = SPECIAL_DIRECTORY "/stub";
const char subs_programs_directory[] = SPECIAL_DIRECTORY "/bin";

enum { ARGUMENTS_MAX = 65536, ARGUMENT_BYTES_MAX = 131072, CANDIDATES_MAX = 4096 };

struct program_digest {
    uint64_t device, inode;
    int64_t mtime_ns;
    struct hash digest;
};

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
    subs->directory = mem_dup(box->options->record ? box->options->record : "/tmp");
    subs->cassette = cassette_new(&(struct cassette_options){.view = options->view,
                                                             .worktree = subs->worktree,
                                                             .strict_order = options->strict_order,
                                                             .max_age_ns = options->max_age_ns,
                                                             .now_ns = wall_now_ns()});
    return options->cassette ? cassette_load(subs->cassette, options->cassette, err) : 0;
}

/* ---- what a call is ------------------------------------------------------------------------ */

static char *read_string(struct task *task, uint64_t address)
{
    CLEANUP(buf_done) struct buf text = {0};
    char piece[512];

    while (text.length < ARGUMENT_BYTES_MAX) {
        size_t step = BOX_PAGE - (address + text.length) % BOX_PAGE;
        step = step < sizeof piece ? step : sizeof piece;
        if (guest_read(task, address + text.length, piece, step) < 0)
            return NULL;
        const char *end = memchr(piece, '\0', step);
        buf_add(&text, piece, end ? (size_t)(end - piece) : step);
        if (end)
            return text.data ? buf_take(&text) : mem_dup("");
    }
    return NULL;
}

/* A NULL-ended list of pointers in the guest; NULL if it cannot be read: the kernel then says so.
 */
static char **read_strings(struct task *task, uint64_t address)
{
    char **list = mem_alloc(8 * sizeof *list);

    for (size_t count = 0; address && count < ARGUMENTS_MAX; count++) {
        uint64_t pointer;
        if (count >= 7 && (count & (count + 1)) == 0)
            list = mem_grow(list, 2 * (count + 1) * sizeof *list);
        list[count] = NULL;
        if (guest_read(task, address + 8 * count, &pointer, sizeof pointer) < 0)
            return strings_free(list);
        if (!pointer)
            return list;
        list[count] = read_string(task, pointer);
        if (!list[count])
            return strings_free(list);
        list[count + 1] = NULL;
    }
    return list;
}

static char *link_of(pid_t tid, const char *name)
{
    char path[64], target[4096];

    (void)snprintf(path, sizeof path, "/proc/%d/%s", tid, name);
    ssize_t length = readlink(path, target, sizeof target - 1);
    return length < 0 ? NULL : mem_dupn(target, (size_t)length);
}

/* The file that is executed, as the guest names it; by descriptor: as the kernel knows it. */
static char *read_program(struct task *task, const struct user_regs_struct *regs)
{
    char name[32];

    if ((long)regs->orig_rax == SYS_execve)
        return read_string(task, regs->rdi);
    CLEANUP(mem_free) char *path = read_string(task, regs->rsi);
    if (!path || path[0] == '/')
        return take_ptr(&path);
    (void)snprintf(name, sizeof name, (int)regs->rdi == AT_FDCWD ? "cwd" : "fd/%d", (int)regs->rdi);
    CLEANUP(mem_free) char *base = link_of(task->tid, name);
    if (!base || !*path)
        return take_ptr(&base);
    return mem_format("%s/%s", base, path);
}

struct wanted { /* a call, as read from the guest; all owned */
    char *program, *cwd;
    char **argv, **env;
};

static void wanted_done(struct wanted *wanted)
{
    free(wanted->program);
    free(wanted->cwd);
    strings_free(wanted->argv);
    strings_free(wanted->env);
}

static int compare_strings(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool read_wanted(struct task *task, struct wanted *ret)
{
    const struct user_regs_struct *regs = task_regs(task);
    bool at = (long)regs->orig_rax == SYS_execveat;
    size_t count = 0;

    ret->argv = read_strings(task, at ? regs->rdx : regs->rsi);
    ret->env = read_strings(task, at ? regs->r10 : regs->rdx);
    ret->cwd = link_of(task->tid, "cwd");
    while (ret->env && ret->env[count])
        count++;
    if (count)
        qsort(ret->env, count, sizeof *ret->env, compare_strings);
    return ret->program && ret->argv && ret->env;
}

/* ---- which calls --------------------------------------------------------------------------- */

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
    struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT};
    char cwd[40];
    struct stat st;

    (void)snprintf(cwd, sizeof cwd, "/proc/%d/cwd", task->tid);
    CLEANUP(fd_close)
    int base = program[0] == '/' ? -1 : open(cwd, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (program[0] != '/')
        how.resolve = 0;
    CLEANUP(fd_close)
    int fd = (int)syscall(SYS_openat2, base < 0 ? box->root_fd : base, program, &how, sizeof how);
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

static void sub_free(struct sub *sub)
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

static void install_stub(struct box *box)
{
    extern const char box_stub_image[], box_stub_image_end[];
    char path[96];

    if (box->subs->stub_there)
        return;
    box->subs->stub_there = true;
    (void)snprintf(path, sizeof path, "/proc/%d/root%s", box->init_pid, subs_stub_path);
    CLEANUP(fd_close) int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
    if (fd < 0 || fchmod(fd, 0755) < 0 ||
        fd_write_full(fd, box_stub_image, (size_t)(box_stub_image_end - box_stub_image)) < 0)
        sub_trouble(box, "the stub could not be put into the box: %s", strerror(errno));
}

/* A search of PATH looks before it executes: recorded programs that are not on this machine are to
 * be found, in a directory that comes last. */
void subs_program_started(struct box *box)
{
    char path[96], last[128] = "";

    if (!box->subs || options_of(box)->mode == PROC_RECORD)
        return;
    install_stub(box);
    (void)snprintf(path, sizeof path, "/proc/%d/root%s", box->init_pid, subs_programs_directory);
    (void)mkdir(path, 0755);
    (void)chmod(path, 0755);
    CLEANUP(fd_close) int dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    for (size_t i = 0; i < cassette_count(box->subs->cassette); i++) {
        const char *name = cassette_entry(box->subs->cassette, i)->name;
        if (strcmp(name, last) != 0)
            (void)symlinkat(subs_stub_path, dir, name);
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
    struct wanted wanted = {0};
    struct call_forms forms = {0};
    enum verdict verdict = VERDICT_GO;

    if (!box->subs || process->sub || process == box->first || !box->program_started)
        return VERDICT_GO;
    sub_free(take_ptr(&process->pending));
    wanted.program = read_program(task, task_regs(task));
    if (wanted.program && is_ours(box, wanted.program) && read_wanted(task, &wanted)) {
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
    wanted_done(&wanted);
    return verdict;
}

/* ---- its life ------------------------------------------------------------------------------ */

/* The bytes of a program, hashed once for each file. */
static bool digest_of(struct box *box, const char *program, struct hash *ret)
{
    struct open_how how = {.flags = O_RDONLY | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT};
    struct subs *subs = box->subs;
    struct stat st;
    CLEANUP(fd_close) int fd = (int)syscall(SYS_openat2, box->root_fd, program, &how, sizeof how);

    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || !st.st_size)
        return false; /* empty: hidden */
    int64_t mtime = st.st_mtim.tv_sec * INT64_C(1000000000) + st.st_mtim.tv_nsec;
    for (size_t i = 0; i < subs->digest_count; i++)
        if (subs->digests[i].device == st.st_dev && subs->digests[i].inode == st.st_ino &&
            subs->digests[i].mtime_ns == mtime) {
            *ret = subs->digests[i].digest;
            return true;
        }
    CLEANUP(buf_done) struct buf bytes = {0};
    if (fd_read_all(fd, &bytes, 1u << 30) < 0)
        return false;
    *ret = hash_of(buf_text(&bytes), bytes.length);
    subs->digests = mem_grow(subs->digests, (subs->digest_count + 1) * sizeof *subs->digests);
    subs->digests[subs->digest_count++] =
        (struct program_digest){st.st_dev, st.st_ino, mtime, *ret};
    return true;
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
    recording->has_digest = digest_of(box, recording->program, &recording->digest);
    recording->recorded_at_ns = wall_now_ns();
    sub_io_begin(box, task, sub);
    return SUB_EXEC_RECORDED;
}

void sub_take(struct box *box, struct sub *sub, size_t id)
{
    struct cassette *cassette = box->subs->cassette;
    struct cassette_entry *entry = cassette_entry(cassette, id);
    struct recording recording = {0};
    struct hash digest;
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
    if (recording.has_digest && !text_starts(program, subs_programs_directory) &&
        digest_of(box, program, &digest) && memcmp(&digest, &recording.digest, sizeof digest) != 0)
        sub_drift(box, sub, &digest);
}

void subs_forked(struct process *child, struct process *parent)
{
    child->sub = parent->sub;
    child->tapped = parent->tapped;
    if (child->sub)
        child->sub->live++;
}

static int64_t offset_of(const struct box *box, const struct sub *sub)
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
    recording->duration_ns = offset_of(box, sub);
    recording->real_ns = wall_monotonic_ns() - sub->real_started_ns;
    recording->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    recording->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    recording->awaits_signal &= recording->signal != 0;
    recording_add_event(recording, recording->duration_ns, RECORDING_EXIT, 0);
}

/* Who ends a subprocess from outside does so again when it is played. */
void subs_signal(struct box *box, struct task *task, int signal)
{
    struct sub *sub = task->process->sub;
    siginfo_t info;

    (void)signal;
    if (!sub || sub->how != SUB_RECORDED || sub->pid != task->process->pid ||
        ptrace(PTRACE_GETSIGINFO, task->tid, NULL, &info) < 0)
        return;
    bool own = info.si_code > 0 && info.si_code != SI_KERNEL; /* a fault */
    for (struct process *process = box->processes; process && !own; process = process->next)
        own = process->sub == sub && process_pid_inside(process) == info.si_pid;
    sub->recording.awaits_signal = !own && info.si_signo != SIGPIPE;
}

/* The process that a pidfd of the caller's stands for, as the supervisor numbers it. */
static pid_t of_pidfd(const struct task *task, int fd)
{
    char path[64];
    CLEANUP(buf_done) struct buf text = {0};
    struct err err;

    (void)snprintf(path, sizeof path, "/proc/%d/fdinfo/%d", task->tid, fd);
    if (file_read(path, 4096, &text, &err) < 0)
        return 0;
    const char *line = strstr(buf_text(&text), "Pid:");
    return line ? (pid_t)strtol(line + 4, NULL, 10) : 0;
}

/* SIGKILL is delivered without a stop: who sends it is seen here. */
void subs_kill(struct box *box, struct task *task)
{
    const struct user_regs_struct *regs = task_regs(task);
    bool thread =
        (long)regs->orig_rax == SYS_tgkill || (long)regs->orig_rax == SYS_rt_tgsigqueueinfo;
    bool by_fd = (long)regs->orig_rax == SYS_pidfd_send_signal;
    pid_t pid = (pid_t)regs->rdi, group = 0;

    if (!box->subs || (thread ? regs->rdx : regs->rsi) != SIGKILL)
        return;
    if (by_fd)
        pid = of_pidfd(task, (int)regs->rdi);
    for (struct process *process = box->processes; process && pid < -1; process = process->next)
        if (process_pid_inside(process) == -pid)
            group = process->pid;
    for (struct process *process = box->processes; process; process = process->next) {
        struct sub *sub = process->sub;
        if (!sub || sub->how != SUB_RECORDED || sub->pid != process->pid ||
            sub == task->process->sub)
            continue;
        if (pid > 0   ? (by_fd ? process->pid : process_pid_inside(process)) == pid
            : pid < 0 ? pid == -1 || (group && getpgid(process->pid) == group)
                      : getpgid(process->pid) == getpgid(task->process->pid))
            sub->recording.awaits_signal = true;
    }
}

void subs_woke(struct box *box, const struct task *task)
{
    struct sub *sub = task->process->sub;

    if (sub && sub->how == SUB_RECORDED)
        recording_add_event(&sub->recording, offset_of(box, sub), RECORDING_WAKE, 0);
}

static void still_running(struct box *box, struct sub *sub)
{
    struct recording *recording = &sub->recording;

    recording->duration_ns = offset_of(box, sub);
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

    (void)err;
    if (!subs)
        return 0;
    sub_report_end(box);
    if (options_of(box)->keep_unused && box->tape)
        keep_unused(box);
    cassette_free(subs->cassette);
    free(subs->worktree);
    free(subs->directory);
    free(subs->digests);
    free(subs);
    box->subs = NULL;
    return 0;
}
