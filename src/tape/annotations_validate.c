/* SPDX-License-Identifier: MIT */
#include "base/buf.h"
#include "base/json.h"
#include "base/text.h"
#include "tape/annotations.h"
#include <string.h>

const char *const annotation_kinds[] = {"correct",          "incorrect", "alternative", "note",
                                        "marker",           "mute",      "hypothesis",  "friction",
                                        "crystallize_here", NULL};
const char *const annotation_statuses[] = {"active",    "verifying", "confirmed",
                                           "disproven", "stale",     NULL};
const char *const annotation_frictions[] = {
    "repeated_query",    "repeated_clarification",
    "approval_stall",    "missing_context",
    "manual_handoff",    "tool_gap",
    "failed_assumption", "expensive_model_used_for_deterministic_step",
    "human_hypothesis",  NULL};
const char *const annotation_authors[] = {"human", "agent", "system", NULL};

struct check {
    const json_t *annotation;
    json_int_t line;
    const struct tape_extent *extent;
    json_t *problems; /* borrowed */
};

static void problem(struct check *check, const char *code, const char *format, ...)
    PRINTF_LIKE(3, 4);
static void problem(struct check *check, const char *code, const char *format, ...)
{
    CLEANUP(buf_done) struct buf text = {0};
    json_t *id = json_object_get(check->annotation, "id"), *entry = json_object();
    va_list args;

    va_start(args, format);
    buf_addv(&text, format, args);
    va_end(args);
    json_object_set_new(entry, "code", json_string(code));
    json_object_set_new(entry, "id", json_is_string(id) ? json_incref(id) : json_null());
    json_object_set_new(entry, "line", json_integer(check->line));
    json_object_set_new(entry, "message", json_string(buf_text(&text)));
    json_array_append_new(check->problems, entry);
}

static bool is_one_of(const char *word, const char *const *list)
{
    while (*list && strcmp(word, *list) != 0)
        list++;
    return *list != NULL;
}

/* Types of the members, by name; a member that is absent or null is fine unless it is needed. */
static void check_schema(struct check *check)
{
    static const struct {
        const char *name;
        json_type type;
        bool needed;
    } members[] = {
        {"type", JSON_STRING, true},           {"id", JSON_STRING, true},
        {"event_id", JSON_INTEGER, true},      {"kind", JSON_STRING, true},
        {"evidence", JSON_STRING, false},      {"author", JSON_OBJECT, false},
        {"timestamp", JSON_STRING, false},     {"span", JSON_OBJECT, false},
        {"links", JSON_ARRAY, false},          {"metadata", JSON_OBJECT, false},
        {"friction_kind", JSON_STRING, false}, {"hypothesis_status", JSON_STRING, false},
    };
    const char *type = json_string_value(json_object_get(check->annotation, "type"));

    for (size_t i = 0; i < ARRAY_LENGTH(members); i++) {
        const json_t *value = json_object_get(check->annotation, members[i].name);
        if (!value || json_is_null(value)) {
            if (members[i].needed)
                problem(check, "schema", "%s is missing", members[i].name);
        } else if (json_typeof(value) != members[i].type) {
            problem(check, "schema", "%s has the wrong type", members[i].name);
        }
    }
    if (type && strcmp(type, "annotation") != 0)
        problem(check, "schema", "type is '%s', not 'annotation'", type);
    const char *id = json_string_value(json_object_get(check->annotation, "id"));
    if (id && !*id)
        problem(check, "schema", "id is empty");
}

static void check_author_and_links(struct check *check)
{
    const json_t *author = json_object_get(check->annotation, "author"), *link;
    const char *kind = json_string_value(json_object_get(author, "kind"));
    size_t index;

    if (json_is_object(author) && (!kind || !is_one_of(kind, annotation_authors)))
        problem(check, "schema", "author.kind is neither human, agent nor system");
    json_array_foreach(json_object_get(check->annotation, "links"), index, link)
    {
        if (!json_is_object(link))
            problem(check, "schema", "links[%zu] is not an object", index);
    }
}

