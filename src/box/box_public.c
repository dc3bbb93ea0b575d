/* SPDX-License-Identifier: MIT */
/* include/vitro/box.h: a handle around the supervisor's process, with a private directory for its
 * control socket. Captured output goes to memory files: however much a guest writes, it never
 * waits for a caller that is doing something else. */
#include "box/box_options.h"
#include "box/control.h"
#include "box/settle.h"
#include "proc/proc_mode.h"
#include "proc/proc_plan.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/scratch.h"
#include "vitro/box.h"
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static_assert(sizeof(struct vitro_box_error) == sizeof(struct err), "one layout");
static_assert(offsetof(struct vitro_box_error, text) == offsetof(struct err, text), "one layout");
static_assert((int)VITRO_BOX_TROUBLE == (int)BOX_TROUBLE &&
                  (int)VITRO_BOX_CEILING == (int)BOX_CEILING &&
                  (int)VITRO_BOX_KILLED == (int)BOX_KILLED,
              "one order");

struct vitro_box {
    struct box_child child;
    struct box_options options; /* its texts are the caller's and only good while spawning */
    struct scratch scratch;     /* holds the control socket */
    char *control;              /* owned */
    struct cassette_words words;
    struct proc_plan plan;
    int captured[2]; /* memory files of standard output and error, or -1 */
    bool ended, killed;
    struct box_findings findings;
    struct vitro_box_leak leaks[BOX_LEAKS_MAX];
    struct buf output[2];
};

static struct err *as_err(struct vitro_box_error *error)
{
    return (struct err *)error;
}

/* Not below 3: it becomes 1 or 2 of the guest by dup2, one after the other. */
static int make_capture(const char *name, struct err *err)
{
    int high = fd_raise(memfd_create(name, MFD_CLOEXEC), STDERR_FILENO + 1);

    if (high < 0)
        return err_set(err, -errno, "make a memory file for captured output: %m");
    (void)fcntl(high, F_SETFL, O_APPEND);
    return high;
}

static int read_fs_mode(const char *text, enum fs_mode *ret, struct err *err)
{
    static const char *const names[] = {
        [FS_OVERLAY] = "overlay", [FS_REAL] = "real", [FS_RO] = "ro"};

    for (size_t i = 0; i < ARRAY_LENGTH(names); i++)
        if (!text || strcmp(text, names[i]) == 0) {
            *ret = text ? (enum fs_mode)i : FS_OVERLAY;
            return 0;
        }
    err_set(err, -EINVAL, "'%s' is not a mode of files", text);
    return err_hint(err, "write overlay, ro or real");
}

static int plan_cassette(struct vitro_box *box, const struct vitro_box_options *asked,
                         struct err *err)
{
    const struct vitro_cassette_options *tape = asked->cassette;

    if (!tape) {
        box->plan.record = mem_dup(asked->record);
        box->options.record = box->plan.record;
        return 0;
    }
    if (!tape->path || !*tape->path)
        return err_set(err, -EINVAL, "a cassette needs a path");
    int r = cassette_words_read(tape, &box->words, err);
    box->options.proc = (struct proc_options){
        .on_miss = box->words.on_miss,
        .only = asked->tape_only,
        .except = asked->tape_except,
        .view = {.fields = box->words.fields,
                 .env_names = tape->match_env,
                 .rules = &box->words.rules},
        .max_age_ns = tape->max_age_ns,
        .strict_order = tape->strict_order != 0,
        .allow_unused = tape->allow_unused != 0,
        .allow_miss = asked->allow_miss != 0,
    };
    if (r == 0)
        r = proc_plan_make(&(struct proc_asked_for){.mode = tape->mode ? tape->mode : "once",
                                                    .record = asked->record,
                                                    .cassette = tape->path,
                                                    .record_in_ci = tape->record_in_ci != 0},
                           &box->options.proc, &box->plan, err);
    box->options.record = box->plan.record;
    return r;
}

/* What was recorded goes where it belongs; not if the box did not end by itself. */
static int keep_recordings(struct vitro_box *box, struct err *err)
{
    if (!box->plan.record || box->findings.outcome == BOX_TROUBLE || box->killed)
        return 0;
    int r = proc_plan_convert(&box->plan, err);
    return r < 0 ? r : proc_plan_place(&box->plan, err);
}

