/* SPDX-License-Identifier: MIT */
/* Test programs: their registered tests, the --vitro options, and what the environment says. */
#include "sched/explore.h"
#include "base/fd.h"
#include "base/text.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct vitro_test *tests; /* in the order they were added */
static struct {
    const char *program;
    char *schedule; /* owned; text to replay */
    char *test;     /* owned; which test it is of */
    const char *shrink_to;
    uint64_t seed, schedules;
    bool list, read_environment;
} args = {.program = "PROGRAM"};
static void (*on_failure)(const char *, const char *, int);

void vitro_test_add(struct vitro_test *test)
{
    struct vitro_test **end = &tests;

    while (*end)
        end = &(*end)->next;
    test->next = NULL;
    *end = test;
}

/* The note "test NAME" of a schedule. */
static char *test_of(const char *schedule)
{
    for (const char *at = schedule; at && *at;) {
        size_t length = strcspn(at, "\n;");
        if (text_starts(at, "test "))
            return mem_dupn(at + 5, length - 5);
        at += length + (at[length] != 0);
    }
    return NULL;
}

static int use_schedule(const char *text_or_file)
{
    CLEANUP(buf_done) struct buf text = {0};
    struct err err = {0};

    if (text_starts(text_or_file, "vitro schedule "))
        buf_adds(&text, text_or_file);
    else if (file_read(text_or_file, 64 << 20, &text, &err) < 0)
        return fail_text(NULL, err.code, "%s", err.text);
    free(args.schedule);
    free(args.test);
    args.test = test_of(buf_text(&text));
    args.schedule = buf_take(&text);
    return 0;
}

static void read_environment(void)
{
    if (args.read_environment)
        return;
    args.read_environment = true;
    const char *schedule = getenv("VITRO_SCHEDULE"), *seed = getenv("VITRO_SEED"),
               *count = getenv("VITRO_SCHEDULES");
    if (seed && !text_to_u64(seed, &args.seed))
        mistake("VITRO_SEED is '%s', which is no number", seed);
    if (count && !text_to_u64(count, &args.schedules))
        mistake("VITRO_SCHEDULES is '%s', which is no number", count);
    if (schedule && *schedule && use_schedule(schedule) < 0)
        mistake("VITRO_SCHEDULE: %s", vitro_error(NULL));
}

const char *args_schedule(const char *test)
{
    read_environment();
    if (!args.schedule)
        return NULL;
    return !args.test || strcmp(args.test, test) == 0 ? args.schedule : "";
}

uint64_t args_seed(uint64_t seed)
{
    read_environment();
    return args.seed ? args.seed : seed;
}

uint64_t args_schedules(uint64_t schedules)
{
    read_environment();
    return args.schedules ? args.schedules : schedules;
}

const char *args_program(void)
{
    return args.program;
}

/* ---- the command line */

static int take(int *argc, char **argv, int at, int values, char **ret)
{
    if (at + values >= *argc)
        return fail_text(NULL, -EINVAL, "%s needs %d more word%s", argv[at], values,
                         values == 1 ? "" : "s");
    for (int i = 0; i < values; i++)
        ret[i] = argv[at + 1 + i];
    for (int i = at; i + values + 1 <= *argc; i++)
        argv[i] = argv[i + values + 1];
    *argc -= values + 1;
    return 0;
}

static int take_number(int *argc, char **argv, int at, uint64_t *ret)
{
    const char *option = argv[at];
    char *word;
    int r = take(argc, argv, at, 1, &word);

    if (r < 0)
        return r;
    if (!text_to_u64(word, ret))
        return fail_text(NULL, -EINVAL, "%s: '%s' is no number", option, word);
    return 0;
}

