/* SPDX-License-Identifier: MIT */
/* vitro sched: schedules that a C test saved. show and lanes read the file alone; shrink runs the
 * test program, which knows the test the schedule is of. */
#include "cli/cli.h"
#include "base/json.h"
#include "sched/schedule_file.h"
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

static const struct cli_option no_options[] = {{0}};

static int read_operand(const struct cli_args *args, struct schedule_file *file, struct err *err)
{
    const char *const *words;

    (void)cli_operands(args, &words);
    return schedule_file_read(words[0], file, err);
}

static void set(json_t *object, const char *name, const char *value)
{
    if (value)
        (void)json_object_set_new(object, name, json_string(value));
}

static json_t *to_json(const struct schedule_file *file)
{
    json_t *top = json_object(), *decisions = json_array(), *steps = json_array();

    set(top, "test", file->test);
    set(top, "strategy", file->strategy);
    set(top, "seed", file->seed);
    set(top, "kind", file->kind);
    set(top, "error", file->error);
    for (size_t i = 0; i < file->decision_count; i++)
        (void)json_array_append_new(decisions, json_string(file->decisions[i]));
    for (size_t i = 0; i < file->step_count; i++) {
        json_t *step = json_object();
        set(step, "task", file->steps[i].task);
        set(step, "op", file->steps[i].op);
        set(step, "object", file->steps[i].object);
        set(step, "where", file->steps[i].where);
        (void)json_array_append_new(steps, step);
    }
    (void)json_object_set_new(top, "decisions", decisions);
    (void)json_object_set_new(top, "steps", steps);
    return top;
}

static int print_json(const struct schedule_file *file)
{
    CLEANUP(json_free) json_t *top = to_json(file);
    CLEANUP(buf_done) struct buf text = {0};

    json_add_canonical(&text, top);
    (void)puts(buf_text(&text));
    return EXIT_CLEAN;
}

static void add_line(struct buf *text, const char *word, const char *value)
{
    if (value)
        buf_addf(text, "%-10s %s\n", word, value);
}

static int show_run(const struct cli_args *args)
{
    CLEANUP(schedule_file_done) struct schedule_file file = {0};
    CLEANUP(buf_done) struct buf text = {0};
    struct err err = {0};

    if (read_operand(args, &file, &err) < 0)
        return cli_fail(EXIT_USAGE, &err);
    if (cli_json(args))
        return print_json(&file);
    add_line(&text, "test", file.test);
    add_line(&text, "kind", file.kind);
    add_line(&text, "error", file.error);
    add_line(&text, "strategy", file.strategy);
    add_line(&text, "seed", file.seed);
    buf_addf(&text, "decisions  %zu\n", file.decision_count);
    for (size_t i = 0; i < file.decision_count; i++)
        buf_addf(&text, "  %s\n", file.decisions[i]);
    (void)fputs(buf_text(&text), stdout);
    return EXIT_CLEAN;
}

static int lanes_run(const struct cli_args *args)
{
    CLEANUP(schedule_file_done) struct schedule_file file = {0};
    CLEANUP(buf_done) struct buf text = {0};
    struct err err = {0};

    if (read_operand(args, &file, &err) < 0)
        return cli_fail(EXIT_USAGE, &err);
    if (cli_json(args))
        return print_json(&file);
    if (!file.step_count) {
        err_set(&err, -ENODATA, "this schedule has no steps to draw");
        err_hint(&err, "schedules that a check saved have them: .save = \"FILE\"");
        return cli_fail(EXIT_FINDINGS, &err);
    }
    schedule_file_add_lanes(&file, &text);
    (void)fputs(buf_text(&text), stdout);
    return EXIT_CLEAN;
}

static int shrink_run(const struct cli_args *args)
{
    CLEANUP(schedule_file_done) struct schedule_file file = {0};
    const char *const *words;
    size_t count = cli_operands(args, &words);
    struct err err = {0};
    const char *out = cli_value(args, "output");
    CLEANUP(mem_free) char *path = out ? mem_dup(out) : mem_format("%s.min", words[0]);
    CLEANUP(mem_free) const char **argv = mem_alloc((count + 4) * sizeof *argv);
    pid_t pid;
    int status;

    if (read_operand(args, &file, &err) < 0)
        return cli_fail(EXIT_USAGE, &err);
    for (size_t i = 1; i < count; i++)
        argv[i - 1] = words[i];
    argv[count - 1] = "--vitro-shrink";
    argv[count] = words[0];
    argv[count + 1] = path;
    (void)fflush(stdout);
    int r = posix_spawnp(&pid, argv[0], NULL, NULL, (char *const *)argv, environ);
    if (r != 0) {
        err_set(&err, -r, "run '%s': %s", argv[0], strerror(r));
        return cli_fail(r == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE, &err);
    }
    if (waitpid(pid, &status, 0) < 0 || !WIFEXITED(status)) {
        err_set(&err, -EIO, "'%s' was ended by a signal", argv[0]);
        return cli_fail(EXIT_TROUBLE, &err);
    }
    return WEXITSTATUS(status);
}

static const struct cli_option shrink_options[] = {
    {"output", "FILE", "where the small schedule goes (FILE.min)", 'o', false},
    {0},
};

static const char *const show_examples[] = {
    "vitro sched show deposits.schedule",
    "what a saved schedule decided",
    NULL,
};
static const char *const lanes_examples[] = {
    "vitro sched lanes deposits.schedule",
    "who ran when, a column a task",
    NULL,
};
static const char *const shrink_examples[] = {
    "vitro sched shrink deposits.schedule ./bank_test",
    "the fewest preemptions that still fail, in deposits.schedule.min",
    NULL,
};

const struct command command_sched_show = {
    .name = "sched show",
    .summary = "print a saved schedule",
    .operands = "FILE",
    .operands_min = 1,
    .operands_max = 1,
    .options = no_options,
    .examples = show_examples,
    .run = show_run,
};

const struct command command_sched_lanes = {
    .name = "sched lanes",
    .summary = "draw who ran when in a saved schedule",
    .operands = "FILE",
    .operands_min = 1,
    .operands_max = 1,
    .options = no_options,
    .examples = lanes_examples,
    .run = lanes_run,
};

const struct command command_sched_shrink = {
    .name = "sched shrink",
    .summary = "make a saved schedule small by running its test program",
    .operands = "FILE PROGRAM [ARG...]",
    .operands_min = 2,
    .operands_max = -1,
    .options = shrink_options,
    .examples = shrink_examples,
    .stops_at_operand = true,
    .run = shrink_run,
};
