/* SPDX-License-Identifier: MIT */
/* vitro run: a program in a box. The program owns standard output; what we have to say goes to
 * standard error, in one closing line and only as much before it as something is wrong. */
#include "cli/box_cli.h"
#include "cli/changes_cli.h"
#include "cli/run_plan.h"
#include "doctor/doctor.h"
#include "box/control.h"
#include "base/json.h"
#include "base/text.h"
#include "base/when.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

static const struct cli_option options[] = {
    BOX_CLI_OPTIONS,
    PROC_CLI_OPTIONS,
    {"record", "DIR", "write a bundle with the tape of the run and its subprocesses", 'r', false},
    {"proc", "MODE", "recordings: once, new, none, all, refresh, verify or off", 0, false},
    {"cassette", "PATH", "a bundle or a tape that answers for subprocesses", 0, false},
    {"process-record", "FILE", "write the calls of subprocesses as a plain JSON list", 0, false},
    {"process-replay", "FILE", "play them from such a list", 0, false},
    {"record-in-ci", NULL, "record although CI is set", 0, false},
    {"name", "NAME", "a name for 'vitro clock' to reach the box by", 0, false},
    {"control", "PATH", "a control socket at this path instead of a name", 0, false},
    {"diff", NULL, "print what the run changed, as a patch, to standard output", 0, false},
    {"apply", "WHEN", "on-success: keep what the run changed if it ends well", 0, false},
    {"quiet", NULL, "no closing line when the run is clean", 'q', false},
    {0},
};

static const char *const examples[] = {
    "vitro run -- sh -c 'date; sleep 86400; date'",
    "a day passes at once, and everything agrees that it did",
    "vitro run --clock 2024-02-29T23:59:58Z -- ./nightly.sh",
    "start two seconds before the leap day ends",
    "vitro run --record out -- python3 job.py",
    "keep a tape; 'vitro tape show out' reads it",
    "vitro run --clock 2026-01-01,manual --name demo -- ./server",
    "time moves only by 'vitro clock advance demo 5m'",
    NULL,
};

static int run(const struct cli_args *args);

const struct command command_run = {
    .name = "run",
    .summary = "run a program under glass",
    .operands = "[options] -- PROGRAM [ARG...]",
    .operands_min = 1,
    .operands_max = -1,
    .options = options,
    .examples = examples,
    .stops_at_operand = true,
    .run = run,
};

static const char *outcome_word(const struct box_findings *findings, int code)
{
    switch (findings->outcome) {
    case BOX_DEADLOCK:
        return "DEADLOCK";
    case BOX_CEILING:
        return "STOPPED";
    case BOX_REFUSED:
        return "REFUSED";
    case BOX_NOT_FOUND:
    case BOX_NOT_EXECUTABLE:
    case BOX_TROUBLE:
        return "FAILED";
    case BOX_KILLED:
        return "KILLED";
    case BOX_EXITED:
        break;
    }
    if (WIFSIGNALED(findings->wait_status))
        return "SIGNAL";
    if (code == EXIT_UNMATCHED || (code == EXIT_DIVERGED && findings->proc.differences))
        return code == EXIT_UNMATCHED ? "UNMATCHED" : "CHANGED";
    return code == 0 ? "ok" : code == 121 && !WEXITSTATUS(findings->wait_status) ? "LEAK" : "exit";
}

static void add_count(struct buf *buf, uint64_t count, const char *one, const char *many)
{
    buf_addf(buf, " \xc2\xb7 %llu %s", (unsigned long long)count, count == 1 ? one : many);
}

static void add_closing(struct buf *buf, const struct box_findings *findings, int code,
                        const char *bundle)
{
    buf_addf(buf, "vitro: %s", outcome_word(findings, code));
    if (code)
        buf_addf(buf, " %d", code);
    buf_adds(buf, "  ");
    when_add_duration(buf, findings->virtual_ns);
    buf_addf(buf, " virtual in %.2f s", (double)findings->real_ns / 1e9);
    add_count(buf, findings->processes, "process", "processes");
    if (findings->files_changed) {
        add_count(buf, findings->files_changed, "file changed", "files changed");
        buf_addf(buf, " (vitro diff%s%s)", bundle ? " " : "", bundle ? bundle : "");
    }
    if (findings->proc.recorded)
        add_count(buf, findings->proc.recorded, "recorded", "recorded");
    if (findings->proc.played)
        add_count(buf, findings->proc.played, "played", "played");
    add_count(buf, findings->leak_count, "leak", "leaks");
    buf_addf(buf, " \xc2\xb7 seed %llu\n", (unsigned long long)findings->seed);
}

/* What to type to have namespaces here. */
static void add_remedies(struct buf *buf)
{
    CLEANUP(doctor_report_done) struct doctor_report report = {0};
    const char *last = "";

    doctor_examine(doctor_probes, &report);
    for (size_t i = 0; i < report.count; i++)
        if (!report.answers[i].works && report.probes[i].need == DOCTOR_FOR_A &&
            strcmp(report.answers[i].remedy, last) != 0) {
            last = report.answers[i].remedy;
            buf_addf(buf, "remedy: %s\n", last);
        }
}

