/* SPDX-License-Identifier: MIT */
/* What is wrong with calls and recordings, in words for the end of the run: a guest may swallow the
 * error it gets, the report is told anyway. */
#include "box/sub.h"
#include "base/json.h"
#include "base/text.h"
#include "proc/proc_options.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { SHOWN_MAX = 10 };

static void tell(struct box *box, const struct buf *text)
{
    char *to = box->findings->proc.text;
    size_t have = strlen(to);

    (void)snprintf(to + have, sizeof box->findings->proc.text - have, "%s", buf_text(text));
}

static void add_command(struct buf *buf, const char *const *argv)
{
    for (; argv && *argv; argv++) {
        buf_addc(buf, ' ');
        text_add_quoted(buf, *argv);
    }
}

void sub_miss(struct box *box, const struct process *process, const struct call *call)
{
    CLEANUP(buf_done) struct buf text = {0};

    if (++box->findings->proc.misses > SHOWN_MAX)
        return;
    buf_addf(&text, "vitro: MISS at %s, no recording answers\n  called   ", process->path);
    add_command(&text, call->argv);
    buf_addc(&text, '\n');
    cassette_explain(box->subs->cassette, call, &text);
    tell(box, &text);
}

void sub_trouble(struct box *box, const char *format, ...)
{
    CLEANUP(buf_done) struct buf text = {0};
    va_list args;

    box->findings->proc.troubles++;
    buf_adds(&text, "vitro: ");
    va_start(args, format);
    buf_addv(&text, format, args);
    va_end(args);
    buf_addc(&text, '\n');
    if (box->findings->proc.troubles <= SHOWN_MAX)
        tell(box, &text);
}

void sub_drift(struct box *box, const struct sub *sub, const struct program_facts *now)
{
    const struct recording *then = &sub->recording;
    struct hash_text old = hash_to_text(&then->digest), new = hash_to_text(&now->digest);
    bool tells = then->version && now->version && strcmp(then->version, now->version) != 0;
    CLEANUP(mem_free)
    char *note = tells ? mem_format("drift: '%s' was recorded with %s, and this is %s; --proc "
                                    "verify tells whether that matters",
                                    then->program, then->version, now->version)
                       : mem_format("drift: '%s' is not the program that was recorded (%.12s then, "
                                    "%.12s now); --proc verify tells whether that matters",
                                    then->program, old.text, new.text);

    if (!strstr(box->findings->notes, note))
        leak_note(box, "%s", note);
}

/* ---- verify -------------------------------------------------------------------------------- */

static bool compare_member(const json_t *then, const json_t *now, const char *name,
                           struct buf *text)
{
    const json_t *a = json_object_get(then, name), *b = json_object_get(now, name);
    CLEANUP(buf_done) struct buf x = {0};
    CLEANUP(buf_done) struct buf y = {0};

    if (a)
        json_add_canonical(&x, a);
    if (b)
        json_add_canonical(&y, b);
    if (strcmp(buf_text(&x), buf_text(&y)) == 0)
        return false;
    buf_addf(text, "  %s\n    recorded %.300s\n    now      %.300s\n", name,
             x.length ? x.data : "(none)", y.length ? y.data : "(none)");
    return true;
}

static void compare(struct box *box, struct sub *sub, size_t id)
{
    static const char *const members[] = {"exit_code",      "signal", "stdout_payload",
                                          "stderr_payload", "files",  "terminal"};
    CLEANUP(json_free) json_t *then = NULL;
    CLEANUP(json_free) json_t *now = NULL;
    CLEANUP(buf_done) struct buf data = {0};
    CLEANUP(buf_done) struct buf text = {0};
    struct err err = {0};
    const char *old = cassette_entry(box->subs->cassette, id)->data;
    bool differs = false;

    recording_add_data(&sub->recording, &data);
    if (json_parse(old, strlen(old), "recording", &then, &err) < 0 ||
        json_parse(data.data, data.length, "recording", &now, &err) < 0)
        return;
    buf_addf(&text, "vitro: CHANGED at %s\n  called   ", sub->path);
    add_command(&text, (const char *const *)sub->recording.argv);
    buf_addc(&text, '\n');
    for (size_t i = 0; i < ARRAY_LENGTH(members); i++)
        differs |= compare_member(then, now, members[i], &text);
    if (!differs)
        return;
    if (++box->findings->proc.differences <= SHOWN_MAX)
        tell(box, &text);
}

void sub_compare(struct box *box, struct sub *sub)
{
    struct cassette *cassette = box->subs->cassette;
    struct hash_text digest;
    struct call call = recording_call(&sub->recording, &digest);
    size_t ids[256];
    size_t count = cassette_find(cassette, &call, ids, ARRAY_LENGTH(ids));
    size_t chosen = SIZE_MAX;

    for (size_t i = 0; i < count && chosen == SIZE_MAX; i++) {
        const struct cassette_entry *entry = cassette_entry(cassette, ids[i]);
        if (memcmp(&entry->input_hash, &sub->recording.streams[0].hash, sizeof(struct hash)) == 0)
            chosen = ids[i];
    }
    if (chosen == SIZE_MAX) {
        struct process process = {.path = sub->path};
        sub_miss(box, &process, &call);
        return;
    }
    cassette_use(cassette, chosen);
    compare(box, sub, chosen);
}

void sub_report_end(struct box *box)
{
    struct proc_findings *findings = &box->findings->proc;
    const struct proc_options *options = &box->options->proc;
    CLEANUP(buf_done) struct buf text = {0};
    CLEANUP(buf_done) struct buf list = {0};

    if (findings->misses > SHOWN_MAX)
        buf_addf(&text, "vitro: and %llu more calls without a recording\n",
                 (unsigned long long)findings->misses - SHOWN_MAX);
    if (options->mode != PROC_RECORD)
        findings->unused = cassette_unused(box->subs->cassette, &list, SHOWN_MAX);
    if (findings->unused && !options->allow_unused && !options->keep_unused)
        buf_addf(&text, "vitro: UNUSED, %llu recording%s that nobody asked for\n%s",
                 (unsigned long long)findings->unused, findings->unused == 1 ? "" : "s",
                 buf_text(&list));
    tell(box, &text);
}
