/* SPDX-License-Identifier: MIT */
#include "tape/tape_writer.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/text.h"
#include "base/trace.h"
#include "tape/json_scan.h"
#include "tape/store_stream.h"
#include "vitro/version.h"
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

enum { BATCH_BYTES = 256 * 1024, PAYLOAD_INLINE_MAX = 4096 };

struct tape_writer {
    char *path;
    int fd;
    enum tape_sync sync;
    size_t batch_bytes;
    struct buf batch;    /* whole lines that are not in the file yet */
    struct buf scrubbed; /* scratch */
    uint64_t count;      /* records, also those in the batch */
    off_t written;       /* bytes in the file: whole lines */
    struct hash_state *hash;
    struct store *store;
    const struct secrets *secrets; /* own_secrets, or borrowed */
    struct secrets *own_secrets;
    struct err failure; /* code 0 while all is well */
    bool closed;
};

static void add_header(const struct tape_writer_options *options, struct buf *line)
{
    struct tape_data header = {0};

    tape_data_begin(&header);
    tape_data_texts(&header, "argv", options->argv);
    tape_data_text(&header, "format", "vitro-tape");
    if (options->host)
        tape_data_raw(&header, "host", options->host);
    tape_data_raw(&header, "options", options->options ? options->options : "{}");
    tape_data_raw(&header, "rules", options->rules ? options->rules : "{}");
    tape_data_text(&header, "script", options->script);
    tape_data_i64(&header, "started_at_unix_ms", options->started_at_unix_ms);
    tape_data_text(&header, "tool", "vitro " VITRO_VERSION);
    tape_data_text(&header, "type", "header");
    tape_data_u64(&header, "version", TAPE_VERSION);
    tape_data_end(&header);
    *line = header.text;
}

static int check_object(const char *what, const char *text, size_t length, struct err *err)
{
    struct json_scan scan;

    if (!json_scan_whole(&scan, text, length))
        return err_set(err, -EINVAL, "%s: column %zu: %s", what, json_scan_column(&scan),
                       scan.problem);
    if (text[0] != '{')
        return err_set(err, -EINVAL, "%s is not a JSON object", what);
    return 0;
}

/* The header, scrubbed like everything else. */
static int make_header(struct tape_writer *writer, const struct tape_writer_options *options,
                       struct buf *ret, struct err *err)
{
    CLEANUP(buf_done) struct buf line = {0};

    add_header(options, &line);
    int r = check_object("tape header", line.data, line.length, err);
    if (r < 0)
        return r;
    if (!secrets_scrub_data(writer->secrets, "header", line.data, line.length, ret))
        buf_add(ret, line.data, line.length);
    buf_addc(ret, '\n');
    return 0;
}

/* Makes the file under a temporary name, header inside, and gives it its name last. */
static int create_file(struct tape_writer *writer, const struct buf *header, bool replace,
                       struct err *err)
{
    CLEANUP(mem_free) char *temp = mem_format("%s.%ld.tmp", writer->path, (long)getpid());

    (void)unlink(temp); /* ours: the pid says so, and its owner is dead */
    writer->fd = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (writer->fd < 0)
        return err_set(err, -errno, "create tape '%s': %m", writer->path);
    int r = flock(writer->fd, LOCK_EX | LOCK_NB) < 0 ? -errno : 0;
    if (r == 0)
        r = fd_write_full(writer->fd, header->data, header->length);
    if (r == 0 && writer->sync != TAPE_SYNC_NEVER && fsync(writer->fd) < 0)
        r = -errno;
    if (r == 0 && replace && rename(temp, writer->path) < 0)
        r = -errno;
    if (r == 0 && !replace && link(temp, writer->path) < 0)
        r = -errno;
    if (r < 0 || !replace)
        (void)unlink(temp);
    writer->written = (off_t)header->length;
    if (r == -EEXIST) {
        err_set(err, r, "create tape '%s': there is one already", writer->path);
        return err_hint(err, "choose another path, or remove it first");
    }
    return r < 0 ? err_set(err, r, "create tape '%s': %s", writer->path, strerror(-r)) : 0;
}

