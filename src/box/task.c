/* SPDX-License-Identifier: MIT */
/* task: the tables of guest threads and processes. Processes are named by their place in the tree
 * of spawns ("1.2" is the second process that "1" made), which is the same in every run, unlike
 * pids. */
#include "box/box_internal.h"
#include "box/sub.h"
#include "base/fd.h"
#include "base/trace.h"
#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct task **bucket(struct box *box, pid_t tid)
{
    return &box->buckets[(size_t)tid % ARRAY_LENGTH(box->buckets)];
}

struct task *task_find(struct box *box, pid_t tid)
{
    for (struct task *task = *bucket(box, tid); task; task = task->next_in_bucket)
        if (task->tid == tid)
            return task;
    return NULL;
}

struct task *task_add(struct box *box, pid_t tid)
{
    struct task *task = mem_alloc(sizeof *task);

    assert(!task_find(box, tid));
    task->tid = tid;
    task->syscall_fd = task->stat_fd = task->schedstat_fd = task->slot = task->scratch = -1;
    task->next_in_bucket = *bucket(box, tid);
    *bucket(box, tid) = task;
    task->next = box->first_task;
    if (task->next)
        task->next->previous = task;
    box->first_task = task;
    box->task_count++;
    return task;
}

void task_remove(struct box *box, struct task *task)
{
    struct task **link = bucket(box, task->tid);

    while (*link != task)
        link = &(*link)->next_in_bucket;
    *link = task->next_in_bucket;
    *(task->previous ? &task->previous->next : &box->first_task) = task->next;
    if (task->next)
        task->next->previous = task->previous;
    deadline_disarm(&box->deadlines, &task->wait.deadline);
    hold_forget(box, task);
    fd_close(task->syscall_fd);
    fd_close(task->stat_fd);
    fd_close(task->schedstat_fd);
    still_forget(task);
    box->task_count--;
    struct process *process = task->process;
    if (process && task->slot >= 0)
        process->slots[task->slot / 64] &= ~(UINT64_C(1) << task->slot % 64);
    if (process)
        task_scratch_done(task);
    if (process && --process->task_count == 0)
        process_release(box, process);
    free(task);
}

struct process *process_add(struct box *box, struct process *parent, pid_t pid)
{
    struct process *process = mem_alloc(sizeof *process);

    process->pid = pid;
    process->path = parent ? mem_format("%s.%u", parent->path, ++parent->children) : mem_dup("1");
    process->program = mem_dup(parent ? parent->program : "");
    process->parent = parent;
    process->started_ns = vclock_now(&box->clock);
    if (parent) { /* fork keeps the memory, so our pages are there */
        process->vdso_ready = parent->vdso_ready;
        process->patches = parent->patches;
        process->counter_read = parent->counter_read;
        process->loader = parent->loader;
        process->loader_base = parent->loader_base;
        process->watched = parent->watched;
        subs_forked(process, parent);
        process->in_special_directory = parent->in_special_directory;
    }
    rng_stream(&process->random, box->options->seed, "random", process->path);
    process->next = box->processes;
    box->processes = process;
    box->process_count++;
    box->processes_ever++;
    trace(TRACE_BOX, "process %s is pid %d", process->path, pid);
    return process;
}

void process_release(struct box *box, struct process *process)
{
    struct process **link = &box->processes;

    while (*link != process)
        link = &(*link)->next;
    *link = process->next;
    for (struct process *other = box->processes; other; other = other->next)
        if (other->parent == process)
            other->parent = NULL;
    if (box->first == process)
        box->first = NULL;
    timers_release(box, process);
    subs_released(box, process);
    computing_ended(box, process);
    box->process_count--;
    free(process->path);
    free(process->program);
    free(process);
}

bool task_status_read(pid_t tid, struct task_status *ret)
{
    char path[40];

    (void)snprintf(path, sizeof path, "/proc/%d/status", tid);
    CLEANUP(fd_close) int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t count = fd < 0 ? -1 : read(fd, ret->text, sizeof ret->text - 1);
    ret->text[count > 0 ? count : 0] = '\0';
    return count > 0;
}

const char *task_status_of(const struct task_status *status, const char *name)
{
    size_t length = strlen(name);

    for (const char *line = status->text; (line = strchr(line, '\n')); line++)
        if (strncmp(line + 1, name, length) == 0 && line[1 + length] == ':')
            return line + 1 + length + 1;
    return NULL;
}

uint64_t task_status_mask(const struct task_status *status, const char *name)
{
    const char *mask = task_status_of(status, name);

    return mask ? strtoull(mask, NULL, 16) : 0;
}

/* The last number of the line NSpid: the tid in the box's own numbers. */
static pid_t inside(pid_t tid)
{
    struct task_status status;
    const char *line = task_status_read(tid, &status) ? task_status_of(&status, "NSpid") : NULL;
    const char *end = line ? strchr(line, '\n') : NULL;

    while (end && end > line && end[-1] != '\t')
        end--;
    return end ? (pid_t)strtol(end, NULL, 10) : 0;
}

pid_t task_tid_inside(struct task *task)
{
    if (!task->tid_inside)
        task->tid_inside = inside(task->tid);
    return task->tid_inside;
}

struct task *task_named(struct box *box, pid_t tid)
{
    FOR_EACH_TASK(box, task)
    if (task->process && task_tid_inside(task) == tid)
        return task;
    return NULL;
}

pid_t process_pid_inside(struct process *process)
{
    if (!process->pid_inside)
        process->pid_inside = inside(process->pid);
    return process->pid_inside;
}

void task_name(const struct task *task, struct buf *buf)
{
    if (!task->process) {
        buf_adds(buf, "?");
        return;
    }
    buf_adds(buf, task->process->path);
    if (task->ordinal > 1)
        buf_addf(buf, "/%u", task->ordinal);
    buf_addf(buf, " (%s)", task->process->program);
}
