/* SPDX-License-Identifier: MIT */
/* The tape at work, one task a run, so that whole runs can be timed and their memory seen:
 *
 *     tape_bench write PATH COUNT [CHANGES]   small records; CHANGES of them differ from a plain
 * tape tape_bench read PATH                    reads and checks every line
 *
 * Prints "COUNT records, NANOSECONDS ns, KILOBYTES kB at most, NANOSECONDS ns of cpu". */
#include "base/wall.h"
#include "tape/tape.h"
#include "tape/tape_reader.h"
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

static void report(uint64_t count, uint64_t started_ns)
{
    struct rusage usage;

    (void)getrusage(RUSAGE_SELF, &usage);
    int64_t cpu_us = (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * INT64_C(1000000) +
                     usage.ru_utime.tv_usec + usage.ru_stime.tv_usec;
    printf("%llu records, %llu ns, %ld kB at most, %lld ns of cpu\n", (unsigned long long)count,
           (unsigned long long)(wall_monotonic_ns() - started_ns), usage.ru_maxrss,
           (long long)cpu_us * 1000);
}

/* A mix of what programs do most: clock reads, sleeps and file reads. */
static void make_data(struct tape_data *data, uint64_t i, bool changed)
{
    char path[64];

    tape_data_begin(data);
    if (i % 3 == 0) {
        tape_data_text(data, "source", changed ? "monotonic" : "wall");
        tape_data_u64(data, "value_ns", 1767225600000000000 + i * 1000);
    } else if (i % 3 == 1) {
        tape_data_u64(data, "duration_ns", i * 10 + changed);
    } else {
        (void)snprintf(path, sizeof path, "src/part%llu/file.c", (unsigned long long)(i % 1000));
        tape_data_u64(data, "len_bytes", i % 5000 + changed);
        tape_data_text(data, "path", path);
    }
    tape_data_end(data);
}

static int write_tape(const char *path, uint64_t count, uint64_t changes, struct err *err)
{
    static const enum tape_kind kinds[] = {TAPE_CLOCK_READ, TAPE_CLOCK_SLEEP, TAPE_FILE_READ};
    CLEANUP(tape_writer_free) struct tape_writer *writer = NULL;
    CLEANUP(tape_data_done) struct tape_data data = {0};
    struct tape_writer_options options = {.path = path,
                                          .replace = true,
                                          .sync = TAPE_SYNC_NEVER,
                                          .started_at_unix_ms = 1767225600000};
    int r = tape_writer_open(&options, &writer, err);

    for (uint64_t i = 0; r == 0 && i < count; i++) {
        make_data(&data, i, changes && i % (count / changes) == count / changes / 2);
        r = tape_writer_record(
            writer,
            &(struct tape_record){.kind = kinds[i % 3],
                                  .process = "1.2",
                                  .virtual_time_ns = (int64_t)(1767225600000000000 + i * 1000),
                                  .monotonic_ns = i * 1000,
                                  .data = data.text.data,
                                  .data_length = data.text.length},
            err);
    }
    return r < 0 ? r : tape_writer_close(writer, err);
}

static int read_tape(const char *path, uint64_t *ret_count, struct err *err)
{
    CLEANUP(tape_reader_free) struct tape_reader *reader = NULL;
    struct tape_entry entry;
    int r = tape_reader_open(&(struct tape_reader_options){.path = path}, &reader, err);

    if (r < 0)
        return r;
    while ((r = tape_reader_next(reader, &entry, err)) > 0)
        continue;
    *ret_count = tape_reader_summary(reader).records;
    return r;
}

int main(int argc, char **argv)
{
    struct err err = {0};
    uint64_t started_ns = wall_monotonic_ns(), count = 0;
    int r = -1;

    if (argc >= 4 && strcmp(argv[1], "write") == 0) {
        count = strtoull(argv[3], NULL, 10);
        r = write_tape(argv[2], count, argc > 4 ? strtoull(argv[4], NULL, 10) : 0, &err);
    } else if (argc == 3 && strcmp(argv[1], "read") == 0) {
        r = read_tape(argv[2], &count, &err);
    }
    if (r < 0)
        return fprintf(stderr, "tape_bench: %s\n", err.text), 1;
    report(count, started_ns);
    return 0;
}
