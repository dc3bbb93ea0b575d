/* SPDX-License-Identifier: MIT */
/* The box at work. Guests, each doing one thing so often that the start does not matter:
 *
 *     box_bench clock COUNT     reads the monotonic clock
 *     box_bench cpu COUNT       computes
 *     box_bench sleep COUNT     sleeps for an hour, one after the other
 *     box_bench crowd COUNT     the same beside 200 threads that wait for something else
 *     box_bench guests COUNT    so many processes that sleep for an hour side by side
 *
 * and the stopwatch outside of them, since time does not pass inside:
 *
 *     box_bench time ROUNDS COMMAND... [:: COMMAND...]
 *
 * runs the commands in turn, ROUNDS times, so that what else the machine does falls on all of
 * them, and prints the medians of each in ns, one a line: real time, then CPU time of all its
 * processes. */
#include "base/wall.h"
#include "base/buf.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { COMMANDS_MAX = 16, ROUNDS_MAX = 1000, CROWD = 200 };

static int guest_clock(long count)
{
    struct timespec now = {0};

    for (long i = 0; i < count; i++)
        (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec < 0;
}

static int guest_cpu(long count)
{
    uint64_t state = 1;

    for (long i = 0; i < count; i++)
        state = state * UINT64_C(6364136223846793005) + (state >> 33) % 7 + 1;
    return state == 0;
}

static int guest_sleep(long count)
{
    const struct timespec hour = {3600, 0};

    for (long i = 0; i < count; i++)
        (void)nanosleep(&hour, NULL);
    return 0;
}

static void *wait_for_ever(void *unused)
{
    for (;;)
        (void)pause();
    return unused;
}

static int guest_crowd(long count)
{
    pthread_t thread;

    for (int i = 0; i < CROWD; i++)
        if (pthread_create(&thread, NULL, wait_for_ever, NULL) != 0)
            return 1;
    return guest_sleep(count);
}

static int guest_guests(long count)
{
    for (long i = 0; i < count; i++) {
        pid_t pid = fork();
        if (pid < 0)
            return 1;
        if (pid == 0)
            _exit(guest_sleep(1));
    }
    while (wait(NULL) > 0 || errno == EINTR)
        ;
    return 0;
}

/* ---- the stopwatch ----------------------------------------------------------------------- */

struct lap {
    uint64_t real_ns, cpu_ns;
};

static uint64_t cpu_ns(const struct rusage *usage)
{
    return (uint64_t)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * UINT64_C(1000000000) +
           (uint64_t)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) * 1000;
}

static struct lap time_command(char **argv)
{
    struct rusage usage = {0};
    posix_spawn_file_actions_t actions;
    uint64_t start = wall_monotonic_ns();
    pid_t pid;
    int status = 0;

    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    (void)posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    int r = posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    if (r != 0 || wait4(pid, &status, 0, &usage) < 0 || status) {
        (void)fprintf(stderr, "box_bench: '%s' failed (%s, status %#x)\n", argv[0], strerror(r),
                      (unsigned)status);
        exit(1);
    }
    return (struct lap){wall_monotonic_ns() - start, cpu_ns(&usage)};
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

static uint64_t median(uint64_t *values, size_t count)
{
    qsort(values, count, sizeof *values, by_value);
    return values[count / 2];
}

static int time_commands(long rounds, char **words)
{
    static uint64_t real[COMMANDS_MAX][ROUNDS_MAX], cpu[COMMANDS_MAX][ROUNDS_MAX];
    char **commands[COMMANDS_MAX] = {words};
    size_t count = 1;

    for (char **word = words; *word; word++)
        if (strcmp(*word, "::") == 0) {
            *word = NULL;
            if (count == COMMANDS_MAX)
                return 2;
            commands[count++] = word + 1;
        }
    for (long round = 0; round < rounds; round++)
        for (size_t i = 0; i < count; i++) {
            struct lap lap = time_command(commands[i]);
            real[i][round] = lap.real_ns;
            cpu[i][round] = lap.cpu_ns;
        }
    for (size_t i = 0; i < count; i++)
        (void)printf("%llu %llu\n", (unsigned long long)median(real[i], (size_t)rounds),
                     (unsigned long long)median(cpu[i], (size_t)rounds));
    return 0;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(long count);
    } guests[] = {{"clock", guest_clock},
                  {"cpu", guest_cpu},
                  {"sleep", guest_sleep},
                  {"crowd", guest_crowd},
                  {"guests", guest_guests}};
    long count = argc > 2 ? strtol(argv[2], NULL, 10) : 0;

    if (argc > 3 && strcmp(argv[1], "time") == 0 && count > 0 && count <= ROUNDS_MAX)
        return time_commands(count, argv + 3);
    for (size_t i = 0; argc == 3 && i < ARRAY_LENGTH(guests); i++)
        if (strcmp(argv[1], guests[i].name) == 0)
            return guests[i].run(count);
    (void)fprintf(stderr,
                  "usage: box_bench clock|cpu|sleep|crowd|guests COUNT | time ROUNDS COMMAND...\n");
    return 2;
}
