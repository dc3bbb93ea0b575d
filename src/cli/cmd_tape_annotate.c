/* SPDX-License-Identifier: MIT */
/* vitro tape annotate: what people say about records. */
#include "base/fd.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/cmd_tape.h"
#include "tape/annotations.h"
#include "tape/tape_reader.h"
#include "tape/tape_show.h"
#include <stdio.h>
#include <string.h>

static int add_run(const struct cli_args *args);
static int list_run(const struct cli_args *args);
static int validate_run(const struct cli_args *args);
static int export_run(const struct cli_args *args);

static const struct cli_option add_options[] = {
    {"kind", "KIND",
     "correct, incorrect, alternative, note, marker, mute, hypothesis, friction, crystallize_here",
     'k', false},
    {"evidence", "TEXT", "why", 'e', false},
    {"until", "SEQ", "the annotation spans up to this record", 0, false},
    {"status", "STATUS", "of a hypothesis: active, verifying, confirmed, disproven, stale", 0,
     false},
    {"friction", "KIND", "of a friction: repeated_query, tool_gap, missing_context, ...", 0, false},
    {"author", "NAME", "who says so", 0, false},
    {"author-kind", "KIND", "human (default), agent or system", 0, false},
    {"fix", "JSON", "a suggested fix: JSON, or else text", 0, false},
    {"link", "URL", "something to read", 0, true},
    {"id", "ID", "its name (default: a number)", 0, false},
    {"timestamp", "TIME", "when it was said; never added by itself", 0, false},
    {0},
};
static const char *const add_examples[] = {
    "vitro tape annotate add a.tape 37 --kind incorrect --evidence 'reads the old file'",
    "say what is wrong with record 37", NULL};

#define ANNOTATE(variable, verb, text, ...)                                                        \
    const struct command command_tape_annotate_##variable = {                                      \
        .name = "tape annotate " verb, .summary = text, __VA_ARGS__}

ANNOTATE(add, "add", "add an annotation to a record", .operands = "TAPE SEQ", .operands_min = 2,
         .operands_max = 2, .options = add_options, .examples = add_examples, .run = add_run);
ANNOTATE(list, "list", "print the annotations of a tape", .operands = "TAPE", .operands_min = 1,
         .operands_max = 1, .run = list_run);
ANNOTATE(validate, "validate", "check the annotations against the tape", .operands = "TAPE",
         .operands_min = 1, .operands_max = 1, .run = validate_run);
ANNOTATE(export, "export", "print annotations with their records, as Markdown or JSON",
         .operands = "TAPE", .operands_min = 1, .operands_max = 1, .run = export_run);

static void set_text(json_t *object, const char *name, const char *text)
{
    if (text)
        json_object_set_new(object, name, json_string(text));
}

static json_t *fix_value(const char *text)
{
    json_t *value = NULL;

    if (json_parse(text, strlen(text), "--fix", &value, NULL) == 0)
        return value;
    return json_string(text);
}

static json_t *make_annotation(const struct cli_args *args, uint64_t seq)
{
    json_t *object = json_object(), *author = json_object(), *links = json_array();
    const char *const *urls, *author_kind = cli_value(args, "author-kind");
    const char *fix = cli_value(args, "fix");
    uint64_t until;
    size_t count = cli_values(args, "link", &urls);

    for (size_t i = 0; i < count; i++)
        json_array_append_new(links, json_pack("{s:s}", "url", urls[i]));
    if (count)
        json_object_set(object, "links", links);
    json_decref(links);
    json_object_set_new(object, "event_id", json_integer((json_int_t)seq));
    set_text(object, "kind", cli_value(args, "kind") ? cli_value(args, "kind") : "note");
    set_text(object, "evidence", cli_value(args, "evidence"));
    set_text(object, "hypothesis_status", cli_value(args, "status"));
    set_text(object, "friction_kind", cli_value(args, "friction"));
    set_text(object, "id", cli_value(args, "id"));
    set_text(object, "timestamp", cli_value(args, "timestamp"));
    if (fix)
        json_object_set_new(object, "suggested_fix", fix_value(fix));
    if (cli_value(args, "until") && text_to_u64(cli_value(args, "until"), &until))
        json_object_set_new(object, "span",
                            json_pack("{s:I,s:I}", "start_event_id", (json_int_t)seq,
                                      "end_event_id", (json_int_t)until));
    if (cli_value(args, "author") || author_kind) {
        set_text(author, "id", cli_value(args, "author"));
        set_text(author, "kind", author_kind ? author_kind : "human");
        json_object_set(object, "author", author);
    }
    json_decref(author);
    return object;
}

