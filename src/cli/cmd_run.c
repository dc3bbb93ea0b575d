/* SPDX-License-Identifier: MIT */
/* vitro run: a program in a box. */
#include "cli/cli.h"
#include "box/box_options.h"
#include "base/text.h"
#include "base/when.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct cli_option options[] = {
    {"clock", "WHEN", "real, WHEN, WHEN,manual, +7d, -2h or x10 (default 2026-01-01T00:00:00Z)", 'c', false},
    {"seed", "N", "the seed of everything random (default 1)", 's', false},
    {"net", "MODE", "deny: loopback only (default); real: the machine's network", 0, false},
    {"random", "MODE", "virtual (default) or real", 0, false},
    {"identity", "MODE", "virtual (default) or real: host name, kernel, CPUs, locale, zone", 0, false},
    {"cpus", "N", "CPUs the box may use (default 1)", 0, false},
    {"max-time", "DURATION", "end the box after this much virtual time", 0, false},
    {"timeout", "DURATION", "end the box after this much real time (default 10m)", 0, false},
    {"max-steps", "N", "end the box after so many stops", 0, false},
    {"max-procs", "N", "end the box when more processes exist at once (default 4096)", 0, false},
    {"allow", "WHAT", "do not fail on: leak", 0, true},
    {"quiet", NULL, "no closing line", 'q', false},
    {0},
};

static int read_options(const struct cli_args *args, struct box_options *box, struct err *err)
{
    const char *text = cli_value(args, "clock");
    uint64_t number;

    if (text && box_clock_parse(text, &box->clock, err) < 0)
        return err->code;
    if ((text = cli_value(args, "seed")) && !text_to_u64(text, &box->seed))
        return err_set(err, -EINVAL, "--seed '%s' is not a number", text);
    if ((text = cli_value(args, "max-time")) && when_parse_duration(text, &box->max_time_ns, err) < 0)
        return err_wrap(err, "--max-time");
    if ((text = cli_value(args, "timeout")) && when_parse_duration(text, &box->timeout_ns, err) < 0)
        return err_wrap(err, "--timeout");
    if ((text = cli_value(args, "max-steps")) && !text_to_u64(text, &box->max_steps))
        return err_set(err, -EINVAL, "--max-steps '%s' is not a number", text);
    if ((text = cli_value(args, "max-procs"))) {
        if (!text_to_u64(text, &number) || !number || number > 1000000)
            return err_set(err, -EINVAL, "--max-procs '%s' is not a number of processes", text);
        box->max_procs = (unsigned)number;
    }
    return 0;
}
static int run(const struct cli_args *args);
const struct command command_run = {
    .name = "run", .summary = "run a program under glass", .operands = "[options] -- PROGRAM [ARG...]",
    .operands_min = 1, .operands_max = -1, .options = options, .stops_at_operand = true, .run = run,
};
static int run(const struct cli_args *args)
{
    struct box_options box = {0};
    static struct box_findings findings;
    struct err err = {0};
    const char *const *argv;

    cli_operands(args, &argv);
    box.argv = argv;
    if (read_options(args, &box, &err) < 0)
        return cli_usage(&command_run, "%s", err.text);
    if (box_run(&box, &findings, &err) < 0)
        return cli_fail(EXIT_TROUBLE, &err);
    int code = box_exit_code(&box, &findings);
    CLEANUP(buf_done) struct buf line = {0};
    if (findings.text[0])
        buf_addf(&line, "vitro: %s\n", findings.text);
    buf_addf(&line, "vitro: code %d  ", code);
    when_add_duration(&line, findings.virtual_ns);
    buf_addf(&line, " virtual in %.3f s, %llu jumps, %llu stops, %llu ticks, %llu processes, %llu leaks\n", (double)findings.real_ns / 1e9,
             (unsigned long long)findings.jumps, (unsigned long long)findings.stops, (unsigned long long)findings.ticks,
             (unsigned long long)findings.processes, (unsigned long long)findings.leak_count);
    for (size_t i = 0; i < findings.leak_count; i++)
        buf_addf(&line, "vitro: leak %s x%llu, first by %s\n", findings.leaks[i].capability, (unsigned long long)findings.leaks[i].count, findings.leaks[i].process);
    buf_adds(&line, findings.notes);
    if (!cli_flag(args, "quiet"))
        (void)fputs(buf_text(&line), stderr);
    return code;
}
