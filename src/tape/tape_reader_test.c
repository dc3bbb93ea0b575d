/* SPDX-License-Identifier: MIT */
#include "tape/tape_reader.h"
#include "base/json.h"
#include "lib/check.h"
#include "tape/tape.h"
#include <errno.h>

#define HEADER            "{\"type\":\"header\",\"version\":1,\"started_at_unix_ms\":1000,\"argv\":[]}\n"
#define RECORD(seq, rest) "{\"type\":\"record\",\"seq\":" #seq "," rest "}\n"

static int open_text(const char *text, struct tape_reader **ret, struct err *err)
{
    return tape_reader_open(&(struct tape_reader_options){.path = "t.tape",
                                                          .bytes = text,
                                                          .bytes_length = strlen(text)},
                            ret, err);
}

/* Reads all; the number of records or the error. */
static int read_bytes(const char *bytes, size_t length, struct tape_summary *ret, struct err *err)
{
    CLEANUP(tape_reader_free) struct tape_reader *reader = NULL;
    struct tape_reader_options options = {
        .path = "t.tape", .bytes = bytes, .bytes_length = length, .line_bytes_max = 4096};
    struct tape_entry entry;
    int r = tape_reader_open(&options, &reader, err);

    while (r >= 0 && (r = tape_reader_next(reader, &entry, err)) > 0)
        continue;
    if (r < 0)
        return r;
    if (ret)
        *ret = tape_reader_summary(reader);
    return (int)tape_reader_summary(reader).records;
}

static void check_refused(const char *text, int code, const char *words)
{
    struct err err = {0};

    CHECK_INT(read_bytes(text, strlen(text), NULL, &err), code);
    CHECK_HAS(err.text, words);
}

TEST(native_flat_and_nested_records_read_the_same)
{
    static const char *const forms[] = {
        HEADER RECORD(0, "\"phase\":\"runtime_finalize\",\"virtual_time_ns\":2000000,"
                         "\"monotonic_ns\":1000000,\"kind\":\"clock_sleep\","
                         "\"data\":{\"duration_ns\":5000000}"),
        HEADER RECORD(0, "\"phase\":\"runtime_finalize\",\"virtual_time_ms\":2,"
                         "\"monotonic_ms\":1,\"kind\":\"clock_sleep\",\"duration_ms\":5"),
        HEADER RECORD(0, "\"phase\":\"runtime_finalize\",\"virtual_time_ms\":2,\"monotonic_ms\":1,"
                         "\"kind\":{\"kind\":\"clock_sleep\",\"duration_ms\":5}"),
    };
    for (size_t i = 0; i < ARRAY_LENGTH(forms); i++) {
        CLEANUP(tape_reader_free) struct tape_reader *reader = NULL;
        CLEANUP(buf_done) struct buf data = {0};
        struct err err = {0};
        struct tape_entry entry;
        CHECK_OK(open_text(forms[i], &reader, &err), err);
        CHECK_INT(tape_reader_start_ns(reader), 1000000000);
        CHECK_INT(tape_reader_next(reader, &entry, &err), 1);
        CHECK_INT(entry.kind, TAPE_CLOCK_SLEEP);
        CHECK_INT(entry.phase, TAPE_RUNTIME_FINALIZE);
        CHECK_INT(entry.virtual_time_ns, 2000000);
        CHECK_INT(entry.monotonic_ns, 1000000);
        CHECK_INT(entry.line, 2);
        CHECK_OK(tape_entry_add_data(&entry, &data, &err), err);
        CHECK_TEXT(data.data, "{\"duration_ns\":5000000}");
        CHECK_INT(tape_reader_next(reader, &entry, &err), 0);
    }
}

TEST(an_unknown_kind_survives_reading_and_writing_to_the_byte)
{
    static const char odd[] = "{\"z\":1.50,\"a\":123456789012345678901234567890,\"ms\":[ 1 ]}";
    CLEANUP(mem_free)
    char *text = mem_format(HEADER RECORD(0, "\"kind\":\"telepathy\",\"data\":%s"), odd);
    CLEANUP(tape_reader_free) struct tape_reader *reader = NULL;
    CLEANUP(tape_writer_free) struct tape_writer *writer = NULL;
    CLEANUP(buf_done) struct buf data = {0};
    CLEANUP(buf_done) struct buf written = {0};
    const char *path = tmp_path("copy.tape");
    struct tape_entry entry;
    struct err err = {0};

    CHECK_OK(open_text(text, &reader, &err), err);
    CHECK_INT(tape_reader_next(reader, &entry, &err), 1);
    CHECK_INT(entry.kind, TAPE_UNKNOWN);
    CHECK_OK(tape_entry_add_data(&entry, &data, &err), err);
    CHECK_TEXT(data.data, odd);
    CHECK_OK(tape_writer_open(&(struct tape_writer_options){.path = path}, &writer, &err), err);
    CHECK_OK(tape_writer_record(writer,
                                &(struct tape_record){.kind = TAPE_UNKNOWN,
                                                      .kind_name = "telepathy",
                                                      .data = data.data,
                                                      .data_length = data.length},
                                &err),
             err);
    CHECK_OK(tape_writer_close(writer, &err), err);
    CHECK_OK(file_read(path, 4096, &written, &err), err);
    CHECK_HAS(written.data, odd);
    CHECK_HAS(written.data, "\"kind\":\"telepathy\"");
}