static void add_findings(struct buf *buf, const struct box_findings *findings,
                         const struct box_options *box)
{
    for (const char *line = findings->notes; *line; line += strcspn(line, "\n") + 1)
        buf_addf(buf, "vitro: note: %.*s\n", (int)strcspn(line, "\n"), line);
    for (size_t i = 0; i < findings->leak_count; i++) {
        const struct box_leak *leak = &findings->leaks[i];
        buf_addf(buf, "vitro: leak  %s  %llu times, first by %s\n", leak->capability,
                 (unsigned long long)leak->count, leak->process);
    }
    if (findings->leak_count && !box->allow_leak)
        buf_adds(buf, "hint: --allow leak lets the run pass\n");
    proc_cli_add(buf, &findings->proc, &box->proc);
    if (findings->outcome == BOX_DEADLOCK)
        buf_addf(buf, "vitro: every guest waits, and nothing is due:\n%s", findings->text);
    else if (findings->text[0])
        buf_addf(buf, "vitro: %s\n", findings->text);
    if (findings->lacks_namespaces && findings->outcome == BOX_TROUBLE)
        add_remedies(buf);
}

static void add_json(struct buf *buf, const struct box_findings *findings, int code)
{
    CLEANUP(json_free) json_t *leaks = json_array();

    for (size_t i = 0; i < findings->leak_count; i++)
        json_array_append_new(leaks, json_pack("{s:s, s:I, s:s}", "capability",
                                               findings->leaks[i].capability, "count",
                                               (json_int_t)findings->leaks[i].count, "process",
                                               findings->leaks[i].process));
    CLEANUP(json_free) json_t *all = json_pack(
        "{s:i, s:s, s:I, s:I, s:I, s:f, s:I, s:I, s:I, s:I, s:I, s:I, s:O, s:s, s:s, s:o}",
        "exit_code", code, "outcome", outcome_word(findings, code), "virtual_ns",
        (json_int_t)findings->virtual_ns, "files_changed", (json_int_t)findings->files_changed,
        "files_outside", (json_int_t)findings->files_outside, "real_seconds",
        (double)findings->real_ns / 1e9, "jumps", (json_int_t)findings->jumps, "ticks",
        (json_int_t)findings->ticks, "stops", (json_int_t)findings->stops, "processes",
        (json_int_t)findings->processes, "orphans", (json_int_t)findings->orphans, "seed",
        (json_int_t)findings->seed, "leaks", leaks, "notes", findings->notes, "text",
        findings->text, "subprocesses", proc_cli_json(&findings->proc));
    json_add_canonical(buf, all);
    buf_addc(buf, '\n');
}

/* The program gets the terminal to itself, so that Ctrl-C and job control are its own. */
struct terminal {
    int fd; /* -1 without one, or in the background */
    pid_t group;
    struct termios state;
};

static struct terminal terminal_take(void)
{
    struct terminal terminal = {.fd = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)};

    if (terminal.fd < 0)
        return terminal;
    terminal.group = tcgetpgrp(terminal.fd);
    if (terminal.group != getpgrp() || tcgetattr(terminal.fd, &terminal.state) < 0) {
        (void)close(terminal.fd);
        terminal.fd = -1;
    }
    return terminal;
}

static void terminal_give_back(struct terminal *terminal)
{
    sigset_t set, old;

    if (terminal->fd < 0)
        return;
    sigemptyset(&set);
    sigaddset(&set, SIGTTOU);
    (void)sigprocmask(SIG_BLOCK, &set, &old);
    (void)tcsetpgrp(terminal->fd, terminal->group);
    (void)tcsetattr(terminal->fd, TCSADRAIN, &terminal->state);
    (void)sigprocmask(SIG_SETMASK, &old, NULL);
    (void)close(terminal->fd);
}

/* --diff and --apply, when the run went well. */
static int keep_changes(const struct cli_args *args, const struct box_options *box,
                        const struct box_findings *findings)
{
    CLEANUP(mem_free) char *bundle =
        box->record ? mem_dup(box->record) : box_last_bundle(box->fs.worktree);
    struct err err = {0};
    bool any;

    if (box->fs.mode != FS_OVERLAY || !(findings->files_changed + findings->files_outside))
        return EXIT_CLEAN;
    if (cli_flag(args, "diff") && changes_print(bundle, &(struct changes_view){0}, &any, &err) < 0)
        return cli_fail(EXIT_TROUBLE, &err);
    if (cli_value(args, "apply") && changes_apply(bundle, NULL, false, false, &err) < 0)
        return cli_fail(EXIT_TROUBLE, &err);
    return EXIT_CLEAN;
}

static int run(const struct cli_args *args)
{
    CLEANUP(run_plan_done) struct run_plan plan = {0};
    struct box_options *box = &plan.box;
    static struct box_findings findings;
    struct err err = {0};
    CLEANUP(buf_done) struct buf text = {0};
    CLEANUP(mem_free) char *named = NULL;

    if (run_plan_read(args, &plan, &err) < 0)
        return cli_usage(&command_run, "%s", err.text);
    box->control = cli_value(args, "control");
    if (!box->control && cli_value(args, "name"))
        box->control = named = control_path(cli_value(args, "name"));
    if (cli_value(args, "apply") && strcmp(cli_value(args, "apply"), "on-success") != 0)
        return cli_usage(&command_run, "--apply '%s' is not known\nhint: write --apply on-success",
                         cli_value(args, "apply"));
    struct terminal terminal = terminal_take();
    box->foreground = terminal.fd >= 0;
    int r = box_run(box, &findings, &err);
    terminal_give_back(&terminal);
    if (r < 0)
        return cli_fail(EXIT_TROUBLE, &err);
    int code = box_exit_code(box, &findings);
    if (run_plan_keep(args, &plan, &findings, code, &err) < 0)
        return cli_fail(EXIT_TROUBLE, &err);
    if (plan.files.target)
        box->record = plan.files.target;
    if (cli_json(args)) {
        add_json(&text, &findings, code);
    } else {
        add_findings(&text, &findings, box);
        if (!cli_flag(args, "quiet") || text.length)
            add_closing(&text, &findings, code, box->record);
    }
    (void)fputs(buf_text(&text), stderr);
    return code ? code : keep_changes(args, box, &findings);
}
