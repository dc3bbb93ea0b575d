/* SPDX-License-Identifier: MIT */
#include "tape/tape.h"
#include "lib/check.h"
#include "vitro/version.h"
#include <errno.h>
#include <signal.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static struct tape_writer *writer_at(const char *path)
{
    struct tape_writer *writer = NULL;
    struct err err = {0};
    const char *argv[] = {"prog", "a b", NULL};

    CHECK_OK(tape_writer_open(&(struct tape_writer_options){.path = path,
                                                            .argv = argv,
                                                            .script = "demo.sh",
                                                            .started_at_unix_ms = 1767225600000},
                              &writer, &err),
             err);
    return writer;
}

static struct buf text_of(const char *path)
{
    struct buf text = {0};
    struct err err = {0};

    CHECK_OK(file_read(path, 1 << 24, &text, &err), err);
    return text;
}

static int add_raw(struct tape_writer *writer, enum tape_kind kind, const char *data,
                   struct err *err)
{
    return tape_writer_record(writer,
                              &(struct tape_record){.kind = kind,
                                                    .process = "1",
                                                    .virtual_time_ns = 1767225600000000000,
                                                    .monotonic_ns = 7,
                                                    .data = data,
                                                    .data_length = strlen(data)},
                              err);
}

TEST(a_tape_is_a_header_records_and_an_end_in_canonical_lines)
{
    const char *path = tmp_path("a.tape");
    CLEANUP(tape_writer_free) struct tape_writer *writer = writer_at(path);
    CLEANUP(tape_data_done) struct tape_data data = {0};
    struct err err = {0};

    tape_data_begin(&data);
    tape_data_u64(&data, "duration_ns", 5);
    tape_data_end(&data);
    CHECK_OK(add_raw(writer, TAPE_CLOCK_SLEEP, data.text.data, &err), err);
    CHECK_INT(tape_writer_count(writer), 1);
    CHECK_OK(tape_writer_close(writer, &err), err);
    CLEANUP(buf_done) struct buf text = text_of(path);
    static const char lines[] =
        "{\"argv\":[\"prog\",\"a b\"],\"format\":\"vitro-tape\",\"options\":{},"
        "\"rules\":{},\"script\":\"demo.sh\",\"started_at_unix_ms\":1767225600000,"
        "\"tool\":\"vitro " VITRO_VERSION "\",\"type\":\"header\",\"version\":1}\n"
        "{\"data\":{\"duration_ns\":5},\"kind\":\"clock_sleep\",\"monotonic_ns\":7,"
        "\"phase\":\"user_script\",\"process\":\"1\",\"seq\":0,\"type\":\"record\","
        "\"virtual_time_ns\":1767225600000000000}\n";
    struct hash hash = hash_of(lines, strlen(lines));
    CLEANUP(mem_free)
    char *wanted = mem_format("%s{\"digest\":\"sha256:%s\",\"records\":1,\"type\":\"end\"}\n",
                              lines, hash_to_text(&hash).text);
    CHECK_TEXT(text.data, wanted);
}

TEST(an_existing_tape_is_not_overwritten_unless_asked)
{
    const char *path = tmp_file("old.tape", "precious");
    CLEANUP(tape_writer_free) struct tape_writer *writer = NULL;
    struct err err = {0};

    CHECK_INT(tape_writer_open(&(struct tape_writer_options){.path = path}, &writer, &err),
              -EEXIST);
    CHECK_HAS(err.text, "old.tape': there is one already\nhint: ");
    CLEANUP(buf_done) struct buf text = text_of(path);
    CHECK_TEXT(text.data, "precious");
    CHECK_OK(tape_writer_open(&(struct tape_writer_options){.path = path, .replace = true}, &writer,
                              &err),
             err);
}

TEST(no_temporary_file_is_left_and_the_open_tape_is_locked)
{
    const char *path = tmp_path("locked.tape");
    CLEANUP(tape_writer_free) struct tape_writer *writer = writer_at(path);
    CLEANUP(mem_free) char *temp = mem_format("%s.%ld.tmp", path, (long)getpid());
    CLEANUP(fd_close) int fd = open(path, O_RDONLY | O_CLOEXEC);

    CHECK_TRUE(!file_exists(temp));
    CHECK_INT(flock(fd, LOCK_EX | LOCK_NB), -1);
    tape_writer_free(take_ptr(&writer));
    CHECK_INT(flock(fd, LOCK_EX | LOCK_NB), 0);
}