static int take_option(int *argc, char **argv, int at)
{
    char *words[2] = {NULL, NULL};
    int r;

    if (strcmp(argv[at], "--vitro-list") == 0) {
        args.list = true;
        return take(argc, argv, at, 0, words);
    }
    if (strcmp(argv[at], "--vitro-seed") == 0)
        return take_number(argc, argv, at, &args.seed);
    if (strcmp(argv[at], "--vitro-schedules") == 0)
        return take_number(argc, argv, at, &args.schedules);
    if (strcmp(argv[at], "--vitro-replay") == 0) {
        r = take(argc, argv, at, 1, words);
        return r < 0 ? r : use_schedule(words[0]);
    }
    if (strcmp(argv[at], "--vitro-shrink") == 0) {
        r = take(argc, argv, at, 2, words);
        if (r < 0)
            return r;
        args.shrink_to = words[1];
        return use_schedule(words[0]);
    }
    return fail_text(NULL, -EINVAL,
                     "unknown option '%s': --vitro-list, --vitro-replay FILE, --vitro-shrink FILE "
                     "OUT, --vitro-seed N, --vitro-schedules N",
                     argv[at]);
}

int vitro_args(int *argc, char **argv)
{
    args.program = *argc > 0 ? argv[0] : "PROGRAM";
    read_environment();
    for (int i = 1; i < *argc;) {
        if (!text_starts(argv[i], "--vitro-")) {
            i++;
            continue;
        }
        int r = take_option(argc, argv, i);
        if (r < 0)
            return r;
    }
    return 0;
}

/* ---- running the registered tests */

static int shrink_test(const struct vitro_test *test)
{
    struct vitro_check_options options = test->options;

    options.name = test->name;
    struct vitro_verdict v = vitro_shrink_with(test->fn, test->arg, args.schedule, &options);
    int status = 1;

    (void)fputs(v.report, stdout);
    if (v.shrunk) {
        struct err err = {0};
        status = file_write(args.shrink_to, v.shrunk, strlen(v.shrunk), &err) < 0 ? 2 : 0;
        if (status)
            (void)fprintf(stderr, "%s\n", err.text);
    }
    vitro_verdict_done(&v);
    return status;
}

/* Prints its line and, as comments, its report; true when it passed. */
static bool run_test(const struct vitro_test *test, unsigned number)
{
    struct vitro_check_options options = test->options;

    options.name = test->name;
    struct vitro_verdict v = test->prove ? vitro_prove_with(test->fn, test->arg, &options)
                                         : vitro_check_with(test->fn, test->arg, &options);
    bool ok = v.kind == VITRO_OK;
    printf("%s %u - %s\n", ok ? "ok" : "not ok", number, test->name);
    for (const char *line = v.report; *line;) {
        size_t length = strcspn(line, "\n");
        printf("# %.*s\n", (int)length, line);
        line += length + (line[length] != 0);
    }
    vitro_verdict_done(&v);
    return ok;
}

int vitro_main(int argc, char **argv)
{
    unsigned number = 0;
    bool ok = true;

    if (vitro_args(&argc, argv) < 0) {
        (void)fprintf(stderr, "%s: %s\n", argv[0], vitro_error(NULL));
        return 2;
    }
    for (const struct vitro_test *t = tests; t; t = t->next) {
        if (args.list) {
            puts(t->name);
            continue;
        }
        if (args.schedule && args.test && strcmp(args.test, t->name) != 0)
            continue;
        if (args.shrink_to)
            return shrink_test(t);
        ok = run_test(t, ++number) && ok;
    }
    if (args.schedule && !number && !args.list) {
        (void)fprintf(stderr, "%s: no test '%s' here\n", argv[0], args.test ? args.test : "?");
        return 2;
    }
    if (!args.list)
        printf("1..%u\n", number);
    return ok ? 0 : 1;
}

void vitro_on_failure(void (*fail)(const char *, const char *, int))
{
    on_failure = fail;
}

void vitro_assert_ok_at(struct vitro_verdict v, const char *file, int line)
{
    if (v.kind == VITRO_OK) {
        vitro_verdict_done(&v);
        return;
    }
    if (on_failure) {
        on_failure(v.report, file, line);
        vitro_verdict_done(&v);
        return;
    }
    (void)fprintf(stderr, "%s:%d: %s", file, line, v.report);
    abort();
}
