/* SPDX-License-Identifier: MIT */
/* Locks, conditions and semaphores between threads. What is free is taken by the real call; who has
 * to wait is parked. Memory and ownership stay libc's: a thread that is not under a mock may hold
 * or wait for the same lock with the real calls. */
#include "interpose/calls.h"

static struct vitro_clock *parks_here(const void *caller, struct lane **ret_lane)
{
    *ret_lane = lane_here(caller);
    return *ret_lane ? lane_clock(*ret_lane) : NULL;
}

static bool is_time(const struct timespec *at)
{
    return at && at->tv_nsec >= 0 && at->tv_nsec < 1000000000;
}

/* ---- mutexes */

static int try_mutex(void *arg)
{
    return pthread_mutex_trylock(arg);
}

/* A stopped clock wakes nobody: then the lock is awaited in real time. */
static int lock_until(struct lane *lane, struct vitro_clock *clock, pthread_mutex_t *mutex,
                      const struct deadline *until)
{
    int r = pthread_mutex_trylock(mutex);

    if (r != EBUSY)
        return r;
    if (mutex->__data.__owner == (int)REAL.gettid())
        return REAL.pthread_mutex_lock(mutex); /* an error, or the deadlock it is */
    do
        r = park(lane, clock, &(struct parking){mutex, try_mutex, NULL, mutex}, until);
    while (r == EINTR);
    return r == ECANCELED ? REAL.pthread_mutex_lock(mutex) : r;
}

int call_pthread_mutex_lock(const void *caller, pthread_mutex_t *mutex)
{
    struct lane *lane;
    struct vitro_clock *clock = parks_here(caller, &lane);

    return clock ? lock_until(lane, clock, mutex, &no_deadline) : REAL.pthread_mutex_lock(mutex);
}

int call_pthread_mutex_clocklock(const void *caller, pthread_mutex_t *restrict mutex, clockid_t id,
                                 const struct timespec *restrict at)
{
    struct lane *lane;
    struct vitro_clock *clock = parks_here(caller, &lane);

    if (!clock || !is_time(at))
        return REAL.pthread_mutex_clocklock(mutex, id, at);
    struct deadline until = deadline_at(clock, id, at);
    return lock_until(lane, clock, mutex, &until);
}

int call_pthread_mutex_timedlock(const void *caller, pthread_mutex_t *restrict mutex,
                                 const struct timespec *restrict at)
{
    return lane_here(caller) ? call_pthread_mutex_clocklock(caller, mutex, CLOCK_REALTIME, at)
                             : REAL.pthread_mutex_timedlock(mutex, at);
}

int call_pthread_mutex_unlock(const void *caller, pthread_mutex_t *mutex)
{
    int r = REAL.pthread_mutex_unlock(mutex);
    if (r == 0 && !is_library(caller))
        unpark(mutex, false);
    return r;
}

/* ---- readers and writers */

static int try_read(void *arg)
{
    return pthread_rwlock_tryrdlock(arg);
}

static int try_write(void *arg)
{
    return pthread_rwlock_trywrlock(arg);
}

static int rwlock_until(const void *caller, pthread_rwlock_t *lock, int (*attempt)(void *),
                        int (*real)(pthread_rwlock_t *), const struct timespec *at)
{
    struct lane *lane;
    struct vitro_clock *clock = parks_here(caller, &lane);

    if (!clock)
        return real(lock);
    struct deadline until = at ? deadline_at(clock, CLOCK_REALTIME, at) : no_deadline;
    int r = attempt(lock);
    while (r == EBUSY || r == EINTR)
        r = park(lane, clock, &(struct parking){lock, attempt, NULL, lock}, &until);
    return r == ECANCELED ? real(lock) : r;
}

int call_pthread_rwlock_rdlock(const void *caller, pthread_rwlock_t *lock)
{
    return rwlock_until(caller, lock, try_read, REAL.pthread_rwlock_rdlock, NULL);
}

int call_pthread_rwlock_wrlock(const void *caller, pthread_rwlock_t *lock)
{
    return rwlock_until(caller, lock, try_write, REAL.pthread_rwlock_wrlock, NULL);
}

int call_pthread_rwlock_timedrdlock(const void *caller, pthread_rwlock_t *restrict lock,
                                    const struct timespec *restrict at)
{
    return lane_here(caller) && is_time(at)
               ? rwlock_until(caller, lock, try_read, REAL.pthread_rwlock_rdlock, at)
               : REAL.pthread_rwlock_timedrdlock(lock, at);
}

int call_pthread_rwlock_timedwrlock(const void *caller, pthread_rwlock_t *restrict lock,
                                    const struct timespec *restrict at)
{
    return lane_here(caller) && is_time(at)
               ? rwlock_until(caller, lock, try_write, REAL.pthread_rwlock_wrlock, at)
               : REAL.pthread_rwlock_timedwrlock(lock, at);
}

int call_pthread_rwlock_unlock(const void *caller, pthread_rwlock_t *lock)
{
    int r = REAL.pthread_rwlock_unlock(lock);
    if (r == 0 && !is_library(caller))
        unpark(lock, true); /* several may read */
    return r;
}

/* ---- conditions */

static void release_mutex(void *arg)
{
    (void)REAL.pthread_mutex_unlock(arg);
    /* Not through unpark: this thread is inside, and that would put it off. */
    lane_self()->inside--;
    unpark(arg, false);
    lane_self()->inside++;
}

static int cond_until(struct lane *lane, struct vitro_clock *clock, pthread_cond_t *cond,
                      pthread_mutex_t *mutex, const struct deadline *until)
{
    int r = park(lane, clock, &(struct parking){cond, NULL, release_mutex, mutex}, until);
    int locked = lock_until(lane, clock, mutex, &no_deadline);

    if (locked != 0)
        return locked;
    if (r == ECANCELED && !until->is_none)
        return ETIMEDOUT;
    return r == ETIMEDOUT ? r : 0; /* anything else is a wake-up for no reason, which may be */
}