static int open_parts(struct tape_writer *writer, const struct tape_writer_options *options,
                      struct err *err)
{
    CLEANUP(mem_free) char *store_path = store_path_of(options->path);
    CLEANUP(buf_done) struct buf header = {0};
    struct store_options store = {
        .path = store_path, .url = options->store_url, .sync = options->sync == TAPE_SYNC_BATCH};

    int r = store_open(&store, &writer->store, err);
    if (r == 0 && !options->secrets)
        r = secrets_new(&(struct secrets_options){.environment = options->environment},
                        &writer->own_secrets, err);
    if (r < 0)
        return r;
    writer->secrets = options->secrets ? options->secrets : writer->own_secrets;
    r = make_header(writer, options, &header, err);
    if (r == 0)
        r = create_file(writer, &header, options->replace, err);
    if (r < 0)
        return r;
    writer->hash = hash_begin();
    hash_add(writer->hash, header.data, header.length);
    return 0;
}

int tape_writer_open(const struct tape_writer_options *options, struct tape_writer **ret,
                     struct err *err)
{
    CLEANUP(tape_writer_free) struct tape_writer *writer = mem_alloc(sizeof *writer);

    writer->fd = -1;
    writer->path = mem_dup(options->path);
    writer->sync = options->sync;
    writer->batch_bytes = options->batch_bytes ? options->batch_bytes : BATCH_BYTES;
    int r = open_parts(writer, options, err);
    if (r < 0)
        return r;
    trace(TRACE_TAPE, "tape '%s' opened", writer->path);
    *ret = take_ptr(&writer);
    return 0;
}

struct tape_writer *tape_writer_free(struct tape_writer *writer)
{
    if (writer) {
        fd_close(writer->fd);
        buf_done(&writer->batch);
        buf_done(&writer->scrubbed);
        hash_free(writer->hash);
        store_free(writer->store);
        secrets_free(writer->own_secrets);
        free(writer->path);
    }
    free(writer);
    return NULL;
}

uint64_t tape_writer_count(const struct tape_writer *writer)
{
    return writer->count;
}

static int failed(const struct tape_writer *writer, struct err *err)
{
    if (err)
        *err = writer->failure;
    return writer->failure.code;
}

int tape_writer_flush(struct tape_writer *writer, struct err *err)
{
    if (writer->failure.code)
        return failed(writer, err);
    if (!writer->batch.length)
        return 0;
    int r = fd_write_full(writer->fd, writer->batch.data, writer->batch.length);
    if (r == 0 && writer->sync == TAPE_SYNC_BATCH && fdatasync(writer->fd) < 0)
        r = -errno;
    if (r < 0) {
        /* What was half written goes: behind a torn line nothing could be read. */
        (void)!ftruncate(writer->fd, writer->written);
        err_set(&writer->failure, r, "write tape '%s': %s", writer->path, strerror(-r));
        return failed(writer, err);
    }
    hash_add(writer->hash, writer->batch.data, writer->batch.length);
    writer->written += (off_t)writer->batch.length;
    buf_clear(&writer->batch);
    return 0;
}

static char *put(char *to, const char *text, size_t length)
{
    memcpy(to, text, length);
    return to + length;
}
#define PUT(to, literal) put(to, literal, sizeof(literal) - 1)

/* Two digits a step: half the divisions, which are what numbers cost. */
static char *put_u64(char *to, uint64_t number)
{
    static const char pairs[] = "00010203040506070809101112131415161718192021222324"
                                "25262728293031323334353637383940414243444546474849"
                                "50515253545556575859606162636465666768697071727374"
                                "75767778798081828384858687888990919293949596979899";
    char digits[20];
    size_t start = sizeof digits;

    for (; number >= 100; number /= 100) {
        start -= 2;
        memcpy(digits + start, pairs + number % 100 * 2, 2);
    }
    if (number >= 10) {
        start -= 2;
        memcpy(digits + start, pairs + number * 2, 2);
    } else {
        digits[--start] = (char)('0' + number);
    }
    return put(to, digits + start, sizeof digits - start);
}

