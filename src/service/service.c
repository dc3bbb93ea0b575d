/* SPDX-License-Identifier: MIT */
/* The life of a service: started, ready, held, stopped, shut down. */
#include "service/service.h"
#include "base/buf.h"
#include "base/fd.h"
#include "base/wall.h"
#include "base/when.h"
#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

int service_await_change(vitro_service *service, uint64_t until_ns)
{
    struct timespec until = {.tv_sec = (time_t)(until_ns / NS_PER_SEC),
                             .tv_nsec = (long)(until_ns % NS_PER_SEC)};

    return -pthread_cond_timedwait(&service->changed, &service->lock, &until);
}

double service_seconds(int64_t ns)
{
    return (double)ns / 1e9;
}

/* ---- telling */

void service_tell(vitro_service *service, const char *kind, const char *format, ...)
{
    CLEANUP(buf_done) struct buf text = {0};
    va_list args;

    va_start(args, format);
    buf_addv(&text, format, args);
    va_end(args);
    (void)vitro_eventlog_append(service->log, "service", kind, buf_text(&text), text.length, NULL);
}

void service_failed(struct part *part, const char *what, int result)
{
    service_tell(part->service, "failed", "%s%s%s: %d (%s)", part->name, what ? ", " : "",
                 what ? what : "", result, strerror(-result));
}

/* ---- parts */

static int part_run(void *arg)
{
    struct part *part = arg;
    vitro_service *service = part->service;

    (void)pthread_mutex_lock(&service->lock);
    part->thread = pthread_self();
    part->running = true;
    (void)pthread_mutex_unlock(&service->lock);
    int result = part->main(part);
    if (result < 0)
        service_failed(part, NULL, result);
    (void)pthread_mutex_lock(&service->lock);
    part->result = result;
    part->ended = true;
    (void)pthread_cond_broadcast(&service->changed);
    (void)pthread_mutex_unlock(&service->lock);
    return 0;
}

static int part_start(struct part *part, struct vitro_clock_error *error)
{
    vitro_service *service = part->service;

    part->started = true;
    /* Workers are numbered on the given clock: the log of one that records has a lane for each. */
    service->clock.workers = __atomic_fetch_add(&service->inner->workers, 1, __ATOMIC_RELAXED);
    part->worker = vitro_worker_start_at(&service->clock, part_run, part, VITRO_WHERE, error);
    if (part->worker)
        return 0;
    (void)pthread_mutex_lock(&service->lock);
    part->ended = true;
    (void)pthread_mutex_unlock(&service->lock);
    return error ? error->code : -EAGAIN;
}

static int run_main(struct part *part)
{
    vitro_service *service = part->service;
    int r = service->options.run(service, service->options.arg);

    return r == -ECANCELED && vitro_service_is_stopping(service) ? 0 : r;
}

struct part *service_part_at(vitro_service *service, size_t i)
{
    if (i < 2)
        return i == 0 ? &service->main : &service->crons;
    return i - 2 < service->pump_count ? service->pumps[i - 2] : NULL;
}

size_t service_parts_add(vitro_service *service, bool (*are)(const struct part *part),
                         struct buf *names)
{
    const struct part *part;
    size_t count = 0;

    for (size_t i = 0; (part = service_part_at(service, i)); i++)
        if (are(part))
            buf_addf(names, "%s%s%s%s", count++ ? "; " : "", part->name, part->doing ? ", " : "",
                     part->doing ? part->doing : "");
    return count;
}

static bool is_alive(const struct part *part)
{
    return part->started && !part->ended;
}

static bool is_part(vitro_service *service)
{
    const struct part *part;
    bool found = false;

    (void)pthread_mutex_lock(&service->lock);
    for (size_t i = 0; (part = service_part_at(service, i)); i++)
        found |= part->running && !part->ended && pthread_equal(part->thread, pthread_self());
    (void)pthread_mutex_unlock(&service->lock);
    return found;
}

/* ---- the end */

int vitro_service_is_stopping(vitro_service *service)
{
    (void)pthread_mutex_lock(&service->lock);
    bool stopping = service->stopping;
    (void)pthread_mutex_unlock(&service->lock);
    return stopping;
}

