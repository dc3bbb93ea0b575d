/* SPDX-License-Identifier: MIT */
/* Tasks: from spawn to join. */
#include "sched/sched.h"
#include "sched/annotate.h"
#include "sched/switch.h"
#include <stdio.h>
#include <string.h>

__thread vitro_sched *sched_here __attribute__((tls_model("initial-exec")));

void mistake(const char *format, ...)
{
    va_list args;

    (void)fputs("vitro: ", stderr);
    va_start(args, format);
    (void)vfprintf(stderr, format, args);
    va_end(args);
    (void)fputc('\n', stderr);
    abort();
}

/* ---- switching */

/* Runs on the stack that was just switched to. */
static void arrived(vitro_sched *sched, void *keep)
{
    const void *low = NULL;
    size_t size = 0;

    annotate_arrive(keep, &low, &size);
    if (!sched->driver_size) { /* the first arrival of a run comes from the driver */
        sched->driver_low = low;
        sched->driver_size = size;
    }
}

void task_switch(vitro_sched *sched, vitro_task *from, vitro_task *to)
{
    if (!from)
        sched->driver_size = 0;
    sched->current = to;
    annotate_leave(from ? &from->asan_keep : &sched->driver_asan_keep, to ? to->stack : NULL,
                   sched->driver_low, sched->driver_size);
    annotate_fiber(to ? to->stack : NULL, sched->driver_tsan);
    vitro__switch(from ? &from->context : &sched->driver_context,
                  to ? to->context : sched->driver_context);
    arrived(sched, from ? from->asan_keep : sched->driver_asan_keep);
}

static void leave_for_good(vitro_sched *sched, vitro_task *to)
{
    void *unused;

    sched->current = to;
    annotate_leave(NULL, to ? to->stack : NULL, sched->driver_low, sched->driver_size);
    annotate_fiber(to ? to->stack : NULL, sched->driver_tsan);
    vitro__switch(&unused, to ? to->context : sched->driver_context);
}

void task_unlink_live(vitro_task *task)
{
    vitro_sched *sched = task->sched;

    *(task->prev ? &task->prev->next : &sched->live_first) = task->next;
    *(task->next ? &task->next->prev : &sched->live_last) = task->prev;
    sched->live_count--;
}

static void task_link_ended(vitro_task *task)
{
    vitro_sched *sched = task->sched;

    task->prev = NULL;
    task->next = sched->ended;
    if (task->next)
        task->next->prev = task;
    sched->ended = task;
}

static void task_end(vitro_task *task)
{
    vitro_sched *sched = task->sched;

    core_access(&sched->core, &task->core, task->done.id, true);
    task->state = TASK_DONE;
    task->cancel = false;
    core_task_end(&sched->core, &task->core);
    TRACE(sched, VITRO_EVENT_TASK_COMPLETE, task, task->micro, 0, 0);
    task_unlink_live(task);
    task_link_ended(task);
    if (task->done.first)
        object_changed(&task->done);
    if (sched->zombie)
        stack_give(sched->zombie);
    sched->zombie = task->stack;
    task->stack = NULL;
    if (task->detached)
        task_recycle(task);
    leave_for_good(sched, task == sched->root ? NULL : sched_pick(sched, NULL));
}

static void task_main(void *arg)
{
    vitro_task *task = arg;

    arrived(task->sched, NULL);
    TRACE(task->sched, VITRO_EVENT_TASK_START, task, task->micro, 0, 0);
    task->result = task->fn(task->arg);
    task_end(task);
    __builtin_unreachable();
}

bool task_prepare(vitro_task *task)
{
    task->stack = stack_take(task->stack_size);
    if (!task->stack) {
        CLEANUP(buf_done) struct buf name = {0};
        core_add_name(&task->sched->core, task->core.id, &name);
        sched_fail(task->sched, VITRO_ERROR, "no memory for the stack of task '%s'", name.data);
        return false;
    }
    task->state = TASK_LIVE;
    task->context = switch_prepare(
        task->stack->low, (size_t)(stack_top(task->stack) - task->stack->low), task_main, task);
    return true;
}

/* ---- life */

/* Memory of tasks comes in batches, which a scheduler gives back to its thread when it is freed. */
enum { BATCH = 32 };
struct batch {
    struct batch *next;
    vitro_task tasks[BATCH];
};
static __thread struct batch *batch_pool;

