/* SPDX-License-Identifier: MIT */
#include "lib/check.h"
#include "match/call.h"
#include <errno.h>
#include <string.h>

static bool fits(const char *pattern, const char *text)
{
    struct match_text match = {0};
    CHECK_INT(match_text_parse(&match, pattern, NULL), 0);
    bool yes = match_text_fits(&match, text, strlen(text));
    match_text_done(&match);
    return yes;
}

TEST(a_pattern_is_itself_unless_it_says_glob_regex_contains_or_any)
{
    CHECK_TRUE(fits("a*", "a*"));
    CHECK_TRUE(!fits("a*", "ab"));
    CHECK_TRUE(fits("glob:a*", "a/b"));
    CHECK_TRUE(!fits("glob:a*", "ba"));
    CHECK_TRUE(fits("regex:^a.c$", "abc"));
    CHECK_TRUE(fits("regex:b", "abc"));
    CHECK_TRUE(fits("contains:b", "abc"));
    CHECK_TRUE(fits("any:", ""));
    CHECK_TRUE(fits("text:glob:a*", "glob:a*"));
    CHECK_TRUE(fits("", ""));
    CHECK_TRUE(!fits("", "x"));
}

TEST(a_pattern_is_written_as_it_is_read)
{
    static const char *const all[] = {"plain", "glob:a*",        "regex:^x", "contains:y",
                                      "any:",  "text:regex:raw", ""};
    for (size_t i = 0; i < ARRAY_LENGTH(all); i++) {
        struct match_text match = {0};
        CLEANUP(buf_done) struct buf text = {0};
        CHECK_INT(match_text_parse(&match, all[i], NULL), 0);
        match_text_add(&text, &match);
        CHECK_TEXT(buf_text(&text), all[i]);
        match_text_done(&match);
    }
}

TEST(a_broken_expression_names_the_place)
{
    struct err err = {0};
    struct match_text match = {0};
    CHECK_INT(match_text_parse(&match, "regex:a(b", &err), -EINVAL);
    CHECK_TEXT(err.text, "regular expression 'a(b': missing closing parenthesis, at character 4");
}

TEST(an_expression_that_explodes_does_not_hang)
{
    struct buf text = {0};
    for (int i = 0; i < 200; i++)
        buf_addc(&text, 'a');
    CHECK_TRUE(!fits("regex:^(a+)+$x", buf_text(&text)));
    buf_done(&text);
}

static bool subset(const char *pattern, const char *value, struct buf *why)
{
    CLEANUP(json_free) json_t *a = json_loads(pattern, JSON_DECODE_ANY, NULL);
    CLEANUP(json_free) json_t *b = json_loads(value, JSON_DECODE_ANY, NULL);
    return match_json_subset(a, b, why);
}

TEST(a_json_subset_names_the_first_difference)
{
    CLEANUP(buf_done) struct buf why = {0};
    CHECK_TRUE(subset("{\"a\":{\"b\":1}}", "{\"a\":{\"b\":1.0,\"c\":2},\"d\":3}", NULL));
    CHECK_TRUE(!subset("[1]", "[1,2]", NULL));
    CHECK_TRUE(!subset("{\"a\":{\"b\":[1,2]}}", "{\"a\":{\"b\":[1,3]}}", &why));
    CHECK_TEXT(buf_text(&why), "a.b[1]: expected 2, got 3");
    buf_clear(&why);
    CHECK_TRUE(!subset("{\"a\":null}", "{}", &why));
    CHECK_TEXT(buf_text(&why), "a: is missing");
}

static void check_rule(const char *rule, const char *text, const char *expected)
{
    CLEANUP(match_rules_done) struct match_rules rules = {0};
    CLEANUP(buf_done) struct buf got = {0};
    CHECK_INT(match_rules_add(&rules, rule, NULL), 0);
    match_rules_apply(&rules, text, strlen(text), &got);
    CHECK_TEXT(buf_text(&got), expected);
}

TEST(rules_write_a_steady_word_over_what_differs)
{
    check_rule("temp", "cp /tmp/x.Ab3/f /var/tmp/q", "cp /TEMP/f /TEMP");
    check_rule("time", "at 2026-01-01T00:00:00.5Z and 2024-02-29 23:59:58", "at TIME and TIME");
    check_rule("port", "http://127.0.0.1:8080/ localhost:1",
               "http://127.0.0.1:PORT/ localhost:PORT");
    check_rule("uuid", "0189f0c2-1111-2222-3333-444455556666!", "UUID!");
    check_rule("pid", "pid 77, pid=8", "pid PID, pid PID");
    check_rule("hash", "d670460b4b4aece5915caf5c68d12f560a9fe3e4.", "HASH.");
    check_rule("s|a(.)|$1$1|", "abac", "bbcc");
    CLEANUP(buf_done) struct buf many = {0};
    CLEANUP(buf_done) struct buf grown = {0};
    for (int i = 0; i < 1000; i++) {
        buf_addc(&many, 'a');
        buf_adds(&grown, "bcdefgh");
    }
    check_rule("s/a/bcdefgh/", buf_text(&many), buf_text(&grown));
}

