/* SPDX-License-Identifier: MIT */
/* Time and chance as a task sees them; and what they are outside a task. */
#include "sched/sched.h"
#include "vitro/clock.h"

int vitro_yield_at(const char *where)
{
    vitro_task *task = task_here();

    if (!task)
        return 0;
    return task_point(task, (struct op){.where = where,
                                        .kind = OP_YIELD,
                                        .flags = OP_OPAQUE | OP_GIVES_WAY | OP_CANCELS});
}

static int64_t in_range(uint64_t ns)
{
    return ns > INT64_MAX ? INT64_MAX : (int64_t)ns;
}

/* Outside a task: by the clock in force, which is the real one unless a mock was pushed. */
static int sleep_outside(uint64_t ns)
{
    return vitro_clock_sleep(NULL, in_range(ns));
}

int vitro_sleep_until_at(uint64_t at_ns, const char *where)
{
    vitro_task *task = task_here();

    if (!task)
        return vitro_clock_sleep_until(NULL, in_range(at_ns));
    if (at_ns < task->sched->now_ns)
        at_ns = task->sched->now_ns;
    return task_sleep_until(
        task, (struct op){.where = where, .kind = OP_SLEEP, .flags = OP_OPAQUE | OP_CANCELS}, at_ns,
        false);
}

int vitro_sleep_at(uint64_t ns, const char *where)
{
    vitro_task *task = task_here();

    if (!task)
        return sleep_outside(ns);
    if (ns > (uint64_t)INT64_MAX - task->sched->now_ns)
        return fail_text(task->sched, -ERANGE, "sleep at %s: %llu ns is beyond the end of time",
                         where ? where : "?", (unsigned long long)ns);
    return vitro_sleep_until_at(task->sched->now_ns + ns, where);
}

uint64_t vitro_clock(void)
{
    vitro_task *task = task_here();

    return task ? task->sched->now_ns : (uint64_t)vitro_clock_now(NULL);
}

int vitro_busy(uint64_t ns)
{
    vitro_task *task = task_here();

    if (!task)
        return sleep_outside(ns);
    vitro_sched *sched = task->sched;
    if (ns > (uint64_t)INT64_MAX - sched->now_ns)
        return fail_text(sched, -ERANGE, "busy for %llu ns is beyond the end of time",
                         (unsigned long long)ns);
    if (sched->real)
        return vitro_clock_sleep(vitro_clock_real(), in_range(ns));
    TRACE(sched, VITRO_EVENT_ADVANCE, task, 0, sched->now_ns + ns, 0);
    sched->now_ns += ns;
    return 0;
}

uint32_t vitro_choose(uint32_t n)
{
    vitro_task *task = task_here();

    return task ? core_draw(&task->sched->core, CORE_RANDOM, n) : 0;
}

static void touch(const void *address, const char *where, enum op_kind kind)
{
    vitro_task *task = task_here();

    if (!task)
        return;
    struct op op = {.where = where,
                    .object = object_of_address(task->sched, address),
                    .kind = (uint8_t)kind,
                    .flags = kind == OP_READ ? OP_READS : 0};
    (void)task_point(task, op);
}

void vitro_read_at(const void *address, const char *where)
{
    touch(address, where, OP_READ);
}

void vitro_write_at(const void *address, const char *where)
{
    touch(address, where, OP_WRITE);
}

int64_t vitro_ticker_wait_at(struct vitro_ticker *ticker, const char *where)
{
    vitro_task *task = task_here();
    uint64_t run = task ? task->sched->run : 1;

    if (!ticker->period_ns)
        return -EINVAL;
    uint64_t now = vitro_clock();
    if (ticker->run != run) {
        ticker->run = run;
        ticker->next_ns = now + ticker->period_ns;
    }
    int r = vitro_sleep_until_at(ticker->next_ns, where);
    if (r < 0)
        return r;
    now = vitro_clock();
    uint64_t beats = 1 + (now - ticker->next_ns) / ticker->period_ns;
    ticker->next_ns += beats * ticker->period_ns;
    return (int64_t)beats;
}
