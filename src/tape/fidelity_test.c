/* SPDX-License-Identifier: MIT */
#include "tape/fidelity.h"
#include "base/json.h"
#include "base/rng.h"
#include "lib/check.h"
#include "tape/fidelity_fields.h"
#include <errno.h>

struct script { /* a tape being written by hand */
    struct buf text;
    unsigned count;
    long long time_ns;
};

static void begin(struct script *script)
{
    *script = (struct script){0};
    buf_adds(&script->text, "{\"type\":\"header\",\"version\":1,\"argv\":[\"prog\",\"x\"]}\n");
}

static void add(struct script *script, const char *kind, const char *data)
{
    buf_addf(&script->text,
             "{\"data\":%s,\"kind\":\"%s\",\"monotonic_ns\":%lld,\"phase\":\"user_script\","
             "\"process\":\"1\",\"seq\":%u,\"type\":\"record\",\"virtual_time_ns\":%lld}\n",
             data, kind, script->time_ns, script->count++, script->time_ns);
    script->time_ns += 1000;
}

static void add_number(struct script *script, unsigned number)
{
    CLEANUP(mem_free)
    char *data = mem_format("{\"content_hash\":\"%08x\",\"path\":\"f%u\"}", number, number);

    add(script, "file_read", data);
}

static struct fidelity_report compare(const struct script *a, const struct script *b,
                                      enum fidelity_mode mode, const char *rule)
{
    struct fidelity_report report = {0};
    CLEANUP(noise_free) struct noise *noise = noise_new();
    struct err err = {0};

    if (rule)
        CHECK_OK(noise_add(noise, rule, &err), err);
    struct fidelity_options options = {.recorded = tmp_file("a.tape", a->text.data),
                                       .replay = tmp_file("b.tape", b->text.data),
                                       .mode = mode,
                                       .noise = noise};
    CHECK_OK(fidelity_compare(&options, &report, &err), err);
    return report;
}

/* Compares and expects exactly these categories, separated by spaces. */
static void check_categories(const struct script *a, const struct script *b,
                             enum fidelity_mode mode, const char *wanted)
{
    CLEANUP(fidelity_report_done)
    struct fidelity_report report = compare(a, b, mode, NULL);
    CLEANUP(buf_done) struct buf found = {0};

    for (size_t i = 0; i < report.kept; i++)
        buf_addf(&found, "%s%s", i ? " " : "", report.divergences[i].category);
    CHECK_TEXT(buf_text(&found), wanted);
}

TEST(one_inserted_record_is_one_divergence)
{
    for (unsigned place = 0; place <= 200; place += 50) {
        struct script a, b;
        begin(&a);
        begin(&b);
        for (unsigned i = 0; i <= 200; i++) {
            if (i == place)
                add(&b, "clock_sleep", "{\"duration_ns\":5}");
            add_number(&a, i % 3);
            add_number(&b, i % 3);
        }
        CLEANUP(fidelity_report_done)
        struct fidelity_report report = compare(&a, &b, FIDELITY_BYTE, NULL);
        CHECK_INT(report.total, 1);
        CHECK_TEXT(report.divergences[0].category, "missing_in_recorded");
        CHECK_INT(report.divergences[0].replay_seq, place);
        CHECK_INT(report.divergences[0].recorded_seq, -1);
        CHECK_HAS(report.divergences[0].message, "(clock_sleep) is missing in the recording");
        CHECK_TRUE(report.score > 0.99 && report.score < 1);
        check_categories(&b, &a, FIDELITY_SEMANTIC, "missing_in_replay");
        buf_done(&a.text);
        buf_done(&b.text);
    }
}

