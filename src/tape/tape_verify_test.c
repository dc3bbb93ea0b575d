/* SPDX-License-Identifier: MIT */
#include "tape/tape_verify.h"
#include "lib/check.h"
#include "tape/tape.h"
#include <fcntl.h>
#include <unistd.h>

static void write_sample(const char *path)
{
    CLEANUP(tape_writer_free) struct tape_writer *writer = NULL;
    CLEANUP(tape_data_done) struct tape_data data = {0};
    const char *argv[] = {"job", "\xc3\xa9", NULL};
    struct err err = {0};

    CHECK_OK(
        tape_writer_open(&(struct tape_writer_options){.path = path, .argv = argv}, &writer, &err),
        err);
    for (unsigned i = 0; i < 3; i++) {
        tape_data_begin(&data);
        tape_data_u64(&data, "exit_code", i);
        tape_data_text(&data, "program", "a\n\xe2\x82\xac\"");
        CHECK_OK(tape_data_payload(&data, writer, "stdout_payload", "hi", 2, &err), err);
        tape_data_end(&data);
        CHECK_OK(tape_writer_record(writer,
                                    &(struct tape_record){.kind = TAPE_PROCESS_SPAWN,
                                                          .process = "1.2",
                                                          .virtual_time_ns = i * 1000,
                                                          .data = data.text.data,
                                                          .data_length = data.text.length},
                                    &err),
                 err);
    }
    CHECK_OK(tape_writer_close(writer, &err), err);
}

static uint64_t findings_in(const char *path)
{
    CLEANUP(tape_verdict_done) struct tape_verdict verdict = {0};
    struct err err = {0};

    CHECK_OK(
        tape_verify(&(struct tape_verify_options){.path = path, .complete = true}, &verdict, &err),
        err);
    return verdict.finding_count;
}

TEST(every_flipped_bit_of_a_closed_tape_is_a_finding)
{
    const char *path = tmp_path("flip.tape");
    CLEANUP(buf_done) struct buf text = {0};
    struct err err = {0};

    write_sample(path);
    CHECK_INT(findings_in(path), 0);
    CHECK_OK(file_read(path, 1 << 16, &text, &err), err);
    CLEANUP(fd_close) int fd = open(path, O_WRONLY | O_CLOEXEC);
    for (size_t bit = 0; bit < text.length * 8; bit++) {
        char byte = (char)(text.data[bit / 8] ^ 1 << bit % 8);
        CHECK_INT(pwrite(fd, &byte, 1, (off_t)(bit / 8)), 1);
        if (!findings_in(path))
            check_fail(__FILE__, __LINE__, "bit %zu of byte %zu went unnoticed", bit % 8, bit / 8);
        CHECK_INT(pwrite(fd, &text.data[bit / 8], 1, (off_t)(bit / 8)), 1);
    }
}

TEST(a_closed_tape_cut_anywhere_is_a_finding)
{
    const char *path = tmp_path("cut.tape");
    CLEANUP(buf_done) struct buf text = {0};
    struct err err = {0};

    write_sample(path);
    CHECK_OK(file_read(path, 1 << 16, &text, &err), err);
    for (size_t length = text.length - 2; length > 0; length--) {
        CHECK_INT(truncate(path, (off_t)length), 0);
        if (!findings_in(path))
            check_fail(__FILE__, __LINE__, "cut at %zu went unnoticed", length);
    }
}