TEST(a_tape_cut_at_any_byte_reads_up_to_the_last_whole_record)
{
    const char *path = tmp_path("whole.tape");
    CLEANUP(tape_writer_free) struct tape_writer *writer = NULL;
    CLEANUP(buf_done) struct buf text = {0};
    struct err err = {0};

    CHECK_OK(tape_writer_open(&(struct tape_writer_options){.path = path}, &writer, &err), err);
    for (int i = 0; i < 5; i++)
        CHECK_OK(tape_writer_record(writer,
                                    &(struct tape_record){.kind = TAPE_NOTE,
                                                          .data = "{\"text\":\"\xc3\xa9\\\"}\"}",
                                                          .data_length = 16},
                                    &err),
                 err);
    CHECK_OK(tape_writer_close(writer, &err), err);
    CHECK_OK(file_read(path, 1 << 16, &text, &err), err);
    size_t header = (size_t)(strchr(text.data, '\n') - text.data);
    for (size_t cut = 0; cut <= text.length; cut++) {
        struct tape_summary summary = {0};
        int whole = -1; /* lines behind the header whose last brace is inside */
        for (size_t i = 0; i < text.length; i++)
            whole += text.data[i] == '\n' && i <= cut;
        int r = read_bytes(text.data, cut, &summary, &err);
        if (cut < header) {
            CHECK_INT(r, -EBADMSG);
            CHECK_HAS(err.text, "t.tape:1: ");
            continue;
        }
        CHECK_INT(r, whole > 5 ? 5 : whole);
        CHECK_INT(summary.closed, whole > 5);
        bool between = text.data[cut] == '\n' || (cut && text.data[cut - 1] == '\n');
        CHECK_INT(summary.torn_line != 0, !between && cut < text.length);
    }
}

TEST(what_is_wrong_is_named_with_file_and_line)
{
    check_refused("", -EBADMSG, "t.tape:1: the tape is empty");
    check_refused("\n\n", -EBADMSG, "t.tape:1: the tape is empty");
    check_refused("hello\n", -EBADMSG, "t.tape:1: column 1: an object is expected");
    check_refused(RECORD(0, "\"kind\":\"note\""), -EBADMSG,
                  "t.tape:1: the first line is not a header");
    check_refused("{\"type\":\"header\"}\n", -EBADMSG, "t.tape:1: the header has no version");
    check_refused(HEADER "\n" HEADER, -EBADMSG, "t.tape:3: a second header");
    check_refused("{\"tool\":\"vitro 9\",\"type\":\"header\",\"version\":2}\n", -EPROTO,
                  "t.tape:1: tape version 2, but this vitro reads up to version 1\n"
                  "hint: it was written by 'vitro 9'");
    check_refused(HEADER "{\"type\":\"record\"\n" HEADER, -EBADMSG,
                  "t.tape:2: column 17: the line ends too early");
    check_refused(HEADER RECORD(-1, "\"kind\":\"note\""), -EBADMSG, "t.tape:2: ");
    check_refused(HEADER RECORD(0, "\"seq\":0,\"kind\":\"note\""), -EBADMSG, "given twice");
    check_refused(HEADER RECORD(0, "\"kind\":\"note\",\"phase\":\"x\""), -EBADMSG, "phase");
    check_refused(HEADER RECORD(0, "\"kind\":7"), -EBADMSG, "a record needs a kind");
    check_refused(HEADER RECORD(0, "\"kind\":\"note\",\"data\":[]"), -EBADMSG,
                  "data is not an object");
    check_refused(HEADER "{\"type\":\"rekord\"}\n", -EBADMSG, "type is neither");
    check_refused(HEADER "{\"digest\":\"sha256:0\",\"records\":0,\"type\":\"end\"}\n", -EBADMSG,
                  "t.tape:2: the end line needs");
    static const char end[] =
        "{\"digest\":\"sha256:2a33a6a5097c4bd641faf172b0ffd4809b2874628def4a03"
        "ff4dd052e3c0165b\",\"records\":0,\"type\":\"end\"}\n";
    CLEANUP(mem_free)
    char *behind = mem_format(HEADER "%s" RECORD(0, "\"kind\":\"note\""), end);
    check_refused(behind, -EBADMSG, "t.tape:3: a line behind the end of the tape");
    check_refused(HEADER RECORD(0, "\"kind\":\"note\",\"virtual_time_ms\":9223372036854775807"),
                  -EBADMSG, "virtual_time");
}