TEST(a_rule_that_is_none_names_the_closest)
{
    struct err err = {0};
    struct match_rules rules = {0};
    CHECK_INT(match_rules_add(&rules, "tmep", &err), -EINVAL);
    CHECK_TEXT(err.text, "'tmep' is no rule\nhint: did you mean 'temp'?");
    CHECK_INT(match_rules_add(&rules, "s/a/b", &err), -EINVAL);
    CHECK_TEXT(err.text, "rule 's/a/b' is not s/REGEX/TEXT/");
    CHECK_INT(rules.count, 0);
}

TEST(the_key_holds_what_counts_and_nothing_else)
{
    CLEANUP(match_rules_done) struct match_rules rules = {0};
    CHECK_INT(match_rules_add(&rules, "temp", NULL), 0);
    const char *argv[] = {"git", "log", "/tmp/a1/x y", NULL};
    const char *env[] = {"HOME=/h", "LANG=C", NULL};
    const char *names[] = {"LANG", "EDITOR", NULL};
    struct call call = {.program = "/usr/bin/git", .argv = argv, .cwd = ".", .env = env};
    CLEANUP(buf_done) struct buf key = {0};
    call_key(&call, &(struct call_view){.env_names = names, .rules = &rules}, &key);
    CHECK_TEXT(buf_text(&key),
               "program git\nargv log '/TEMP/x y'\ncwd .\nenv LANG=C\nenv EDITOR\n");
    unsigned fields = 0;
    CHECK_INT(call_fields_parse("program,argv", &fields, NULL), 0);
    buf_clear(&key);
    call_key(&call, &(struct call_view){.fields = fields, .whole_path = true}, &key);
    CHECK_TEXT(buf_text(&key), "program /usr/bin/git\nargv log '/tmp/a1/x y'\n");
    struct err err = {0};
    CHECK_INT(call_fields_parse("argv,pogram", &fields, &err), -EINVAL);
    CHECK_TEXT(err.text, "'pogram' is no field of a call\nhint: did you mean 'program'?");
}

TEST(recordings_come_first_in_first_out_within_a_key)
{
    CLEANUP(call_table_free) struct call_table *table = call_table_new();
    size_t id = 0;
    for (size_t i = 0; i < 10000; i++) {
        char key[24];
        int length = snprintf(key, sizeof key, "key %zu", i / 2);
        call_table_add(table, key, (size_t)length, i);
    }
    CHECK_TRUE(call_table_take(table, "key 4999", 8, &id));
    CHECK_INT(id, 9998);
    CHECK_TRUE(call_table_take(table, "key 0", 5, &id));
    CHECK_INT(id, 0);
    CHECK_TRUE(call_table_take(table, "key 0", 5, &id));
    CHECK_INT(id, 1);
    CHECK_TRUE(!call_table_take(table, "key 0", 5, &id));
    CHECK_TRUE(call_table_last(table, "key 0", 5, &id));
    CHECK_INT(id, 1);
    call_table_add(table, "key 0", 5, 77);
    CHECK_TRUE(call_table_take(table, "key 0", 5, &id));
    CHECK_INT(id, 77);
    CHECK_TRUE(!call_table_take(table, "none", 4, &id));
}

static const struct call *call_in(void *context, size_t index)
{
    return &((struct call *)context)[index];
}

#define ARGV(...) ((const char *const[]){__VA_ARGS__, NULL})