static vitro_task *task_alloc(vitro_sched *sched)
{
    if (!sched->free_tasks) {
        struct batch *batch = batch_pool;
        if (batch)
            batch_pool = batch->next;
        else
            batch = mem_alloc(sizeof *batch);
        batch->next = sched->batches;
        sched->batches = batch;
        for (int i = BATCH; i-- > 0;) {
            batch->tasks[i].next = sched->free_tasks;
            sched->free_tasks = &batch->tasks[i];
        }
    }
    vitro_task *task = sched->free_tasks;
    sched->free_tasks = task->next;
    return task;
}

void tasks_give_back(vitro_sched *sched)
{
    while (sched->batches) {
        struct batch *batch = sched->batches;
        sched->batches = batch->next;
        batch->next = batch_pool;
        batch_pool = batch;
    }
}

void task_recycle(vitro_task *task)
{
    vitro_sched *sched = task->sched;

    *(task->prev ? &task->prev->next : &sched->ended) = task->next;
    if (task->next)
        task->next->prev = task->prev;
    task->state = TASK_FREE;
    task->next = sched->free_tasks;
    sched->free_tasks = task;
}

static const char *keep_label(vitro_sched *sched, const char *label)
{
    size_t length = strlen(label) + 1;

    if (sched->labels_used + length > sched->labels_capacity) {
        /* Pointers into the old block stay good until the run ends: the block is only let go. */
        size_t capacity = (sched->labels_capacity + length) * 2 + 256;
        char *block = mem_alloc(capacity + sizeof(char *));
        memcpy(block, &sched->labels, sizeof(char *));
        sched->labels = block;
        sched->labels_used = 0;
        sched->labels_capacity = capacity;
    }
    char *copy = sched->labels + sizeof(char *) + sched->labels_used;
    memcpy(copy, label, length);
    sched->labels_used += length;
    return copy;
}

vitro_task *sched_start(vitro_sched *sched, vitro_fn fn, void *arg,
                        const struct vitro_spawn_options *options, uint32_t parent)
{
    if (sched->live_count >= sched->options.max_tasks) {
        sched_fail(sched, VITRO_ERROR, "more than %u tasks are alive", sched->options.max_tasks);
        sched->checkpoint_steps = 0;
    }
    vitro_task *task = task_alloc(sched);
    task->sched = sched;
    task->stack = NULL;
    task->fn = fn;
    task->arg = arg;
    task->state = TASK_NEW;
    task->wake = WAKE_ACT;
    task->wait_count = 0;
    task->cancel = task->interrupted = task->registered = false;
    task->detached = options->detached;
    task->lane = 0;
    task->relock = NULL;
    task->stack_size = options->stack_size ? options->stack_size : sched->options.stack_size;
    task->result = -EINPROGRESS;
    task->timer.handle = 0;
    task->next = NULL;
    task->prev = sched->live_last;
    *(task->prev ? &task->prev->next : &sched->live_first) = task;
    sched->live_last = task;
    sched->live_count++;
    const char *label = options->name ? keep_label(sched, options->name) : NULL;
    core_task_add(&sched->core, &task->core, parent, label);
    task->done.run = sched->run;
    task->done.type = OBJECT_TASK;
    task->done.first = task->done.last = NULL;
    task->done.id = CORE_TASK_OBJECT | task->core.id;
    core_publish(&task->core, (struct op){.object = task->done.id, .kind = OP_START});
    task_enable(task);
    return task;
}

vitro_task *vitro_spawn_with(vitro_fn fn, void *arg, const struct vitro_spawn_options *options,
                             const char *where)
{
    vitro_task *self = task_here();

    if (!self) {
        (void)task_outside("spawn", NULL, where);
        return NULL;
    }
    vitro_task *task = sched_start(self->sched, fn, arg, options, self->core.id);
    core_access(&self->sched->core, &self->core, task->done.id, true);
    return task;
}

static bool is_done(struct vitro_object *object, const struct wait *wait)
{
    const vitro_task *task =
        (const vitro_task *)((const char *)object - offsetof(struct vitro_task, done));

    (void)wait;
    return task->state == TASK_DONE;
}

