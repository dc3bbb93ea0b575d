/* SPDX-License-Identifier: MIT */
/* proc_bench lookup COUNT: makes a cassette of COUNT recordings of different calls in memory, and
 * prints the nanoseconds of one lookup, the median of many in random order.
 *
 * proc_bench list COUNT: prints a plain list of COUNT calls of /bin/true. */
#include "base/rng.h"
#include "base/wall.h"
#include "proc/cassette.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LOOKUPS = 20001, BATCH = 8 };

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static struct call call_number(size_t number, char *text, const char **argv)
{
    (void)snprintf(text, 64, "--revision=%zu", number);
    argv[0] = "git";
    argv[1] = "log";
    argv[2] = text;
    argv[3] = NULL;
    return (struct call){.program = "/usr/bin/git", .argv = argv, .cwd = "."};
}

static void lookup(size_t count)
{
    static uint64_t times[LOOKUPS];
    CLEANUP(cassette_free) struct cassette *cassette = cassette_new(&(struct cassette_options){0});
    char text[64];
    const char *argv[4];
    struct rng rng;
    struct err err;

    for (size_t i = 0; i < count; i++) {
        CLEANUP(buf_done) struct buf data = {0};
        buf_addf(&data,
                 "{\"args\":[\"git\",\"log\",\"--revision=%zu\"],\"cwd\":\".\",\"env\":[],"
                 "\"events\":[[0,\"exit\"]],\"exit_code\":0,\"program\":\"/usr/bin/git\"}",
                 i);
        if (cassette_add(cassette, data.data, NULL, NULL, "bench", &err) < 0) {
            (void)fprintf(stderr, "%s\n", err.text);
            exit(1);
        }
    }
    rng_seed(&rng, 1);
    for (size_t i = 0; i < LOOKUPS; i++) {
        uint64_t started = wall_monotonic_ns();
        for (int j = 0; j < BATCH; j++) {
            size_t id;
            struct call call = call_number(rng_below(&rng, count), text, argv);
            if (!cassette_find(cassette, &call, &id, 1))
                exit(1);
        }
        times[i] = (wall_monotonic_ns() - started) / BATCH;
    }
    qsort(times, LOOKUPS, sizeof times[0], compare);
    (void)printf("%llu\n", (unsigned long long)times[LOOKUPS / 2]);
}

int main(int argc, char **argv)
{
    size_t count = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;

    if (count && strcmp(argv[1], "lookup") == 0) {
        lookup(count);
        return 0;
    }
    if (!count || strcmp(argv[1], "list") != 0)
        return 2;
    for (size_t i = 0; i < count; i++)
        (void)printf("%s{\"program\":\"true\",\"exit_code\":0}\n", i ? "," : "[");
    (void)puts("]");
    return 0;
}
