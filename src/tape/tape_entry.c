/* SPDX-License-Identifier: MIT */
#include "tape/tape_entry.h"
#include "base/json.h"
#include "base/when.h"
#include <errno.h>
#include <string.h>

enum member {
    MEMBER_DATA,
    MEMBER_HOST,
    MEMBER_KIND,
    MEMBER_MONOTONIC,
    MEMBER_PHASE,
    MEMBER_PROCESS,
    MEMBER_SEQ,
    MEMBER_TYPE,
    MEMBER_VIRTUAL_TIME,
    MEMBER_OTHER,
};

struct envelope { /* what is known of a line while it is read */
    struct span values[MEMBER_OTHER];
    bool is_ms[MEMBER_OTHER]; /* the member was spelled ..._ms */
    unsigned seen;            /* one bit a member */
    unsigned other_count;
    bool data_canonical;
};

/* The names the envelope knows. Those in ms are how other tools write them. */
static const struct {
    const char *name;
    enum member member;
    bool is_ms;
} member_names[] = {
    {"data", MEMBER_DATA, false},
    {"host", MEMBER_HOST, false},
    {"kind", MEMBER_KIND, false},
    {"monotonic_ns", MEMBER_MONOTONIC, false},
    {"phase", MEMBER_PHASE, false},
    {"process", MEMBER_PROCESS, false},
    {"seq", MEMBER_SEQ, false},
    {"type", MEMBER_TYPE, false},
    {"virtual_time_ns", MEMBER_VIRTUAL_TIME, false},
    {"monotonic_ms", MEMBER_MONOTONIC, true},
    {"virtual_time_ms", MEMBER_VIRTUAL_TIME, true},
};

/* Index into member_names, or -1. `hint` is the name expected next in a canonical line. */
static int find_member(struct span key, size_t hint)
{
    for (size_t i = hint; i < ARRAY_LENGTH(member_names) + hint; i++) {
        size_t at = i < ARRAY_LENGTH(member_names) ? i : i - ARRAY_LENGTH(member_names);
        if (span_is(key, member_names[at].name))
            return (int)at;
    }
    return -1;
}

static bool read_members(struct json_scan *scan, struct envelope *envelope)
{
    struct json_members members;
    size_t hint = 0;

    if (!json_members_begin(scan, &members))
        return false;
    while (json_members_next(scan, &members)) {
        int found = find_member(members.key, hint);
        enum member member = found < 0 ? MEMBER_OTHER : member_names[found].member;
        struct span value;
        bool canonical_before = scan->canonical;
        if (member != MEMBER_OTHER && envelope->seen & 1u << member)
            return json_scan_fail(scan, "a member is given twice");
        scan->canonical = true;
        if (!json_scan_value(scan, &value))
            return false;
        if (member == MEMBER_DATA)
            envelope->data_canonical = scan->canonical;
        scan->canonical &= canonical_before;
        if (member == MEMBER_OTHER) {
            envelope->other_count++;
            continue;
        }
        hint = (size_t)found + 1;
        envelope->seen |= 1u << member;
        envelope->values[member] = value;
        envelope->is_ms[member] = member_names[found].is_ms;
    }
    return !scan->problem;
}

/* What stands between the quotes of a value that is a string; false if it is none. */
static bool unquote(struct span value, struct span *ret)
{
    if (value.length < 2 || value.text[0] != '"')
        return false;
    *ret = (struct span){value.text + 1, value.length - 2};
    return true;
}

static bool read_time(const struct envelope *envelope, enum member member, int64_t *ret)
{
    if (!(envelope->seen & 1u << member)) {
        *ret = 0;
        return true;
    }
    if (!span_to_i64(envelope->values[member], ret))
        return false;
    return !envelope->is_ms[member] || !__builtin_mul_overflow(*ret, (int64_t)NS_PER_MS, ret);
}

static const char *read_kind(const struct envelope *envelope, struct tape_entry *entry)
{
    struct span kind = envelope->values[MEMBER_KIND];
    struct json_scan scan;
    struct json_members members;
    struct span value;

    entry->form = envelope->seen & 1u << MEMBER_DATA ? TAPE_NATIVE : TAPE_FLAT;
    if (unquote(kind, &entry->kind_name)) {
        entry->kind = tape_kind_find(entry->kind_name.text, entry->kind_name.length);
        return entry->kind_name.length ? NULL : "kind is empty";
    }
    if (!kind.length || kind.text[0] != '{')
        return "a record needs a kind";
    entry->form = TAPE_NESTED;
    json_scan_begin(&scan, kind.text, kind.length);
    if (json_members_begin(&scan, &members))
        while (json_members_next(&scan, &members) && json_scan_value(&scan, &value))
            if (span_is(members.key, "kind") && unquote(value, &entry->kind_name))
                break;
    if (!entry->kind_name.length)
        return "a record needs a kind";
    entry->kind = tape_kind_find(entry->kind_name.text, entry->kind_name.length);
    return NULL;
}

