/* SPDX-License-Identifier: MIT */
#include "tape/annotations.h"
#include "base/json.h"
#include "lib/check.h"
#include <errno.h>

#define HEADER "{\"type\":\"header\",\"schema_version\":1}\n"

static const struct tape_extent ten = {.records = 10, .last_seq = 9};

static int parse(const char *text, struct annotations *ret, struct err *err)
{
    return annotations_parse(text, strlen(text), "a.jsonl", ret, err);
}

/* The codes found in one annotation with these members, separated by spaces. */
static void check_codes(const char *members, const char *wanted)
{
    CLEANUP(annotations_done) struct annotations annotations = {0};
    CLEANUP(mem_free)
    char *text = mem_format(HEADER "{\"type\":\"annotation\",\"id\":\"x\",%s}\n", members);
    CLEANUP(buf_done) struct buf codes = {0};
    struct err err = {0};
    json_t *problem;
    size_t index;

    CHECK_OK(parse(text, &annotations, &err), err);
    CLEANUP(json_free) json_t *report = annotations_validate(&annotations, &ten);
    json_array_foreach(json_object_get(report, "problems"), index, problem)
    {
        buf_addf(&codes, "%s%s", index ? " " : "",
                 json_string_value(json_object_get(problem, "code")));
        CHECK_INT(json_integer_value(json_object_get(problem, "line")), 2);
    }
    CHECK_TEXT(buf_text(&codes), wanted);
}

TEST(every_kind_loads_and_validates)
{
    for (const char *const *kind = annotation_kinds; *kind; kind++) {
        CLEANUP(mem_free)
        char *members =
            mem_format("\"event_id\":1,\"kind\":\"%s\"%s", *kind,
                       strcmp(*kind, "hypothesis") == 0 ? ",\"hypothesis_status\":\"active\""
                       : strcmp(*kind, "friction") == 0 ? ",\"friction_kind\":\"tool_gap\""
                                                        : "");
        check_codes(members, "");
    }
    check_codes("\"event_id\":1,\"kind\":\"note\",\"author\":{\"kind\":\"agent\"},\"evidence\":"
                "\"e\",\"links\":[{\"url\":\"u\"}],\"metadata\":{},\"suggested_fix\":[1],"
                "\"span\":{\"start_event_id\":1,\"end_event_id\":9},\"timestamp\":\"t\"",
                "");
}

TEST(every_problem_has_its_code)
{
    check_codes("\"kind\":\"note\"", "schema");
    check_codes("\"event_id\":\"1\",\"kind\":\"note\"", "schema");
    check_codes("\"event_id\":1,\"kind\":\"note\",\"author\":{\"kind\":\"cat\"}", "schema");
    check_codes("\"event_id\":10,\"kind\":\"note\"", "unknown_event_id");
    check_codes("\"event_id\":-1,\"kind\":\"note\"", "unknown_event_id");
    check_codes("\"event_id\":1,\"kind\":\"hypothesis\"", "hypothesis_status_missing");
    check_codes("\"event_id\":1,\"kind\":\"note\",\"hypothesis_status\":\"stale\"",
                "hypothesis_status_unexpected");
    check_codes("\"event_id\":1,\"kind\":\"friction\"", "friction_kind_missing");
    check_codes("\"event_id\":1,\"kind\":\"note\",\"friction_kind\":\"tool_gap\"",
                "friction_kind_unexpected");
    check_codes("\"event_id\":1,\"kind\":\"friction\",\"friction_kind\":\"gloom\"",
                "friction_kind_unknown");
    check_codes("\"event_id\":1,\"kind\":\"poem\"", "unknown_kind");
    check_codes("\"event_id\":1,\"kind\":\"note\",\"span\":{\"start_event_id\":2,"
                "\"end_event_id\":3}",
                "invalid_span");
    check_codes("\"event_id\":2,\"kind\":\"note\",\"span\":{\"start_event_id\":2,"
                "\"end_event_id\":1}",
                "invalid_span");
    check_codes("\"event_id\":2,\"kind\":\"note\",\"span\":{\"start_event_id\":2,"
                "\"end_event_id\":10}",
                "invalid_span");
    check_codes("\"event_id\":1,\"kind\":\"note\"}\n{\"type\":\"annotation\",\"event_id\":1,"
                "\"kind\":\"note\",\"id\":\"y\"",
                "");
}

