/* SPDX-License-Identifier: MIT */
/* Barriers. They are libc's own, since threads of no bench may take part; who waits for the others
 * stands aside. Who comes last must not: it counts as running until all whom it freed count again,
 * or the clock would overtake them on their way back. Whether one is the last is known when all of
 * the others are threads of benches. */
#include "interpose/calls.h"
#include <limits.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>

enum { BARRIERS = 64, PROBE = 0x5a5a };

static struct barrier {
    const void *key;    /* NULL: free */
    unsigned waiting;   /* stand aside */
    unsigned last;      /* wait for those who were freed */
    uint32_t returning; /* were freed, and do not count yet */
} barriers[BARRIERS];
static pthread_mutex_t barriers_lock = PTHREAD_MUTEX_INITIALIZER;

static void lock(struct lane *lane)
{
    inside_begin(lane);
    (void)pthread_mutex_lock(&barriers_lock);
}

static void unlock(struct lane *lane)
{
    (void)pthread_mutex_unlock(&barriers_lock);
    inside_end(lane);
}

/* How many it is for. In glibc's struct it is the third number, which is looked at before it is
 * believed. UINT_MAX: not known. */
static unsigned size_of(const pthread_barrier_t *barrier)
{
    static int known; /* 1: yes, -1: no */
    unsigned numbers[3];

    if (!__atomic_load_n(&known, __ATOMIC_ACQUIRE)) {
        pthread_barrier_t probe;
        (void)pthread_barrier_init(&probe, NULL, PROBE);
        memcpy(numbers, &probe, sizeof numbers);
        __atomic_store_n(&known, numbers[2] == PROBE ? 1 : -1, __ATOMIC_RELEASE);
        (void)pthread_barrier_destroy(&probe);
    }
    memcpy(numbers, barrier, sizeof numbers);
    return known > 0 ? numbers[2] : UINT_MAX;
}

/* With the lock held. NULL: there are too many. */
static struct barrier *barrier_of(const void *key)
{
    struct barrier *unused = NULL;

    for (size_t i = 0; i < BARRIERS; i++) {
        if (barriers[i].key == key)
            return &barriers[i];
        if (!barriers[i].key)
            unused = &barriers[i];
    }
    if (unused)
        *unused = (struct barrier){.key = key};
    return unused;
}

static void barrier_unused(struct barrier *barrier)
{
    if (!barrier->waiting && !barrier->last && !barrier->returning)
        barrier->key = NULL;
}

static int wait_last(struct lane *lane, struct barrier *mine, pthread_barrier_t *barrier)
{
    uint32_t left;

    int r = REAL.pthread_barrier_wait(barrier);
    while ((left = __atomic_load_n(&mine->returning, __ATOMIC_SEQ_CST)) != 0)
        (void)REAL.syscall(SYS_futex, &mine->returning, FUTEX_WAIT_PRIVATE, left, NULL, NULL, 0);
    lock(lane);
    mine->last--;
    barrier_unused(mine);
    unlock(lane);
    return r;
}

static int wait_for_last(struct lane *lane, struct barrier *mine, pthread_barrier_t *barrier)
{
    vitro_worker_idle_begin();
    int r = REAL.pthread_barrier_wait(barrier);
    vitro_worker_idle_end();
    if (!mine)
        return r;
    lock(lane);
    if (!mine->returning) /* it was freed by a thread of no bench */
        mine->waiting--;
    else if (__atomic_sub_fetch(&mine->returning, 1, __ATOMIC_SEQ_CST) == 0)
        (void)REAL.syscall(SYS_futex, &mine->returning, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
    barrier_unused(mine);
    unlock(lane);
    return r;
}

int call_pthread_barrier_wait(const void *caller, pthread_barrier_t *barrier)
{
    struct lane *lane = lane_here(caller);

    if (!lane)
        return REAL.pthread_barrier_wait(barrier);
    unsigned size = size_of(barrier);
    lock(lane);
    struct barrier *mine = barrier_of(barrier);
    bool is_last = mine && mine->waiting + 1 >= size;
    if (is_last) {
        mine->last++;
        (void)__atomic_add_fetch(&mine->returning, mine->waiting, __ATOMIC_SEQ_CST);
        mine->waiting = 0;
    } else if (mine) {
        mine->waiting++;
    }
    unlock(lane);
    return is_last ? wait_last(lane, mine, barrier) : wait_for_last(lane, mine, barrier);
}

/* In a child nobody waits. */
void barriers_after_fork(void)
{
    memset(barriers, 0, sizeof barriers);
    barriers_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}