/* NULL, or what is wrong. */
static const char *read_record(const struct envelope *envelope, struct tape_entry *entry)
{
    int64_t seq, monotonic;
    struct span phase;

    if (!(envelope->seen & 1u << MEMBER_SEQ) || !span_to_i64(envelope->values[MEMBER_SEQ], &seq) ||
        seq < 0)
        return "a record needs a seq, a whole number from 0 on";
    if (!read_time(envelope, MEMBER_VIRTUAL_TIME, &entry->virtual_time_ns))
        return "virtual_time is not a whole number that fits";
    if (!read_time(envelope, MEMBER_MONOTONIC, &monotonic) || monotonic < 0)
        return "monotonic is not a whole number that fits";
    entry->seq = (uint64_t)seq;
    entry->monotonic_ns = (uint64_t)monotonic;
    if (envelope->seen & 1u << MEMBER_PHASE) {
        if (!unquote(envelope->values[MEMBER_PHASE], &phase))
            return "phase is not a text";
        entry->phase = tape_phase_find(phase.text, phase.length);
        if (entry->phase == TAPE_PHASE_COUNT)
            return "phase is neither user_script nor runtime_finalize";
    }
    if (envelope->seen & 1u << MEMBER_PROCESS &&
        !unquote(envelope->values[MEMBER_PROCESS], &entry->process))
        return "process is not a text";
    const char *problem = read_kind(envelope, entry);
    if (problem)
        return problem;
    entry->data = entry->text;
    entry->canonical = false;
    if (entry->form == TAPE_NATIVE) {
        entry->data = envelope->values[MEMBER_DATA];
        entry->canonical = envelope->data_canonical;
        if (entry->data.text[0] != '{')
            return "data is not an object";
    }
    entry->host = envelope->values[MEMBER_HOST];
    return NULL;
}

static const char *read_type(const struct envelope *envelope, struct tape_entry *entry)
{
    struct span type;

    if (!(envelope->seen & 1u << MEMBER_TYPE) || !unquote(envelope->values[MEMBER_TYPE], &type))
        return "the line has no type";
    if (span_is(type, "record")) {
        entry->type = TAPE_LINE_RECORD;
        return read_record(envelope, entry);
    }
    entry->type = span_is(type, "header") ? TAPE_LINE_HEADER : TAPE_LINE_END;
    if (entry->type == TAPE_LINE_HEADER || span_is(type, "end"))
        return NULL;
    return "type is neither header, record nor end";
}

bool tape_entry_parse(const char *line, size_t length, struct tape_entry *ret,
                      const char **ret_problem, size_t *ret_column)
{
    struct json_scan scan;
    struct envelope envelope;

    memset(&envelope, 0, sizeof envelope);
    *ret = (struct tape_entry){.text = {line, length}};
    json_scan_begin(&scan, line, length);
    json_scan_space(&scan);
    if (read_members(&scan, &envelope)) {
        json_scan_space(&scan);
        if (scan.next != scan.end)
            json_scan_fail(&scan, "more text behind the object");
        else
            scan.problem = read_type(&envelope, ret);
    }
    *ret_problem = scan.problem;
    *ret_column = json_scan_column(&scan);
    return !scan.problem;
}

/* Members of known kinds that other tools write in ms. */
static void ms_to_ns(json_t *data)
{
    static const char *const names[][2] = {{"value_ms", "value_ns"},
                                           {"duration_ms", "duration_ns"},
                                           {"latency_ms", "latency_ns"},
                                           {"by_ms", "by_ns"}};

    for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
        json_t *ms = json_object_get(data, names[i][0]);
        json_int_t ns;
        if (!json_is_integer(ms) || json_object_get(data, names[i][1]) ||
            __builtin_mul_overflow(json_integer_value(ms), (json_int_t)NS_PER_MS, &ns))
            continue;
        json_object_set_new(data, names[i][1], json_integer(ns));
        json_object_del(data, names[i][0]);
    }
}

/* Turns the tree of a flat or nested line into that of its payload. */
static json_t *payload_of(const struct tape_entry *entry, json_t *line)
{
    if (entry->form == TAPE_NESTED) {
        json_t *data = json_incref(json_object_get(line, "kind"));
        json_decref(line);
        json_object_del(data, "kind");
        return data;
    }
    for (size_t i = 0; i < ARRAY_LENGTH(member_names); i++)
        json_object_del(line, member_names[i].name);
    return line;
}

int tape_entry_data(const struct tape_entry *entry, json_t **ret, struct err *err)
{
    CLEANUP(json_free) json_t *data = NULL;
    int r = json_parse(entry->data.text, entry->data.length, "record", &data, err);

    if (r < 0)
        return err_set(err, r, "line %llu: a member is given twice, or a number does not fit",
                       (unsigned long long)entry->line);
    if (entry->form != TAPE_NATIVE)
        data = payload_of(entry, data);
    if (entry->kind < TAPE_UNKNOWN)
        ms_to_ns(data);
    *ret = take_ptr(&data);
    return 0;
}

int tape_entry_add_data(const struct tape_entry *entry, struct buf *ret, struct err *err)
{
    CLEANUP(json_free) json_t *data = NULL;

    if (entry->form == TAPE_NATIVE && (entry->canonical || entry->kind == TAPE_UNKNOWN)) {
        buf_add(ret, entry->data.text, entry->data.length);
        return 0;
    }
    int r = tape_entry_data(entry, &data, err);
    if (r < 0)
        return r;
    json_add_canonical(ret, data);
    return 0;
}

void tape_entry_add_process(const struct tape_entry *entry, struct buf *ret)
{
    CLEANUP(json_free) json_t *text = NULL;

    if (!memchr(entry->process.text ? entry->process.text : "", '\\', entry->process.length)) {
        buf_add(ret, entry->process.text, entry->process.length);
        return;
    }
    if (json_parse(entry->process.text - 1, entry->process.length + 2, "process", &text, NULL) == 0)
        buf_add(ret, json_string_value(text), json_string_length(text));
}
