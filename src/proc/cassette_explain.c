/* SPDX-License-Identifier: MIT */
/* Why no recording answers a call, and which recordings no call asked for. */
#include "proc/cassette_internal.h"
#include "base/text.h"
#include <string.h>

enum { PARSED_MAX = 20000 };

static void add_indented(struct buf *ret, const char *head, const char *text)
{
    const char *name = head;

    for (const char *line = text; *line;) {
        size_t length = strcspn(line, "\n");
        buf_addf(ret, "  %-9s%.*s\n", name, (int)length, line);
        line += length;
        line += *line == '\n';
        name = "";
    }
}

static void add_command(struct buf *ret, const struct recording *recording)
{
    for (char *const *arg = recording->argv; *arg; arg++) {
        if (arg != recording->argv)
            buf_addc(ret, ' ');
        text_add_quoted(ret, *arg);
    }
}

struct parsed { /* recordings taken apart to be compared */
    struct recording *recordings;
    struct call *calls;
    struct hash_text *digests;
    size_t *ids, count;
};

static const struct call *parsed_at(void *context, size_t index)
{
    return &((struct parsed *)context)->calls[index];
}

static void parse(struct cassette *cassette, const char *program, bool unused_only,
                  struct parsed *ret)
{
    const char *slash = strrchr(program, '/');
    const char *name = slash && slash[1] ? slash + 1 : program;
    bool known = cassette_knows(cassette, program);
    struct err err;

    *ret = (struct parsed){
        mem_alloc(PARSED_MAX * sizeof *ret->recordings), mem_alloc(PARSED_MAX * sizeof *ret->calls),
        mem_alloc(PARSED_MAX * sizeof *ret->digests), mem_alloc(PARSED_MAX * sizeof *ret->ids), 0};
    for (size_t i = 0; i < cassette->count && ret->count < PARSED_MAX; i++) {
        const struct cassette_entry *entry = &cassette->entries[i];
        if ((unused_only && entry->used) ||
            (known && strncmp(entry->name, name, sizeof entry->name - 1) != 0))
            continue;
        struct recording *recording = &ret->recordings[ret->count];
        if (cassette_recording(cassette, i, recording, &err) < 0)
            continue;
        ret->calls[ret->count] = recording_call(recording, &ret->digests[ret->count]);
        ret->ids[ret->count++] = i;
    }
}

static void parsed_done(struct parsed *parsed)
{
    for (size_t i = 0; i < parsed->count; i++)
        recording_done(&parsed->recordings[i]);
    free(parsed->recordings);
    free(parsed->calls);
    free(parsed->digests);
    free(parsed->ids);
}

static void add_closest(struct cassette *cassette, const struct call *call, struct parsed *parsed,
                        struct buf *ret)
{
    struct call_miss miss = {0};
    struct call_view view = cassette->options.view;
    CLEANUP(buf_done) struct buf text = {0};

    if (!call->stdin_digest)
        view.fields = (view.fields ? view.fields : CALL_FIELDS_DEFAULT) & ~(1u << CALL_STDIN);
    call_closest(call, &view, parsed_at, parsed, parsed->count, &miss);
    if (miss.index < parsed->count) {
        add_command(&text, &parsed->recordings[miss.index]);
        add_indented(ret, "closest", buf_text(&text));
        add_indented(ret, "differs", buf_text(&miss.detail));
        if (cassette->entries[parsed->ids[miss.index]].used)
            buf_adds(ret, "  note     that recording was used already\n");
        if (miss.rule) {
            buf_adds(ret, "  rule     --match-rule ");
            text_add_quoted(ret, miss.rule);
            buf_addc(ret, '\n');
        } else {
            unsigned fields =
                (view.fields ? view.fields : CALL_FIELDS_DEFAULT) & ~(1u << miss.field);
            buf_adds(ret, "  rule     --match ");
            for (size_t i = 0, first = 1; i < CALL_FIELD_COUNT; i++)
                if (fields & 1u << i) {
                    buf_addf(ret, "%s%s", first ? "" : ",", call_field_names[i]);
                    first = 0;
                }
            buf_addc(ret, '\n');
        }
    }
    call_miss_done(&miss);
}

/* Every recording of the same call was used: it came once too often. */
static bool is_one_too_many(struct cassette *cassette, const struct call *call)
{
    CLEANUP(buf_done) struct buf key = {0};
    struct call_view view = cassette->options.view;
    size_t group;

    view.fields = (view.fields ? view.fields : CALL_FIELDS_DEFAULT) & ~(1u << CALL_STDIN);
    call_key(call, &view, &key);
    return call_table_last(cassette->keys, buf_text(&key), key.length, &group) &&
           !call->stdin_digest && !cassette->options.strict_order;
}

void cassette_explain(struct cassette *cassette, const struct call *call, struct buf *ret)
{
    CLEANUP(buf_done) struct buf key = {0};
    struct parsed parsed;

    call_key(call, &cassette->options.view, &key);
    add_indented(ret, "key", buf_text(&key));
    if (!cassette->count) {
        buf_adds(ret, "  closest  none: the cassette is empty\n");
        return;
    }
    if (cassette->options.strict_order && cassette->next < cassette->count) {
        CLEANUP(recording_done) struct recording recording = {0};
        CLEANUP(buf_done) struct buf text = {0};
        struct err err;
        if (cassette_recording(cassette, cassette->next, &recording, &err) == 0)
            add_command(&text, &recording);
        buf_addf(ret, "  order    call #%zu of the recording is: %s\n", cassette->next,
                 buf_text(&text));
    }
    if (is_one_too_many(cassette, call)) {
        buf_adds(ret, "  differs  all recordings of this call were used: it came once too often\n");
        return;
    }
    parse(cassette, call->program, true, &parsed);
    if (!parsed.count) {
        parsed_done(&parsed);
        parse(cassette, call->program, false, &parsed);
    }
    add_closest(cassette, call, &parsed, ret);
    parsed_done(&parsed);
}

void cassette_describe(struct cassette *cassette, size_t id, struct buf *ret)
{
    CLEANUP(recording_done) struct recording recording = {0};
    struct err err;

    if (cassette_recording(cassette, id, &recording, &err) < 0)
        return;
    add_command(ret, &recording);
    if (recording.cwd && strcmp(recording.cwd, ".") != 0)
        buf_addf(ret, "  (in %s)", recording.cwd);
}

size_t cassette_unused(struct cassette *cassette, struct buf *ret, size_t max)
{
    size_t count = 0;

    for (size_t i = 0; i < cassette->count; i++) {
        if (cassette->entries[i].used || count++ >= max)
            continue;
        buf_adds(ret, "  recorded ");
        cassette_describe(cassette, i, ret);
        buf_addc(ret, '\n');
    }
    if (count > max)
        buf_addf(ret, "  and %zu more\n", count - max);
    return count;
}
