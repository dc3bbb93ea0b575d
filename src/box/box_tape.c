/* SPDX-License-Identifier: MIT */
/* box_tape: what happened in the box, as a bundle with a tape.
 *
 * Arrival order is the scheduler's business and differs from run to run. So the records of one
 * virtual instant are kept until the clock moves, and then written in the order of process path,
 * thread and sequence within the thread. */
#include "box/box_internal.h"
#include "box/sub.h"
#include "tape/tape_data.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/text.h"
#include "base/when.h"
#include "tape/bundle.h"
#include "tape/tape.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HELD_MAX = 65536 };

struct held {
    enum tape_kind kind;
    char *process; /* owned */
    unsigned thread;
    uint64_t sequence;
    char *members; /* owned */
    char *host;    /* owned; NULL for none */
};

struct box_tape {
    struct bundle *bundle;
    struct tape_writer *writer;
    struct held *held; /* of the current instant */
    size_t count, capacity;
    uint64_t sequence;
    struct err err; /* the first failure; told at the end */
};

static void add_options(const struct box_options *options, struct buf *buf)
{
    static const char *const modes[] = {"paused", "manual", "shifted", "scaled", "real"};

    buf_addf(
        buf,
        "{\"clock\":{\"mode\":\"%s\",\"scale\":%u,\"shift_ns\":%lld,\"start_ns\":%lld},\"cpus\":%u,"
        "\"identity\":\"%s\",\"net\":\"%s\",\"random\":\"%s\",\"seed\":%llu}",
        modes[options->clock.mode], options->clock.scale, (long long)options->clock.shift_ns,
        (long long)options->clock.start_ns, options->cpus,
        options->identity_real ? "real" : "virtual",
        options->net_real || options->tape_net_real ? "real" : "deny",
        options->random_real ? "real" : "virtual", (unsigned long long)options->seed);
}

int box_tape_open(struct box *box, struct err *err)
{
    CLEANUP(buf_done) struct buf options = {0};
    struct vclock clock = {0};

    if (!box->options->record)
        return 0;
    struct box_tape *tape = box->tape = mem_alloc(sizeof *tape);
    int r = bundle_create(box->options->record, &tape->bundle, err);
    if (r < 0)
        return r;
    vclock_init(&clock, box->options);
    add_options(box->options, &options);
    CLEANUP(mem_free) char *path = bundle_path(tape->bundle, "tape");
    r = tape_writer_open(
        &(struct tape_writer_options){.path = path,
                                      .argv = box->options->argv,
                                      .started_at_unix_ms =
                                          vclock_realtime(&clock) / (int64_t)NS_PER_MS,
                                      .options = buf_text(&options),
                                      .environment = box->options->envp},
        &tape->writer, err);
    return r < 0 ? r : bundle_add(tape->bundle, "tape", "tape", err);
}

static struct held *hold(struct box *box, enum tape_kind kind, const char *process, unsigned thread)
{
    struct box_tape *tape = box->tape;

    if (tape->count == HELD_MAX)
        box_tape_moved(box);
    if (tape->count == tape->capacity) {
        tape->capacity = tape->capacity ? tape->capacity * 2 : 64;
        tape->held = mem_grow(tape->held, tape->capacity * sizeof *tape->held);
    }
    struct held *held = &tape->held[tape->count++];
    *held = (struct held){
        .kind = kind, .process = mem_dup(process), .thread = thread, .sequence = tape->sequence++};
    return held;
}

void tape_event(struct box *box, const struct process *process, unsigned thread,
                enum tape_kind kind, const char *members, ...)
{
    CLEANUP(buf_done) struct buf text = {0};
    va_list args;

    if (!box->tape || !box->tape->writer || (process && !subs_on_tape(process, kind)))
        return;
    va_start(args, members);
    buf_addv(&text, members, args);
    va_end(args);
    hold(box, kind, process ? process->path : "", thread)->members = buf_take(&text);
}

void tape_event_data(struct box *box, const struct process *process, unsigned thread,
                     enum tape_kind kind, const struct tape_data *data)
{
    if (!box->tape || !box->tape->writer || (process && !subs_on_tape(process, kind)))
        return;
    hold(box, kind, process ? process->path : "", thread)->members =
        mem_dupn(data->text.data + 1, data->text.length - 2); /* without the braces */
}

