/* SPDX-License-Identifier: MIT */
/* Mutexes and reader-writer locks. Waiting for one is not ended by cancellation: code that locks
 * rarely looks at the result, and would unlock what it does not hold. */
#include "sched/sched.h"

static bool mutex_free(struct vitro_object *object, const struct wait *wait)
{
    (void)wait;
    return ((struct vitro_mutex *)object)->owner == 0;
}

static struct vitro_mutex *bound(vitro_task *task, struct vitro_mutex *mutex)
{
    if (object_bind(task->sched, &mutex->object, OBJECT_MUTEX))
        mutex->owner = 0;
    return mutex;
}

static void take(vitro_task *task, struct vitro_mutex *mutex, const char *where)
{
    mutex->owner = task->core.id;
    mutex->where = where;
    if (mutex->object.first)
        object_changed(&mutex->object);
}

int vitro_lock_at(struct vitro_mutex *mutex, uint64_t deadline_ns, const char *where)
{
    TASK_OR_RETURN("lock", &mutex->object);
    bound(task, mutex);
    int r =
        task_wait(task, (struct op){.where = where, .object = mutex->object.id, .kind = OP_LOCK},
                  &mutex->object, mutex_free, deadline_ns);
    if (r < 0)
        return r;
    take(task, mutex, where);
    return 0;
}

int vitro_trylock_at(struct vitro_mutex *mutex, const char *where)
{
    TASK_OR_RETURN("trylock", &mutex->object);
    bound(task, mutex);
    (void)task_point(task,
                     (struct op){.where = where, .object = mutex->object.id, .kind = OP_TRYLOCK});
    if (mutex->owner)
        return -EBUSY;
    take(task, mutex, where);
    return 0;
}

void vitro_unlock_at(struct vitro_mutex *mutex, const char *where)
{
    TASK_OR_LEAVE("unlock", &mutex->object);
    bound(task, mutex);
    (void)task_point(task,
                     (struct op){.where = where, .object = mutex->object.id, .kind = OP_UNLOCK});
    if (mutex->owner != task->core.id) {
        if (task->sched->unwinding) /* its lock may have ended with -ECANCELED, unread */
            return;
        mistake("unlock at %s: mutex '%s' is not held by task '%s'", where ? where : "?",
                mutex->object.name ? mutex->object.name : "?", vitro_name(task));
    }
    mutex->owner = 0;
    if (mutex->object.first)
        object_changed(&mutex->object);
}

/* ---- reader-writer locks: readers share; a writer that waits does not hold new readers back, so
 * that every order a real one allows can be tried. */

static bool may_read(struct vitro_object *object, const struct wait *wait)
{
    (void)wait;
    return ((struct vitro_rwlock *)object)->writer == 0;
}

static bool may_write(struct vitro_object *object, const struct wait *wait)
{
    const struct vitro_rwlock *lock = (struct vitro_rwlock *)object;

    (void)wait;
    return lock->writer == 0 && lock->readers == 0;
}

static void bind_rwlock(vitro_task *task, struct vitro_rwlock *lock)
{
    if (object_bind(task->sched, &lock->object, OBJECT_RWLOCK))
        lock->writer = lock->readers = 0;
}

int vitro_rdlock_at(struct vitro_rwlock *lock, const char *where)
{
    TASK_OR_RETURN("rdlock", &lock->object);
    bind_rwlock(task, lock);
    int r =
        task_wait(task, (struct op){.where = where, .object = lock->object.id, .kind = OP_RDLOCK},
                  &lock->object, may_read, VITRO_FOREVER);
    if (r < 0)
        return r;
    lock->readers++;
    object_changed(&lock->object);
    return 0;
}

int vitro_wrlock_at(struct vitro_rwlock *lock, const char *where)
{
    TASK_OR_RETURN("wrlock", &lock->object);
    bind_rwlock(task, lock);
    int r = task_wait(task, (struct op){.where = where, .object = lock->object.id, .kind = OP_LOCK},
                      &lock->object, may_write, VITRO_FOREVER);
    if (r < 0)
        return r;
    lock->writer = task->core.id;
    object_changed(&lock->object);
    return 0;
}

void vitro_rdunlock_at(struct vitro_rwlock *lock, const char *where)
{
    TASK_OR_LEAVE("rdunlock", &lock->object);
    bind_rwlock(task, lock);
    (void)task_point(task,
                     (struct op){.where = where, .object = lock->object.id, .kind = OP_RDUNLOCK});
    if (!lock->readers) {
        if (task->sched->unwinding)
            return;
        mistake("rdunlock at %s: rwlock '%s' has no reader", where ? where : "?",
                lock->object.name ? lock->object.name : "?");
    }
    lock->readers--;
    object_changed(&lock->object);
}

void vitro_wrunlock_at(struct vitro_rwlock *lock, const char *where)
{
    TASK_OR_LEAVE("wrunlock", &lock->object);
    bind_rwlock(task, lock);
    (void)task_point(task,
                     (struct op){.where = where, .object = lock->object.id, .kind = OP_UNLOCK});
    if (lock->writer != task->core.id) {
        if (task->sched->unwinding)
            return;
        mistake("wrunlock at %s: rwlock '%s' is not held by task '%s'", where ? where : "?",
                lock->object.name ? lock->object.name : "?", vitro_name(task));
    }
    lock->writer = 0;
    object_changed(&lock->object);
}