TEST(an_id_twice_and_another_tape_are_found)
{
    CLEANUP(annotations_done) struct annotations annotations = {0};
    struct err err = {0};
    static const char text[] =
        "# a comment\n\n{\"type\":\"header\",\"schema_version\":1,\"tape_content_hash\":\"00\"}\n"
        "{\"type\":\"annotation\",\"id\":\"x\",\"event_id\":1,\"kind\":\"note\"}\n"
        "{\"type\":\"annotation\",\"id\":\"x\",\"event_id\":2,\"kind\":\"note\"}";

    CHECK_OK(parse(text, &annotations, &err), err);
    CLEANUP(json_free) json_t *report = annotations_validate(&annotations, &ten);
    CLEANUP(buf_done) struct buf shown = {0};
    json_add_canonical(&shown, report);
    CHECK_HAS(shown.data, "\"annotations_checked\":2,\"kind_counts\":{\"note\":2}");
    CHECK_HAS(shown.data, "{\"code\":\"tape_digest_mismatch\",\"id\":null,\"line\":1,");
    CHECK_HAS(shown.data, "{\"code\":\"duplicate_id\",\"id\":\"x\",\"line\":5,");
}

TEST(a_sidecar_that_is_none_is_refused_with_file_and_line)
{
    static const char *const bad[][2] = {
        {"", "a.jsonl:1: the file is empty"},
        {"# only\n", "a.jsonl:1: the file is empty"},
        {"\n{\"type\":\"annotation\"}\n", "a.jsonl:2: the first object is not a header"},
        {HEADER HEADER, "a.jsonl:2: a second header"},
        {"{\"type\":\"header\",\"schema_version\":2}\n", "a.jsonl:1: schema version 2, but"},
        {"{\"type\":\"header\"}\n", "a.jsonl:1: the header has no schema_version"},
        {HEADER "[]\n", "a.jsonl:2: not a JSON object"},
        {HEADER "{\"a\":", "a.jsonl:2: not a JSON object"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(bad); i++) {
        struct annotations annotations = {0};
        struct err err = {0};
        CHECK_TRUE(parse(bad[i][0], &annotations, &err) < 0);
        CHECK_HAS(err.text, bad[i][1]);
    }
}

TEST(an_annotation_is_added_only_when_it_is_valid)
{
    const char *path = tmp_file("t.tape", "{\"type\":\"header\",\"version\":1}\n"
                                          "{\"type\":\"record\",\"seq\":0,\"kind\":\"note\"}\n");
    CLEANUP(mem_free) char *sidecar = annotations_path_of(path);
    CLEANUP(annotations_done) struct annotations annotations = {0};
    struct err err = {0};

    for (int i = 0; i < 2; i++) {
        CLEANUP(json_free)
        json_t *good = json_pack("{s:i,s:s}", "event_id", 0, "kind", "correct");
        CHECK_OK(annotations_add(path, good, &err), err);
    }
    CLEANUP(json_free) json_t *bad = json_pack("{s:i,s:s}", "event_id", 1, "kind", "correct");
    CHECK_INT(annotations_add(path, bad, &err), -EINVAL);
    CHECK_HAS(err.text, "annotation: event_id 1 is not on the tape (0 to 0) (unknown_event_id)");
    CHECK_OK(annotations_read(sidecar, &annotations, &err), err);
    CHECK_INT(json_array_size(annotations.list), 2);
    CHECK_TEXT(json_string_value(json_object_get(json_array_get(annotations.list, 1), "id")), "a2");
    CHECK_INT(strlen(json_string_value(json_object_get(annotations.header, "tape_content_hash"))),
              64);
}
