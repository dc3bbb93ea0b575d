/* SPDX-License-Identifier: MIT */
#include "cli/run_plan.h"
#include "base/fd.h"
#include <errno.h>

int run_plan_read(const struct cli_args *args, struct run_plan *plan, struct err *err)
{
    const struct proc_asked_for asked = {
        .mode = cli_value(args, "proc"),
        .record = cli_value(args, "record"),
        .cassette = cli_value(args, "cassette"),
        .record_list = cli_value(args, "process-record"),
        .replay_list = cli_value(args, "process-replay"),
        .record_in_ci = cli_flag(args, "record-in-ci"),
    };
    int r = box_cli_read(args, &plan->box, err);

    if (r == 0)
        r = proc_cli_read(args, &plan->box.proc, &plan->proc, err);
    if (r == 0)
        r = proc_plan_make(&asked, &plan->box.proc, &plan->files, err);
    plan->box.record = plan->files.record;
    return r;
}

int run_plan_keep(const struct cli_args *args, struct run_plan *plan,
                  const struct box_findings *findings, int code, struct err *err)
{
    const char *bundle = plan->box.record;
    CLEANUP(mem_free) char *manifest = mem_format("%s/manifest.json", bundle ? bundle : "");

    if (!bundle || !file_exists(manifest) || code == EXIT_TROUBLE)
        return 0;
    int r = proc_plan_convert(&plan->files, err);
    if (r == 0 && proc_plan_keeps_bundle(&plan->files))
        r = run_file_write(args, findings, bundle, err);
    return r < 0 ? r : proc_plan_place(&plan->files, err);
}

void run_plan_done(struct run_plan *plan)
{
    proc_plan_done(&plan->files);
    proc_cli_done(&plan->proc);
    box_cli_done(&plan->box);
    *plan = (struct run_plan){0};
}
