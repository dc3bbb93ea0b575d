/* SPDX-License-Identifier: MIT */
/* term_bench WHAT: one figure on standard output, in microseconds or milliseconds.
 *   latency N   N rounds with cat: type a line, wait until it is back and cat waits again; us each
 *   stream MB   that many megabytes without a newline, then a word that is expected; ms
 *   search MB   the same stream searched again by an expression; ms
 *   growth MB   search of MB over search of MB / 10; a ratio, 10 when linear
 *   parallel N  N sessions at once: prompt, answer, exit; ms */
#include "base/wall.h"
#include "base/buf.h"
#include "vitro/term.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ARGV(...)                                                                                  \
    (const char *const[])                                                                          \
    {                                                                                              \
        __VA_ARGS__, NULL                                                                          \
    }

static void must(vitro_term *t, int r)
{
    if (r >= 0)
        return;
    (void)fputs(vitro_term_failure(t)->text, stderr);
    exit(1);
}

static vitro_term *open_term(const char *const *argv)
{
    struct vitro_box_error error = {0};
    vitro_term *t = vitro_term_open(
        &(struct vitro_term_options){.box.argv = argv, .ceiling_ns = 300000000000}, &error);

    if (!t) {
        (void)fprintf(stderr, "%s\n", error.text);
        exit(1);
    }
    return t;
}

static double latency(int rounds)
{
    vitro_term *t = open_term(ARGV("sh", "-c", "stty -echo; echo ready; exec cat"));
    char line[32], wanted[32];

    must(t, vitro_expect(t, "ready"));
    uint64_t start = wall_monotonic_ns();
    for (int i = 0; i < rounds; i++) {
        (void)snprintf(line, sizeof line, "line %d\n", i);
        (void)snprintf(wanted, sizeof wanted, "line %d\r\n", i);
        must(t, vitro_term_send(t, line, strlen(line)));
        must(t, vitro_expect(t, wanted));
    }
    double us = (double)(wall_monotonic_ns() - start) / 1e3 / rounds;
    vitro_term_close(t);
    return us;
}

static vitro_term *open_stream(int megabytes)
{
    CLEANUP(mem_free) char *script =
        mem_format("head -c %d000000 /dev/zero | tr '\\0' x; printf 'the END'; read y", megabytes);

    return open_term(ARGV("sh", "-c", script));
}

static double stream(int megabytes)
{
    uint64_t start = wall_monotonic_ns();
    vitro_term *t = open_stream(megabytes);

    must(t, vitro_expect(t, "the END"));
    double ms = (double)(wall_monotonic_ns() - start) / 1e6;
    vitro_term_close(t);
    return ms;
}

static double search(int megabytes)
{
    vitro_term *t = open_stream(megabytes);

    must(t, vitro_expect(t, "the END"));
    uint64_t start = wall_monotonic_ns();
    must(t, vitro_expect(t, "x[aeiou]END|the (END)", .regex = 1, .from_start = 1));
    double ms = (double)(wall_monotonic_ns() - start) / 1e6;
    vitro_term_close(t);
    return ms;
}

static double parallel(int count)
{
    vitro_term **all = calloc((size_t)count, sizeof *all);
    uint64_t start = wall_monotonic_ns();

    for (int i = 0; i < count; i++)
        all[i] = open_term(ARGV("sh", "-c", "printf 'name? '; read n; echo hello $n; sleep 60"));
    for (int i = 0; i < count; i++)
        must(all[i], vitro_expect(all[i], "name? ", .before_read = 1));
    for (int i = 0; i < count; i++)
        must(all[i], vitro_type(all[i], "Zoe<Enter>"));
    for (int i = 0; i < count; i++) {
        must(all[i], vitro_expect(all[i], "hello Zoe"));
        must(all[i], vitro_term_expect_exit(all[i], 0, 0));
        vitro_term_close(all[i]);
    }
    free(all);
    return (double)(wall_monotonic_ns() - start) / 1e6;
}

int main(int argc, char **argv)
{
    int number = argc == 3 ? (int)strtol(argv[2], NULL, 10) : 0;
    const char *what = argc == 3 ? argv[1] : "";
    double figure = strcmp(what, "latency") == 0    ? latency(number)
                    : strcmp(what, "stream") == 0   ? stream(number)
                    : strcmp(what, "search") == 0   ? search(number)
                    : strcmp(what, "growth") == 0   ? search(number) / search(number / 10)
                    : strcmp(what, "parallel") == 0 ? parallel(number)
                                                    : -1;

    (void)printf("%.1f\n", figure);
    return figure < 0;
}