void vitro_service_stop(vitro_service *service)
{
    uint64_t one = 1;

    (void)pthread_mutex_lock(&service->lock);
    bool before = service->stopping;
    service->stopping = true;
    for (struct wait *wait = service->waits; wait && !before; wait = wait->next)
        service_wake(wait);
    for (size_t i = 0; i < service->pump_count && !before; i++)
        vitro_events_stop(service->pumps[i]->events);
    (void)pthread_mutex_unlock(&service->lock);
    if (before)
        return;
    (void)fd_write_full(service->stop_fd, &one, sizeof one);
    if (service->kind == INNER_OTHER)
        vitro_clock_stop(service->inner);
    service_tell(service, "stopping", "%s", "");
}

/* All parts have ended; nobody else does this. */
static void join(vitro_service *service)
{
    struct part *part;

    for (size_t i = 0; (part = service_part_at(service, i)); i++)
        if (part->worker) {
            (void)vitro_worker_join(part->worker);
            part->worker = NULL;
        }
    service->listener = fd_close(service->listener);
    service_tell(service, "stopped", "%s", "");
    (void)pthread_mutex_lock(&service->lock);
    service->joined = true;
    (void)pthread_cond_broadcast(&service->changed);
    (void)pthread_mutex_unlock(&service->lock);
}

static int shut(vitro_service *service, int64_t deadline_ns, struct err *err)
{
    CLEANUP(buf_done) struct buf names = {0};
    uint64_t until_ns = wall_monotonic_ns() + (uint64_t)deadline_ns;
    bool is_joiner = false;

    (void)pthread_mutex_lock(&service->lock);
    while (service_parts_add(service, is_alive, &names)) {
        if (service_await_change(service, until_ns) == -ETIMEDOUT) {
            buf_clear(&names);
            if (!service_parts_add(service, is_alive, &names))
                break;
            service->overdue = true;
            (void)pthread_mutex_unlock(&service->lock);
            return err_set(err, -ETIMEDOUT,
                           "shut down '%s': after %.3f s of real time these have not ended: %s",
                           service->options.name, service_seconds(deadline_ns), names.data);
        }
        buf_clear(&names);
    }
    is_joiner = !service->joining;
    service->joining = true;
    while (!is_joiner && !service->joined)
        (void)pthread_cond_wait(&service->changed, &service->lock);
    (void)pthread_mutex_unlock(&service->lock);
    if (is_joiner)
        join(service);
    int r = service->main.result;
    return r >= 0
               ? 0
               : err_set(err, r, "'%s' ended with %d (%s)", service->options.name, r, strerror(-r));
}

int vitro_service_shutdown(vitro_service *service, int64_t deadline_ns,
                           struct vitro_clock_error *error)
{
    if (is_part(service))
        return err_set(service_err(error), -EDEADLK,
                       "shut down '%s': from one of its own threads\nhint: vitro_service_stop is "
                       "the trigger alone",
                       service->options.name);
    vitro_service_stop(service);
    vitro_worker_idle_begin();
    int r = shut(service, deadline_ns > 0 ? deadline_ns : SERVICE_DEADLINE_NS, service_err(error));
    vitro_worker_idle_end();
    return r;
}

static void part_done(struct part *part)
{
    vitro_events_free(part->events);
    free(part->consumer);
    free(part->doing);
    free(part->name);
}

static void release_memory(vitro_service *service)
{
    for (size_t i = 0; i < service->pump_count; i++) {
        part_done(service->pumps[i]);
        free(service->pumps[i]);
    }
    for (size_t i = 0; i < service->job_count; i++)
        service_job_free(service->jobs[i]);
    part_done(&service->main);
    part_done(&service->crons);
    free(service->pumps);
    free(service->jobs);
    (void)fd_close(service->listener);
    (void)fd_close(service->stop_fd);
    if (service->owns_log)
        vitro_eventlog_free(service->log);
    free((char *)service->options.name);
    free((char *)service->options.state_dir);
    free(service->url);
    (void)pthread_cond_destroy(&service->changed);
    (void)pthread_mutex_destroy(&service->lock);
    free(service);
}

/* One that does not end keeps its memory. */
static void end(vitro_service *service, int64_t deadline_ns)
{
    (void)vitro_service_shutdown(service, deadline_ns, NULL);
    (void)pthread_mutex_lock(&service->lock);
    bool ended = service->joined;
    (void)pthread_mutex_unlock(&service->lock);
    if (ended)
        release_memory(service);
}

