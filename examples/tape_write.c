/* SPDX-License-Identifier: MIT */
/* Writes a small tape: a nightly job that reads a page, sleeps, and writes a report.
 *
 *     tape_write PATH [extra]     with "extra" one record more, for something to compare */
#include "vitro/tape.h"
#include <stdio.h>
#include <string.h>

static int64_t now_ns = 1767225600000000000; /* 2026-01-01T00:00:00Z */

static int record(vitro_tape_writer *tape, const char *kind, const char *data)
{
    struct vitro_tape_error error;
    struct vitro_tape_entry entry = {
        .kind = kind, .process = "1", .data = data, .virtual_time_ns = now_ns};

    entry.monotonic_ns = (uint64_t)(now_ns - 1767225600000000000);
    int r = vitro_tape_record(tape, &entry, &error);
    if (r < 0)
        (void)fprintf(stderr, "tape_write: %s\n", error.text);
    return r;
}

int main(int argc, char **argv)
{
    struct vitro_tape_error error;
    const char *words[] = {"nightly.sh", NULL};
    struct vitro_tape_options options = {
        .argv = words, .script = "nightly.sh", .started_at_unix_ms = 1767225600000};

    if (argc < 2)
        return (void)fprintf(stderr, "usage: tape_write PATH [extra]\n"), 2;
    vitro_tape_writer *tape = vitro_tape_create(argv[1], &options, &error);
    if (!tape)
        return (void)fprintf(stderr, "tape_write: %s\n", error.text), 1;
    int r = record(tape, "clock_read", "{\"source\":\"wall\",\"value_ns\":1767225600000000000}");
    if (r == 0)
        r = record(tape, "env_read", "{\"name\":\"API_TOKEN\",\"value\":\"not for your eyes\"}");
    if (r == 0)
        r = record(tape, "process_spawn",
                   "{\"args\":[\"-s\",\"https://api.test/v1/items\"],\"exit_code\":0,"
                   "\"program\":\"curl\"}");
    if (r == 0)
        r = record(tape, "clock_sleep", "{\"duration_ns\":86400000000000}");
    now_ns += 86400000000000;
    if (r == 0 && argc > 2 && strcmp(argv[2], "extra") == 0)
        r = record(tape, "net_denied", "{\"host\":\"tracker.test\",\"port\":443}");
    if (r == 0)
        r = record(tape, "file_write", "{\"len_bytes\":17,\"path\":\"report.txt\"}");
    return vitro_tape_close(tape, &error) < 0 || r < 0;
}