/* Appends the line. Room for everything but the process path and the host facts is made first. */
static void add_line(struct buf *line, const struct tape_record *record, const char *kind,
                     const char *data, size_t data_length, uint64_t seq)
{
    const char *phase = tape_phases[record->phase], *process = record->process;
    size_t kind_length = strlen(kind), phase_length = strlen(phase);
    size_t host_length = record->host ? strlen(record->host) : 0;

    process = process ? process : "";
    buf_reserve(line, data_length + host_length + kind_length + phase_length + 256);
    char *to = line->data + line->length;
    to = PUT(to, "{\"data\":");
    to = put(to, data, data_length);
    if (record->host) {
        to = PUT(to, ",\"host\":");
        to = put(to, record->host, host_length);
    }
    to = PUT(to, ",\"kind\":\"");
    to = put(to, kind, kind_length);
    to = PUT(to, "\",\"monotonic_ns\":");
    to = put_u64(to, record->monotonic_ns);
    to = PUT(to, ",\"phase\":\"");
    to = put(to, phase, phase_length);
    to = PUT(to, "\",\"process\":");
    line->length = (size_t)(to - line->data);
    json_add_string(line, process, strlen(process));
    buf_reserve(line, 128);
    to = line->data + line->length;
    to = PUT(to, ",\"seq\":");
    to = put_u64(to, seq);
    to = PUT(to, ",\"type\":\"record\",\"virtual_time_ns\":");
    if (record->virtual_time_ns < 0)
        *to++ = '-';
    to = put_u64(to, record->virtual_time_ns < 0 ? -(uint64_t)record->virtual_time_ns
                                                 : (uint64_t)record->virtual_time_ns);
    to = PUT(to, "}\n");
    *to = '\0';
    line->length = (size_t)(to - line->data);
}

static bool is_plain_name(const char *name)
{
    return *name && !name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_.-")];
}

/* Checks the record. Sets *ret_canonical; a payload that is not is put in order by the caller. */
static int check_record(const struct tape_record *record, const char *kind, const char *data,
                        size_t length, bool *ret_canonical, struct err *err)
{
    struct json_scan scan;

    if (record->kind >= TAPE_UNKNOWN && (!kind || !is_plain_name(kind)))
        return err_set(err, -EINVAL, "tape record: '%s' is no name of a kind", kind ? kind : "");
    if (record->process && !text_is_utf8(record->process, strlen(record->process)))
        return err_set(err, -EINVAL, "tape record of kind '%s': process path not UTF-8", kind);
    if (!json_scan_whole(&scan, data, length) || *data != '{')
        return err_set(err, -EINVAL, "tape record of kind '%s': payload is no JSON object: %s",
                       kind, scan.problem ? scan.problem : "another type");
    if (length > TAPE_LINE_BYTES_MAX / 2 || (record->host && strlen(record->host) > 65536)) {
        err_set(err, -EFBIG, "tape record of kind '%s': payload of %zu bytes", kind, length);
        return err_hint(err, "large contents belong in the store");
    }
    *ret_canonical = scan.canonical;
    return record->host ? check_object("tape record: host", record->host, strlen(record->host), err)
                        : 0;
}

static int make_canonical(const char *kind, const char *data, size_t length, struct buf *ret,
                          struct err *err)
{
    CLEANUP(json_free) json_t *object = NULL;
    int r = json_parse(data, length, kind, &object, err);

    if (r < 0)
        return err_wrap(err, "tape record payload");
    json_add_canonical(ret, object);
    return 0;
}

int tape_writer_record(struct tape_writer *writer, const struct tape_record *record,
                       struct err *err)
{
    const char *kind =
        record->kind < TAPE_UNKNOWN ? tape_kinds[record->kind].name : record->kind_name;
    const char *data = record->data ? record->data : "{}";
    size_t length = record->data ? record->data_length : 2;

