/* SPDX-License-Identifier: MIT */
/* A parking lot: threads that wait for another thread of the process, by the address of what they
 * wait for. Who wakes one counts it as running at once, so that a clock cannot move between the
 * waking and the running. First come, first woken.
 *
 * While anybody is parked the interposer counts as active, though its bench may have ended: whoever
 * signals must find him. */
#include "interpose/calls.h"
#include "interpose/stall.h"
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>

enum { BUCKETS = 64 };

struct parked {
    struct clock_wait wait; /* first */
    struct parked *prev, *next;
    const void *key;
    uint32_t rung;
    bool released; /* off the list */
};

static struct bucket {
    pthread_mutex_t lock;
    struct parked *first, *last;
} buckets[BUCKETS] = {[0 ... BUCKETS - 1] = {.lock = PTHREAD_MUTEX_INITIALIZER}};
static uint32_t parked_count;

static struct bucket *bucket_of(const void *key)
{
    uint64_t mixed = (uint64_t)(uintptr_t)key * UINT64_C(0x9e3779b97f4a7c15);

    return &buckets[mixed >> 58];
}

static long futex(uint32_t *word, int operation, uint32_t value, const struct timespec *wait)
{
    return REAL.syscall(SYS_futex, word, operation | FUTEX_PRIVATE_FLAG, value, wait, NULL, 0);
}

static void ring(struct clock_wait *wait)
{
    struct parked *parked = (struct parked *)wait;

    __atomic_store_n(&parked->rung, 1, __ATOMIC_SEQ_CST);
    (void)futex(&parked->rung, FUTEX_WAKE, INT_MAX, NULL);
}

static void list_add(struct bucket *bucket, struct parked *parked)
{
    parked->prev = bucket->last;
    parked->next = NULL;
    *(parked->prev ? &parked->prev->next : &bucket->first) = parked;
    bucket->last = parked;
    parked->released = false;
}

static void list_remove(struct bucket *bucket, struct parked *parked)
{
    *(parked->prev ? &parked->prev->next : &bucket->first) = parked->next;
    *(parked->next ? &parked->next->prev : &bucket->last) = parked->prev;
    parked->released = true;
}

/* With the bucket's lock held: the parked one cannot go away before it has that, too. */
static void release(struct bucket *bucket, struct parked *parked)
{
    list_remove(bucket, parked);
    if (parked->wait.paused)
        (void)clock_wait_wake(&parked->wait);
    ring(&parked->wait);
}

static bool bucket_release(struct bucket *bucket, const void *key, bool all)
{
    bool any = false;

    (void)pthread_mutex_lock(&bucket->lock);
    for (struct parked *parked = bucket->first, *next; parked && (all || !any); parked = next) {
        next = parked->next;
        if (key && parked->key != key)
            continue;
        release(bucket, parked);
        any = true;
    }
    (void)pthread_mutex_unlock(&bucket->lock);
    return any;
}

static bool release_everybody(void)
{
    bool any = false;

    for (size_t i = 0; i < BUCKETS; i++)
        any |= bucket_release(&buckets[i], NULL, true);
    return any;
}

static bool wake(const void *key, bool all)
{
    struct lane *lane = lane_self();
    bool any = false;

    if (!__atomic_load_n(&parked_count, __ATOMIC_SEQ_CST))
        return false;
    if (lane->inside) { /* a signal handler, over our own locks: as soon as they are left */
        lane->deferred = true;
        return true;
    }
    inside_begin(lane);
    any = key ? bucket_release(bucket_of(key), key, all) : release_everybody();
    inside_end(lane);
    return any;
}

void unpark(const void *key, bool all)
{
    (void)wake(key, all);
}

bool unpark_one(const void *key)
{
    return wake(key, false);
}

/* ---- parking */

/* One round: 0 when woken, ETIMEDOUT, EINTR. */
static int stay(struct lane *lane, struct vitro_clock *clock, struct parked *parked,
                const struct deadline *until)
{
    struct paused *paused = parked->wait.paused;
    enum wait_state state = WAIT_WAITING;
    long r = 0;

    if (!paused && !until->is_none) { /* a clock that does not know of waits: a sleep it is */
        int slept = until->base == BY_DAY ? vitro_clock_sleep_until(clock, until->ns)
                                          : vitro_clock_sleep(clock, until->ns);
        return __atomic_load_n(&parked->rung, __ATOMIC_SEQ_CST) ? 0 : slept < 0 ? EINTR : ETIMEDOUT;
    }
    if (paused) {
        uint64_t at = until->is_none          ? UINT64_MAX
                      : until->base == BY_DAY ? paused_day_key(until->ns)
                                              : paused_key_after(paused, until->ns);
        state = clock_wait_begin(&parked->wait, paused, until->base, at);
    }
    inside_end(lane);
    struct stall stall = {0};
    while (state == WAIT_WAITING && !__atomic_load_n(&parked->rung, __ATOMIC_SEQ_CST) &&
           r != EINTR) {
        static const struct timespec while_ns = {.tv_nsec = STALL_NS};
        r = futex(&parked->rung, FUTEX_WAIT, 0, paused ? &while_ns : NULL) < 0 ? errno : 0;
        if (r == ETIMEDOUT)
            stall_look(&stall, paused);
    }
    inside_begin(lane);
    if (paused)
        state = clock_wait_end(&parked->wait);
    return state == WAIT_TIME_CAME ? ETIMEDOUT
           : state == WAIT_STOPPED ? ECANCELED
           : r == EINTR            ? EINTR
                                   : 0;
}

int park(struct lane *lane, struct vitro_clock *clock, const struct parking *parking,
         const struct deadline *until)
{
    struct bucket *bucket = bucket_of(parking->key);
    struct paused *paused = paused_of(clock);
    struct deadline rest = *until;
    uint64_t began = vitro_clock_monotonic(clock);
    int r;

    interpose_count(+1);
    (void)__atomic_add_fetch(&parked_count, 1, __ATOMIC_SEQ_CST);
    inside_begin(lane);
    for (bool released = false;;) {
        struct parked parked = {.wait = {.paused = paused, .wake = ring}, .key = parking->key};
        (void)pthread_mutex_lock(&bucket->lock);
        r = parking->attempt ? parking->attempt(parking->arg) : EBUSY;
        if (r == EBUSY)
            list_add(bucket, &parked);
        (void)pthread_mutex_unlock(&bucket->lock);
        if (parking->release && !released)
            parking->release(parking->arg);
        released = true;
        if (r != EBUSY)
            break;
        if (lane->deferred) { /* before the clock may move past it */
            lane->deferred = false;
            (void)release_everybody();
        }
        r = stay(lane, clock, &parked, &rest);
        (void)pthread_mutex_lock(&bucket->lock);
        if (!parked.released)
            list_remove(bucket, &parked);
        else
            r = 0; /* woken, whatever else came */
        (void)pthread_mutex_unlock(&bucket->lock);
        if (r != 0 || !parking->attempt)
            break;
        if (!rest.is_none && rest.base == BY_MONOTONIC)
            rest.ns = until->ns - (int64_t)(vitro_clock_monotonic(clock) - began);
    }
    inside_end(lane);
    (void)__atomic_sub_fetch(&parked_count, 1, __ATOMIC_SEQ_CST);
    interpose_count(-1);
    return r;
}

/* In a child there is one thread, which is not parked. */
void park_after_fork(void)
{
    for (size_t i = 0; i < BUCKETS; i++)
        buckets[i] = (struct bucket){.lock = PTHREAD_MUTEX_INITIALIZER};
    parked_count = 0;
}
