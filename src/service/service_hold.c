/* SPDX-License-Identifier: MIT */
/* Holding crons and pumps: the gate before every job and event, and reloading behind it. */
#include "base/buf.h"
#include "base/wall.h"
#include "service/service.h"
#include <errno.h>
#include <string.h>

/* ---- the gate */

int service_gate_enter(struct part *part, char *doing)
{
    vitro_service *service = part->service;
    int r = -ECANCELED;

    (void)pthread_mutex_lock(&service->lock);
    while (service->held && !service->stopping) {
        struct wait wait = {.for_release = true};
        service_wait(service, &wait);
    }
    if (service->stopping) {
        free(doing);
    } else {
        part->busy = true;
        part->doing = doing;
        r = 0;
    }
    (void)pthread_mutex_unlock(&service->lock);
    return r;
}

void service_gate_leave(struct part *part)
{
    vitro_service *service = part->service;

    (void)pthread_mutex_lock(&service->lock);
    part->busy = false;
    free(part->doing);
    part->doing = NULL;
    (void)pthread_cond_broadcast(&service->changed);
    (void)pthread_mutex_unlock(&service->lock);
}

static bool is_busy(const struct part *part)
{
    return part->busy;
}

static bool is_self(vitro_service *service)
{
    const struct part *part;
    bool found = false;

    (void)pthread_mutex_lock(&service->lock);
    for (size_t i = 0; (part = service_part_at(service, i)); i++)
        found |= part->busy && pthread_equal(part->thread, pthread_self());
    (void)pthread_mutex_unlock(&service->lock);
    return found;
}

/* With the lock held: until nobody is at work. */
static int await_rest(vitro_service *service, int64_t deadline_ns, struct err *err)
{
    CLEANUP(buf_done) struct buf names = {0};
    uint64_t until_ns = wall_monotonic_ns() + (uint64_t)deadline_ns;

    while (service_parts_add(service, is_busy, &names)) {
        buf_clear(&names);
        if (service_await_change(service, until_ns) == -ETIMEDOUT &&
            service_parts_add(service, is_busy, &names))
            return err_set(err, -ETIMEDOUT,
                           "pause '%s': after %.3f s of real time these are still at work: %s",
                           service->options.name, service_seconds(deadline_ns), names.data);
    }
    return 0;
}

int vitro_service_pause(vitro_service *service, int64_t deadline_ns,
                        struct vitro_clock_error *error)
{
    if (is_self(service))
        return err_set(service_err(error), -EDEADLK, "pause '%s': from work that it would wait for",
                       service->options.name);
    vitro_worker_idle_begin();
    (void)pthread_mutex_lock(&service->lock);
    bool before = service->held;
    service->held = true;
    int r = await_rest(service, deadline_ns > 0 ? deadline_ns : SERVICE_DEADLINE_NS,
                       service_err(error));
    (void)pthread_mutex_unlock(&service->lock);
    vitro_worker_idle_end();
    if (r < 0 && !before)
        vitro_service_release(service);
    return r;
}

void vitro_service_release(vitro_service *service)
{
    (void)pthread_mutex_lock(&service->lock);
    service->held = false;
    for (struct wait *wait = service->waits; wait; wait = wait->next)
        if (wait->for_release)
            service_wake(wait);
    (void)pthread_mutex_unlock(&service->lock);
}

int vitro_service_reload(vitro_service *service, struct vitro_clock_error *error)
{
    if (!service->options.reload)
        return err_set(service_err(error), -ENOTSUP, "reload '%s': it cannot",
                       service->options.name);
    (void)pthread_mutex_lock(&service->lock);
    bool before = service->held;
    (void)pthread_mutex_unlock(&service->lock);
    int r = vitro_service_pause(service, 0, error);
    if (r < 0)
        return r;
    r = service->options.reload(service, service->options.arg);
    service_tell(service, r < 0 ? "failed" : "reloaded", "reload: %d", r);
    if (!before)
        vitro_service_release(service);
    if (r < 0)
        return err_set(service_err(error), r, "reload '%s': %s", service->options.name,
                       strerror(-r));
    return r;
}
