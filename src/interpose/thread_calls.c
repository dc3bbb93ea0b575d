/* SPDX-License-Identifier: MIT */
/* Threads that any code starts under a mock have what their starter had, as workers do: its frames,
 * its clock, a name by their place in the tree of starts. They count as running from before they
 * exist until they end, and who joins one counts as running before it has gone.
 *
 * A thread of a bench may outlive it: world_abandon takes everything from it, and it goes on in the
 * real world. */
#include "base/buf.h"
#include "base/call_out.h"
#include "interpose/calls.h"
#include "interpose/world.h"

struct started {
    struct started *prev, *next;
    void *(*run)(void *);
    thrd_start_t run_c11;
    void *arg;
    struct lane lane;            /* what it gets */
    struct lane *own;            /* once it runs */
    struct vitro_frame frame;    /* its own, with what was in force */
    struct vitro_frame *counted; /* of a plain mock, which it keeps from being popped */
    struct vitro_world *world;   /* a reference; NULL: none */
    char *name;                  /* owned */
    pthread_t thread;
    bool is_detached, has_ended; /* ended: it is left for who joins it */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct started *first; /* those who run, and those who have ended and were not joined */

static void list_remove(struct started *started)
{
    *(started->prev ? &started->prev->next : &first) = started->next;
    if (started->next)
        started->next->prev = started->prev;
}

static void list_add(struct started *started)
{
    started->prev = NULL;
    started->next = first;
    if (first)
        first->prev = started;
    first = started;
}

static void started_free(struct started *started)
{
    world_unref(started->world);
    free(started->name);
    free(started);
}

static void leave(void *arg)
{
    struct started *started = arg;
    struct lane *lane = lane_self();

    inside_begin(lane);
    (void)pthread_mutex_lock(&lock);
    started->has_ended = true;
    started->own = NULL;
    (void)pthread_mutex_unlock(&lock);
    lane->inside--;
    unpark(started, true); /* who joins it counts from here on */
    lane->inside++;
    if (lane->clock && !lane->idle)
        lane_running(lane, -1);
    if (started->counted)
        (void)__atomic_sub_fetch(&started->counted->workers, 1, __ATOMIC_ACQ_REL);
    *lane = (struct lane){0};
    interpose_count(-1);
    (void)pthread_mutex_lock(&lock);
    struct vitro_world *world = take_ptr(&started->world);
    if (started->is_detached) {
        list_remove(started);
        started_free(started);
    }
    (void)pthread_mutex_unlock(&lock);
    world_unref(world);
}

static void *thread_main(void *arg)
{
    struct started *started = arg;
    void *result = NULL;

    *lane_self() = started->lane;
    (void)pthread_mutex_lock(&lock);
    if (started->frame.is_pushed) {
        started->own = lane_self();
    } else { /* abandoned before it ran */
        *lane_self() = (struct lane){0};
    }
    (void)pthread_mutex_unlock(&lock);
    pthread_cleanup_push(leave, started);
    result = started->run_c11 ? (void *)(intptr_t)call_out_int(started->run_c11, started->arg)
                              : call_out(started->run, started->arg);
    pthread_cleanup_pop(1);
    return result;
}

static int start(struct lane *lane, pthread_t *ret, const pthread_attr_t *attributes,
                 struct started *started)
{
    struct vitro_frame *top = lane->top;

    started->name = lane_inherit(lane, &started->frame, NULL, "pthread_create", &started->lane);
    started->frame.below = NULL;
    if (!lane_clock(lane))
        started->lane.clock = NULL;
    started->world = world_ref(top->world);
    if (!top->world || top->world->frame != top) {
        started->counted = top;
        __atomic_store_n(&top->worker_where, "pthread_create", __ATOMIC_RELEASE);
        (void)__atomic_add_fetch(&top->workers, 1, __ATOMIC_ACQ_REL);
    }
    interpose_count(+1);
    lane_running(&started->lane, +1);
    (void)pthread_mutex_lock(&lock);
    list_add(started);
    int r = REAL.pthread_create(&started->thread, attributes, thread_main, started);
    if (r == 0) {
        *ret = started->thread;
        for (struct started *other = started->next, *next; other; other = next) {
            next = other->next; /* its number was given out again: nobody will join it */
            if (other->has_ended && pthread_equal(other->thread, started->thread)) {
                list_remove(other);
                started_free(other);
            }
        }
    } else {
        list_remove(started);
    }
    (void)pthread_mutex_unlock(&lock);
    if (r == 0)
        return 0;
    lane_running(&started->lane, -1);
    if (started->counted)
        (void)__atomic_sub_fetch(&top->workers, 1, __ATOMIC_ACQ_REL);
    interpose_count(-1);
    started_free(started);
    return r;
}

int call_pthread_create(const void *caller, pthread_t *restrict ret,
                        const pthread_attr_t *restrict attributes, void *(*run)(void *),
                        void *restrict arg)
{
    struct lane *lane = lane_here(caller);

    if (!lane)
        return REAL.pthread_create(ret, attributes, run, arg);
    struct started *started = mem_alloc(sizeof *started);
    started->run = run;
    started->arg = arg;
    inside_begin(lane);
    int detached = PTHREAD_CREATE_JOINABLE;
    if (attributes)
        (void)pthread_attr_getdetachstate(attributes, &detached);
    started->is_detached = detached == PTHREAD_CREATE_DETACHED;
    int r = start(lane, ret, attributes, started);
    inside_end(lane);
    return r;
}

int call_thrd_create(const void *caller, thrd_t *ret, thrd_start_t run, void *arg)
{
    struct lane *lane = lane_here(caller);

    if (!lane)
        return REAL.thrd_create(ret, run, arg);
    struct started *started = mem_alloc(sizeof *started);
    started->run_c11 = run;
    started->arg = arg;
    inside_begin(lane);
    int r = start(lane, ret, NULL, started);
    inside_end(lane);
    return r == 0 ? thrd_success : r == ENOMEM ? thrd_nomem : thrd_error;
}

/* ---- joining */

static struct started *find(pthread_t thread)
{
    struct started *started = first;

