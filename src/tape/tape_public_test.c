/* SPDX-License-Identifier: MIT */
#include "lib/check.h"
#include "vitro/tape.h"
#include <errno.h>

static void write_two(const char *path, const char *second)
{
    struct vitro_tape_error error = {0};
    vitro_tape_writer *tape = vitro_tape_create(path, NULL, &error);

    CHECK_TRUE(tape != NULL);
    struct vitro_tape_entry note = {.kind = "note", .data = "{\"text\":\"hi\"}", .process = "1"};
    struct vitro_tape_entry own = {.kind = "my.kind", .data = second, .is_final = 1};
    own.virtual_time_ns = 5;
    own.monotonic_ns = 4;
    CHECK_OK(vitro_tape_record(tape, &note, &error), error);
    CHECK_OK(vitro_tape_record(tape, &own, &error), error);
    CHECK_OK(vitro_tape_close(tape, &error), error);
}

TEST(what_c_code_writes_it_reads_back)
{
    const char *path = tmp_path("c.tape");
    struct vitro_tape_error error = {0};
    struct vitro_tape_entry entry;

    write_two(path, "{\"x\":1}");
    vitro_tape_reader *tape = vitro_tape_open(path, &error);
    CHECK_TRUE(tape != NULL);
    CHECK_INT(vitro_tape_next(tape, &entry, &error), 1);
    CHECK_TEXT(entry.kind, "note");
    CHECK_TEXT(entry.process, "1");
    CHECK_INT(vitro_tape_next(tape, &entry, &error), 1);
    CHECK_TEXT(entry.kind, "my.kind");
    CHECK_TEXT(entry.data, "{\"x\":1}");
    CHECK_TEXT(entry.process, "");
    CHECK_INT(entry.seq, 1);
    CHECK_INT(entry.virtual_time_ns, 5);
    CHECK_INT(entry.monotonic_ns, 4);
    CHECK_INT(entry.is_final, 1);
    CHECK_INT(vitro_tape_next(tape, &entry, &error), 0);
    vitro_tape_reader_free(tape);
}

TEST(two_tapes_are_compared_and_the_report_is_in_words)
{
    const char *a = tmp_path("a.tape"), *b = tmp_path("b.tape");
    struct vitro_tape_error error = {0};
    char *report = NULL;

    write_two(a, "{\"x\":1}");
    write_two(b, "{\"x\":2}");
    CHECK_INT(vitro_tape_compare(a, a, "byte", NULL, &error), 0);
    CHECK_INT(vitro_tape_compare(a, b, "semantic", &report, &error), 1);
    CHECK_HAS(report, "x: recorded 1, replayed 2");
    free(report);
    CHECK_INT(vitro_tape_compare(a, b, "exactly", NULL, &error), -EINVAL);
    CHECK_HAS(error.text, "unknown fidelity mode 'exactly'");
}

TEST(failures_have_words_or_go_without)
{
    struct vitro_tape_error error = {0};
    struct vitro_tape_entry nameless = {0};

    CHECK_TRUE(vitro_tape_open(tmp_path("none"), &error) == NULL);
    CHECK_INT(error.code, -ENOENT);
    CHECK_HAS(error.text, "none': No such file or directory");
    CHECK_TRUE(vitro_tape_open(tmp_path("none"), NULL) == NULL);
    vitro_tape_writer *tape = vitro_tape_create(tmp_path("w.tape"), NULL, &error);
    CHECK_INT(vitro_tape_record(tape, &nameless, &error), -EINVAL);
    CHECK_HAS(error.text, "is no name of a kind");
    CHECK_OK(vitro_tape_close(tape, &error), error);
}

TEST(no_tape_no_crash)
{
    struct vitro_tape_error error = {0};
    struct vitro_tape_entry entry = {.kind = "note", .data = "{}"};
    char hash[65];

    CHECK_TRUE(!vitro_tape_create(NULL, NULL, &error));
    CHECK_HAS(error.text, "no path was given");
    CHECK_TRUE(!vitro_tape_open(NULL, &error));
    CHECK_INT(vitro_tape_record(NULL, &entry, &error), -EINVAL);
    CHECK_HAS(error.text, "there is no tape");
    CHECK_INT(vitro_tape_put(NULL, "a", 1, hash, NULL), -EINVAL);
    CHECK_INT(vitro_tape_close(NULL, NULL), -EINVAL);
    CHECK_INT(vitro_tape_next(NULL, &entry, NULL), -EINVAL);
    CHECK_INT(vitro_tape_compare(NULL, "a", "strict", NULL, NULL), -EINVAL);
    vitro_tape_writer *tape = vitro_tape_create(tmp_path("empty.tape"), NULL, &error);
    CHECK_INT(vitro_tape_record(tape, NULL, &error), -EINVAL);
    CHECK_HAS(error.text, "no entry was given");
    CHECK_OK(vitro_tape_close(tape, &error), error);
}
