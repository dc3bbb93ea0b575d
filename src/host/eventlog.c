/* SPDX-License-Identifier: MIT */
/* Topics and events in memory: append, read, acks, compaction; each told to the store first. */
#include "host/eventlog.h"
#include <assert.h>
#include <errno.h>
#include <string.h>

static_assert(sizeof(struct vitro_event_error) == sizeof(struct err), "one layout");
static_assert(offsetof(struct vitro_event_error, text) == offsetof(struct err, text), "one layout");

vitro_eventlog *vitro_eventlog_memory(void)
{
    vitro_eventlog *log = mem_alloc(sizeof *log);

    (void)pthread_mutex_init(&log->lock, NULL);
    return log;
}

static void topic_free(struct topic *topic)
{
    for (size_t i = 0; i < topic->cursor_count; i++)
        free(topic->cursors[i].consumer);
    free(topic->cursors);
    free(topic->entries);
    buf_done(&topic->bytes);
    free(topic->name);
    free(topic);
}

void vitro_eventlog_free(vitro_eventlog *log)
{
    if (!log)
        return;
    if (log->store)
        log->store->close(log);
    for (size_t i = 0; i < log->topic_count; i++)
        topic_free(log->topics[i]);
    free(log->topics);
    (void)pthread_mutex_destroy(&log->lock);
    free(log);
}

uint64_t vitro_eventlog_dropped(const vitro_eventlog *log)
{
    return log->dropped_bytes;
}

static int store_write(vitro_eventlog *log, const struct record *record, struct err *err)
{
    return log->store ? log->store->write(log, record, err) : 0;
}

const char *eventlog_apply(vitro_eventlog *log, const struct record *record)
{
    struct topic *topic = eventlog_topic(log, record->topic, true);
    uint64_t next_id = topic_next_id(topic);

    switch (record->type) {
    case RECORD_EVENT:
        if (record->id != next_id || !*record->name)
            return "an event that does not follow the one before";
        eventlog_add(topic, record->name, record->data, record->length);
        return NULL;
    case RECORD_ACK:
        if (record->id >= next_id || !*record->name || record->length)
            return "an ack of what was not there";
        *eventlog_cursor_of(topic, record->name, true) = record->id;
        return NULL;
    case RECORD_START:
        if (next_id != 1 || record->id < 1 || record->id > INT64_MAX / 2 || record->length)
            return "a start behind events";
        topic->first_id = record->id;
        return NULL;
    default:
        return "a record of a kind that is not known";
    }
}

/* ---- names */

int eventlog_name_check(const char *what, const char *name, struct err *err)
{
    if (!name || !*name)
        return err_set(err, -EINVAL, "event log: no %s", what);
    if (strnlen(name, NAME_MAX_BYTES + 1) > NAME_MAX_BYTES)
        return err_set(err, -EINVAL, "event log: a %s of more than %d bytes", what, NAME_MAX_BYTES);
    return 0;
}

int eventlog_topic_check(const char *name, struct err *err)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    int r = eventlog_name_check("topic", name, err);

    if (r == 0 && name[strspn(name, letters)])
        r = err_set(err, -EINVAL,
                    "event log: topic '%s'\nhint: letters, digits, '.', '_' and '-' only", name);
    return r;
}

struct topic *eventlog_topic(vitro_eventlog *log, const char *name, bool make)
{
    size_t low = 0, high = log->topic_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(log->topics[middle]->name, name);
        if (order == 0)
            return log->topics[middle];
        *(order < 0 ? &low : &high) = order < 0 ? middle + 1 : middle;
    }
    if (!make)
        return NULL;
    struct topic *topic = mem_alloc(sizeof *topic);
    topic->name = mem_dup(name);
    topic->first_id = 1;
    log->topics = mem_grow(log->topics, (log->topic_count + 1) * sizeof *log->topics);
    memmove(&log->topics[low + 1], &log->topics[low],
            (log->topic_count - low) * sizeof *log->topics);
    log->topics[low] = topic;
    log->topic_count++;
    return topic;
}

/* ---- events */

