/* SPDX-License-Identifier: MIT */
/* vitro tape show: the records of a tape, for people or as JSON, streamed. */
#include "base/json.h"
#include "base/text.h"
#include "base/when.h"
#include "cli/cmd_tape.h"
#include "tape/tape_reader.h"
#include "tape/tape_show.h"
#include <stdio.h>
#include <string.h>

static int show_run(const struct cli_args *args);

static const struct cli_option options[] = {
    {"kind", "KIND", "only records of this kind", 'k', true},
    {"process", "PATH", "only this process and what it spawned (1.2)", 'p', false},
    {"from", "TIME", "only from this virtual time on: a time, or a duration since the start", 0,
     false},
    {"until", "TIME", "only before this virtual time", 0, false},
    {0},
};
static const char *const examples[] = {"vitro tape show out/", "all records of a bundle",
                                       "vitro tape show a.tape --kind file_write --from 5s",
                                       "what was written after five seconds of virtual time", NULL};

const struct command command_tape_show = {
    .name = "tape show",
    .summary = "print the records of a tape",
    .operands = "TAPE",
    .operands_min = 1,
    .operands_max = 1,
    .options = options,
    .examples = examples,
    .run = show_run,
};

/* A point in time, or a duration since the start of the tape. */
static int parse_time(const char *text, int64_t start_ns, int64_t *ret, struct err *err)
{
    uint64_t duration_ns;

    if (when_parse_duration(text, &duration_ns, NULL) == 0) {
        *ret = start_ns + (int64_t)duration_ns;
        return 0;
    }
    return when_parse(text, ret, err);
}

static int make_filter(const struct cli_args *args, int64_t start_ns, struct tape_filter *ret,
                       struct err *err)
{
    const char *from = cli_value(args, "from"), *until = cli_value(args, "until");
    struct tape_filter filter = {.process = cli_value(args, "process"),
                                 .has_from = from != NULL,
                                 .has_until = until != NULL};
    int r = from ? parse_time(from, start_ns, &filter.from_ns, err) : 0;

    if (r == 0 && until)
        r = parse_time(until, start_ns, &filter.until_ns, err);
    filter.kind_count = cli_values(args, "kind", &filter.kinds); /* last: the list is scratch */
    *ret = filter;
    return r;
}

/* A record in the native form, whatever form it was read in. */
static int add_record_json(struct buf *buf, const struct tape_entry *entry, struct err *err)
{
    CLEANUP(buf_done) struct buf process = {0};

    tape_entry_add_process(entry, &process);
    buf_adds(buf, "{\"data\":");
    int r = tape_entry_add_data(entry, buf, err);
    if (entry->host.length) {
        buf_adds(buf, ",\"host\":");
        buf_add(buf, entry->host.text, entry->host.length);
    }
    buf_adds(buf, ",\"kind\":\"");
    buf_add(buf, entry->kind_name.text, entry->kind_name.length);
    buf_addf(buf, "\",\"monotonic_ns\":%llu,\"phase\":\"%s\",\"process\":",
             (unsigned long long)entry->monotonic_ns, tape_phases[entry->phase]);
    json_add_string(buf, buf_text(&process), process.length);
    buf_addf(buf, ",\"seq\":%llu,\"type\":\"record\",\"virtual_time_ns\":%lld}",
             (unsigned long long)entry->seq, (long long)entry->virtual_time_ns);
    return r;
}

static void add_header(struct buf *buf, const struct tape_reader *reader, bool json)
{
    const json_t *header = tape_reader_header(reader), *argv = json_object_get(header, "argv"),
                 *arg;
    size_t index;

    if (json) {
        buf_adds(buf, "{\"header\":");
        json_add_canonical(buf, header);
        buf_adds(buf, ",\"records\":[");
        return;
    }
    buf_adds(buf, "started ");
    when_add(buf, tape_reader_start_ns(reader));
    json_array_foreach(argv, index, arg)
    {
        buf_addc(buf, ' ');
        text_add_quoted(buf, json_is_string(arg) ? json_string_value(arg) : "?");
    }
    buf_addc(buf, '\n');
}

static void add_footer(struct buf *buf, const struct tape_summary *summary, uint64_t shown,
                       bool json)
{
    if (json) {
        buf_addf(buf, "],\"closed\":%s,\"record_count\":%llu,\"shown\":%llu,\"torn_line\":",
                 summary->closed ? "true" : "false", (unsigned long long)summary->records,
                 (unsigned long long)shown);
        if (summary->torn_line)
            buf_addf(buf, "%llu}\n", (unsigned long long)summary->torn_line);
        else
            buf_adds(buf, "null}\n");
        return;
    }
    if (summary->torn_line)
        buf_addf(buf, "note: line %llu is torn and was dropped\n",
                 (unsigned long long)summary->torn_line);
    buf_addf(buf, "%llu of %llu records%s\n", (unsigned long long)shown,
             (unsigned long long)summary->records, summary->closed ? "" : ", not closed");
}

static int show(struct tape_reader *reader, const struct tape_filter *filter, bool json,
                struct err *err)
{
    CLEANUP(buf_done) struct buf text = {0};
    struct tape_entry entry;
    uint64_t shown = 0;
    int r;

    add_header(&text, reader, json);
    while ((r = tape_reader_next(reader, &entry, err)) > 0) {
        if (!tape_filter_fits(filter, &entry))
            continue;
        if (json && shown)
            buf_addc(&text, ',');
        shown++;
        r = json ? add_record_json(&text, &entry, err)
                 : tape_show_add(&text, &entry, tape_reader_start_ns(reader), err);
        if (r < 0)
            break;
        if (text.length > 1 << 16) {
            cmd_print(&text);
            buf_clear(&text);
        }
    }
    struct tape_summary summary = tape_reader_summary(reader);
    if (r >= 0)
        add_footer(&text, &summary, shown, json);
    cmd_print(&text);
    return r;
}

static int show_run(const struct cli_args *args)
{
    CLEANUP(mem_free) char *path = cmd_tape_operand(args, 0);
    CLEANUP(tape_reader_free) struct tape_reader *reader = NULL;
    struct tape_filter filter;
    struct err err = {0};
    int r = tape_reader_open(&(struct tape_reader_options){.path = path}, &reader, &err);

    if (r == 0)
        r = make_filter(args, tape_reader_start_ns(reader), &filter, &err);
    if (r == 0)
        r = show(reader, &filter, cli_json(args), &err);
    if (r < 0) {
        (void)fflush(stdout);
        return cli_fail(EXIT_USAGE, &err);
    }
    return EXIT_CLEAN;
}
