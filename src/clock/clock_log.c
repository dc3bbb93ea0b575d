/* SPDX-License-Identifier: MIT */
/* The log of clock events, in memory and as lines of JSON. */
#include "clock/clock_log.h"
#include "base/buf.h"
#include "base/json.h"
#include <errno.h>
#include <string.h>

enum { LINE_MAX_BYTES = 4096 };

const char *clock_event_name(enum vitro_clock_event_kind kind)
{
    static const char *const names[] = {[VITRO_CLOCK_NOW] = "now",
                                        [VITRO_CLOCK_MONOTONIC] = "monotonic",
                                        [VITRO_CLOCK_SLEEP] = "sleep",
                                        [VITRO_CLOCK_SLEEP_UNTIL] = "sleep_until"};

    return (size_t)kind < ARRAY_LENGTH(names) ? names[kind] : NULL;
}

vitro_clock_log *vitro_clock_log_new(void)
{
    vitro_clock_log *log = mem_alloc(sizeof *log);

    (void)pthread_mutex_init(&log->lock, NULL);
    return log;
}

void vitro_clock_log_free(vitro_clock_log *log)
{
    if (!log)
        return;
    for (size_t i = 0; i < log->lane_count; i++) {
        free(log->lanes[i].name);
        free(log->lanes[i].events);
    }
    free(log->lanes);
    free(log->events);
    (void)pthread_mutex_destroy(&log->lock);
    free(log);
}

static size_t lane_find(vitro_clock_log *log, const char *name)
{
    for (size_t i = 0; i < log->lane_count; i++)
        if (strcmp(log->lanes[i].name, name) == 0)
            return i;
    log->lanes = mem_grow(log->lanes, (log->lane_count + 1) * sizeof *log->lanes);
    log->lanes[log->lane_count] = (struct clock_lane){.name = mem_dup(name)};
    return log->lane_count++;
}

int vitro_clock_log_push(vitro_clock_log *log, const struct vitro_clock_event *event)
{
    if (!log || !event || !clock_event_name(event->kind))
        return -EINVAL;
    (void)pthread_mutex_lock(&log->lock);
    size_t number = lane_find(log, event->lane ? event->lane : "");
    struct clock_lane *lane = &log->lanes[number];
    if (log->count == log->capacity) {
        log->capacity = log->capacity ? log->capacity * 2 : 64;
        log->events = mem_grow(log->events, log->capacity * sizeof *log->events);
    }
    if (lane->count == lane->capacity) {
        lane->capacity = lane->capacity ? lane->capacity * 2 : 64;
        lane->events = mem_grow(lane->events, lane->capacity * sizeof *lane->events);
    }
    lane->events[lane->count++] = log->count;
    log->events[log->count++] =
        (struct logged){event->kind, event->result, event->value_ns, number};
    (void)pthread_mutex_unlock(&log->lock);
    return 0;
}

size_t vitro_clock_log_count(const vitro_clock_log *log)
{
    pthread_mutex_t *lock = (pthread_mutex_t *)&log->lock;

    (void)pthread_mutex_lock(lock);
    size_t count = log->count;
    (void)pthread_mutex_unlock(lock);
    return count;
}

int vitro_clock_log_at(const vitro_clock_log *log, size_t i, struct vitro_clock_event *ret)
{
    pthread_mutex_t *lock = (pthread_mutex_t *)&log->lock;

    (void)pthread_mutex_lock(lock);
    int r = i < log->count ? 0 : -ENOENT;
    if (r == 0) {
        const struct logged *event = &log->events[i];
        *ret = (struct vitro_clock_event){event->kind, event->result, event->value_ns,
                                          log->lanes[event->lane].name};
    }
    (void)pthread_mutex_unlock(lock);
    return r;
}

/* ---- as text */

static int by_name(const void *a, const void *b)
{
    return lane_compare((*(struct clock_lane *const *)a)->name,
                        (*(struct clock_lane *const *)b)->name);
}

