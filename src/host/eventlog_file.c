/* SPDX-License-Identifier: MIT */
/* The file behind an event log (docs/formats/eventlog.md): a first line, then records that are only
 * ever added. The header of a record has a checksum of its own, so that a length that was damaged
 * is not taken for the end of a file that was cut. */
#include "base/fd.h"
#include "host/eventlog.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

static const char magic[] = "vitro-events 1\n";
enum {
    MAGIC_LENGTH = sizeof magic - 1,
    HEADER = 12, /* length, checksum of those four bytes, checksum of the body */
    FIXED = 12,  /* of the body: type, lengths of topic and name, 0, id */
    OPEN_TRIES = 10,
};
#define FILE_MAX_BYTES ((size_t)4 << 30)

static void put(unsigned char *to, uint64_t number, int bytes)
{
    for (int i = 0; i < bytes; i++)
        to[i] = (unsigned char)(number >> (8 * i));
}

static uint64_t get(const unsigned char *from, int bytes)
{
    uint64_t number = 0;

    for (int i = 0; i < bytes; i++)
        number |= (uint64_t)from[i] << (8 * i);
    return number;
}

static uint32_t sum(const void *bytes, size_t length)
{
    return (uint32_t)crc32(crc32(0, NULL, 0), bytes, (uInt)length);
}

/* ---- writing */

static void record_add(struct buf *out, enum record_type type, const char *topic, const char *name,
                       uint64_t id, const void *data, size_t length)
{
    size_t start = out->length, topic_length = strlen(topic), name_length = strlen(name);
    unsigned char header[HEADER + FIXED] = {0};

    header[HEADER] = (unsigned char)type;
    header[HEADER + 1] = (unsigned char)topic_length;
    header[HEADER + 2] = (unsigned char)name_length;
    put(header + HEADER + 4, id, 8);
    buf_add(out, header, sizeof header);
    buf_add(out, topic, topic_length);
    buf_add(out, name, name_length);
    if (length)
        buf_add(out, data, length);
    unsigned char *record = (unsigned char *)out->data + start;
    size_t body = out->length - start - HEADER;
    put(record, body, 4);
    put(record + 4, sum(record, 4), 4);
    put(record + 8, sum(record + HEADER, body), 4);
}

int eventlog_file_write(vitro_eventlog *log, enum record_type type, const char *topic,
                        const char *name, uint64_t id, const void *data, size_t length,
                        struct err *err)
{
    if (log->fd < 0)
        return 0;
    if (log->broken)
        return err_set(err, -EIO, "write event log '%s': an earlier write failed half way",
                       log->path);
    buf_clear(&log->record);
    record_add(&log->record, type, topic, name, id, data, length);
    int r = fd_write_full(log->fd, log->record.data, log->record.length);
    if (r == 0 && log->sync && fdatasync(log->fd) < 0)
        r = -errno;
    if (r < 0) { /* what is there of it must not stand before the next one */
        log->broken = ftruncate(log->fd, (off_t)log->size_bytes) < 0;
        return err_set(err, r, "write event log '%s': %s", log->path, strerror(-r));
    }
    log->size_bytes += log->record.length;
    return 0;
}

static void topic_add(struct buf *out, const struct topic *topic)
{
    if (topic->first_id > 1)
        record_add(out, RECORD_START, topic->name, "", topic->first_id, NULL, 0);
    for (size_t i = 0; i < topic->count; i++) {
        struct vitro_log_event event = eventlog_event(topic, topic->first_id + i);
        record_add(out, RECORD_EVENT, topic->name, event.kind, event.id, event.data, event.length);
    }
    for (size_t i = 0; i < topic->cursor_count; i++)
        record_add(out, RECORD_ACK, topic->name, topic->cursors[i].consumer, topic->cursors[i].id,
                   NULL, 0);
}

/* A new file takes the place of the old one, locked before anybody can see it. */
int eventlog_file_compact(vitro_eventlog *log, struct err *err)
{
    CLEANUP(buf_done) struct buf all = {0};
    CLEANUP(fd_close) int fd = -1;

    if (log->fd < 0)
        return 0;
    CLEANUP(mem_free) char *path = mem_format("%s.new", log->path);
    buf_add(&all, magic, MAGIC_LENGTH);
    for (size_t i = 0; i < log->topic_count; i++)
        topic_add(&all, log->topics[i]);
    fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);
    if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0)
        return err_set(err, -errno, "compact event log '%s': open '%s': %m", log->path, path);
    int r = fd_write_full(fd, all.data, all.length);
    if (r == 0 && (fsync(fd) < 0 || rename(path, log->path) < 0))
        r = -errno;
    if (r < 0) {
        (void)unlink(path);
        return err_set(err, r, "compact event log '%s': %s", log->path, strerror(-r));
    }
    (void)fd_close(log->fd);
    log->fd = take_fd(&fd);
    log->size_bytes = all.length;
    log->broken = false;
    return 0;
}

void eventlog_file_close(vitro_eventlog *log)
{
    log->fd = fd_close(log->fd);
    free(log->path);
}

