/* SPDX-License-Identifier: MIT */
/* vitro fidelity and vitro tape diff: one comparison, two names. `tape diff` is the byte mode. */
#include "cli/noise_cli.h"
#include "cli/cmd_tape.h"
#include "tape/fidelity.h"
#include <stdio.h>

enum { SHOWN_MAX = 20 };

static int fidelity_run(const struct cli_args *args);
static int diff_run(const struct cli_args *args);

static const struct cli_option fidelity_options[] = {
    {"mode", "MODE", "byte (default), semantic, outcome or phase", 'm', false},
    NOISE_CLI_OPTIONS,
    {"all", NULL, "print all divergences, not only the first ones", 'a', false},
    {0},
};
static const struct cli_option diff_options[] = {
    NOISE_CLI_OPTIONS,
    {"all", NULL, "print all differences, not only the first ones", 'a', false},
    {0},
};
static const char *const fidelity_examples[] = {
    "vitro fidelity recorded/ replayed/ --mode semantic", "compare what happened, but not when",
    "vitro fidelity a.tape b.tape --ignore 'process_spawn[curl].args[2]'",
    "overlook the third argument of curl", NULL};
static const char *const diff_examples[] = {"vitro tape diff a.tape b.tape",
                                            "what differs, by aligned records", NULL};

const struct command command_fidelity = {
    .name = "fidelity",
    .summary = "tell how faithful a replay is to its recording",
    .operands = "RECORDED REPLAYED",
    .operands_min = 2,
    .operands_max = 2,
    .options = fidelity_options,
    .examples = fidelity_examples,
    .run = fidelity_run,
};
const struct command command_tape_diff = {
    .name = "tape diff",
    .summary = "compare two tapes record by record",
    .operands = "TAPE TAPE",
    .operands_min = 2,
    .operands_max = 2,
    .options = diff_options,
    .examples = diff_examples,
    .run = diff_run,
};

static int compare(const struct cli_args *args, enum fidelity_mode mode)
{
    CLEANUP(mem_free) char *recorded = cmd_tape_operand(args, 0);
    CLEANUP(mem_free) char *replay = cmd_tape_operand(args, 1);
    CLEANUP(noise_free) struct noise *noise = noise_new();
    CLEANUP(fidelity_report_done) struct fidelity_report report = {0};
    CLEANUP(buf_done) struct buf text = {0};
    struct err err = {0};
    bool all = cli_flag(args, "all");
    struct fidelity_options options = {.recorded = recorded,
                                       .replay = replay,
                                       .mode = mode,
                                       .noise = noise,
                                       .keep_max = all ? SIZE_MAX : 0};

    int r = noise_cli_read(args, noise, &err);
    if (r == 0)
        r = fidelity_compare(&options, &report, &err);
    if (r < 0)
        return cli_fail(EXIT_USAGE, &err);
    if (cli_json(args)) {
        cmd_print_json(fidelity_report_json(&report));
    } else {
        fidelity_report_add(&text, &report, all ? SIZE_MAX : SHOWN_MAX);
        cmd_print(&text);
    }
    return report.total ? EXIT_FINDINGS : EXIT_CLEAN;
}

static int fidelity_run(const struct cli_args *args)
{
    const char *name = cli_value(args, "mode");
    enum fidelity_mode mode = FIDELITY_BYTE;
    struct err err = {0};

    if (name && fidelity_mode_parse(name, &mode, &err) < 0)
        return cli_fail(EXIT_USAGE, &err);
    return compare(args, mode);
}

static int diff_run(const struct cli_args *args)
{
    return compare(args, FIDELITY_BYTE);
}
