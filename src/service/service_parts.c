/* SPDX-License-Identifier: MIT */
/* Crons and pumps: what goes on in the threads of a service that are not its own. */
#include "base/buf.h"
#include "base/when.h"
#include "service/cron.h"
#include "service/service.h"
#include <errno.h>
#include <string.h>

/* ---- crons */

void service_job_free(struct job *job)
{
    vitro_cron_free(job->cron);
    free(job->name);
    free(job);
}

static struct job *job_named(vitro_service *service, const char *name, size_t *ret_at)
{
    for (*ret_at = 0; *ret_at < service->job_count; ++*ret_at)
        if (strcmp(service->jobs[*ret_at]->name, name) == 0)
            return service->jobs[*ret_at];
    return NULL;
}

static void wake_crons(vitro_service *service)
{
    for (struct wait *wait = service->waits; wait; wait = wait->next)
        if (wait->for_jobs)
            service_wake(wait);
}

int vitro_service_cron(vitro_service *service, const char *name, const char *text,
                       const vitro_zone *zone, const struct vitro_cron_options *options,
                       int (*job)(void *arg, int64_t due_ns), void *arg,
                       struct vitro_clock_error *error)
{
    size_t at;

    if (!name || !*name || !job)
        return err_set(service_err(error), -EINVAL, "'%s': a cron without %s",
                       service->options.name, job ? "a name" : "a job");
    vitro_cron *cron = vitro_cron_parse(text, zone, error);
    if (!cron) {
        if (error)
            (void)err_wrap(service_err(error), "'%s', job '%s'", service->options.name, name);
        return -EINVAL;
    }
    struct job *fresh = mem_alloc(sizeof *fresh);
    *fresh = (struct job){.name = mem_dup(name),
                          .cron = cron,
                          .missed = options ? options->missed : VITRO_CRON_ONCE,
                          .run = job,
                          .arg = arg};
    if (vitro_cron_next(cron, vitro_clock_now(service->inner), &fresh->next_ns) < 0)
        fresh->next_ns = INT64_MAX;
    (void)pthread_mutex_lock(&service->lock);
    struct job *old = job_named(service, name, &at);
    if (!old) {
        service->jobs = mem_grow(service->jobs, (service->job_count + 1) * sizeof fresh);
        service->job_count++;
    }
    service->jobs[at] = fresh;
    if (old && old->running)
        old->gone = true;
    else if (old)
        service_job_free(old);
    wake_crons(service);
    (void)pthread_mutex_unlock(&service->lock);
    return 0;
}

int vitro_service_cron_remove(vitro_service *service, const char *name)
{
    size_t at;

    (void)pthread_mutex_lock(&service->lock);
    struct job *old = job_named(service, name, &at);
    if (old) {
        memmove(&service->jobs[at], &service->jobs[at + 1],
                (service->job_count - at - 1) * sizeof *service->jobs);
        service->job_count--;
        old->gone = true;
        if (!old->running)
            service_job_free(old);
        wake_crons(service);
    }
    (void)pthread_mutex_unlock(&service->lock);
    return old ? 0 : -ENOENT;
}

/* With the lock held. NULL: none. */
static struct job *job_next(const vitro_service *service)
{
    struct job *next = NULL;

    for (size_t i = 0; i < service->job_count; i++)
        if (!next || service->jobs[i]->next_ns < next->next_ns)
            next = service->jobs[i];
    return next && next->next_ns != INT64_MAX ? next : NULL;
}

static bool job_is_gone(vitro_service *service, const struct job *job)
{
    (void)pthread_mutex_lock(&service->lock);
    bool gone = job->gone;
    (void)pthread_mutex_unlock(&service->lock);
    return gone;
}

static void job_do(struct part *part, struct job *job)
{
    vitro_service *service = part->service;
    int64_t due_ns, last_ns;

    if (cron_missed(job->cron, job->missed, job->next_ns, vitro_clock_now(service->inner), &due_ns,
                    &last_ns) > 0) {
        CLEANUP(buf_done) struct buf due = {0};
        int result = job->run(job->arg, due_ns);
        if (result < 0)
            service_failed(part, part->doing, result);
        when_add(&due, due_ns);
        (void)vitro_eventlog_append(service->log, "cron", job->name, due.data, due.length, NULL);
    }
    if (vitro_cron_next(job->cron, last_ns, &job->next_ns) < 0)
        job->next_ns = INT64_MAX;
}