/* ---- reading */

struct record {
    enum record_type type;
    char topic[NAME_MAX_BYTES + 1], name[NAME_MAX_BYTES + 1];
    uint64_t id;
    const unsigned char *data;
    size_t length;
};

static bool record_parse(const unsigned char *body, size_t length, struct record *ret)
{
    if (length < FIXED || length < (size_t)FIXED + body[1] + body[2])
        return false;
    *ret = (struct record){.type = (enum record_type)body[0],
                           .id = get(body + 4, 8),
                           .data = body + FIXED + body[1] + body[2],
                           .length = length - FIXED - body[1] - body[2]};
    memcpy(ret->topic, body + FIXED, body[1]);
    memcpy(ret->name, body + FIXED + body[1], body[2]);
    return strlen(ret->topic) == body[1] && strlen(ret->name) == body[2] && body[3] == 0 &&
           ret->length <= DATA_MAX_BYTES && eventlog_topic_check(ret->topic, NULL) == 0;
}

/* NULL, or what is wrong with it. */
static const char *record_apply(vitro_eventlog *log, const struct record *record)
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

int eventlog_load(vitro_eventlog *log, const void *bytes, size_t length, const char *where,
                  size_t *ret_good, struct err *err)
{
    const unsigned char *at = bytes;
    size_t good = MAGIC_LENGTH, start = length < MAGIC_LENGTH ? length : MAGIC_LENGTH;
    const char *wrong = NULL;
    struct record record;

    *ret_good = 0;
    if (start && memcmp(at, magic, start) != 0)
        return err_set(err, -EBADMSG, "read '%s': not an event log of version 1", where);
    if (start < MAGIC_LENGTH)
        return 0;
    while (!wrong && length - good >= HEADER) {
        const unsigned char *header = at + good;
        size_t body = (size_t)get(header, 4);
        if (get(header + 4, 4) != sum(header, 4))
            wrong = "a record with a damaged length";
        else if (body > length - good - HEADER)
            break; /* cut short */
        else if (get(header + 8, 4) != sum(header + HEADER, body))
            wrong = "a damaged record";
        else if (!record_parse(header + HEADER, body, &record))
            wrong = "a record that makes no sense";
        else
            wrong = record_apply(log, &record);
        good += wrong ? 0 : HEADER + body;
    }
    if (wrong)
        return err_set(err, -EBADMSG, "read event log '%s': %s at byte %zu", where, wrong, good);
    *ret_good = good;
    return 0;
}

/* Opens and locks. A compaction may put another file there in between: then once more. */
static int open_locked(const char *path, struct err *err)
{
    for (int i = 0; i < OPEN_TRIES; i++) {
        struct stat held, there;
        CLEANUP(fd_close) int fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
        if (fd < 0)
            return err_set(err, -errno, "open event log '%s': %m", path);
        if (flock(fd, LOCK_EX | LOCK_NB) < 0)
            return errno == EWOULDBLOCK
                       ? err_set(err, -EBUSY, "open event log '%s': it is open elsewhere", path)
                       : err_set(err, -errno, "lock event log '%s': %m", path);
        if (fstat(fd, &held) == 0 && stat(path, &there) == 0 && held.st_ino == there.st_ino &&
            held.st_dev == there.st_dev)
            return take_fd(&fd);
    }
    return err_set(err, -EBUSY, "open event log '%s': it is replaced again and again", path);
}

static int open_file(vitro_eventlog *log, struct err *err)
{
    CLEANUP(buf_done) struct buf all = {0};
    size_t good;
    int r = log->fd = open_locked(log->path, err);

    if (r < 0)
        return r;
    if ((r = fd_read_all(log->fd, &all, FILE_MAX_BYTES)) < 0)
        return err_set(err, r, "read event log '%s': %s", log->path, strerror(-r));
    if ((r = eventlog_load(log, buf_text(&all), all.length, log->path, &good, err)) < 0)
        return r;
    log->dropped_bytes = all.length - good;
    if (log->dropped_bytes && ftruncate(log->fd, (off_t)good) < 0)
        return err_set(err, -errno, "cut event log '%s' to its last whole record: %m", log->path);
    if (good == 0 && (r = fd_write_full(log->fd, magic, MAGIC_LENGTH)) < 0)
        return err_set(err, r, "write event log '%s': %s", log->path, strerror(-r));
    log->size_bytes = good ? good : MAGIC_LENGTH;
    return 0;
}

vitro_eventlog *vitro_eventlog_open(const char *path, const struct vitro_eventlog_options *options,
                                    struct vitro_event_error *error)
{
    if (!path || !*path) {
        (void)err_set(event_err(error), -EINVAL, "open an event log: no path");
        return NULL;
    }
    vitro_eventlog *log = vitro_eventlog_memory();
    log->path = mem_dup(path);
    log->sync = options && options->sync;
    if (open_file(log, event_err(error)) == 0)
        return log;
    vitro_eventlog_free(log);
    return NULL;
}