    while (started && !pthread_equal(started->thread, thread))
        started = started->next;
    return started;
}

struct joining {
    pthread_t thread;
};

static int try_ended(void *arg)
{
    const struct joining *joining = arg;

    (void)pthread_mutex_lock(&lock);
    const struct started *started = find(joining->thread);
    int r = !started || started->has_ended ? 0 : EBUSY;
    (void)pthread_mutex_unlock(&lock);
    return r;
}

/* Waits until it has ended, or is not one of ours. */
static void await_end(const void *caller, pthread_t thread)
{
    struct lane *lane = lane_here(caller);
    struct vitro_clock *clock = lane ? lane_clock(lane) : NULL;
    struct joining joining = {thread};
    int r = EINTR;

    if (!clock)
        return;
    (void)pthread_mutex_lock(&lock);
    const struct started *started = find(thread);
    (void)pthread_mutex_unlock(&lock);
    while (started && r == EINTR)
        r = park(lane, clock, &(struct parking){started, try_ended, NULL, &joining}, &no_deadline);
}

static void forget(pthread_t thread)
{
    if (!first)
        return;
    (void)pthread_mutex_lock(&lock);
    struct started *started = find(thread);
    if (started && started->has_ended) {
        list_remove(started);
        started_free(started);
    }
    (void)pthread_mutex_unlock(&lock);
}

int call_pthread_join(const void *caller, pthread_t thread, void **ret)
{
    await_end(caller, thread);
    int r = REAL.pthread_join(thread, ret);
    if (r == 0)
        forget(thread);
    return r;
}

int call_thrd_join(const void *caller, thrd_t thread, int *ret)
{
    await_end(caller, thread);
    int r = REAL.thrd_join(thread, ret);
    if (r == thrd_success)
        forget(thread);
    return r;
}

/* ---- the end of a bench, and children */

struct vitro_world *world_ref(struct vitro_world *world)
{
    if (world)
        (void)__atomic_add_fetch(&world->refs, 1, __ATOMIC_RELAXED);
    return world;
}

void world_unref(struct vitro_world *world)
{
    if (world && __atomic_sub_fetch(&world->refs, 1, __ATOMIC_ACQ_REL) == 0)
        world->free(world);
}

size_t world_abandon(struct vitro_world *world)
{
    size_t count = 0;

    (void)pthread_mutex_lock(&lock);
    for (struct started *started = first; started; started = started->next) {
        if (started->world != world || started->has_ended)
            continue;
        count++;
        started->frame = (struct vitro_frame){0};
        if (started->own)
            started->own->top = NULL;
    }
    (void)pthread_mutex_unlock(&lock);
    return count;
}

/* The child has this thread alone, and its clock must know. */
/* A child has one thread: whatever another one held would never be given back. */
static void worlds_lock(struct vitro_world *world)
{
    for (; world; world = world->outer)
        (void)pthread_mutex_lock(&world->lock);
}

static void worlds_unlock(struct vitro_world *world)
{
    for (; world; world = world->outer)
        (void)pthread_mutex_unlock(&world->lock);
}

pid_t fork_with_clock(void)
{
    struct vitro_clock *clock = lane_clock(lane_self());
    struct paused *paused = clock ? paused_of(clock) : NULL;
    struct vitro_world *world = lane_world(lane_self());

    worlds_lock(world);
    (void)pthread_mutex_lock(&lock);
    if (paused)
        paused_fork_begin(paused);
    pid_t pid = REAL.fork();
    int code = errno;
    if (paused)
        paused_fork_end(paused, pid == 0);
    (void)pthread_mutex_unlock(&lock);
    worlds_unlock(world);
    if (pid == 0) {
        park_after_fork();
        barriers_after_fork();
        first = NULL;
    }
    errno = code;
    return pid;
}