    assert(!writer->closed && record->phase < TAPE_PHASE_COUNT);
    if (writer->failure.code)
        return failed(writer, err);
    bool canonical = false;
    int r = check_record(record, kind, data, length, &canonical, err);
    if (r < 0)
        return r;
    CLEANUP(buf_done) struct buf ordered = {0};
    /* The payload of a kind we do not know is kept to the byte. */
    if (!canonical && (record->kind < TAPE_UNKNOWN || memchr(data, '\n', length))) {
        r = make_canonical(kind, data, length, &ordered, err);
        if (r < 0)
            return r;
        data = buf_text(&ordered);
        length = ordered.length;
    }
    buf_clear(&writer->scrubbed);
    if (secrets_scrub_data(writer->secrets, kind, data, length, &writer->scrubbed)) {
        data = buf_text(&writer->scrubbed);
        length = writer->scrubbed.length;
    }
    add_line(&writer->batch, record, kind, data, length, writer->count);
    writer->count++;
    return writer->batch.length >= writer->batch_bytes ? tape_writer_flush(writer, err) : 0;
}

int tape_writer_close(struct tape_writer *writer, struct err *err)
{
    assert(!writer->closed);
    writer->closed = true;
    int r = tape_writer_flush(writer, err);
    if (r < 0)
        return r;
    struct hash hash = hash_end(take_ptr(&writer->hash));
    writer->hash = hash_begin(); /* flush adds to it once more */
    buf_addf(&writer->batch, "{\"digest\":\"sha256:%s\",\"records\":%llu,\"type\":\"end\"}\n",
             hash_to_text(&hash).text, (unsigned long long)writer->count);
    r = tape_writer_flush(writer, err);
    if (r == 0 && writer->sync != TAPE_SYNC_NEVER && fsync(writer->fd) < 0)
        r = err_set(err, -errno, "write tape '%s': %m", writer->path);
    trace(TRACE_TAPE, "tape '%s' closed, %llu records", writer->path,
          (unsigned long long)writer->count);
    return r;
}

int tape_writer_put(struct tape_writer *writer, const void *bytes, size_t length, struct hash *ret,
                    struct err *err)
{
    CLEANUP(buf_done) struct buf scrubbed = {0};

    if (secrets_scrub_bytes(writer->secrets, bytes, length, &scrubbed))
        return store_put(writer->store, scrubbed.data, scrubbed.length, ret, err);
    return store_put(writer->store, bytes, length, ret, err);
}

int tape_data_payload(struct tape_data *data, struct tape_writer *writer, const char *name,
                      const void *bytes, size_t length, struct err *err)
{
    CLEANUP(buf_done) struct buf scrubbed = {0};
    struct tape_data payload = {0};
    struct hash hash;

    if (secrets_scrub_bytes(writer->secrets, bytes, length, &scrubbed)) {
        bytes = scrubbed.data;
        length = scrubbed.length;
    }
    bool is_inline = length <= PAYLOAD_INLINE_MAX && text_is_utf8(bytes, length);
    int r = 0;
    if (is_inline)
        hash = hash_of(bytes, length);
    else
        r = store_put(writer->store, bytes, length, &hash, err);
    if (r < 0)
        return r;
    tape_data_begin(&payload);
    tape_data_hash(&payload, "content_hash", &hash);
    if (is_inline)
        tape_data_bytes(&payload, "text", bytes, length);
    else
        tape_data_u64(&payload, "len_bytes", length);
    tape_data_end(&payload);
    tape_data_raw(data, name, payload.text.data);
    tape_data_done(&payload);
    return 0;
}

int tape_writer_put_file(struct tape_writer *writer, int fd, struct hash *ret, struct err *err)
{
    return store_put_file(writer->store, fd, ret, err);
}

const struct secrets *tape_writer_secrets(const struct tape_writer *writer)
{
    return writer->secrets;
}

struct store *tape_writer_store(struct tape_writer *writer)
{
    return writer->store;
}