static void check_event(struct check *check)
{
    const json_t *event = json_object_get(check->annotation, "event_id");
    const json_t *span = json_object_get(check->annotation, "span");
    const json_t *start = json_object_get(span, "start_event_id");
    const json_t *end = json_object_get(span, "end_event_id");
    json_int_t first = json_integer_value(start), last = json_integer_value(end);

    if (json_is_integer(event) &&
        (json_integer_value(event) < 0 || json_integer_value(event) > check->extent->last_seq))
        problem(check, "unknown_event_id", "event_id %lld is not on the tape (0 to %lld)",
                (long long)json_integer_value(event), (long long)check->extent->last_seq);
    if (!json_is_object(span))
        return;
    if (!json_is_integer(start) || !json_is_integer(end))
        problem(check, "schema", "span needs start_event_id and end_event_id");
    else if (!json_is_integer(event) || first != json_integer_value(event))
        problem(check, "invalid_span", "the span starts at %lld, not at event_id",
                (long long)first);
    else if (last < first)
        problem(check, "invalid_span", "the span ends at %lld, before it starts", (long long)last);
    else if (last > check->extent->last_seq)
        problem(check, "invalid_span", "the span ends at %lld, behind the last record %lld",
                (long long)last, (long long)check->extent->last_seq);
}

static void check_kind(struct check *check)
{
    const char *kind = json_string_value(json_object_get(check->annotation, "kind"));
    const char *status = json_string_value(json_object_get(check->annotation, "hypothesis_status"));
    const char *friction = json_string_value(json_object_get(check->annotation, "friction_kind"));
    bool hypothesis = kind && strcmp(kind, "hypothesis") == 0;
    bool is_friction = kind && strcmp(kind, "friction") == 0;

    if (kind && !is_one_of(kind, annotation_kinds)) {
        CLEANUP(buf_done) struct buf shown = {0};
        text_add_escaped(&shown, kind, strnlen(kind, 80));
        problem(check, "unknown_kind", "'%s' is not a kind of annotation", buf_text(&shown));
    }
    if (hypothesis && !status)
        problem(check, "hypothesis_status_missing", "a hypothesis needs a hypothesis_status");
    if (!hypothesis && status)
        problem(check, "hypothesis_status_unexpected", "only a hypothesis has a hypothesis_status");
    if (status && !is_one_of(status, annotation_statuses))
        problem(check, "schema", "hypothesis_status is none of the known ones");
    if (is_friction && !friction)
        problem(check, "friction_kind_missing", "a friction needs a friction_kind");
    if (!is_friction && friction)
        problem(check, "friction_kind_unexpected", "only a friction has a friction_kind");
    if (friction && !is_one_of(friction, annotation_frictions))
        problem(check, "friction_kind_unknown", "friction_kind is none of the known ones");
}

static void check_id(struct check *check, json_t *seen)
{
    const char *id = json_string_value(json_object_get(check->annotation, "id"));

    if (!id)
        return;
    if (json_object_get(seen, id))
        problem(check, "duplicate_id", "the id is in use already");
    else
        json_object_set_new(seen, id, json_true());
}

static void count_kind(json_t *counts, const json_t *annotation)
{
    const char *kind = json_string_value(json_object_get(annotation, "kind"));

    if (kind && is_one_of(kind, annotation_kinds))
        json_object_set_new(counts, kind,
                            json_integer(json_integer_value(json_object_get(counts, kind)) + 1));
}

json_t *annotations_validate(const struct annotations *annotations,
                             const struct tape_extent *extent)
{
    json_t *report = json_object(), *problems = json_array(), *counts = json_object(), *annotation;
    CLEANUP(json_free) json_t *seen = json_object();
    const char *digest =
        json_string_value(json_object_get(annotations->header, "tape_content_hash"));
    size_t index;

    struct check header = {.line = 1, .extent = extent, .problems = problems};
    if (digest && strcmp(digest, hash_to_text(&extent->digest).text) != 0)
        problem(&header, "tape_digest_mismatch", "these annotations belong to another tape");
    json_array_foreach(annotations->list, index, annotation)
    {
        struct check check = {.annotation = annotation,
                              .line = json_integer_value(json_array_get(annotations->lines, index)),
                              .extent = extent,
                              .problems = problems};
        check_schema(&check);
        check_author_and_links(&check);
        check_event(&check);
        check_kind(&check);
        check_id(&check, seen);
        count_kind(counts, annotation);
    }
    json_object_set_new(report, "annotations_checked",
                        json_integer((json_int_t)json_array_size(annotations->list)));
    json_object_set_new(report, "kind_counts", counts);
    json_object_set_new(report, "problems", problems);
    return report;
}