TEST(every_kind_has_a_comparator_for_each_of_its_members)
{
    bool seen[TAPE_UNKNOWN] = {0};

    for (size_t i = 0; i < fidelity_field_count; i++) {
        const struct fidelity_field *field = &fidelity_fields[i];
        const char *kind = tape_kinds[field->kind].name;
        CLEANUP(mem_free) char *one = mem_format("{\"%s\":\"x\"}", field->member);
        CLEANUP(mem_free) char *two = mem_format("{\"%s\":\"y\"}", field->member);
        struct script a, b;
        seen[field->kind] = true;
        begin(&a);
        begin(&b);
        add(&a, kind, one);
        add(&b, kind, one);
        check_categories(&a, &b, FIDELITY_BYTE, "");
        add(&a, kind, one);
        add(&b, kind, two);
        check_categories(&a, &b, FIDELITY_BYTE, field->category);
        check_categories(&a, &b, FIDELITY_SEMANTIC, field->strict ? "" : field->category);
        buf_done(&a.text);
        buf_done(&b.text);
    }
    for (unsigned kind = 0; kind < TAPE_UNKNOWN; kind++)
        if (!seen[kind])
            check_fail(__FILE__, __LINE__, "%s has no comparator", tape_kinds[kind].name);
}

TEST(members_and_kinds_nobody_listed_are_compared_too)
{
    struct script a, b;

    begin(&a);
    begin(&b);
    add(&a, "note", "{\"mood\":[1,{\"deep\":2}],\"text\":\"t\"}");
    add(&b, "note", "{\"mood\":[1,{\"deep\":3}],\"text\":\"t\"}");
    add(&a, "telepathy", "{\"x\":1}");
    add(&b, "telepathy", "{\"x\":2}");
    check_categories(&a, &b, FIDELITY_SEMANTIC, "note_mood unknown_kind");
    CLEANUP(fidelity_report_done)
    struct fidelity_report report = compare(&a, &b, FIDELITY_SEMANTIC, NULL);
    CHECK_TEXT(report.divergences[0].message, "mood[1].deep: recorded 2, replayed 3");
    CHECK_TEXT(report.divergences[0].rule, "note.mood[1].deep");
    buf_done(&a.text);
    buf_done(&b.text);
}

