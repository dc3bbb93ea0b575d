/* SPDX-License-Identifier: MIT */
#include "base/arena.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/rng.h"
#include "base/text.h"
#include "base/tool.h"
#include "base/trace.h"
#include "base/when.h"
#include "lib/check.h"
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

TEST(an_error_carries_its_code_its_words_and_its_context)
{
    struct err err = {0};

    errno = ENOENT;
    CHECK_INT(err_set(&err, -errno, "open tape '%s': %m", "a.tape"), -ENOENT);
    CHECK_INT(err_wrap(&err, "replay of '%s'", "login"), -ENOENT);
    CHECK_TEXT(err.text, "replay of 'login': open tape 'a.tape': No such file or directory");
    err_hint(&err, "record it first");
    err_hint(&err, "a second hint is dropped");
    CHECK_HAS(err.text, "directory\nhint: record it first");
    CHECK_TRUE(!strstr(err.text, "second"));
}

TEST(an_error_longer_than_its_buffer_is_cut_not_overrun)
{
    struct err err = {0};
    char text[4000];

    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    err_set(&err, -EIO, "%s", text);
    err_wrap(&err, "%s", text);
    err_hint(&err, "%s", text);
    CHECK_INT(strlen(err.text), sizeof err.text - 1);
    CHECK_INT(err_set(NULL, -EIO, "nobody listens"), -EIO);
}

TEST(a_buffer_grows_and_stays_terminated)
{
    CLEANUP(buf_done) struct buf buf = {0};

    CHECK_TEXT(buf_text(&buf), "");
    for (int i = 0; i < 1000; i++)
        buf_addf(&buf, "%d,", i);
    CHECK_INT(buf.length, strlen(buf.data));
    buf_drop(&buf, 2);
    buf_cut(&buf, 3);
    CHECK_TEXT(buf.data, "1,2");
    buf_addu(&buf, UINT64_MAX);
    CHECK_TEXT(buf.data, "1,218446744073709551615");
    CLEANUP(mem_free) char *taken = buf_take(&buf);
    CHECK_INT(buf.length, 0);
    CHECK_HAS(taken, "1,2");
}

TEST(an_arena_gives_zeroed_aligned_memory_and_rewinds)
{
    CLEANUP(arena_done) struct arena arena = {0};

    char *first = arena_alloc(&arena, 3);
    struct arena_mark mark = arena_save(&arena);
    for (int i = 0; i < 5000; i++) {
        char *memory = arena_alloc(&arena, 33);
        CHECK_INT((uintptr_t)memory % 16, 0);
        CHECK_INT(memory[32], 0);
        memset(memory, 0xff, 33);
    }
    arena_rewind(&arena, mark);
    char *again = arena_alloc(&arena, 100);
    CHECK_INT(again - first, 16);
    CHECK_INT(again[99], 0);
    CHECK_INT(((char *)arena_alloc(&arena, 1 << 20))[(1 << 20) - 1], 0);
}

TEST(a_file_is_replaced_whole_and_read_with_a_bound)
{
    struct err err = {0};
    CLEANUP(buf_done) struct buf buf = {0};
    const char *path = tmp_file("f", "first");

    CHECK_OK(file_write(path, "second", 6, &err), err);
    CHECK_OK(file_read(path, 100, &buf, &err), err);
    CHECK_TEXT(buf.data, "second");
    CHECK_INT(file_read(path, 3, &buf, &err), -EFBIG);
    CHECK_HAS(err.text, "larger than 3 bytes");
    CHECK_INT(file_write(tmp_path("none/f"), "x", 1, &err), -ENOENT);
    CHECK_HAS(err.text, "none/f");
}

TEST(a_tree_is_removed_without_following_symlinks)
{
    struct err err = {0};

    CHECK_OK(dir_make_all(tmp_path("a/b/c"), &err), err);
    CHECK_OK(dir_make_all(tmp_path("a/b/c"), &err), err);
    tmp_file("kept", "x");
    CHECK_INT(symlink("../../kept", tmp_path("a/b/link")), 0);
    CHECK_INT(dir_make_all(tmp_path("kept/d"), &err), -ENOTDIR);
    CHECK_OK(dir_remove_all(tmp_path("a"), &err), err);
    CHECK_OK(dir_remove_all(tmp_path("a"), &err), err);
    CHECK_TRUE(file_exists(tmp_path("kept")) && !file_exists(tmp_path("a")));
}

