/* SPDX-License-Identifier: MIT */
#include "tape/tape_verify.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/text.h"
#include "tape/tape_reader.h"
#include <errno.h>
#include <string.h>

enum { CHECKED_PLACES = 4096 };

struct checked { /* a content that was read and found whole */
    struct hash hash;
    uint64_t length;
    bool used;
};

struct verification {
    const struct tape_verify_options *options;
    struct tape_verdict *verdict;
    size_t findings_max;
    const struct tape_entry *entry;
    bool other_hashes; /* payloads are named by a hash that is not SHA-256 */
    uint64_t kinds[TAPE_UNKNOWN];
    uint64_t unknown_count;
    struct buf scratch;
    /* The last contents checked, by their hash: a tape may name the same one a million times. */
    struct checked checked[CHECKED_PLACES];
};

static void found(struct verification *v, uint64_t line, const char *code, const char *format, ...)
    PRINTF_LIKE(4, 5);
static void found(struct verification *v, uint64_t line, const char *code, const char *format, ...)
{
    CLEANUP(buf_done) struct buf text = {0};
    va_list args;

    if (v->verdict->finding_count++ >= v->findings_max)
        return;
    va_start(args, format);
    buf_addv(&text, format, args);
    va_end(args);
    json_t *finding = json_object();
    json_object_set_new(finding, "line", line ? json_integer((json_int_t)line) : json_null());
    json_object_set_new(finding, "code", json_string(code));
    json_object_set_new(finding, "message", json_string(buf_text(&text)));
    json_array_append_new(v->verdict->findings, finding);
}

static void check_inline(struct verification *v, const struct hash *wanted, const json_t *text)
{
    struct hash hash = hash_of(json_string_value(text), json_string_length(text));

    if (memcmp(&hash, wanted, sizeof hash) != 0)
        found(v, v->entry->line, "payload_hash", "a payload's text has the hash %s, not %s",
              hash_to_text(&hash).text, hash_to_text(wanted).text);
}

static struct checked *checked_place(struct verification *v, const struct hash *hash)
{
    return &v->checked[(hash->bytes[0] << 8 | hash->bytes[1]) % CHECKED_PLACES];
}

static void check_stored(struct verification *v, const struct hash *hash, const json_t *length)
{
    CLEANUP(buf_done) struct buf bytes = {0};
    struct checked *checked = checked_place(v, hash);
    struct err err = {0};

    if (!v->options->store)
        return;
    if (checked->used && memcmp(&checked->hash, hash, sizeof *hash) == 0 &&
        checked->length == (uint64_t)json_integer_value(length))
        return;
    int r = store_get(v->options->store, hash, 0, &bytes, &err);
    if (r < 0) {
        found(v, v->entry->line, r == -ENOENT ? "content_missing" : "content_damaged", "%s",
              err.text);
        return;
    }
    v->verdict->contents++;
    *checked = (struct checked){*hash, bytes.length, true};
    if ((uint64_t)json_integer_value(length) != bytes.length)
        found(v, v->entry->line, "payload_length", "content %s has %zu bytes, not %lld",
              hash_to_text(hash).text, bytes.length, (long long)json_integer_value(length));
    const char *rule = v->options->secrets
                           ? secrets_find_bytes(v->options->secrets, buf_text(&bytes), bytes.length)
                           : NULL;
    if (rule)
        found(v, v->entry->line, "secret", "content %s holds what looks like a secret (%s)",
              hash_to_text(hash).text, rule);
}

/* A file that a recorded subprocess left: its content is in the store. */
static bool is_left_file(const json_t *value)
{
    return text_equal(json_string_value(json_object_get(value, "type")), "file");
}

/* A payload is an object with content_hash and either text or len_bytes, anywhere below data. */
static void check_payloads(struct verification *v, const json_t *value)
{
    const char *key;
    json_t *child, *text = json_object_get(value, "text"),
                   *length = json_object_get(value, "len_bytes");
    const char *hex = json_string_value(json_object_get(value, "content_hash"));
    size_t index;
    struct hash hash;

    if (hex && (text || length) && (json_object_size(value) == 2 || is_left_file(value))) {
        if (!hash_from_text(hex, &hash))
            found(v, v->entry->line, "payload_hash", "'%.80s' is no SHA-256", hex);
        else if (json_is_string(text))
            check_inline(v, &hash, text);
        else if (json_is_integer(length))
            check_stored(v, &hash, length);
        return;
    }
    json_object_foreach((json_t *)value, key, child) check_payloads(v, child);
    if (json_is_array(value))
        json_array_foreach(value, index, child) check_payloads(v, child);
}

static bool has(const struct tape_entry *entry, const char *needle, size_t length)
{
    return memmem(entry->data.text, entry->data.length, needle, length) != NULL;
}