TEST(a_miss_names_the_closest_the_first_difference_and_the_rule)
{
    struct call recorded[] = {
        {.program = "curl", .argv = ARGV("curl", "-s", "http://x/2"), .cwd = "."},
        {.program = "git", .argv = ARGV("git", "status"), .cwd = "."},
        {.program = "git", .argv = ARGV("git", "commit", "-m", "one (1)"), .cwd = "."},
    };
    struct call called = {
        .program = "git", .argv = ARGV("git", "commit", "-m", "one (2)"), .cwd = "."};
    struct call_view view = {0};
    struct call_miss miss;
    call_closest(&called, &view, call_in, recorded, 3, &miss);
    CHECK_INT(miss.index, 2);
    CHECK_INT(miss.field, CALL_ARGV);
    CHECK_TEXT(buf_text(&miss.detail), "argv[3]: recorded 'one (1)', called with 'one (2)'");
    CHECK_TEXT(miss.rule, "s/^one \\(.*\\)$/one (*)/");

    /* The rule does what it promises. */
    CLEANUP(match_rules_done) struct match_rules rules = {0};
    CHECK_INT(match_rules_add(&rules, miss.rule, NULL), 0);
    call_miss_done(&miss);
    view.rules = &rules;
    CLEANUP(buf_done) struct buf key_a = {0};
    CLEANUP(buf_done) struct buf key_b = {0};
    call_key(&recorded[2], &view, &key_a);
    call_key(&called, &view, &key_b);
    CHECK_TEXT(buf_text(&key_a), buf_text(&key_b));

    call_closest(&called, &view, call_in, recorded, 3, &miss);
    CHECK_TEXT(buf_text(&miss.detail), "every recording of this call was already used");
    call_miss_done(&miss);
    call_closest(&called, &view, call_in, recorded, 0, &miss);
    CHECK_TRUE(miss.index == SIZE_MAX);
    call_miss_done(&miss);
}

static bool accepts(const char *text, const struct call *call, const char *input, struct buf *why)
{
    CLEANUP(json_free) json_t *value = json_loads(text, 0, NULL);
    struct call_rule rule;
    CHECK_INT(call_rule_from_json(&rule, value, "rule", NULL), 0);
    bool yes = call_rule_fits(&rule, call, input, strlen(input), why);
    call_rule_done(&rule);
    return yes;
}

TEST(a_rule_accepts_by_vector_prefix_subset_environment_and_input)
{
    struct call call = {.program = "/shims/gh",
                        .argv = ARGV("gh", "issue", "create", "--title", "x"),
                        .env = ARGV("A=1"),
                        .cwd = "/w"};
    CLEANUP(buf_done) struct buf why = {0};
    CHECK_TRUE(accepts("{}", &call, "", NULL));
    CHECK_TRUE(
        accepts("{\"program\":\"gh\",\"args\":[\"issue\",\"create\",\"...\"]}", &call, "", NULL));
    CHECK_TRUE(!accepts("{\"args\":[\"issue\",\"create\"]}", &call, "", &why));
    CHECK_TEXT(buf_text(&why), "argument 3: wants no more than 2, got --title");
    buf_clear(&why);
    CHECK_TRUE(!accepts("{\"args\":[\"issue\",{\"glob\":\"c?\"},\"...\"]}", &call, "", &why));
    CHECK_TEXT(buf_text(&why), "argument 2: wants glob:c?, got create");
    buf_clear(&why);
    CHECK_TRUE(accepts("{\"args\":{\"subset\":[\"x\",\"issue\"]}}", &call, "", NULL));
    CHECK_TRUE(!accepts("{\"args\":{\"subset\":[\"y\"]}}", &call, "", &why));
    CHECK_TEXT(buf_text(&why), "some argument: wants y, got nothing");
    buf_clear(&why);
    CHECK_TRUE(
        accepts("{\"env\":{\"A\":\"1\",\"B\":null},\"stdin\":{\"contains\":\"b\"},\"cwd\":\"/w\"}",
                &call, "abc", NULL));
    CHECK_TRUE(!accepts("{\"env\":{\"A\":null}}", &call, "", NULL));
    CHECK_TRUE(!accepts("{\"env\":{\"B\":{\"any\":true}}}", &call, "", NULL));
    CHECK_TRUE(!accepts("{\"stdin\":\"b\"}", &call, "abc", NULL));
}

TEST(a_rule_of_the_wrong_shape_is_named)
{
    static const struct {
        const char *text, *words;
    } wrong[] = {
        {"[]", "rule is no object"},
        {"{\"arg\":[]}", "rule.arg is not known\nhint: did you mean 'args'?"},
        {"{\"args\":1}", "rule.args is neither a list nor {\"subset\": [...]}"},
        {"{\"args\":[{\"glob\":1}]}",
         "rule.args[0] is no pattern\nhint: write \"text\", {\"glob\": \"*.c\"}, {\"regex\": "
         "\"^a\"}, {\"contains\": \"x\"} or {\"any\": true}"},
        {"{\"env\":[]}", "rule.env is no object of names and patterns"},
        {"{\"stdin\":{\"regex\":\"(\"}}",
         "rule.stdin: regular expression '(': missing closing parenthesis, at character 2"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(wrong); i++) {
        CLEANUP(json_free) json_t *value = json_loads(wrong[i].text, 0, NULL);
        struct call_rule rule;
        struct err err = {0};
        CHECK_INT(call_rule_from_json(&rule, value, "rule", &err), -EINVAL);
        CHECK_TEXT(err.text, wrong[i].words);
    }
}