void vitro_service_free(vitro_service *service)
{
    if (service) /* who was waited for in vain is not waited for again */
        end(service, service->overdue ? 1 : SERVICE_DEADLINE_NS);
}

/* ---- the beginning */

static vitro_service *service_new(const struct vitro_service_options *options)
{
    vitro_service *service = mem_alloc(sizeof *service);
    pthread_condattr_t attributes;

    service->options = *options;
    service->options.name = mem_dup(options->name ? options->name : "service");
    service->options.state_dir = mem_dup(options->state_dir);
    service->options.ceiling_ns =
        options->ceiling_ns > 0 ? options->ceiling_ns : SERVICE_DEADLINE_NS;
    service->owns_log = !options->log;
    service->log = options->log ? options->log : vitro_eventlog_memory();
    service->listener = -1;
    service->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    service->main = (struct part){.service = service, .name = mem_dup("run"), .main = run_main};
    service->crons =
        (struct part){.service = service, .name = mem_dup("crons"), .main = service_crons_main};
    (void)pthread_mutex_init(&service->lock, NULL);
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&service->changed, &attributes);
    (void)pthread_condattr_destroy(&attributes);
    service_clock_init(service, options->clock);
    return service;
}

/* Until the server is ready, or has ended without being so. */
static int await_ready(vitro_service *service, struct err *err)
{
    uint64_t until_ns = wall_monotonic_ns() + (uint64_t)service->options.ceiling_ns;
    int r = 0;

    vitro_worker_idle_begin();
    (void)pthread_mutex_lock(&service->lock);
    while (!service->ready && !service->main.ended && r == 0)
        r = service_await_change(service, until_ns);
    bool ready = service->ready, ended = service->main.ended;
    int result = service->main.result;
    (void)pthread_mutex_unlock(&service->lock);
    vitro_worker_idle_end();
    if (ready)
        return 0;
    if (!ended)
        return err_set(err, -ETIMEDOUT,
                       "start '%s': not ready within %.3f s of real time\nhint: the server calls "
                       "vitro_service_ready when it is",
                       service->options.name, service_seconds(service->options.ceiling_ns));
    if (result < 0)
        return err_set(err, result, "start '%s': it ended with %d (%s) before it was ready",
                       service->options.name, result, strerror(-result));
    return err_set(err, -EPROTO, "start '%s': it ended without being ready", service->options.name);
}

static int start(vitro_service *service, struct vitro_clock_error *error)
{
    int r = service->options.no_listener ? 0 : service_listen(service, service_err(error));

    if (r < 0 || (r = part_start(&service->main, error)) < 0 ||
        (r = await_ready(service, service_err(error))) < 0 ||
        (r = part_start(&service->crons, error)) < 0)
        return r;
    for (size_t i = 0; i < service->pump_count && r == 0; i++)
        r = part_start(service->pumps[i], error);
    return r;
}

vitro_service *vitro_service_start(const struct vitro_service_options *options,
                                   struct vitro_clock_error *error)
{
    struct vitro_clock_error words = {0};

    if (!options || !options->run) {
        (void)err_set(service_err(error), -EINVAL, "start a service: nothing to run");
        return NULL;
    }
    vitro_service *service = service_new(options);
    if (start(service, &words) == 0) {
        service_tell(service, "ready", "%s", service->url ? service->url : "");
        return service;
    }
    if (error)
        *error = words;
    end(service, SERVICE_DEADLINE_NS);
    return NULL;
}

void vitro_service_ready(vitro_service *service)
{
    (void)pthread_mutex_lock(&service->lock);
    service->ready = true;
    (void)pthread_cond_broadcast(&service->changed);
    (void)pthread_mutex_unlock(&service->lock);
}

/* ---- what it has */

struct vitro_clock *vitro_service_clock(vitro_service *service)
{
    return &service->clock;
}

vitro_eventlog *vitro_service_log(vitro_service *service)
{
    return service->log;
}

const char *vitro_service_state_dir(const vitro_service *service)
{
    return service->options.state_dir;
}

int vitro_service_port(const vitro_service *service)
{
    return service->port;
}

const char *vitro_service_url(const vitro_service *service)
{
    return service->url ? service->url : "";
}

int vitro_service_listener(const vitro_service *service)
{
    return service->listener;
}
