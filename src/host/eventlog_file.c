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

struct file {
    int fd;
    char *path; /* owned */
    struct buf record;
    uint64_t size_bytes;
    bool sync, broken;
};

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

static void record_add(struct buf *out, const struct record *from)
{
    size_t start = out->length, topic_length = strlen(from->topic),
           name_length = strlen(from->name);
    unsigned char header[HEADER + FIXED] = {0};

    header[HEADER] = (unsigned char)from->type;
    header[HEADER + 1] = (unsigned char)topic_length;
    header[HEADER + 2] = (unsigned char)name_length;
    put(header + HEADER + 4, from->id, 8);
    buf_add(out, header, sizeof header);
    buf_add(out, from->topic, topic_length);
    buf_add(out, from->name, name_length);
    if (from->length)
        buf_add(out, from->data, from->length);
    unsigned char *record = (unsigned char *)out->data + start;
    size_t body = out->length - start - HEADER;
    put(record, body, 4);
    put(record + 4, sum(record, 4), 4);
    put(record + 8, sum(record + HEADER, body), 4);
}

static int write_record(vitro_eventlog *log, const struct record *record, struct err *err)
{
    struct file *file = log->stored;

    if (file->broken)
        return err_set(err, -EIO, "write event log '%s': an earlier write failed half way",
                       file->path);
    buf_clear(&file->record);
    record_add(&file->record, record);
    int r = fd_write_full(file->fd, file->record.data, file->record.length);
    if (r == 0 && file->sync && fdatasync(file->fd) < 0)
        r = -errno;
    if (r < 0) { /* what is there of it must not stand before the next one */
        file->broken = ftruncate(file->fd, (off_t)file->size_bytes) < 0;
        return err_set(err, r, "write event log '%s': %s", file->path, strerror(-r));
    }
    file->size_bytes += file->record.length;
    return 0;
}

static void topic_add(struct buf *out, const struct topic *topic)
{
    if (topic->first_id > 1)
        record_add(out, &(struct record){RECORD_START, topic->name, "", topic->first_id, NULL, 0});
    for (size_t i = 0; i < topic->count; i++) {
        struct vitro_log_event event = eventlog_event(topic, topic->first_id + i);
        record_add(out, &(struct record){RECORD_EVENT, topic->name, event.kind, event.id,
                                         event.data, event.length});
    }
    for (size_t i = 0; i < topic->cursor_count; i++)
        record_add(out, &(struct record){RECORD_ACK, topic->name, topic->cursors[i].consumer,
                                         topic->cursors[i].id, NULL, 0});
}

/* A new file takes the place of the old one, locked before anybody can see it. */
static int compact(vitro_eventlog *log, const struct topic *topic, struct err *err)
{
    struct file *file = log->stored;
    CLEANUP(buf_done) struct buf all = {0};
    CLEANUP(fd_close) int fd = -1;
    CLEANUP(mem_free) char *path = mem_format("%s.new", file->path);

    (void)topic;
    buf_add(&all, magic, MAGIC_LENGTH);
    for (size_t i = 0; i < log->topic_count; i++)
        topic_add(&all, log->topics[i]);
    fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);
    if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0)
        return err_set(err, -errno, "compact event log '%s': open '%s': %m", file->path, path);
    int r = fd_write_full(fd, all.data, all.length);
    if (r == 0 && (fsync(fd) < 0 || rename(path, file->path) < 0))
        r = -errno;
    if (r < 0) {
        (void)unlink(path);
        return err_set(err, r, "compact event log '%s': %s", file->path, strerror(-r));
    }
    (void)fd_close(file->fd);
    file->fd = take_fd(&fd);
    file->size_bytes = all.length;
    file->broken = false;
    return 0;
}

static void close_file(vitro_eventlog *log)
{
    struct file *file = log->stored;

    (void)fd_close(file->fd);
    buf_done(&file->record);
    free(file->path);
    free(file);
}

static const struct store_ops ops = {
    .write = write_record, .compact = compact, .close = close_file};

/* ---- reading */

struct names {
    char topic[NAME_MAX_BYTES + 1], name[NAME_MAX_BYTES + 1];
};

static bool record_parse(const unsigned char *body, size_t length, struct names *names,
                         struct record *ret)
{
    if (length < FIXED || length < (size_t)FIXED + body[1] + body[2])
        return false;
    *names = (struct names){0};
    memcpy(names->topic, body + FIXED, body[1]);
    memcpy(names->name, body + FIXED + body[1], body[2]);
    *ret = (struct record){.type = (enum record_type)body[0],
                           .topic = names->topic,
                           .name = names->name,
                           .id = get(body + 4, 8),
                           .data = body + FIXED + body[1] + body[2],
                           .length = length - FIXED - body[1] - body[2]};
    return strlen(names->topic) == body[1] && strlen(names->name) == body[2] && body[3] == 0 &&
           ret->length <= DATA_MAX_BYTES && eventlog_topic_check(names->topic, NULL) == 0;
}

int eventlog_load(vitro_eventlog *log, const void *bytes, size_t length, const char *where,
                  size_t *ret_good, struct err *err)
{
    const unsigned char *at = bytes;
    size_t good = MAGIC_LENGTH, start = length < MAGIC_LENGTH ? length : MAGIC_LENGTH;
    const char *wrong = NULL;
    struct record record;
    struct names names;

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
        else if (!record_parse(header + HEADER, body, &names, &record))
            wrong = "a record that makes no sense";
        else
            wrong = eventlog_apply(log, &record);
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

static int open_file(vitro_eventlog *log, struct file *file, struct err *err)
{
    CLEANUP(buf_done) struct buf all = {0};
    size_t good;
    int r = file->fd = open_locked(file->path, err);

    if (r < 0)
        return r;
    if ((r = fd_read_all(file->fd, &all, FILE_MAX_BYTES)) < 0)
        return err_set(err, r, "read event log '%s': %s", file->path, strerror(-r));
    if ((r = eventlog_load(log, buf_text(&all), all.length, file->path, &good, err)) < 0)
        return r;
    log->dropped_bytes = all.length - good;
    if (log->dropped_bytes && ftruncate(file->fd, (off_t)good) < 0)
        return err_set(err, -errno, "cut event log '%s' to its last whole record: %m", file->path);
    if (good == 0 && (r = fd_write_full(file->fd, magic, MAGIC_LENGTH)) < 0)
        return err_set(err, r, "write event log '%s': %s", file->path, strerror(-r));
    file->size_bytes = good ? good : MAGIC_LENGTH;
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
    struct file *file = mem_alloc(sizeof *file);
    *file = (struct file){.fd = -1, .path = mem_dup(path), .sync = options && options->sync};
    log->store = &ops;
    log->stored = file;
    if (open_file(log, file, event_err(error)) == 0)
        return log;
    vitro_eventlog_free(log);
    return NULL;
}