static int add_run(const struct cli_args *args)
{
    const char *const *operands, *until = cli_value(args, "until");
    CLEANUP(mem_free) char *path = cmd_tape_operand(args, 0);
    CLEANUP(json_free) json_t *annotation = NULL;
    struct err err = {0};
    uint64_t seq, number;

    (void)cli_operands(args, &operands);
    if (!text_to_u64(operands[1], &seq) || seq > INT64_MAX)
        return cli_usage(&command_tape_annotate_add, "'%s' is not the seq of a record",
                         operands[1]);
    if (until && (!text_to_u64(until, &number) || number > INT64_MAX))
        return cli_usage(&command_tape_annotate_add, "--until '%s' is not the seq of a record",
                         until);
    annotation = make_annotation(args, seq);
    if (annotations_add(path, annotation, &err) < 0)
        return cli_fail(EXIT_USAGE, &err);
    if (cli_json(args))
        cmd_print_json(json_incref(annotation));
    else
        printf("annotation %s added to record %s\n",
               json_string_value(json_object_get(annotation, "id")), operands[1]);
    return EXIT_CLEAN;
}

static int read_sidecar(const char *tape_path, struct annotations *ret, struct err *err)
{
    CLEANUP(mem_free) char *path = annotations_path_of(tape_path);

    return annotations_read(path, ret, err);
}

static void print_annotation(const json_t *annotation, const char *format)
{
    CLEANUP(buf_done) struct buf text = {0};
    const char *evidence = json_string_value(json_object_get(annotation, "evidence"));
    const char *kind = json_string_value(json_object_get(annotation, "kind"));
    const char *id = json_string_value(json_object_get(annotation, "id"));
    const char *status = json_string_value(json_object_get(annotation, "hypothesis_status"));
    const char *friction = json_string_value(json_object_get(annotation, "friction_kind"));

    buf_addf(&text, format, id ? id : "?", kind ? kind : "?");
    if (status || friction)
        buf_addf(&text, " (%s)", status ? status : friction);
    if (evidence) {
        buf_adds(&text, "  ");
        text_add_escaped(&text, evidence, strlen(evidence));
    }
    buf_addc(&text, '\n');
    cmd_print(&text);
}

static int list_run(const struct cli_args *args)
{
    CLEANUP(mem_free) char *path = cmd_tape_operand(args, 0);
    CLEANUP(annotations_done) struct annotations annotations = {0};
    struct err err = {0};
    json_t *annotation;
    size_t index;

    if (read_sidecar(path, &annotations, &err) < 0)
        return cli_fail(EXIT_USAGE, &err);
    if (cli_json(args)) {
        cmd_print_json(
            json_pack("{s:O,s:O}", "annotations", annotations.list, "header", annotations.header));
        return EXIT_CLEAN;
    }
    json_array_foreach(annotations.list, index, annotation)
    {
        printf("%6lld  ", (long long)json_integer_value(json_object_get(annotation, "event_id")));
        print_annotation(annotation, "%-8s %-12s");
    }
    printf("%zu annotations\n", json_array_size(annotations.list));
    return EXIT_CLEAN;
}