TEST(records_reach_the_file_a_batch_at_a_time)
{
    const char *path = tmp_path("batch.tape");
    CLEANUP(tape_writer_free) struct tape_writer *writer = writer_at(path);
    struct err err = {0};
    struct stat before, after;

    CHECK_INT(stat(path, &before), 0);
    CHECK_OK(add_raw(writer, TAPE_NOTE, "{\"text\":\"x\"}", &err), err);
    CHECK_INT(stat(path, &after), 0);
    CHECK_INT(after.st_size, before.st_size);
    CHECK_OK(tape_writer_flush(writer, &err), err);
    CHECK_INT(stat(path, &after), 0);
    CHECK_TRUE(after.st_size > before.st_size);
}

TEST(a_payload_out_of_order_is_put_in_order)
{
    const char *path = tmp_path("order.tape");
    CLEANUP(tape_writer_free) struct tape_writer *writer = writer_at(path);
    struct err err = {0};

    CHECK_OK(add_raw(writer, TAPE_NOTE, "{ \"b\": 1.50, \"a\": \"\\u00e9\" }", &err), err);
    CHECK_OK(tape_writer_close(writer, &err), err);
    CLEANUP(buf_done) struct buf text = text_of(path);
    CHECK_HAS(text.data, "\n{\"data\":{\"a\":\"\xc3\xa9\",\"b\":1.5},\"kind\":\"note\"");
}

TEST(a_bad_record_is_refused_and_leaves_no_trace)
{
    const char *path = tmp_path("bad.tape");
    CLEANUP(tape_writer_free) struct tape_writer *writer = writer_at(path);
    struct err err = {0};

    CHECK_INT(add_raw(writer, TAPE_NOTE, "{\"a\":", &err), -EINVAL);
    CHECK_HAS(err.text, "kind 'note': payload is no JSON object: the line ends too early");
    CHECK_INT(add_raw(writer, TAPE_NOTE, "[1]", &err), -EINVAL);
    CHECK_INT(add_raw(writer, TAPE_NOTE, "{\"b\":1,\"a\":2,\"b\":3}", &err), -EBADMSG);
    CHECK_HAS(err.text, "duplicate");
    CHECK_INT(add_raw(writer, TAPE_UNKNOWN, "{}", &err), -EINVAL);
    CHECK_INT(tape_writer_count(writer), 0);
}