TEST(the_rule_a_divergence_prints_silences_it)
{
    static const char *const pairs[][3] = {
        {"process_spawn", "{\"args\":[\"a\",\"b\"],\"program\":\"/bin/curl\"}",
         "{\"args\":[\"a\",\"c\"],\"program\":\"/bin/curl\"}"},
        {"clock_read", "{\"value_ns\":1}", "{\"value_ns\":2}"},
        {"file_write", "{\"content_hash\":\"1\",\"path\":\"p/q\"}",
         "{\"content_hash\":\"2\",\"path\":\"p/q\"}"},
        {"llm_call", "{\"response\":{\"id\":\"a\"}}", "{\"response\":{\"id\":\"b\"}}"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(pairs); i++) {
        struct script a, b;
        begin(&a);
        begin(&b);
        add(&a, pairs[i][0], pairs[i][1]);
        add(&b, pairs[i][0], pairs[i][2]);
        CLEANUP(fidelity_report_done)
        struct fidelity_report loud = compare(&a, &b, FIDELITY_BYTE, NULL);
        CHECK_INT(loud.total, 1);
        CLEANUP(fidelity_report_done)
        struct fidelity_report quiet = compare(&a, &b, FIDELITY_BYTE, loud.divergences[0].rule);
        CHECK_INT(quiet.total, 0);
        CHECK_TRUE(quiet.score == 1);
        buf_done(&a.text);
        buf_done(&b.text);
    }
}

TEST(times_diverge_where_their_distance_changes_and_not_after)
{
    struct script a, b;

    begin(&a);
    begin(&b);
    for (unsigned i = 0; i < 50; i++) {
        add_number(&a, i);
        add_number(&b, i);
        b.time_ns += i == 20 ? 777 : 0;
    }
    check_categories(&a, &b, FIDELITY_BYTE, "virtual_time_drift");
    check_categories(&a, &b, FIDELITY_SEMANTIC, "");
    CLEANUP(fidelity_report_done)
    struct fidelity_report report = compare(&a, &b, FIDELITY_BYTE, NULL);
    CHECK_INT(report.divergences[0].recorded_seq, 21);
    CHECK_TEXT(report.divergences[0].message,
               "virtual_time_ns: replayed 777 ns later than recorded");
    CLEANUP(fidelity_report_done)
    struct fidelity_report quiet = compare(&a, &b, FIDELITY_BYTE, report.divergences[0].rule);
    CHECK_INT(quiet.total, 0);
    buf_done(&a.text);
    buf_done(&b.text);
}

TEST(phase_mode_is_strict_for_the_user_and_lenient_at_the_end)
{
    struct script a, b;

    begin(&a);
    begin(&b);
    add(&a, "process_spawn", "{\"duration_ns\":1,\"program\":\"p\"}");
    add(&b, "process_spawn", "{\"duration_ns\":2,\"program\":\"p\"}");
    static const char final[] = "{\"data\":{\"duration_ns\":%d,\"program\":\"q\"},\"kind\":"
                                "\"process_spawn\",\"phase\":\"runtime_finalize\",\"seq\":%d,"
                                "\"type\":\"record\"}\n";
    static const char read[] = "{\"data\":{\"value_ns\":7},\"kind\":\"clock_read\",\"phase\":"
                               "\"runtime_finalize\",\"seq\":%d,\"type\":\"record\"}\n";
    buf_addf(&a.text, final, 1, 1);
    buf_addf(&b.text, read, 1);
    buf_addf(&b.text, final, 2, 2);
    check_categories(&a, &b, FIDELITY_PHASE, "process_duration");
    check_categories(&a, &b, FIDELITY_SEMANTIC, "missing_in_recorded");
    buf_done(&a.text);
    buf_done(&b.text);
}

TEST(outcome_mode_looks_at_what_is_left)
{
    struct script a, b;

    begin(&a);
    begin(&b);
    add(&a, "file_write", "{\"content_hash\":\"1\",\"path\":\"x\"}");
    add(&a, "file_rename", "{\"from\":\"x\",\"to\":\"y\"}");
    add(&a, "file_delete", "{\"path\":\"x\"}");
    add(&b, "file_delete", "{\"path\":\"x\"}");
    add(&b, "file_write", "{\"content_hash\":\"9\",\"path\":\"y\"}");
    add(&b, "file_write", "{\"content_hash\":\"1\",\"path\":\"y\"}");
    check_categories(&a, &b, FIDELITY_OUTCOME, "");
    add(&b, "llm_call", "{}");
    add(&b, "process_spawn", "{\"exit_code\":3}");
    add(&b, "file_write", "{\"content_hash\":\"2\",\"path\":\"y\"}");
    check_categories(&a, &b, FIDELITY_OUTCOME,
                     "outcome_fs_diff outcome_exit_code outcome_llm_call_count");
    CLEANUP(fidelity_report_done)
    struct fidelity_report report = compare(&a, &b, FIDELITY_OUTCOME, NULL);
    CHECK_TRUE(report.score == 0);
    CHECK_TEXT(report.divergences[0].message,
               "1 file ended up different; y: recorded \"1\", replayed \"2\"");
    buf_done(&a.text);
    buf_done(&b.text);
}

TEST(a_payload_inline_and_one_in_the_store_are_the_same_by_hash)
{
    struct script a, b;

    begin(&a);
    begin(&b);
    add(&a, "term_output", "{\"payload\":{\"content_hash\":\"ab\",\"text\":\"t\"}}");
    add(&b, "term_output", "{\"payload\":{\"content_hash\":\"ab\",\"len_bytes\":1}}");
    check_categories(&a, &b, FIDELITY_BYTE, "");
    buf_done(&a.text);
    buf_done(&b.text);
}

TEST(durations_do_not_disturb_the_alignment_of_the_semantic_mode)
{
    struct script a, b;

    begin(&a);
    begin(&b);
    for (unsigned i = 0; i < 40; i++) {
        CLEANUP(mem_free)
        char *one = mem_format("{\"args\":[\"%u\"],\"duration_ns\":1,\"program\":\"p\"}", i);
        CLEANUP(mem_free)
        char *two = mem_format("{\"args\":[\"%u\"],\"duration_ns\":2,\"program\":\"p\"}", i);
        add(&a, "process_spawn", one);
        if (i == 20)
            add(&b, "process_spawn", "{\"args\":[\"new\"],\"program\":\"p\"}");
        add(&b, "process_spawn", two);
    }
    check_categories(&a, &b, FIDELITY_SEMANTIC, "missing_in_recorded");
    buf_done(&a.text);
    buf_done(&b.text);
}

TEST(another_kind_and_another_header_are_named)
{
    struct script a, b;

    begin(&a);
    begin(&b);
    buf_clear(&b.text);
    buf_adds(&b.text, "{\"type\":\"header\",\"version\":1,\"argv\":[\"prog\",\"y\"]}\n");
    add(&a, "note", "{\"text\":\"t\"}");
    add(&b, "leak", "{\"capability\":\"cpu/rdtsc\"}");
    check_categories(&a, &b, FIDELITY_BYTE, "header_argv kind_mismatch");
    check_categories(&a, &b, FIDELITY_SEMANTIC, "kind_mismatch");
    buf_done(&a.text);
    buf_done(&b.text);
}

TEST(long_stretches_that_differ_are_bounded_and_met_again)
{
    struct script a, b;

    begin(&a);
    begin(&b);
    for (unsigned i = 0; i < 60000; i++) {
        if (i < 100 || i >= 40000)
            add_number(&a, i);
        add_number(&b, i >= 100 && i < 40000 ? i + 1000000 : i);
    }
    CLEANUP(fidelity_report_done)
    struct fidelity_report report = compare(&a, &b, FIDELITY_SEMANTIC, NULL);
    CHECK_INT(report.recorded_records, 20100);
    CHECK_INT(report.replay_records, 60000);
    /* Everything behind the stretch cannot be told from it by window alone, but no record is
     * counted twice, and the report keeps a bounded number. */
    CHECK_TRUE(report.diverged_records >= 39900 && report.diverged_records <= 60000);
    CHECK_INT(report.kept, 1000);
    buf_done(&a.text);
    buf_done(&b.text);
}

TEST(ten_scattered_changes_among_many_are_ten_divergences)
{
    struct script a, b;
    struct rng rng;

    rng_seed(&rng, 3);
    begin(&a);
    begin(&b);
    for (unsigned i = 0; i < 20000; i++) {
        unsigned number = (unsigned)rng_below(&rng, 50);
        add_number(&a, number);
        if (i % 2000 != 1000)
            add_number(&b, number);
        else if (i % 4000 == 1000)
            add(&b, "note", "{\"text\":\"instead\"}");
    }
    CLEANUP(fidelity_report_done)
    struct fidelity_report report = compare(&a, &b, FIDELITY_BYTE, NULL);
    CHECK_INT(report.total, 10);
    buf_done(&a.text);
    buf_done(&b.text);
}

TEST(modes_have_their_aliases_and_unknown_ones_the_list)
{
    static const char *const names[] = {"byte_identical",
                                        "byte-identical",
                                        "semantic",
                                        "outcome",
                                        "phase-aware",
                                        "phase_aware",
                                        "byte-user-semantic-runtime"};
    enum fidelity_mode mode;
    struct err err = {0};

    for (size_t i = 0; i < ARRAY_LENGTH(names); i++)
        CHECK_OK(fidelity_mode_parse(names[i], &mode, &err), err);
    CHECK_INT(mode, FIDELITY_PHASE);
    CHECK_INT(fidelity_mode_parse("bytes", &mode, &err), -EINVAL);
    CHECK_HAS(err.text, "unknown fidelity mode 'bytes'\nhint: byte (byte-identical), semantic");
}

TEST(noise_rules_that_make_no_sense_are_refused_with_the_forms)
{
    static const char *const bad[] = {"", ".x", "note.", "note[", "note[]", "note[x]y"};
    CLEANUP(noise_free) struct noise *noise = noise_new();
    struct err err = {0};

    for (size_t i = 0; i < ARRAY_LENGTH(bad); i++) {
        CHECK_INT(noise_add(noise, bad[i], &err), -EINVAL);
        CHECK_HAS(err.text, "\nhint: KIND, KIND.member[0].member");
    }
    const char *path = tmp_file("rules", "# comment\n\n *.virtual_time_ns\nnote[\n");
    CHECK_INT(noise_add_file(noise, path, &err), -EINVAL);
    CHECK_HAS(err.text, "rules:4: noise rule 'note['");
    CHECK_TRUE(noise_covers(noise, "note", NULL, "virtual_time_ns"));
    CHECK_TRUE(!noise_covers(noise, "note", NULL, "virtual_time"));
    CHECK_OK(noise_add(noise, "x.a[*].*.b", &err), err);
    CHECK_TRUE(noise_covers(noise, "x", NULL, "a[17].q.b.c"));
    CHECK_TRUE(!noise_covers(noise, "x", NULL, "a[17].q.bc"));
}