static void event_add(struct buf *text, const struct logged *event, const char *lane)
{
    buf_addf(text, "{\"kind\":\"%s\",\"lane\":", clock_event_name(event->kind));
    json_add_string(text, lane, strlen(lane));
    if (event->result)
        buf_addf(text, ",\"result\":%d", event->result);
    buf_addf(text, ",\"value_ns\":%lld}\n", (long long)event->value_ns);
}

/* Lane by lane: which of two threads came first is nothing to write down. */
char *vitro_clock_log_text(const vitro_clock_log *log)
{
    pthread_mutex_t *lock = (pthread_mutex_t *)&log->lock;
    struct buf text = {0};

    buf_reserve(&text, 1);
    (void)pthread_mutex_lock(lock);
    CLEANUP(mem_free)
    struct clock_lane **lanes = mem_alloc((log->lane_count + 1) * sizeof(struct clock_lane *));
    for (size_t i = 0; i < log->lane_count; i++)
        lanes[i] = &log->lanes[i];
    qsort(lanes, log->lane_count, sizeof(struct clock_lane *), by_name);
    for (size_t i = 0; i < log->lane_count; i++)
        for (size_t k = 0; k < lanes[i]->count; k++)
            event_add(&text, &log->events[lanes[i]->events[k]], lanes[i]->name);
    (void)pthread_mutex_unlock(lock);
    buf_addc(&text, '\0');
    return buf_take(&text);
}

static int event_read(const json_t *value, struct vitro_clock_event *ret, const char **ret_wrong)
{
    const json_t *kind = json_object_get(value, "kind"), *lane = json_object_get(value, "lane"),
                 *result = json_object_get(value, "result"),
                 *ns = json_object_get(value, "value_ns");
    size_t members = 3 + (result != NULL);

    *ret = (struct vitro_clock_event){.lane = json_string_value(lane),
                                      .value_ns = json_integer_value(ns),
                                      .result = (int)json_integer_value(result)};
    for (ret->kind = VITRO_CLOCK_NOW; clock_event_name(ret->kind); ret->kind++)
        if (json_is_string(kind) &&
            strcmp(json_string_value(kind), clock_event_name(ret->kind)) == 0)
            break;
    *ret_wrong = !json_is_object(value)               ? "is not an object"
                 : !clock_event_name(ret->kind)       ? "has no kind of clock event"
                 : !ret->lane                         ? "has no lane"
                 : !json_is_integer(ns)               ? "has no value_ns"
                 : result && !json_is_integer(result) ? "has a result that is no number"
                 : json_object_size(value) != members ? "has a member that is not known"
                                                      : NULL;
    return *ret_wrong ? -EBADMSG : 0;
}

static int line_read(vitro_clock_log *log, const char *line, size_t length, size_t number,
                     struct err *err)
{
    CLEANUP(json_free) json_t *value = NULL;
    struct vitro_clock_event event;
    const char *wrong;

    if (length > LINE_MAX_BYTES)
        return err_set(err, -EBADMSG, "read a clock log: line %zu is longer than %d bytes", number,
                       LINE_MAX_BYTES);
    int r = json_parse(line, length, "clock log", &value, err);
    if (r < 0)
        return err_wrap(err, "line %zu", number);
    if (event_read(value, &event, &wrong) < 0)
        return err_set(err, -EBADMSG, "read a clock log: line %zu %s", number, wrong);
    return vitro_clock_log_push(log, &event);
}

vitro_clock_log *vitro_clock_log_parse(const char *text, size_t length,
                                       struct vitro_clock_error *error)
{
    vitro_clock_log *log = vitro_clock_log_new();
    const char *end = text + length;
    int r = 0;

    for (size_t number = 1; r == 0 && text < end; number++) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        if (!stop) {
            r = err_set(clock_err(error), -EBADMSG, "read a clock log: line %zu is cut short",
                        number);
            break;
        }
        r = line_read(log, text, (size_t)(stop - text), number, clock_err(error));
        text = stop + 1;
    }
    if (r == 0)
        return log;
    vitro_clock_log_free(log);
    return NULL;
}