TEST(bytes_that_are_not_utf8_and_broken_escapes_are_refused)
{
    static const char *const bad[] = {"\xff",    "\xc0\xaf",   "\xed\xa0\x80", "\xf4\x90\x80\x80",
                                      "\\ud800", "\\ud800\\n", "\\udc00",      "\\u12g4",
                                      "\\x41",   "\x01",       "\xe2\x82",     "\\ud800\\ud800"};
    for (size_t i = 0; i < ARRAY_LENGTH(bad); i++) {
        CLEANUP(mem_free)
        char *text = mem_format(HEADER RECORD(0, "\"kind\":\"note\",\"text\":\"%s\""), bad[i]);
        check_refused(text, -EBADMSG, "t.tape:2: column ");
    }
    static const char *const good[] = {"\xed\x9f\xbf", "\xf4\x8f\xbf\xbf", "\\ud83d\\ude00", "\\/",
                                       "\\u0000"};
    for (size_t i = 0; i < ARRAY_LENGTH(good); i++) {
        struct err err = {0};
        CLEANUP(mem_free)
        char *text = mem_format(HEADER RECORD(0, "\"kind\":\"note\",\"text\":\"%s\""), good[i]);
        if (read_bytes(text, strlen(text), NULL, &err) != 1)
            check_fail(__FILE__, __LINE__, "%s: %s", good[i], err.text);
    }
}

TEST(nesting_and_line_length_are_bounded)
{
    CLEANUP(buf_done) struct buf deep = {0};
    CLEANUP(buf_done) struct buf wide = {0};

    buf_adds(&deep, HEADER "{\"type\":\"record\",\"seq\":0,\"kind\":\"note\",\"data\":{\"a\":");
    for (int i = 0; i < 100; i++)
        buf_addc(&deep, '[');
    buf_addc(&deep, '\n');
    check_refused(deep.data, -EBADMSG, "t.tape:2: column 115: nested too deeply");
    buf_adds(&wide, HEADER);
    for (int i = 0; i < 5000; i++)
        buf_addc(&wide, ' ');
    check_refused(wide.data, -EFBIG, "t.tape:2: the line is longer than 4096 bytes");
}

TEST(json_as_jansson_reads_it_is_json_as_the_scanner_reads_it)
{
    static const char *const texts[] = {"0",
                                        "-0",
                                        "01",
                                        "1.",
                                        "1.5",
                                        ".5",
                                        "1e5",
                                        "1e",
                                        "-",
                                        "+1",
                                        "1E-7",
                                        "true",
                                        "tru",
                                        "null",
                                        "nul",
                                        "false",
                                        "\"a\"",
                                        "\"a",
                                        "[]",
                                        "[1,]",
                                        "[1 ,2]",
                                        "[,1]",
                                        "{}",
                                        "{\"a\":1}",
                                        "{\"a\":1,}",
                                        "{\"a\"}",
                                        "{a:1}",
                                        "{\"a\":1 \"b\":2}",
                                        "[1 2]",
                                        "1 2",
                                        "",
                                        " ",
                                        "[",
                                        "{",
                                        "\"\\\"\"",
                                        "\"\t\"",
                                        "{\"\":{}}",
                                        "[[[]]]",
                                        "[}",
                                        "nulll",
                                        "9223372036854775807"};
    for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
        CLEANUP(json_free) json_t *value = NULL;
        struct json_scan scan;
        bool ours = json_scan_whole(&scan, texts[i], strlen(texts[i]));
        bool theirs = json_parse(texts[i], strlen(texts[i]), "text", &value, NULL) == 0;
        if (ours != theirs)
            check_fail(__FILE__, __LINE__, "'%s': scanner %d, jansson %d", texts[i], ours, theirs);
        if (!ours || !scan.canonical)
            continue;
        CLEANUP(buf_done) struct buf again = {0};
        json_add_canonical(&again, value);
        CHECK_TEXT(again.data, texts[i]);
    }
}