int call_pthread_cond_wait(const void *caller, pthread_cond_t *restrict cond,
                           pthread_mutex_t *restrict mutex)
{
    struct lane *lane;
    struct vitro_clock *clock = parks_here(caller, &lane);

    return clock ? cond_until(lane, clock, cond, mutex, &no_deadline)
                 : REAL.pthread_cond_wait(cond, mutex);
}

int call_pthread_cond_clockwait(const void *caller, pthread_cond_t *restrict cond,
                                pthread_mutex_t *restrict mutex, clockid_t id,
                                const struct timespec *restrict at)
{
    struct lane *lane;
    struct vitro_clock *clock = parks_here(caller, &lane);

    if (!clock || !is_time(at) || at->tv_sec < 0)
        return REAL.pthread_cond_clockwait(cond, mutex, id, at);
    struct deadline until = deadline_at(clock, id, at);
    return cond_until(lane, clock, cond, mutex, &until);
}

/* Which clock a condition follows is told when it is made, and kept in its flags. */
static clockid_t cond_clock(const pthread_cond_t *cond)
{
    return cond->__data.__wrefs & 2 ? CLOCK_MONOTONIC : CLOCK_REALTIME;
}

int call_pthread_cond_timedwait(const void *caller, pthread_cond_t *restrict cond,
                                pthread_mutex_t *restrict mutex, const struct timespec *restrict at)
{
    return lane_here(caller)
               ? call_pthread_cond_clockwait(caller, cond, mutex, cond_clock(cond), at)
               : REAL.pthread_cond_timedwait(cond, mutex, at);
}

int call_pthread_cond_signal(const void *caller, pthread_cond_t *cond)
{
    return !is_library(caller) && unpark_one(cond) ? 0 : REAL.pthread_cond_signal(cond);
}

int call_pthread_cond_broadcast(const void *caller, pthread_cond_t *cond)
{
    if (!is_library(caller))
        unpark(cond, true);
    return REAL.pthread_cond_broadcast(cond);
}

/* ---- semaphores */

static int try_sem(void *arg)
{
    return sem_trywait(arg) == 0 ? 0 : errno == EAGAIN ? EBUSY : errno;
}

static int sem_until(struct lane *lane, struct vitro_clock *clock, sem_t *sem,
                     const struct deadline *until)
{
    int r = try_sem(sem);

    if (r == EBUSY)
        r = park(lane, clock, &(struct parking){sem, try_sem, NULL, sem}, until);
    if (r == 0)
        return 0;
    errno = r == ECANCELED ? EINTR : r;
    return -1;
}

int call_sem_wait(const void *caller, sem_t *sem)
{
    struct lane *lane;
    struct vitro_clock *clock = parks_here(caller, &lane);

    return clock ? sem_until(lane, clock, sem, &no_deadline) : REAL.sem_wait(sem);
}

int call_sem_clockwait(const void *caller, sem_t *restrict sem, clockid_t id,
                       const struct timespec *restrict at)
{
    struct lane *lane;
    struct vitro_clock *clock = parks_here(caller, &lane);

    if (!clock || !is_time(at) || at->tv_sec < 0)
        return REAL.sem_clockwait(sem, id, at);
    struct deadline until = deadline_at(clock, id, at);
    return sem_until(lane, clock, sem, &until);
}

int call_sem_timedwait(const void *caller, sem_t *restrict sem, const struct timespec *restrict at)
{
    return lane_here(caller) ? call_sem_clockwait(caller, sem, CLOCK_REALTIME, at)
                             : REAL.sem_timedwait(sem, at);
}

int call_sem_post(const void *caller, sem_t *sem)
{
    int r = REAL.sem_post(sem);
    if (r == 0 && !is_library(caller))
        unpark(sem, false);
    return r;
}

/* ---- C11: in glibc the same objects by other names */

static int c11(int r)
{
    return r == 0           ? thrd_success
           : r == ETIMEDOUT ? thrd_timedout
           : r == EBUSY     ? thrd_busy
           : r == ENOMEM    ? thrd_nomem
                            : thrd_error;
}

int call_mtx_lock(const void *caller, mtx_t *mutex)
{
    return c11(call_pthread_mutex_lock(caller, (pthread_mutex_t *)mutex));
}

int call_mtx_timedlock(const void *caller, mtx_t *restrict mutex,
                       const struct timespec *restrict at)
{
    return c11(call_pthread_mutex_timedlock(caller, (pthread_mutex_t *)mutex, at));
}

int call_mtx_unlock(const void *caller, mtx_t *mutex)
{
    return c11(call_pthread_mutex_unlock(caller, (pthread_mutex_t *)mutex));
}

int call_cnd_wait(const void *caller, cnd_t *cond, mtx_t *mutex)
{
    return c11(call_pthread_cond_wait(caller, (pthread_cond_t *)cond, (pthread_mutex_t *)mutex));
}

int call_cnd_timedwait(const void *caller, cnd_t *restrict cond, mtx_t *restrict mutex,
                       const struct timespec *restrict at)
{
    return c11(
        call_pthread_cond_timedwait(caller, (pthread_cond_t *)cond, (pthread_mutex_t *)mutex, at));
}

int call_cnd_signal(const void *caller, cnd_t *cond)
{
    return c11(call_pthread_cond_signal(caller, (pthread_cond_t *)cond));
}

int call_cnd_broadcast(const void *caller, cnd_t *cond)
{
    return c11(call_pthread_cond_broadcast(caller, (pthread_cond_t *)cond));
}