int vitro_join_at(vitro_task *task, bool *ret_joined, const char *where)
{
    vitro_task *self = task_here();

    if (ret_joined)
        *ret_joined = false;
    if (!self)
        return task_outside("join", NULL, where);
    if (task->state == TASK_FREE)
        mistake("join at %s: the task was joined or detached before", where ? where : "?");
    if (task == self)
        mistake("join at %s: a task waits for its own end", where ? where : "?");
    int r = task_wait(self,
                      (struct op){.where = where,
                                  .object = task->done.id,
                                  .kind = OP_JOIN,
                                  .flags = OP_READS | OP_CANCELS},
                      &task->done, is_done, VITRO_FOREVER);
    if (r < 0)
        return r;
    if (ret_joined)
        *ret_joined = true;
    r = task->result;
    task_recycle(task);
    return r;
}

void vitro_detach(vitro_task *task)
{
    task->detached = true;
    if (task->state == TASK_DONE)
        task_recycle(task);
}

void task_enable(vitro_task *task)
{
    vitro_sched *sched = task->sched;

    if (__builtin_expect(sched->trace != NULL, 0) && task->core.ready_at == CORE_NOT_READY) {
        if (task->wake == WAKE_TIMER) { /* a timer keeps its number when it fires */
            task->micro = task->timer.id;
        } else {
            task->micro = ++sched->micro_last;
            if (task->core.id != 1 ||
                task->state != TASK_NEW) /* the first is started, not queued */
                trace_add(sched, VITRO_EVENT_ENQUEUE, task, task->micro, 0, 0);
        }
    }
    core_enable(&sched->core, &task->core);
}

/* A wait on a condition variable does not end before its mutex is held again. */
static bool mutex_is_free(struct vitro_object *object, const struct wait *wait)
{
    (void)wait;
    return ((struct vitro_mutex *)object)->owner == 0;
}

void task_wake(vitro_task *task, enum wake why)
{
    vitro_sched *sched = task->sched;

    task->wake = (uint8_t)why;
    timer_cancel(&sched->timers, &task->timer);
    waits_unregister(task);
    if (task->relock) {
        task->wait.object = &task->relock->object;
        task->wait.ready = mutex_is_free;
        task->waits = &task->wait;
        task->wait_count = 1;
        waits_register(task);
        task->deadline_ns = VITRO_FOREVER;
        task->core.op.kind = OP_LOCK;
        task->core.op.object = task->relock->object.id;
        task->relock = NULL;
        if (waits_ready(task))
            task_enable(task);
        return;
    }
    task->wait_count = 0;
    task_enable(task);
}

int vitro_cancel_at(vitro_task *task, const char *where)
{
    vitro_task *self = task_here();

    if (self && self != task) {
        int r = task_point(self,
                           (struct op){.where = where, .object = task->done.id, .kind = OP_CANCEL});
        if (r < 0)
            return r;
    }
    if (task->state == TASK_DONE || task->state == TASK_FREE || task->cancel)
        return 0;
    TRACE(task->sched, VITRO_EVENT_CANCEL, task, task->micro, 0, 0);
    task->cancel = true;
    bool waits = task->state == TASK_LIVE && task != self && task->core.op.flags & OP_CANCELS &&
                 task->core.ready_at == CORE_NOT_READY;
    bool ready = task->state == TASK_LIVE && task->core.ready_at != CORE_NOT_READY &&
                 task->core.op.flags & OP_CANCELS && task->wake == WAKE_ACT;
    if (waits || ready)
        task_wake(task, WAKE_CANCEL);
    return 0;
}

bool vitro_done(const vitro_task *task)
{
    return task->state == TASK_DONE;
}

int vitro_result(const vitro_task *task)
{
    return task->state == TASK_DONE ? task->result : -EINPROGRESS;
}

uint32_t vitro_id(const vitro_task *task)
{
    return task->core.id;
}

vitro_task *vitro_self(void)
{
    return task_here();
}

bool vitro_deterministic(void)
{
    vitro_task *task = task_here();

    return task && !task->sched->real;
}

const char *vitro_name(const vitro_task *task)
{
    if (!task)
        task = task_here();
    if (!task)
        return "";
    vitro_sched *sched = task->sched;
    struct buf *text = &sched->text[0];
    buf_clear(text);
    core_add_name(&sched->core, task->core.id, text);
    return buf_text(text);
}

void task_abandon(vitro_task *task)
{
    vitro_sched *sched = task->sched;

    waits_unregister(task);
    timer_cancel(&sched->timers, &task->timer);
    core_disable(&sched->core, &task->core);
    task_unlink_live(task);
    task_link_ended(task);
    if (task->stack)
        stack_give(task->stack);
    task->stack = NULL;
    task->state = TASK_DONE;
    task->result = -ECANCELED;
}