TEST(directories_that_were_closed_are_removed_too)
{
    const char *mine = tmp_path("mine");
    struct err err = {0};

    CHECK_INT(mkdir(mine, 0755), 0);
    CHECK_INT(chdir(mine), 0);
    if (geteuid() == 0) { /* whom modes do not stop */
        CHECK_INT(chown(".", 65534, 65534), 0);
        CHECK_INT(seteuid(65534), 0);
    }
    CHECK_OK(dir_make_all("a/b/c", &err), err);
    CHECK_INT(chmod("a/b", 0500), 0);
    CHECK_INT(chmod("a", 0), 0);
    int r = dir_remove_all("a", &err);
    CHECK_INT(seteuid(getuid()), 0);
    CHECK_OK(r, err);
    CHECK_TRUE(!file_exists("a"));
    CHECK_INT(chdir("/"), 0);
}

TEST(sha256_agrees_with_the_published_vectors)
{
    struct hash hash = hash_of("abc", 3), read;

    CHECK_TEXT(hash_to_text(&hash).text,
               "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    struct hash_state *state = hash_begin();
    hash_add(state, "a", 1);
    hash_add(state, "bc", 2);
    struct hash pieces = hash_end(state);
    CHECK_INT(memcmp(&hash, &pieces, sizeof hash), 0);
    CHECK_TRUE(hash_from_text(hash_to_text(&hash).text, &read));
    CHECK_INT(memcmp(&hash, &read, sizeof hash), 0);
    CHECK_TRUE(!hash_from_text("ba78", &read));
    CHECK_TRUE(
        !hash_from_text("BA7816BF8F01CFEA414140DE5DAE2223B00361A396177A9CB410FF61F20015AD", &read));
}

static char *canonical(const char *text)
{
    struct err err = {0};
    struct buf buf = {0};
    CLEANUP(json_free) json_t *value = NULL;

    CHECK_OK(json_parse(text, strlen(text), "test", &value, &err), err);
    json_add_canonical(&buf, value);
    return buf_take(&buf);
}

TEST(equal_json_values_give_equal_bytes)
{
    static const struct {
        const char *text, *wanted;
    } cases[] = {
        {"{ \"b\": 1, \"a\": [true, null , false] }", "{\"a\":[true,null,false],\"b\":1}"},
        {"1.0", "1"},
        {"-0.0", "0"},
        {"0.1", "0.1"},
        {"1e300", "1e+300"},
        {"123456789.125", "123456789.125"},
        {"5e-324", "5e-324"},
        {"9007199254740993", "9007199254740993"},
        {"\"\\u0041\\n\\u001f\\\"\\u00e9/\"", "\"A\\n\\u001f\\\"\xc3\xa9/\""},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        CLEANUP(mem_free) char *got = canonical(cases[i].text);
        CHECK_TEXT(got, cases[i].wanted);
        CLEANUP(mem_free) char *twice = canonical(got);
        CHECK_TEXT(twice, got);
    }
}

TEST(doubles_survive_a_round_trip_in_their_shortest_form)
{
    struct rng rng;

    rng_seed(&rng, 7);
    for (int i = 0; i < 10000; i++) {
        uint64_t bits = rng_next(&rng);
        double number;
        memcpy(&number, &bits, sizeof number);
        if (!isfinite(number))
            continue;
        CLEANUP(buf_done) struct buf buf = {0};
        json_add_real(&buf, number);
        CHECK_TRUE(strtod(buf.data, NULL) == number);
    }
}

TEST(bad_json_is_refused_with_its_place)
{
    struct err err = {0};
    json_t *value = NULL;

    CHECK_INT(json_parse("{\"a\":\n 1,}", 10, "x.json", &value, &err), -EBADMSG);
    CHECK_HAS(err.text, "x.json:2:");
    CHECK_INT(json_parse("{\"a\":1,\"a\":2}", 13, "x.json", &value, &err), -EBADMSG);
    CHECK_HAS(err.text, "duplicate");
    CLEANUP(buf_done) struct buf deep = {0};
    for (int i = 0; i < 100000; i++)
        buf_addc(&deep, '[');
    CHECK_INT(json_parse(deep.data, deep.length, "deep", &value, &err), -EBADMSG);
    CHECK_TRUE(value == NULL);
}

TEST(random_streams_are_reproducible_and_independent)
{
    struct rng a, b, c;

    rng_seed(&a, 1);
    CHECK_TRUE(rng_next(&a) == UINT64_C(0xb3f2af6d0fc710c5));
    rng_stream(&a, 1, "sched", "1.2");
    rng_stream(&b, 1, "sched", "1.2");
    rng_stream(&c, 1, "sched1", ".2");
    uint64_t first = rng_next(&a);
    CHECK_TRUE(first == rng_next(&b));
    CHECK_TRUE(first != rng_next(&c));
    unsigned counts[3] = {0};
    for (int i = 0; i < 30000; i++)
        counts[rng_below(&a, 3)]++;
    for (int i = 0; i < 3; i++)
        CHECK_TRUE(counts[i] > 9500 && counts[i] < 10500);
    char bytes[11] = {0}, more[11] = {0};
    rng_stream(&a, 2, "fill", NULL);
    rng_stream(&b, 2, "fill", "");
    rng_fill(&a, bytes, sizeof bytes);
    rng_fill(&b, more, sizeof more);
    CHECK_INT(memcmp(bytes, more, sizeof bytes), 0);
}

TEST(the_closest_word_is_found_and_a_far_one_is_not)
{
    static const char *const words[] = {"record", "replay", "run", "tape"};

    CHECK_TEXT(text_closest("relpay", words, 4), "replay");
    CHECK_TEXT(text_closest("rec", words, 4), "record");
    CHECK_TEXT(text_closest("tpae", words, 4), "tape");
    CHECK_TRUE(text_closest("banana", words, 4) == NULL);
    CHECK_INT(text_distance("ca", "ac"), 1);
    CHECK_INT(text_distance("", "abc"), 3);
}

TEST(utf8_is_judged_strictly)
{
    CHECK_TRUE(text_is_utf8("plain ascii, long enough", 24));
    CHECK_TRUE(text_is_utf8("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 9));
    CHECK_TRUE(!text_is_utf8("\xc0\xaf", 2));         /* overlong */
    CHECK_TRUE(!text_is_utf8("\xed\xa0\x80", 3));     /* surrogate */
    CHECK_TRUE(!text_is_utf8("\xf4\x90\x80\x80", 4)); /* beyond U+10FFFF */
    CHECK_TRUE(!text_is_utf8("abcdefgh\xe2\x82", 10));
}

TEST(text_for_people_and_shells_reads_back)
{
    CLEANUP(buf_done) struct buf buf = {0};

    text_add_escaped(&buf, "a\tb\x01\xff\xc3\xa9\\\n", 9);
    CHECK_TEXT(buf.data, "a\\tb\\x01\\xff\xc3\xa9\\\\\\n");
    buf_clear(&buf);
    text_add_quoted(&buf, "it's");
    buf_addc(&buf, ' ');
    text_add_quoted(&buf, "plain-1.2/x");
    buf_addc(&buf, ' ');
    text_add_quoted(&buf, "");
    CHECK_TEXT(buf.data, "'it'\\''s' plain-1.2/x ''");
}

TEST(points_in_time_are_read_and_written)
{
    static const struct {
        const char *text, *wanted;
    } cases[] = {
        {"2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"},
        {"2024-02-29T23:59:58.25Z", "2024-02-29T23:59:58.250Z"},
        {"2024-03-01T01:30:00+02:00", "2024-02-29T23:30:00Z"},
        {"2024-03-01", "2024-03-01T00:00:00Z"},
        {"@0", "1970-01-01T00:00:00Z"},
        {"@1.000000001", "1970-01-01T00:00:01.000000001Z"},
        {"1767225600123", "2026-01-01T00:00:00.123Z"},
        {"2262-04-11T23:47:16Z", "2262-04-11T23:47:16Z"},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct err err = {0};
        int64_t ns;
        CLEANUP(buf_done) struct buf buf = {0};
        CHECK_OK(when_parse(cases[i].text, &ns, &err), err);
        when_add(&buf, ns);
        CHECK_TEXT(buf.data, cases[i].wanted);
    }
}

TEST(what_is_no_time_is_refused_with_the_forms)
{
    static const char *const bad[] = {"",           "yesterday",  "2023-02-29",
                                      "2024-13-01", "2024-1-1",   "2024-01-01T25:00:00Z",
                                      "@",          "@1.",        "2024-01-01T00:00:00",
                                      "@-5",        "1969-12-31", "9999-01-01T00:00:00Z",
                                      "12345"};

    for (size_t i = 0; i < ARRAY_LENGTH(bad); i++) {
        struct err err = {0};
        int64_t ns;
        CHECK_INT(when_parse(bad[i], &ns, &err), -EINVAL);
        CHECK_HAS(err.text, "hint: write 2026-01-31T12:00:00Z");
    }
}

TEST(durations_are_read_and_written)
{
    static const struct {
        const char *text;
        uint64_t ns;
        const char *wanted;
    } cases[] = {
        {"250ms", 250 * NS_PER_MS, "00:00:00.250"}, {"1h30m", 5400 * NS_PER_SEC, "01:30:00"},
        {"1.5s", 1500 * NS_PER_MS, "00:00:01.500"}, {"7d", 7 * 86400 * NS_PER_SEC, "7 d 00:00:00"},
        {"10ns", 10, "00:00:00.000000010"},         {"0s", 0, "00:00:00"},
    };
    static const char *const bad[] = {"", "5", "s", "-1s", "1x", "1s2", "99999999999w", "1..5s"};
    struct err err = {0};
    uint64_t ns;

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        CLEANUP(buf_done) struct buf buf = {0};
        CHECK_OK(when_parse_duration(cases[i].text, &ns, &err), err);
        CHECK_TRUE(ns == cases[i].ns);
        when_add_duration(&buf, ns);
        CHECK_TEXT(buf.data, cases[i].wanted);
    }
    for (size_t i = 0; i < ARRAY_LENGTH(bad); i++) {
        CHECK_INT(when_parse_duration(bad[i], &ns, &err), -EINVAL);
        CHECK_HAS(err.text, "is not a duration");
    }
}

static const char *traced(const char *areas)
{
    static char text[200];
    const char *path = tmp_path("trace");
    CLEANUP(buf_done) struct buf buf = {0};
    struct err err = {0};

    setenv("VITRO_TRACE", areas, 1);
    setenv("VITRO_TRACE_FILE", path, 1);
    trace_init();
    trace(TRACE_BOX, "stop %d", 5);
    trace(TRACE_TAPE, "record");
    unsetenv("VITRO_TRACE");
    trace_init();
    trace(TRACE_BOX, "never seen");
    CHECK_OK(file_read(path, 100, &buf, &err), err);
    (void)unlink(path);
    memcpy(text, buf_text(&buf), buf.length + 1);
    return text;
}

TEST(traces_are_written_for_the_areas_asked_for)
{
    CHECK_TEXT(traced("cli,box"), "box: stop 5\n");
}

TEST(a_program_is_found_where_a_shell_would_find_it)
{
    CLEANUP(mem_free) char *first = mem_dup(tmp_path("first")),
                           *second = mem_dup(tmp_path("second"));
    CLEANUP(mem_free) char *path = mem_format("%s::%s", first, second);
    CLEANUP(mem_free) char *directory = mem_format("%s/tool", first);
    CLEANUP(mem_free) char *file = mem_format("%s/tool", second);
    struct err err = {0};

    CHECK_OK(dir_make_all(directory, &err), err); /* not that: it cannot be executed */
    CHECK_OK(dir_make_all(second, &err), err);
    CHECK_OK(file_write(file, "#!/bin/sh\n", 10, &err), err);
    CHECK_TRUE(!tool_find("tool", path, NULL));
    CHECK_INT(chmod(file, 0755), 0);
    CLEANUP(mem_free) char *found = tool_find("tool", path, NULL);
    CHECK_TEXT(found, file);
    CHECK_TRUE(!tool_find("tool", path, second));
    CHECK_TRUE(!tool_find(directory, path, NULL));
}
