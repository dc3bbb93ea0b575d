/* SPDX-License-Identifier: MIT */
/* Combining tasks: race, join_all, join_any, amb, timeout. All of them end what they started before
 * they return, so no task outlives the call that made it. */
#include "sched/sched.h"

enum { CALLS_MAX = 64 };

/* Ends the tasks that are left: cancelled, then waited for even if we are cancelled meanwhile. */
static void end_all(vitro_task **tasks, struct vitro_call *calls, size_t n, const char *where)
{
    vitro_task *self = task_here();
    bool was_cancelled = false;

    for (size_t i = 0; i < n; i++)
        if (tasks[i])
            (void)vitro_cancel_at(tasks[i], where);
    for (size_t i = 0; i < n; i++) {
        bool joined = false;
        while (tasks[i] && !joined && !self->sched->unwinding) {
            int r = vitro_join_at(tasks[i], &joined, where);
            if (joined)
                calls[i].result = r;
            else
                was_cancelled = true;
        }
        tasks[i] = NULL;
    }
    if (was_cancelled)
        self->cancel = true; /* for the caller's next wait */
}

static int spawn_all(struct vitro_call *calls, size_t n, vitro_task **tasks, const char *where)
{
    if (n > CALLS_MAX)
        return fail_text(NULL, -E2BIG, "more than %d calls at %s", CALLS_MAX, where ? where : "?");
    for (size_t i = 0; i < n; i++) {
        calls[i].result = -EINPROGRESS;
        tasks[i] = vitro_spawn_with(calls[i].fn, calls[i].arg,
                                    &(struct vitro_spawn_options){.name = calls[i].name}, where);
        if (!tasks[i])
            return -EPERM;
    }
    return 0;
}

int vitro_join_any_at(vitro_task *const *tasks, size_t n, const char *where)
{
    struct vitro_case cases[CALLS_MAX];
    size_t map[CALLS_MAX], count = 0;

    if (n > CALLS_MAX)
        return fail_text(NULL, -E2BIG, "more than %d tasks at %s", CALLS_MAX, where ? where : "?");
    for (size_t i = 0; i < n; i++)
        if (tasks[i]) {
            cases[count] = (struct vitro_case){.kind = VITRO_CASE_JOIN, .object = tasks[i]};
            map[count++] = i;
        }
    if (!count)
        return -EINVAL;
    int r = vitro_select_at(cases, count, where);
    return r < 0 ? r : (int)map[r];
}

int vitro_race_at(struct vitro_call *calls, size_t n, size_t *ret_index, const char *where)
{
    vitro_task *tasks[CALLS_MAX] = {0};
    TASK_OR_RETURN("race", NULL);
    int first_failure = -EINVAL, r = spawn_all(calls, n, tasks, where);
    bool failed = false;

    (void)task;
    for (size_t left = n; r == 0 && left > 0; left--) {
        int i = vitro_join_any_at(tasks, n, where);
        if (i < 0) {
            r = i;
            break;
        }
        calls[i].result = vitro_join_at(tasks[i], NULL, where);
        tasks[i] = NULL;
        if (calls[i].result >= 0) {
            int result = calls[i].result;
            end_all(tasks, calls, n, where);
            if (ret_index)
                *ret_index = (size_t)i;
            return result;
        }
        if (!failed)
            first_failure = calls[i].result;
        failed = true;
    }
    end_all(tasks, calls, n <= CALLS_MAX ? n : 0, where);
    return r < 0 ? r : first_failure;
}

int vitro_join_all_at(struct vitro_call *calls, size_t n, const char *where)
{
    vitro_task *tasks[CALLS_MAX] = {0};
    TASK_OR_RETURN("join_all", NULL);
    int r = spawn_all(calls, n, tasks, where);

    (void)task;
    for (size_t left = n; r == 0 && left > 0; left--) {
        int i = vitro_join_any_at(tasks, n, where);
        if (i < 0) {
            r = i;
            break;
        }
        calls[i].result = vitro_join_at(tasks[i], NULL, where);
        tasks[i] = NULL;
        if (calls[i].result < 0)
            r = calls[i].result;
    }
    end_all(tasks, calls, n <= CALLS_MAX ? n : 0, where);
    return r;
}

int vitro_amb_at(struct vitro_call *calls, size_t n, size_t *ret_index, const char *where)
{
    bool tried[CALLS_MAX] = {0};
    int r = -EINVAL;

    TASK_OR_RETURN("amb", NULL);
    if (n > CALLS_MAX)
        return -E2BIG;
    for (size_t left = n; left > 0; left--) {
        uint32_t which = core_draw(&task->sched->core, CORE_RANDOM, (uint32_t)left);
        size_t i = 0;
        while (tried[i] || which-- > 0)
            i++;
        tried[i] = true;
        r = calls[i].result = calls[i].fn(calls[i].arg);
        if (r >= 0 || r == -ECANCELED) {
            if (ret_index)
                *ret_index = i;
            return r;
        }
    }
    return r;
}

int vitro_timeout_at(vitro_fn fn, void *arg, uint64_t ns, int fallback, const char *where)
{
    struct vitro_call call = {.fn = fn, .arg = arg};
    vitro_task *child = NULL;
    TASK_OR_RETURN("timeout", NULL);

    (void)task;
    int r = spawn_all(&call, 1, &child, where);
    if (r < 0)
        return r;
    struct vitro_case cases[] = {{.kind = VITRO_CASE_JOIN, .object = child},
                                 {.kind = VITRO_CASE_AFTER, .ns = ns}};
    r = vitro_select_at(cases, 2, where);
    if (r == 0)
        return vitro_join_at(child, NULL, where);
    end_all(&child, &call, 1, where);
    return r < 0 ? r : fallback;
}