static void check_data(struct verification *v)
{
    static const char hash_member[] = "\"content_hash\"";
    CLEANUP(json_free) json_t *data = NULL;
    struct err err = {0};

    /* A canonical payload has no member twice; a tree is built only to look at hashes in it. */
    if (v->entry->canonical && !has(v->entry, hash_member, sizeof hash_member - 1))
        return;
    if (tape_entry_data(v->entry, &data, &err) < 0) {
        found(v, v->entry->line, "payload", "a member is given twice, or a number does not fit");
        return;
    }
    if (!v->other_hashes)
        check_payloads(v, data);
}

static void check_secrets(struct verification *v)
{
    CLEANUP(buf_done) struct buf where = {0};
    CLEANUP(mem_free)
    char *kind = mem_dupn(v->entry->kind_name.text, v->entry->kind_name.length);

    if (!v->options->secrets)
        return;
    buf_clear(&v->scratch);
    if (tape_entry_add_data(v->entry, &v->scratch, NULL) < 0)
        return;
    const char *rule = secrets_find_data(v->options->secrets, kind, buf_text(&v->scratch),
                                         v->scratch.length, &where);
    if (rule)
        found(v, v->entry->line, "secret", "%s.%s looks like a secret (%s)", kind, buf_text(&where),
              rule);
}

static void check_entry(struct verification *v, uint64_t index)
{
    if (v->entry->seq != index)
        found(v, v->entry->line, "seq", "seq is %llu where %llu is due",
              (unsigned long long)v->entry->seq, (unsigned long long)index);
    if (v->entry->kind < TAPE_UNKNOWN)
        v->kinds[v->entry->kind]++;
    else
        v->unknown_count++;
    check_data(v);
    check_secrets(v);
}

static void check_end(struct verification *v, const struct tape_summary *summary)
{
    json_t *notes = v->verdict->notes;

    if (summary->torn_line)
        found(v, summary->torn_line, "torn", "the last line is torn and was dropped");
    if (!summary->closed) {
        if (v->options->complete)
            found(v, 0, "open", "there is no end line: the run was cut short");
        else
            json_array_append_new(
                notes, json_string("there is no end line: the digest cannot be checked"));
        return;
    }
    if (summary->end_records != summary->records)
        found(v, 0, "count", "the end line says %llu records, there are %llu",
              (unsigned long long)summary->end_records, (unsigned long long)summary->records);
    if (memcmp(&summary->end_hash, &summary->read_hash, sizeof summary->end_hash) != 0)
        found(v, 0, "digest", "the lines have the digest %s, the end line says %s",
              hash_to_text(&summary->read_hash).text, hash_to_text(&summary->end_hash).text);
}

/* Harn names contents by BLAKE3; its header says who wrote it. */
static void check_header(struct verification *v, const json_t *header)
{
    v->other_hashes = json_object_get(header, "harn_version") != NULL;
    if (v->other_hashes)
        json_array_append_new(
            v->verdict->notes,
            json_string("written by harn: its contents have BLAKE3 names and are not checked"));
}

static void count_kinds(struct verification *v)
{
    for (unsigned kind = 0; kind < TAPE_UNKNOWN; kind++)
        if (v->kinds[kind])
            json_object_set_new(v->verdict->kinds, tape_kinds[kind].name,
                                json_integer((json_int_t)v->kinds[kind]));
    if (v->unknown_count)
        json_object_set_new(v->verdict->kinds, "(unknown)",
                            json_integer((json_int_t)v->unknown_count));
}

int tape_verify(const struct tape_verify_options *options, struct tape_verdict *ret,
                struct err *err)
{
    CLEANUP(tape_reader_free) struct tape_reader *reader = NULL;
    struct tape_entry entry;
    struct err problem = {0};
    CLEANUP(mem_free) struct verification *v = mem_alloc(sizeof *v);
    struct tape_verdict verdict = {
        .findings = json_array(), .notes = json_array(), .kinds = json_object()};
    int r = tape_reader_open(&(struct tape_reader_options){.path = options->path, .digest = true},
                             &reader, &problem);

    v->options = options;
    v->verdict = ret;
    v->entry = &entry;
    v->findings_max = options->findings_max ? options->findings_max : 1000;
    *ret = verdict;
    if (r < 0 && r != -EBADMSG && r != -EPROTO && r != -EFBIG) {
        tape_verdict_done(ret);
        if (err)
            *err = problem;
        return r;
    }
    if (r == 0) {
        check_header(v, tape_reader_header(reader));
        while ((r = tape_reader_next(reader, &entry, &problem)) > 0)
            check_entry(v, ret->records++);
    }
    struct tape_summary summary = {0};
    if (reader)
        summary = tape_reader_summary(reader);
    if (r < 0)
        found(v, 0, "unreadable", "%s", problem.text);
    else
        check_end(v, &summary);
    count_kinds(v);
    buf_done(&v->scratch);
    return 0;
}

void tape_verdict_done(struct tape_verdict *verdict)
{
    json_decref(verdict->findings);
    json_decref(verdict->notes);
    json_decref(verdict->kinds);
    *verdict = (struct tape_verdict){0};
}