TEST(a_full_disk_leaves_whole_lines_and_a_writer_that_stays_failed)
{
    const char *path = tmp_path("full.tape");
    CLEANUP(tape_writer_free) struct tape_writer *writer = writer_at(path);
    struct err err = {0};
    struct rlimit before;
    struct stat whole, after;

    CHECK_OK(add_raw(writer, TAPE_NOTE, "{\"text\":\"kept\"}", &err), err);
    CHECK_OK(tape_writer_flush(writer, &err), err);
    CHECK_INT(stat(path, &whole), 0);
    CHECK_INT(getrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit small = {.rlim_cur = (rlim_t)whole.st_size + 20, .rlim_max = before.rlim_max};
    CHECK_INT(setrlimit(RLIMIT_FSIZE, &small), 0);
    CHECK_OK(add_raw(writer, TAPE_NOTE, "{\"text\":\"lost\"}", &err), err);
    CHECK_INT(tape_writer_flush(writer, &err), -EFBIG);
    CHECK_INT(setrlimit(RLIMIT_FSIZE, &before), 0);
    CHECK_HAS(err.text, "full.tape': File too large");
    CHECK_INT(add_raw(writer, TAPE_NOTE, "{}", &err), -EFBIG);
    CHECK_INT(stat(path, &after), 0);
    CHECK_INT(after.st_size, whole.st_size);
}

/* Writes small batches until it is killed; a byte into the pipe for each. */
static void write_for_ever(struct tape_writer *writer, int pipe_fd)
{
    struct err err = {0};

    for (;;)
        if (add_raw(writer, TAPE_NOTE, "{\"text\":\"again and again\"}", &err) < 0 ||
            (tape_writer_count(writer) % 50 == 0 && write(pipe_fd, "x", 1) != 1))
            _exit(1);
}

TEST(a_writer_killed_at_any_moment_leaves_a_tape_that_reads)
{
    for (int round = 0; round < 10; round++) {
        CLEANUP(mem_free) char *name = mem_format("killed%d.tape", round);
        const char *path = tmp_path(name);
        CLEANUP(tape_writer_free) struct tape_writer *writer = NULL;
        CLEANUP(tape_reader_free) struct tape_reader *reader = NULL;
        struct tape_writer_options options = {.path = path, .batch_bytes = 700};
        struct tape_entry entry;
        struct err err = {0};
        char bytes[8];
        int pipes[2], r;
        CHECK_OK(tape_writer_open(&options, &writer, &err), err);
        CHECK_INT(pipe(pipes), 0);
        pid_t child = fork();
        if (child == 0)
            write_for_ever(writer, pipes[1]);
        CHECK_OK(fd_read_full(pipes[0], bytes, (size_t)(round % 8 + 1)), err);
        CHECK_INT(kill(child, SIGKILL), 0);
        CHECK_INT(waitpid(child, NULL, 0), child);
        (void)close(pipes[0]);
        (void)close(pipes[1]);
        CHECK_OK(tape_reader_open(&(struct tape_reader_options){.path = path}, &reader, &err), err);
        for (uint64_t seq = 0; (r = tape_reader_next(reader, &entry, &err)) > 0; seq++)
            CHECK_INT(entry.seq, seq);
        CHECK_OK(r, err);
        CHECK_TRUE(tape_reader_summary(reader).records >= (uint64_t)(round % 8 + 1) * 50 - 50);
        CHECK_TRUE(!tape_reader_summary(reader).closed);
    }
}

TEST(small_text_stands_in_the_record_and_the_rest_in_the_store)
{
    const char *path = tmp_path("payload.tape");
    CLEANUP(tape_writer_free) struct tape_writer *writer = writer_at(path);
    CLEANUP(tape_data_done) struct tape_data data = {0};
    CLEANUP(mem_free) char *large = mem_alloc(5000);
    CLEANUP(mem_free) char *cas = store_path_of(path);
    struct err err = {0};

    memset(large, 'x', 4096);
    tape_data_begin(&data);
    CHECK_OK(tape_data_payload(&data, writer, "a", "hi\n", 3, &err), err);
    CHECK_OK(tape_data_payload(&data, writer, "b", large, 4096, &err), err);
    CHECK_TRUE(!file_exists(cas)); /* the directory appears when it is needed */
    CHECK_OK(tape_data_payload(&data, writer, "c", "\xff", 1, &err), err);
    large[4096] = 'x';
    CHECK_OK(tape_data_payload(&data, writer, "d", large, 4097, &err), err);
    tape_data_end(&data);
    CHECK_HAS(data.text.data, "\"text\":\"hi\\n\"}");
    CHECK_HAS(data.text.data, "\"c\":{\"content_hash\":\"a8100ae6aa1940d0b663bb31cd466142ebbdbd5187"
                              "131b92d93818987832eb89\",\"len_bytes\":1}");
    CHECK_HAS(data.text.data, ",\"len_bytes\":4097}");
    CHECK_TRUE(file_exists(cas));
}

TEST(names_that_are_not_utf8_are_written_exactly)
{
    CLEANUP(tape_data_done) struct tape_data data = {0};
    const char *const list[] = {"ok", "\xfe\xff", NULL};

    tape_data_begin(&data);
    tape_data_texts(&data, "args", list);
    tape_data_i64(&data, "exit_code", -1);
    tape_data_text(&data, "path", NULL);
    tape_data_end(&data);
    CHECK_TEXT(data.text.data,
               "{\"args\":[\"ok\",{\"base64\":\"/v8=\"}],\"exit_code\":-1,\"path\":null}");
}
