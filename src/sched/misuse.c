/* SPDX-License-Identifier: MIT */
/* Operations called where they cannot work: outside a task, or from a thread that does not drive
 * the scheduler whose objects it touches. The list of runs in progress is only looked at on these
 * paths. */
#include "sched/sched.h"
#include <pthread.h>

enum { RUNS_MAX = 256 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static vitro_sched *scheds[RUNS_MAX];

void misuse_add(vitro_sched *sched)
{
    (void)pthread_mutex_lock(&lock);
    for (size_t i = 0; i < RUNS_MAX; i++)
        if (!scheds[i]) {
            scheds[i] = sched;
            break;
        }
    (void)pthread_mutex_unlock(&lock);
}

void misuse_remove(vitro_sched *sched)
{
    (void)pthread_mutex_lock(&lock);
    for (size_t i = 0; i < RUNS_MAX; i++)
        if (scheds[i] == sched)
            scheds[i] = NULL;
    (void)pthread_mutex_unlock(&lock);
}

/* True when the object belongs to a run of another thread, which then hears of it. */
static bool foreign(const char *what, const struct vitro_object *object)
{
    bool found = false;

    (void)pthread_mutex_lock(&lock);
    for (size_t i = 0; i < RUNS_MAX; i++)
        if (scheds[i] && object->run && scheds[i]->run == object->run &&
            scheds[i]->thread != (unsigned long)pthread_self()) {
            atomic_store(&scheds[i]->foreign, what);
            found = true;
        }
    (void)pthread_mutex_unlock(&lock);
    return found;
}

int task_outside(const char *what, const struct vitro_object *object, const char *where)
{
    where = where ? where : "?";
    if (object && foreign(what, object))
        return fail_text(NULL, -EPERM, "%s at %s: '%s' belongs to a scheduler of another thread",
                         what, where, object->name ? object->name : object_type_name(object->type));
    return fail_text(NULL, -EPERM, "%s at %s: outside a task", what, where);
}
