/* SPDX-License-Identifier: MIT */
/* vitro doctor: what this machine permits, and what to type to get more. */
#include "cli/cli.h"
#include "doctor/doctor.h"
#include <stdio.h>
#include <unistd.h>

static const char *const examples[] = {
    "vitro doctor",
    "which tier will run here, and what each missing piece would need",
    "vitro doctor --json | jq -r .tier",
    "A, B or none, for scripts",
    NULL,
};

static int doctor_run(const struct cli_args *args)
{
    CLEANUP(doctor_report_done) struct doctor_report report = {0};
    CLEANUP(buf_done) struct buf text = {0};

    doctor_examine(doctor_probes, &report);
    if (cli_json(args))
        doctor_add_json(&text, &report);
    else
        doctor_add_text(&text, &report, cli_colour(STDOUT_FILENO));
    (void)fputs(buf_text(&text), stdout);
    return report.tier == DOCTOR_NONE ? EXIT_FINDINGS : EXIT_CLEAN;
}

const struct command command_doctor = {
    .name = "doctor",
    .summary = "say what this machine permits, and how to get more",
    .operands = "",
    .examples = examples,
    .run = doctor_run,
};