/* Runs what is due, with the lock held, which it lets go meanwhile. */
static int job_run(struct part *part, struct job *job)
{
    vitro_service *service = part->service;
    int r;

    job->running = true;
    (void)pthread_mutex_unlock(&service->lock);
    if ((r = service_gate_enter(part, mem_format("job '%s'", job->name))) == 0) {
        if (!job_is_gone(service, job)) /* replaced while it was held */
            job_do(part, job);
        service_gate_leave(part);
    }
    (void)pthread_mutex_lock(&service->lock);
    job->running = false;
    if (job->gone)
        service_job_free(job);
    return r;
}

int service_crons_main(struct part *part)
{
    vitro_service *service = part->service;
    int r = 0;

    (void)pthread_mutex_lock(&service->lock);
    while (!service->stopping && r == 0) {
        struct wait wait = {.for_jobs = true};
        struct job *job = job_next(service);
        if (!job) {
            service_wait(service, &wait);
            continue;
        }
        int64_t next_ns = job->next_ns;
        r = service_wait_until(service, &wait, next_ns);
        if (r == 0 && !service->stopping && (job = job_next(service)) && job->next_ns <= next_ns)
            r = job_run(part, job);
        r = r == -EAGAIN ? 0 : r;
    }
    (void)pthread_mutex_unlock(&service->lock);
    return r == -ECANCELED ? 0 : r;
}

/* ---- pumps */

int vitro_service_pump(vitro_service *service, const char *topic, const char *consumer,
                       int (*handle)(void *arg, const struct vitro_log_event *event), void *arg,
                       struct vitro_clock_error *error)
{
    struct vitro_events_options options = {.queue_max = SIZE_MAX, .ceiling_ns = INT64_MAX};
    struct vitro_event_error event_error = {0};
    int64_t after = consumer ? vitro_eventlog_cursor(service->log, topic, consumer) : 0;

    if (!handle)
        return err_set(service_err(error), -EINVAL, "'%s': a pump that handles nothing",
                       service->options.name);
    vitro_events *events = vitro_events_subscribe(
        service->log, topic, after < 0 ? 0 : (uint64_t)after, &options, &event_error);
    if (!events || after < 0) {
        vitro_events_free(events);
        return err_set(service_err(error), -EINVAL, "'%s': a pump: %s", service->options.name,
                       events ? "no consumer" : event_error.text);
    }
    struct part *pump = mem_alloc(sizeof *pump);
    *pump = (struct part){.service = service,
                          .name = mem_format("pump '%s'", topic),
                          .main = service_pump_main,
                          .consumer = mem_dup(consumer),
                          .events = events,
                          .handle = handle,
                          .arg = arg};
    (void)pthread_mutex_lock(&service->lock);
    bool late = service->ready;
    if (!late) {
        service->pumps = mem_grow(service->pumps, (service->pump_count + 1) * sizeof pump);
        service->pumps[service->pump_count++] = pump;
    }
    (void)pthread_mutex_unlock(&service->lock);
    if (!late)
        return 0;
    vitro_events_free(events);
    free(pump->consumer);
    free(pump->name);
    free(pump);
    return err_set(service_err(error), -EBUSY,
                   "'%s': a pump of '%s' after vitro_service_ready\nhint: pumps come first",
                   service->options.name, topic);
}

int service_pump_main(struct part *part)
{
    vitro_service *service = part->service;
    struct vitro_log_event event;
    int r;

    while ((r = vitro_events_receive(part->events, part->name, &event, NULL)) > 0) {
        if ((r = service_gate_enter(
                 part, mem_format("event %llu, '%s'", (unsigned long long)event.id, event.kind))) <
            0)
            break;
        int result = part->handle(part->arg, &event);
        if (result < 0)
            service_failed(part, part->doing, result);
        if (part->consumer)
            (void)vitro_eventlog_ack(service->log, event.topic, part->consumer, event.id, NULL);
        service_gate_leave(part);
    }
    return r == -ECANCELED ? 0 : r;
}