static int prepare(struct vitro_box *box, const struct vitro_box_options *asked,
                   const struct box_terminal *terminal, struct err *err)
{
    box->options = (struct box_options){
        .argv = asked->argv,
        .envp = asked->envp,
        .directory = asked->directory,
        .record = asked->record,
        .fs.worktree = asked->worktree,
        .fs.writable = asked->writable,
        .fs.hide = asked->hide,
        .fs.size_limit = asked->size_limit,
        .fs.share_tmp = asked->share_tmp != 0,
        .trace_reads = asked->trace_reads != 0,
        .seed = asked->seed,
        .max_time_ns = asked->max_time_ns,
        .timeout_ns = asked->timeout_ns,
        .max_steps = asked->max_steps,
        .cpus = asked->cpus,
        .max_procs = asked->max_procs,
        .stdio = {asked->stdio[0], asked->stdio[1], asked->stdio[2]},
        .random_real = asked->random_real != 0,
        .identity_real = asked->identity_real != 0,
        .net_real = asked->net_real != 0,
        .allow_leak = asked->allow_leak != 0,
        .allow_orphan = asked->allow_orphan != 0,
        .terminal = terminal,
    };
    if (!asked->argv || !asked->argv[0] || !*asked->argv[0])
        return err_set(err, -EINVAL, "the program's name is empty");
    int r = asked->clock ? box_clock_parse(asked->clock, &box->options.clock, err) : 0;
    if (r >= 0)
        r = plan_cassette(box, asked, err);
    if (r >= 0 && terminal && terminal->proc)
        box->options.proc = *terminal->proc;
    if (r >= 0)
        r = read_fs_mode(asked->fs, &box->options.fs.mode, err);
    for (int i = 0; r >= 0 && i < 2 && asked->capture_output; i++) {
        r = box->captured[i] = make_capture(i ? "stderr" : "stdout", err);
        box->options.stdio[i + 1] = r;
    }
    if (r < 0 || terminal)
        return r;
    r = scratch_make(NULL, "box", &box->scratch, err);
    if (r < 0)
        return r;
    box->control = mem_format("%s/control", box->scratch.path);
    box->options.control = box->control;
    return 0;
}

vitro_box *box_spawn_in_terminal(const struct vitro_box_options *options,
                                 const struct box_terminal *terminal, struct vitro_box_error *error)
{
    vitro_box *box = mem_alloc(sizeof *box);

    box->child.report_fd = box->captured[0] = box->captured[1] = -1;
    if (prepare(box, options, terminal, as_err(error)) < 0 ||
        box_spawn(&box->options, &box->child, as_err(error)) < 0) {
        vitro_box_free(box);
        return NULL;
    }
    return box;
}

vitro_box *vitro_box_spawn(const struct vitro_box_options *options, struct vitro_box_error *error)
{
    static const struct vitro_box_options none;

    options = options ? options : &none;
    return box_spawn_in_terminal(options, NULL, error);
}

static int no_box(struct vitro_box_error *error)
{
    return err_no_handle(as_err(error), "box", "vitro_box_spawn");
}

static int read_capture(int fd, struct buf *ret, struct err *err)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return err_set(err, -errno, "captured output: %m");
    buf_reserve(ret, (size_t)st.st_size);
    while (ret->length < (size_t)st.st_size) {
        ssize_t count = pread(fd, ret->data + ret->length, (size_t)st.st_size - ret->length,
                              (off_t)ret->length);
        if (count < 0 && errno != EINTR)
            return err_set(err, -errno, "captured output: %m");
        if (count == 0)
            break;
        ret->length += count > 0 ? (size_t)count : 0;
    }
    ret->data[ret->length] = '\0';
    return 0;
}

static int collect(vitro_box *box, struct err *err)
{
    int r = box_wait(&box->child, &box->findings, err);

    box->ended = true;
    if (r < 0 && box->killed) {
        box->findings.outcome = BOX_KILLED;
        box->findings.wait_status = SIGKILL;
        (void)snprintf(box->findings.text, sizeof box->findings.text, "killed by its caller");
    } else if (r < 0) { /* told again by every vitro_box_wait */
        box->findings.outcome = BOX_TROUBLE;
        (void)snprintf(box->findings.text, sizeof box->findings.text, "%s",
                       "the supervisor ended without a word");
    }
    for (size_t i = 0; i < box->findings.leak_count; i++)
        box->leaks[i] =
            (struct vitro_box_leak){box->findings.leaks[i].capability,
                                    box->findings.leaks[i].process, box->findings.leaks[i].count};
    for (int i = 0; i < 2; i++)
        if (box->captured[i] >= 0 && (r = read_capture(box->captured[i], &box->output[i], err)) < 0)
            return r;
    return keep_recordings(box, err);
}

int vitro_box_wait(vitro_box *box, struct vitro_box_findings *ret, struct vitro_box_error *error)
{
    struct vitro_box_findings unused;

    if (!box)
        return no_box(error);
    ret = ret ? ret : &unused;
    const struct box_findings *found = &box->findings;
    int r = box->ended ? 0 : collect(box, as_err(error));

    if (r < 0)
        return r;
    *ret = (struct vitro_box_findings){
        .exit_code = box->killed && found->outcome == BOX_KILLED
                         ? 128 + SIGKILL
                         : box_exit_code(&box->options, found),
        .wait_status = found->wait_status,
        .outcome = (enum vitro_box_outcome)found->outcome,
        .virtual_ns = found->virtual_ns,
        .real_ns = found->real_ns,
        .jumps = found->jumps,
        .ticks = found->ticks,
        .stops = found->stops,
        .processes = found->processes,
        .orphans = found->orphans,
        .seed = found->seed,
        .files_changed = found->files_changed,
        .files_outside = found->files_outside,
        .recorded = found->proc.recorded,
        .played = found->proc.played,
        .misses = found->proc.misses,
        .unused = found->proc.unused,
        .differences = found->proc.differences,
        .subprocesses = found->proc.text,
        .leak_count = found->leak_count,
        .leaks = box->leaks,
        .text = found->text,
        .notes = found->notes,
        .output = buf_text(&box->output[0]),
        .error_output = buf_text(&box->output[1]),
        .output_length = box->output[0].length,
        .error_output_length = box->output[1].length,
    };
    return 0;
}

