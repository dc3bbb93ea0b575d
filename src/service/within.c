/* SPDX-License-Identifier: MIT */
/* Ceilings in real time. The thread that keeps one is no worker and has no mocks: it waits by the
 * machine's clock, whatever the thread it watches does. */
#include "vitro/within.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/wall.h"
#include "base/when.h"
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define CEILING_NS INT64_C(45000000000)
#define GRACE_NS   INT64_C(5000000000)

struct watch {
    const char *label;
    void (*late)(void *arg);
    void *arg;
    uint64_t started_ns;
    int64_t ceiling_ns, grace_ns;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool done, is_late;
};

/* With the lock held: false when the time has come first. */
static bool await_done(struct watch *watch, uint64_t until_ns)
{
    struct timespec until = {.tv_sec = (time_t)(until_ns / NS_PER_SEC),
                             .tv_nsec = (long)(until_ns % NS_PER_SEC)};

    while (!watch->done)
        if (pthread_cond_timedwait(&watch->changed, &watch->lock, &until) == ETIMEDOUT)
            break;
    return watch->done;
}

static void words(const struct watch *watch, const char *what, struct err *err)
{
    (void)err_set(err, -ETIMEDOUT, "%s: not done within %.3f s of real time; %s after %.3f s",
                  watch->label, (double)watch->ceiling_ns / 1e9, what,
                  (double)(wall_monotonic_ns() - watch->started_ns) / 1e9);
}

static void give_up(const struct watch *watch)
{
    struct err err = {0};

    words(watch, "it has not returned", &err);
    (void)fd_write_full(STDERR_FILENO, err.text, strlen(err.text));
    (void)fd_write_full(STDERR_FILENO, "\n", 1);
    abort();
}

static void *keep(void *arg)
{
    struct watch *watch = arg;

    (void)pthread_mutex_lock(&watch->lock);
    if (!await_done(watch, watch->started_ns + (uint64_t)watch->ceiling_ns)) {
        watch->is_late = true;
        if (watch->late) {
            (void)pthread_mutex_unlock(&watch->lock);
            watch->late(watch->arg);
            (void)pthread_mutex_lock(&watch->lock);
        }
        if (!watch->late || !await_done(watch, wall_monotonic_ns() + (uint64_t)watch->grace_ns))
            give_up(watch);
    }
    (void)pthread_mutex_unlock(&watch->lock);
    return NULL;
}

int vitro_within(const char *label, int (*work)(void *arg), void *arg,
                 const struct vitro_within_options *options, struct vitro_clock_error *error)
{
    static const struct vitro_within_options none;
    pthread_condattr_t attributes;
    pthread_t thread;

    options = options ? options : &none;
    struct watch watch = {.label = label ? label : "within",
                          .late = options->late,
                          .arg = arg,
                          .started_ns = wall_monotonic_ns(),
                          .ceiling_ns = options->ceiling_ns > 0 ? options->ceiling_ns : CEILING_NS,
                          .grace_ns = options->grace_ns > 0 ? options->grace_ns : GRACE_NS};
    (void)pthread_mutex_init(&watch.lock, NULL);
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&watch.changed, &attributes);
    (void)pthread_condattr_destroy(&attributes);
    int r = pthread_create(&thread, NULL, keep, &watch);
    if (r != 0) {
        r = err_set((struct err *)error, -EAGAIN, "%s: start a thread for its ceiling: %s",
                    watch.label, strerror(r));
    } else {
        r = work(arg);
        (void)pthread_mutex_lock(&watch.lock);
        watch.done = true;
        (void)pthread_cond_signal(&watch.changed);
        (void)pthread_mutex_unlock(&watch.lock);
        (void)pthread_join(thread, NULL);
        if (watch.is_late) {
            words(&watch, "it returned", (struct err *)error);
            r = -ETIMEDOUT;
        }
    }
    (void)pthread_cond_destroy(&watch.changed);
    (void)pthread_mutex_destroy(&watch.lock);
    return r;
}