void tape_subprocess(struct box *box, const char *process, const char *data, const char *host)
{
    if (!box->tape || !box->tape->writer)
        return;
    struct held *held = hold(box, TAPE_SUBPROCESS, process, 1);
    held->members = mem_dupn(data + 1, strlen(data) - 2);
    held->host = mem_dup(host);
}

struct tape_writer *box_tape_writer(struct box *box)
{
    return box->tape ? box->tape->writer : NULL;
}

/* "1.10" comes behind "1.2"; "" (the box itself) behind all processes. */
static int compare_paths(const char *a, const char *b)
{
    if (!*a || !*b)
        return !*a - !*b;
    for (;;) {
        char *a_end, *b_end;
        unsigned long x = strtoul(a, &a_end, 10), y = strtoul(b, &b_end, 10);
        if (x != y)
            return x < y ? -1 : 1;
        if (!*a_end || !*b_end)
            return (*a_end != '\0') - (*b_end != '\0');
        a = a_end + 1;
        b = b_end + 1;
    }
}

static int by_place(const void *a, const void *b)
{
    const struct held *x = a, *y = b;
    int r = compare_paths(x->process, y->process);

    if (r)
        return r;
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    return x->sequence < y->sequence ? -1 : x->sequence > y->sequence;
}

static void write_held(struct box *box, const struct held *held)
{
    struct box_tape *tape = box->tape;
    CLEANUP(buf_done) struct buf data = {0};

    buf_addf(&data, "{%s}", held->members);
    if (tape->err.code)
        return;
    (void)tape_writer_record(
        tape->writer,
        &(struct tape_record){
            .kind = held->kind,
            .process = held->process,
            .virtual_time_ns = vclock_realtime(&box->clock),
            .monotonic_ns = (uint64_t)(vclock_now(&box->clock) - box->clock.start_monotonic_ns),
            .data = data.data,
            .data_length = data.length,
            .host = held->host},
        &tape->err);
}

void box_tape_moved(struct box *box)
{
    struct box_tape *tape = box->tape;

    if (!tape || !tape->count)
        return;
    qsort(tape->held, tape->count, sizeof *tape->held, by_place);
    for (size_t i = 0; i < tape->count; i++) {
        write_held(box, &tape->held[i]);
        free(tape->held[i].process);
        free(tape->held[i].members);
        free(tape->held[i].host);
    }
    tape->count = 0;
}

enum { ARGV_MAX = 65536 };

static void add_argv(struct task *task, struct tape_data *data)
{
    CLEANUP(buf_done) struct buf raw = {0};
    struct err err;
    char path[40];

    (void)snprintf(path, sizeof path, "/proc/%d/cmdline", task->tid);
    (void)file_read(path, ARGV_MAX, &raw, &err); /* of a longer one the beginning */
    const char **list = mem_alloc((raw.length + 2) * sizeof *list);
    size_t count = 0;
    for (size_t at = 0; at < raw.length && at < ARGV_MAX; at += strlen(raw.data + at) + 1)
        list[count++] = raw.data + at;
    tape_data_texts(data, "args", list);
    free(list);
}

void tape_exec(struct box *box, struct task *task)
{
    CLEANUP(tape_data_done) struct tape_data data = {0};

    if (!box->tape)
        return;
    tape_data_begin(&data);
    add_argv(task, &data);
    tape_data_text(&data, "program", task->process->program);
    tape_data_end(&data);
    tape_event_data(box, task->process, task->ordinal, TAPE_PROCESS_SPAWN, &data);
}

int box_tape_add_file(struct box *box, const char *name, const char *role, struct err *err)
{
    return bundle_add(box->tape->bundle, name, role, err);
}

int box_tape_close(struct box *box, struct err *err)
{
    struct box_tape *tape = box->tape;
    int r = 0;

    if (!tape)
        return 0;
    box_tape_moved(box);
    if (tape->err.code)
        r = err_set(err, tape->err.code, "%s", tape->err.text);
    else if (tape->writer)
        r = tape_writer_close(tape->writer, err);
    tape_writer_free(tape->writer);
    bundle_free(tape->bundle);
    free(tape->held);
    free(tape);
    box->tape = NULL;
    return r;
}