static int validate_run(const struct cli_args *args)
{
    CLEANUP(mem_free) char *path = cmd_tape_operand(args, 0);
    CLEANUP(annotations_done) struct annotations annotations = {0};
    CLEANUP(json_free) json_t *report = NULL;
    struct tape_extent extent;
    struct err err = {0};
    json_t *problem;
    size_t index;
    int r = read_sidecar(path, &annotations, &err);

    if (r == 0)
        r = tape_extent_read(path, &extent, &err);
    if (r < 0)
        return cli_fail(EXIT_USAGE, &err);
    report = annotations_validate(&annotations, &extent);
    const json_t *problems = json_object_get(report, "problems");
    if (cli_json(args)) {
        cmd_print_json(json_incref(report));
    } else {
        json_array_foreach(problems, index, problem)
            printf("%s.annotations.jsonl:%lld: %s: %s\n", path,
                   (long long)json_integer_value(json_object_get(problem, "line")),
                   json_string_value(json_object_get(problem, "code")),
                   json_string_value(json_object_get(problem, "message")));
        printf("%lld annotations checked, %zu problems\n",
               (long long)json_integer_value(json_object_get(report, "annotations_checked")),
               json_array_size(problems));
    }
    return json_array_size(problems) ? EXIT_FINDINGS : EXIT_CLEAN;
}

/* The annotations of one record, with the record above them. */
static int export_record(const struct cli_args *args, const struct annotations *annotations,
                         const struct tape_entry *entry, int64_t start_ns, json_t *out,
                         struct err *err)
{
    CLEANUP(buf_done) struct buf line = {0};
    json_t *annotation;
    bool first = true;
    size_t index;
    int r = 0;

    json_array_foreach(annotations->list, index, annotation)
    {
        CLEANUP(json_free) json_t *data = NULL;
        if (json_integer_value(json_object_get(annotation, "event_id")) != (json_int_t)entry->seq)
            continue;
        r = tape_entry_data(entry, &data, err);
        if (r < 0)
            return r;
        if (cli_json(args)) {
            json_array_append_new(out, json_pack("{s:O,s:O,s:s#,s:I}", "annotation", annotation,
                                                 "data", data, "kind", entry->kind_name.text,
                                                 (int)entry->kind_name.length, "virtual_time_ns",
                                                 (json_int_t)entry->virtual_time_ns));
            continue;
        }
        if (first) {
            r = tape_show_add(&line, entry, start_ns, err);
            printf("\n## Record %llu\n\n    %s\n", (unsigned long long)entry->seq, buf_text(&line));
        }
        first = false;
        print_annotation(annotation, "- **%s** %s");
    }
    return r;
}

/* The records that are spoken of, as a set of their numbers. */
static json_t *spoken_of(const struct annotations *annotations)
{
    json_t *set = json_object(), *annotation;
    size_t index;

    json_array_foreach(annotations->list, index, annotation)
    {
        char number[24];
        (void)snprintf(number, sizeof number, "%lld",
                       (long long)json_integer_value(json_object_get(annotation, "event_id")));
        json_object_set_new(set, number, json_true());
    }
    return set;
}

static bool is_spoken_of(const json_t *set, uint64_t seq)
{
    char number[24];

    (void)snprintf(number, sizeof number, "%llu", (unsigned long long)seq);
    return json_object_get(set, number) != NULL;
}

static int export_run(const struct cli_args *args)
{
    CLEANUP(mem_free) char *path = cmd_tape_operand(args, 0);
    CLEANUP(annotations_done) struct annotations annotations = {0};
    CLEANUP(tape_reader_free) struct tape_reader *reader = NULL;
    CLEANUP(json_free) json_t *out = json_array();
    struct tape_entry entry;
    struct err err = {0};
    int r = read_sidecar(path, &annotations, &err);

    if (r == 0)
        r = tape_reader_open(&(struct tape_reader_options){.path = path}, &reader, &err);
    if (r == 0 && !cli_json(args))
        printf("# Annotations\n");
    CLEANUP(json_free) json_t *wanted = spoken_of(&annotations);
    while (r >= 0 && (r = tape_reader_next(reader, &entry, &err)) > 0)
        if (is_spoken_of(wanted, entry.seq))
            r = export_record(args, &annotations, &entry, tape_reader_start_ns(reader), out, &err);
    if (r < 0)
        return cli_fail(EXIT_USAGE, &err);
    if (cli_json(args))
        cmd_print_json(json_pack("{s:O}", "annotations", out));
    return EXIT_CLEAN;
}
