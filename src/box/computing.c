/* SPDX-License-Identifier: MIT */
/* computing: guests that are busy while others wait for time to pass.
 *
 * A paused clock stands while anybody runs. Most programs do not mind; but some run until time
 * passes: a loop that an alarm is to end, a thread that waits for another one's interpreter lock,
 * whose scheduler takes it away after some milliseconds. They never become idle and never ask what
 * time it is, so nothing would ever happen again. Hence when somebody waits for a deadline, and no
 * guest has stopped for two seconds of real time, or the box was not idle for ten, then that
 * deadline comes after as much more real time as it is away: as on the machine itself. Only time
 * counts in which the box had the CPU, so that a busy machine makes no difference. Once a box has
 * been seen doing this, time goes on in that way until it is idle again. What was computed before a
 * deadline was armed does not bring it nearer.
 *
 * It is the one place where a held clock moves because real time passed (decision 0026). What comes
 * of it may differ from run to run, and a note says so. */
#include "box/box_internal.h"
#include "box/order.h"
#include "box/settle.h"
#include "base/trace.h"
#include "base/wall.h"
#include "base/when.h"
#include <unistd.h>

#define QUIET_GRACE (2 * NS_PER_SEC)
#define BUSY_GRACE  (10 * NS_PER_SEC)
#define GAP_MAX                                                                                    \
    (50 * NS_PER_MS)               /* between two stops or looks: more means that we were stopped, \
                                    */
#define TURN_MAX (100 * NS_PER_MS) /* or that those who compute had their turns meanwhile */

/* What guests and supervisor use of the CPU is asked for when they are busy so long, and so often.
 */
#define SAMPLES_FROM  (NS_PER_SEC / 2)
#define SAMPLES_APART (20 * NS_PER_MS)

void computing_ended(struct box *box, const struct process *process)
{
    box->computing.ended_cpu_ns += wall_cpu_ns(process->pid);
}

static uint64_t cpu_used(struct box *box)
{
    struct computing *computing = &box->computing;

    if (computing->looked_ns - computing->sampled_ns < SAMPLES_APART)
        return computing->sampled_cpu_ns;
    computing->sampled_ns = computing->looked_ns;
    computing->sampled_cpu_ns = computing->ended_cpu_ns + wall_cpu_ns(getpid());
    for (const struct process *process = box->processes; process; process = process->next)
        computing->sampled_cpu_ns += wall_cpu_ns(process->pid);
    return computing->sampled_cpu_ns;
}

/* What of such a time the box had the CPU, as far as it is known. */
static uint64_t had_cpu(struct box *box, struct computing_since *since, uint64_t real_ns)
{
    if (real_ns < SAMPLES_FROM)
        *since = (struct computing_since){0};
    else if (!since->known)
        *since = (struct computing_since){true, real_ns, cpu_used(box)};
    if (!since->known)
        return real_ns;
    uint64_t cpu_ns = since->real_ns + cpu_used(box) - since->cpu_ns;
    return cpu_ns < real_ns ? cpu_ns : real_ns;
}

static void set_again(struct box *box, bool again)
{
    if (box->computing.again != again)
        order_watch(box, again);
    box->computing.again = again;
}

static void begin_anew(struct computing *computing)
{
    computing->busy_ns = computing->quiet_ns = 0;
    computing->busy_since.known = computing->quiet_since.known = false;
}

void computing_over(struct box *box)
{
    set_again(box, false);
    begin_anew(&box->computing);
}

static bool computes(struct task *task)
{
    struct blocked_call call;

    return task->process && task->state == TASK_RUNNING && !idle_blocked_call(task, &call);
}

bool computing_is_long(const struct box *box)
{
    return box->clock.mode == BOX_CLOCK_PAUSED && box->computing.busy_ns >= QUIET_GRACE;
}

/* Whoever can run has used that much CPU time, and lets others go first. */
static void charge(struct box *box, uint64_t ns)
{
    FOR_EACH_TASK(box, task)
    if (computes(task)) {
        task->process->spin_ns += ns;
        order_behind(box, task->tid);
    }
}

/* What of the time since the last look guests had for themselves. */
static uint64_t seen(struct box *box, uint64_t gap_ns)
{
    uint64_t most = GAP_MAX * (1 + box->steps - box->computing.looked_steps);

    box->computing.looked_steps = box->steps;
    if (gap_ns <= most)
        return gap_ns;
    FOR_EACH_TASK(box, task)
    most += computes(task) ? TURN_MAX : 0;
    return gap_ns < most ? gap_ns : most;
}

/* Somebody runs, so where a task was at the last proof of idleness does not count. A wait whose
 * task can run is ending by itself, or has not begun. */
static bool is_waited_for(struct deadline *deadline)
{
    struct task *task = deadline->fire == wait_fire ? wait_task(deadline) : NULL;

    return !task || task->state != TASK_RUNNING ||
           (idle_blocked_call(task, &task->blocked) && wait_is_current(task));
}

static struct deadline *due_next(struct box *box)
{
    struct deadline *next = NULL;

    for (size_t i = 0; i < box->deadlines.count; i++) {
        struct deadline *deadline = box->deadlines.items[i];
        if (!next || deadline_is_before(deadline, next))
            next = is_waited_for(deadline) ? deadline : next;
    }
    return next;
}

static uint64_t away(const struct box *box, const struct deadline *deadline)
{
    int64_t ns = deadline->due_ns - vclock_now(&box->clock);

    return ns > 0 ? (uint64_t)ns : 0;
}

static bool has_come(struct box *box, const struct deadline *deadline)
{
    struct computing *computing = &box->computing;
    uint64_t far = away(box, deadline), busy = deadline_busy(&box->deadlines, deadline);
    uint64_t used = had_cpu(box, &computing->busy_since, computing->busy_ns);

    busy = busy < used ? busy : used;
    return (computing->again && busy >= far) || busy >= BUSY_GRACE + far ||
           had_cpu(box, &computing->quiet_since, computing->quiet_ns) >= QUIET_GRACE + far;
}

bool computing_step(struct box *box, uint64_t now_ns, bool any_event)
{
    struct computing *computing = &box->computing;
    uint64_t gap = seen(box, now_ns - computing->looked_ns);
    struct deadline *next = deadline_first(&box->deadlines);

    computing->looked_ns = now_ns;
    computing->quiet_ns = any_event ? 0 : computing->quiet_ns + gap;
    computing->busy_ns += gap;
    box->deadlines.busy_ns += gap;
    if (computing->again)
        charge(box, 0);
    if (!next || box->clock.mode != BOX_CLOCK_PAUSED || !has_come(box, next))
        return false;
    if (box->settle && !settle_asked(box)) /* whoever has the terminal does not wait for anything */
        return false;
    next = due_next(box);
    if (!next || !has_come(box, next) || box_over_max_time(box, next->due_ns))
        return false;
    if (!computing->times++)
        leak_note(box, "guests were busy for seconds while another waited for a time: time passed "
                       "as on the machine, and runs may differ");
    set_again(box, true);
    begin_anew(computing);
    trace(TRACE_CLOCK, "somebody is busy: the next deadline comes");
    charge(box, away(box, next));
    box_move_clock(box, next->due_ns);
    next->fire(box, next);
    return true;
}