struct vitro_log_event eventlog_event(const struct topic *topic, uint64_t id)
{
    const struct entry *entry = &topic->entries[id - topic->first_id];
    const char *kind = topic->bytes.data + (entry->offset - topic->bytes_dropped);

    return (struct vitro_log_event){.id = id,
                                    .topic = topic->name,
                                    .kind = kind,
                                    .data = kind + entry->kind_length + 1,
                                    .length = entry->data_length};
}

void eventlog_add(struct topic *topic, const char *kind, const void *data, size_t length)
{
    size_t kind_length = strlen(kind);

    if (topic->count == topic->capacity) {
        topic->capacity = topic->capacity ? topic->capacity * 2 : 64;
        topic->entries = mem_grow(topic->entries, topic->capacity * sizeof *topic->entries);
    }
    topic->entries[topic->count++] =
        (struct entry){.offset = topic->bytes_dropped + topic->bytes.length,
                       .kind_length = (uint32_t)kind_length,
                       .data_length = (uint32_t)length};
    buf_add(&topic->bytes, kind, kind_length + 1);
    if (length)
        buf_add(&topic->bytes, data, length);
    buf_addc(&topic->bytes, '\0');
}

int64_t vitro_eventlog_append(vitro_eventlog *log, const char *topic_name, const char *kind,
                              const void *data, size_t length, struct vitro_event_error *error)
{
    struct err *err = event_err(error);
    int r;

    if ((r = eventlog_topic_check(topic_name, err)) < 0 ||
        (r = eventlog_name_check("kind", kind, err)) < 0)
        return r;
    if (length > DATA_MAX_BYTES || (length && !data))
        return err_set(err, data ? -EMSGSIZE : -EINVAL, "append to topic '%s': %zu bytes %s",
                       topic_name, length, data ? "are more than 16 MiB" : "of nothing");
    (void)pthread_mutex_lock(&log->lock);
    struct topic *topic = eventlog_topic(log, topic_name, true);
    int64_t id = (int64_t)topic_next_id(topic);
    r = store_write(
        log, &(struct record){RECORD_EVENT, topic_name, kind, (uint64_t)id, data, length}, err);
    if (r == 0) {
        eventlog_add(topic, kind, data, length);
        eventlog_wake(topic);
    }
    (void)pthread_mutex_unlock(&log->lock);
    return r < 0 ? r : id;
}

int64_t vitro_eventlog_latest(vitro_eventlog *log, const char *topic_name)
{
    int64_t r = eventlog_topic_check(topic_name, NULL);

    if (r < 0)
        return r;
    (void)pthread_mutex_lock(&log->lock);
    const struct topic *topic = eventlog_topic(log, topic_name, false);
    r = topic ? (int64_t)topic_next_id(topic) - 1 : 0;
    (void)pthread_mutex_unlock(&log->lock);
    return r;
}

int64_t vitro_eventlog_read(vitro_eventlog *log, const char *topic_name, uint64_t after,
                            size_t limit, struct vitro_event_list *ret,
                            struct vitro_event_error *error)
{
    int64_t r = eventlog_topic_check(topic_name, event_err(error));

    if (r < 0)
        return r;
    *ret = (struct vitro_event_list){0};
    (void)pthread_mutex_lock(&log->lock);
    const struct topic *topic = eventlog_topic(log, topic_name, false);
    if (topic && after < topic_next_id(topic)) {
        uint64_t id = after < topic->first_id ? topic->first_id : after + 1;
        size_t left = (size_t)(topic_next_id(topic) - id);
        ret->count = limit && limit < left ? limit : left;
        ret->events = mem_alloc((ret->count + 1) * sizeof *ret->events);
        for (size_t i = 0; i < ret->count; i++) {
            struct vitro_log_event event = eventlog_event(topic, id + i);
            event.topic = mem_dup(event.topic);
            event.kind = mem_dup(event.kind);
            event.data = mem_dupn(event.data, event.length);
            ret->events[i] = event;
        }
    }
    (void)pthread_mutex_unlock(&log->lock);
    return (int64_t)ret->count;
}