void vitro_box_kill(vitro_box *box)
{
    if (!box || box->ended)
        return;
    box->killed = true;
    box_kill(&box->child);
}

int vitro_box_fd(const vitro_box *box)
{
    return box ? box->child.report_fd : -1;
}

void vitro_box_free(vitro_box *box)
{
    struct err err;

    if (!box)
        return;
    if (box->child.supervisor && !box->ended) {
        vitro_box_kill(box);
        (void)box_wait(&box->child, &box->findings, &err);
    }
    proc_plan_done(&box->plan);
    match_rules_done(&box->words.rules);
    for (int i = 0; i < 2; i++) {
        fd_close(box->captured[i]);
        buf_done(&box->output[i]);
    }
    free(box->control);
    scratch_remove(&box->scratch);
    free(box);
}

/* ---- the clock ----------------------------------------------------------------------------- */

/* Waits at most `ms` for the end of the box. */
static bool has_ended(const vitro_box *box, int ms)
{
    struct pollfd fd = {.fd = box->child.report_fd, .events = POLLIN};

    return box->ended || (poll(&fd, 1, ms) > 0 && fd.revents);
}

/* The supervisor opens its socket some time after it was spawned. */
static int ask(vitro_box *box, const char *request, json_t **ret, struct err *err)
{
    CLEANUP(buf_done) struct buf reply = {0};
    CLEANUP(json_free) json_t *value = NULL;
    struct err unused;
    int r;

    err = err ? err : &unused;
    do {
        r = has_ended(box, 0) ? -ESRCH : control_ask(box->control, request, &reply, err);
    } while ((r == -ENOENT || r == -ECONNREFUSED) && !has_ended(box, 1));
    if (r < 0)
        return has_ended(box, 0) ? err_set(err, -ESRCH, "the box has ended") : r;
    r = json_parse(reply.data, reply.length, "answer of the box", &value, err);
    if (r < 0)
        return r;
    const char *problem = json_string_value(json_object_get(value, "error"));
    if (problem)
        return err_set(err, -EINVAL, "%s", problem);
    *ret = take_ptr(&value);
    return 0;
}

static int ask_now(vitro_box *box, const char *request, int64_t *ret_ns, struct err *err)
{
    CLEANUP(json_free) json_t *value = NULL;
    int r = ask(box, request, &value, err);

    if (r == 0 && ret_ns)
        *ret_ns = json_integer_value(json_object_get(value, "now_ns"));
    return r;
}

int vitro_box_clock_now(vitro_box *box, int64_t *ret_ns, struct vitro_box_error *error)
{
    if (!box)
        return no_box(error);
    return ask_now(box, "{\"op\":\"now\"}\n", ret_ns, as_err(error));
}

int vitro_box_clock_advance(vitro_box *box, uint64_t by_ns, int64_t *ret_ns,
                            struct vitro_box_error *error)
{
    if (!box)
        return no_box(error);
    CLEANUP(mem_free) char *request = NULL;

    if (by_ns > INT64_MAX / 4)
        return err_set(as_err(error), -ERANGE, "an advance of more than 73 years");
    request = mem_format("{\"op\":\"advance\",\"ns\":%llu}\n", (unsigned long long)by_ns);
    return ask_now(box, request, ret_ns, as_err(error));
}

int vitro_box_clock_set(vitro_box *box, int64_t to_ns, struct vitro_box_error *error)
{
    if (!box)
        return no_box(error);
    CLEANUP(mem_free) char *request =
        mem_format("{\"op\":\"set\",\"ns\":%lld}\n", (long long)to_ns);

    return ask_now(box, request, NULL, as_err(error));
}

int vitro_box_clock_pending(vitro_box *box, struct vitro_box_pending *ret, size_t max,
                            struct vitro_box_error *error)
{
    if (!box)
        return no_box(error);
    CLEANUP(json_free) json_t *value = NULL;
    int r = ask(box, "{\"op\":\"pending\"}\n", &value, as_err(error));
    json_t *list = json_object_get(value, "pending"), *one;
    size_t i;

    if (r < 0)
        return r;
    json_array_foreach(list, i, one)
    {
        const char *who = json_string_value(json_object_get(one, "who"));
        if (i >= max)
            break;
        ret[i].in_ns = json_integer_value(json_object_get(one, "in_ns"));
        (void)snprintf(ret[i].who, sizeof ret[i].who, "%s", who ? who : "");
    }
    return (int)json_array_size(list);
}
