/* SPDX-License-Identifier: MIT */
/* still: knows without looking at them that the threads of a process are where they were.
 *
 * Looking at a blocked thread takes two files of /proc, some 5 us; a program with hundreds of
 * threads would pay that at every step of the clock. But who has left the place where it was
 * blocked has used the CPU, and the kernel tells a process's CPU time, to the nanosecond, in one
 * call. So what a process had used when all were proved blocked is kept: while that stands, so do
 * its threads. Those that we let go on are its movers: what they used themselves is taken off both
 * sums.
 *
 * Whoever was woken and has not run yet has used nothing. That nobody waits for the CPU is seen
 * from a sched_yield that switches to nobody, which holds only where guests and supervisor take
 * turns at one real-time priority (order.c); elsewhere every thread is looked at. */
#include "box/order.h"
#include "base/wall.h"
#include <sched.h>
#include <stdlib.h>

enum {
    MANY = 16,       /* fewer threads are looked at in less time, if one of them was let go */
    MOVERS_FREE = 4, /* so many are always worth asking about */
    MOVERS_PART = 8, /* and so small a part of all threads */
};

/* Once a look, and only if somebody wants to know. */
static bool nobody_waits_for_cpu(struct box *box)
{
    if (box->yielded_in != box->idle_looks) {
        box->yielded_in = box->idle_looks;
        box->takes_turns = order_takes_turns(box);
        if (box->takes_turns)
            (void)sched_yield(); /* a switch is seen by idle_check */
    }
    return box->takes_turns;
}

static bool is_worth_it(const struct process *process)
{
    return !process->stirred || process->task_count >= MANY;
}

static bool movers_are_few(const struct process *process)
{
    return process->movers <= MOVERS_FREE || process->movers < process->task_count / MOVERS_PART;
}

/* What its movers have used of the CPU; false if that cannot be told. */
static bool movers_ns(struct box *box, const struct process *process, uint64_t *ret)
{
    unsigned left = process->movers;

    *ret = 0;
    for (struct task *task = box->first_task; task && left; task = task->next) {
        uint64_t used;
        if (task->process != process || !task->mover)
            continue;
        left--;
        if (!idle_cpu_ns(task, &used))
            return false;
        *ret += used;
    }
    return true;
}

static enum still look(struct box *box, struct process *process)
{
    struct stillness *still = &process->still;
    uint64_t used;

    if (!still->known || !is_worth_it(process) || !nobody_waits_for_cpu(box))
        return STILL_NOT;
    still->now_ns = wall_cpu_ns(process->pid);
    if (!still->now_ns) /* cannot be told */
        return STILL_NOT;
    if (still->now_ns == still->total_ns)
        return STILL_ALL;
    if (!movers_are_few(process) || process->movers == process->task_count ||
        !movers_ns(box, process, &used))
        return STILL_NOT;
    return still->now_ns - used == still->others_ns ? STILL_OTHERS : STILL_NOT;
}

bool still_is(struct box *box, const struct task *task)
{
    struct stillness *still = &task->process->still;

    if (still->looked_in != box->idle_looks) {
        still->looked_in = box->idle_looks;
        still->result = look(box, task->process);
    }
    return still->result == STILL_ALL || (still->result == STILL_OTHERS && !task->mover);
}

void still_moved(struct task *task)
{
    struct process *process = task->process;

    if (!process || task->mover)
        return;
    task->mover = true;
    process->movers++;
    process->still.known = false;
}

void still_forget(struct task *task)
{
    if (!task->mover)
        return;
    task->mover = false;
    task->process->movers--;
    task->process->still.known = false;
}

static void forget_movers(struct box *box, const struct process *process)
{
    FOR_EACH_TASK(box, task)
    if (task->process == process)
        still_forget(task);
}

void still_remember(struct box *box)
{
    if (!box->realtime)
        return;
    for (struct process *process = box->processes; process; process = process->next) {
        struct stillness *still = &process->still;
        uint64_t used = 0;
        /* Not looked at: all its threads are kept by us. */
        if (still->looked_in != box->idle_looks || !is_worth_it(process))
            continue;
        if (still->result == STILL_NOT) {
            if (!movers_are_few(process))
                forget_movers(box, process);
            still->now_ns = wall_cpu_ns(process->pid);
            still->known = process->movers == process->task_count || movers_ns(box, process, &used);
            still->others_ns = still->now_ns - used;
        }
        still->total_ns = still->now_ns;
    }
}