void vitro_event_list_done(struct vitro_event_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        free((char *)list->events[i].topic);
        free((char *)list->events[i].kind);
        free((void *)list->events[i].data);
    }
    free(list->events);
    *list = (struct vitro_event_list){0};
}

/* ---- consumers */

uint64_t *eventlog_cursor_of(struct topic *topic, const char *consumer, bool make)
{
    for (size_t i = 0; i < topic->cursor_count; i++)
        if (strcmp(topic->cursors[i].consumer, consumer) == 0)
            return &topic->cursors[i].id;
    if (!make)
        return NULL;
    topic->cursors = mem_grow(topic->cursors, (topic->cursor_count + 1) * sizeof *topic->cursors);
    topic->cursors[topic->cursor_count] = (struct cursor){.consumer = mem_dup(consumer)};
    return &topic->cursors[topic->cursor_count++].id;
}

int vitro_eventlog_ack(vitro_eventlog *log, const char *topic_name, const char *consumer,
                       uint64_t id, struct vitro_event_error *error)
{
    struct err *err = event_err(error);
    int r;

    if ((r = eventlog_topic_check(topic_name, err)) < 0 ||
        (r = eventlog_name_check("consumer", consumer, err)) < 0)
        return r;
    (void)pthread_mutex_lock(&log->lock);
    struct topic *topic = eventlog_topic(log, topic_name, false);
    uint64_t latest = topic ? topic_next_id(topic) - 1 : 0;
    const uint64_t *cursor = topic ? eventlog_cursor_of(topic, consumer, false) : NULL;
    if (id > latest)
        r = err_set(err, -ERANGE, "ack of event %llu in topic '%s': the last is %llu",
                    (unsigned long long)id, topic_name, (unsigned long long)latest);
    else if (id > (cursor ? *cursor : 0)) {
        r = store_write(log, &(struct record){RECORD_ACK, topic_name, consumer, id, NULL, 0}, err);
        if (r == 0) {
            *eventlog_cursor_of(topic, consumer, true) = id;
            r = 1;
        }
    }
    (void)pthread_mutex_unlock(&log->lock);
    return r;
}

int64_t vitro_eventlog_cursor(vitro_eventlog *log, const char *topic_name, const char *consumer)
{
    int64_t r = eventlog_topic_check(topic_name, NULL);

    if (r < 0 || (r = eventlog_name_check("consumer", consumer, NULL)) < 0)
        return r;
    (void)pthread_mutex_lock(&log->lock);
    struct topic *topic = eventlog_topic(log, topic_name, false);
    const uint64_t *cursor = topic ? eventlog_cursor_of(topic, consumer, false) : NULL;
    r = cursor ? (int64_t)*cursor : 0;
    (void)pthread_mutex_unlock(&log->lock);
    return r;
}

/* ---- compaction */

size_t eventlog_forget(struct topic *topic, uint64_t before)
{
    if (before <= topic->first_id)
        return 0;
    size_t gone =
        before - topic->first_id < topic->count ? (size_t)(before - topic->first_id) : topic->count;
    uint64_t offset = gone < topic->count ? topic->entries[gone].offset
                                          : topic->bytes_dropped + topic->bytes.length;
    if (gone == 0)
        return 0;
    buf_drop(&topic->bytes, (size_t)(offset - topic->bytes_dropped));
    topic->bytes_dropped = offset;
    memmove(topic->entries, &topic->entries[gone], (topic->count - gone) * sizeof *topic->entries);
    topic->count -= gone;
    topic->first_id += gone;
    return gone;
}

int64_t vitro_eventlog_compact(vitro_eventlog *log, const char *topic_name, uint64_t before,
                               struct vitro_event_error *error)
{
    int64_t r = eventlog_topic_check(topic_name, event_err(error));
    int written = 0;

    if (r < 0)
        return r;
    (void)pthread_mutex_lock(&log->lock);
    struct topic *topic = eventlog_topic(log, topic_name, false);
    r = topic ? (int64_t)eventlog_forget(topic, before) : 0;
    if (r > 0 && log->store)
        written = log->store->compact(log, topic, event_err(error));
    (void)pthread_mutex_unlock(&log->lock);
    return written < 0 ? written : r;
}
