/* SPDX-License-Identifier: MIT */
/* vitro replay: a recorded run again, with nothing real behind it, held against its recording. */
#include "cli/noise_cli.h"
#include "cli/run_plan.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/scratch.h"
#include "base/text.h"
#include "tape/fidelity.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct cli_option options[] = {
    PROC_CLI_OPTIONS,
    {"mode", "MODE", "how tapes are compared: phase (default), byte, semantic, outcome", 'm',
     false},
    NOISE_CLI_OPTIONS,
    {"worktree", "DIR", "run here (default: where it was recorded, if that is there)", 0, false},
    {"hide", "PATH", "a file or directory that guests find empty", 0, true},
    {"allow", "WHAT", "do not fail on a finding: leak, orphan, miss, unused", 0, true},
    {"timeout", "DURATION", "end the box after this much real time (default 10m)", 0, false},
    {"keep", "DIR", "keep the bundle of the replay", 0, false},
    {"update", NULL, "run live, show what changed, and replace the recording", 'u', false},
    {"record-in-ci", NULL, "--update although CI is set", 0, false},
    {"quiet", NULL, "no closing line when the replay is faithful", 'q', false},
    {0},
};

static const char *const examples[] = {
    "vitro replay out",
    "the run that 'vitro run --record out' kept, with its subprocesses played",
    "vitro replay out --update",
    "run it live again, show the difference, keep the new one",
    NULL,
};

static int replay(const struct cli_args *args);

const struct command command_replay = {
    .name = "replay",
    .summary = "repeat a recorded run with nothing real behind it, and compare",
    .operands = "[options] BUNDLE",
    .operands_min = 1,
    .operands_max = 1,
    .options = options,
    .examples = examples,
    .run = replay,
};

extern const struct command command_run;

struct repeat { /* what it takes to run it again; all owned */
    struct run_file file;
    char **words; /* with what this command line adds */
    struct cli_args *args;
    struct run_plan plan;
    char *bundle;           /* absolute */
    struct scratch scratch; /* holds the new bundle */
    char *fresh;            /* the new bundle */
    struct run_input input;
};

static void repeat_done(struct repeat *repeat)
{
    run_input_close(&repeat->input);
    run_plan_done(&repeat->plan);
    cli_args_free(repeat->args);
    run_file_done(&repeat->file);
    free(repeat->words);
    scratch_remove(&repeat->scratch);
    free(repeat->fresh);
    free(repeat->bundle);
}

/* Options of this command line that the recorded one knows as well come behind its own. */
static const char *const passed_on[] = {"--tape-only",  "--tape-except", "--match",  "--match-env",
                                        "--match-rule", "--on-miss",     "--order",  "--max-age",
                                        "--hide",       "--allow",       "--timeout"};

static void add_word(char ***words, size_t *count, const char *word)
{
    *words = mem_grow(*words, (*count + 2) * sizeof **words);
    (*words)[(*count)++] = (char *)word;
    (*words)[*count] = NULL;
}

/* Borrows all words. */
static char **join_words(const struct cli_args *args, char **recorded)
{
    char **words = NULL;
    size_t count = 0;

    while (*recorded && strcmp(*recorded, "--") != 0)
        add_word(&words, &count, *recorded++);
    for (size_t i = 0; i < ARRAY_LENGTH(passed_on); i++) {
        const char *const *values;
        size_t given = cli_values(args, passed_on[i] + 2, &values);
        for (size_t j = 0; j < given; j++) {
            add_word(&words, &count, passed_on[i]);
            add_word(&words, &count, values[j]);
        }
    }
    if (cli_flag(args, "match-path"))
        add_word(&words, &count, "--match-path");
    while (*recorded)
        add_word(&words, &count, *recorded++);
    return words;
}

static int go_there(const struct cli_args *args, const char *recorded, struct err *err)
{
    const char *worktree = cli_value(args, "worktree");

    if (worktree)
        return chdir(worktree) < 0 ? err_set(err, -errno, "enter '%s': %m", worktree) : 0;
    if (chdir(recorded) < 0 && errno != ENOENT && errno != EACCES && errno != ENOTDIR)
        return err_set(err, -errno, "enter '%s': %m", recorded);
    return 0;
}

static int prepare(const struct cli_args *args, const char *bundle, struct repeat *repeat,
                   struct err *err)
{
    bool update = cli_flag(args, "update");
    int count = 0;

    repeat->bundle = realpath(bundle, NULL);
    if (!repeat->bundle)
        return err_set(err, -errno, "open bundle '%s': %m", bundle);
    int r = run_file_read(repeat->bundle, &repeat->file, err);
    if (r < 0)
        return r;
    const char *keep = cli_value(args, "keep");
    CLEANUP(mem_free) char *here = getcwd(NULL, 0);
    if (update) {
        repeat->fresh = mem_format("%s.%ld.new", repeat->bundle, (long)getpid());
    } else if (keep) {
        repeat->fresh = keep[0] == '/' ? mem_dup(keep) : mem_format("%s/%s", here, keep);
    } else {
        r = scratch_make(NULL, "replay", &repeat->scratch, err);
        repeat->fresh = r < 0 ? NULL : mem_format("%s/bundle", repeat->scratch.path);
    }
    if (r == 0)
        r = go_there(args, repeat->file.directory, err);
    if (r < 0)
        return r;
    repeat->words = join_words(args, repeat->file.words);
    while (repeat->words[count])
        count++;
    r = cli_parse(&command_run, count, repeat->words, &repeat->args, err);
    if (r == 0)
        r = run_plan_read(repeat->args, &repeat->plan, err);
    if (r < 0)
        return err_wrap(err, "the recorded command line");
    struct box_options *box = &repeat->plan.box;
    if ((r = run_input_open(repeat->bundle, &repeat->file, &repeat->input, err)) < 0)
        return r;
    if (repeat->input.fd > 0)
        box->stdio[0] = repeat->input.fd;
    box->envp = (const char *const *)repeat->file.env;
    box->record = repeat->fresh;
    box->wait_for_cpu = true;
    box->tape_net_real = box->net_real;
    box->proc.mode = update ? PROC_RECORD : PROC_REPLAY;
    box->proc.cassette = update ? NULL : repeat->bundle;
    if (!update)
        box->net_real = false; /* the recordings answer */
    return 0;
}

static int compare(const struct cli_args *args, const struct repeat *repeat,
                   struct fidelity_report *report, struct err *err)
{
    CLEANUP(noise_free) struct noise *noise = noise_new();
    CLEANUP(mem_free) char *recorded = mem_format("%s/tape", repeat->bundle);
    CLEANUP(mem_free) char *now = mem_format("%s/tape", repeat->fresh);
    struct fidelity_options how = {
        .recorded = recorded, .replay = now, .mode = FIDELITY_PHASE, .noise = noise};
    const char *mode = cli_value(args, "mode");
    int r = mode ? fidelity_mode_parse(mode, &how.mode, err) : 0;

    if (r == 0)
        r = noise_cli_read(args, noise, err);
    return r < 0 ? r : fidelity_compare(&how, report, err);
}

static void add_closing(struct buf *text, const struct box_findings *findings,
                        const struct fidelity_report *report, int code)
{
    if (code)
        buf_addf(text, "vitro: %s %d  ", code == EXIT_DIVERGED ? "DIVERGED" : "FAILED", code);
    else
        buf_adds(text, "vitro: ok  ");
    buf_addf(text, "%llu records compared \xc2\xb7 %llu subprocesses played in %.2f s\n",
             (unsigned long long)report->recorded_records,
             (unsigned long long)findings->proc.played, (double)findings->real_ns / 1e9);
}

static bool box_failed(const struct box_findings *findings)
{
    return findings->outcome == BOX_TROUBLE || findings->outcome == BOX_NOT_FOUND ||
           findings->outcome == BOX_NOT_EXECUTABLE || findings->outcome == BOX_REFUSED ||
           findings->outcome == BOX_KILLED;
}

static int judge(const struct cli_args *args, struct repeat *repeat,
                 const struct box_findings *findings)
{
    CLEANUP(fidelity_report_done) struct fidelity_report report = {0};
    CLEANUP(buf_done) struct buf text = {0};
    struct err err = {0};
    const struct proc_findings *proc = &findings->proc;
    const struct proc_options *asked = &repeat->plan.box.proc;

    if (box_failed(findings)) {
        (void)err_set(&err, -EIO, "%s", findings->text);
        return cli_fail(box_exit_code(&repeat->plan.box, findings), &err);
    }
    if (compare(args, repeat, &report, &err) < 0)
        return cli_fail(EXIT_TROUBLE, &err);
    int code = proc->troubles ? EXIT_TROUBLE
               : (proc->misses && !asked->allow_miss) || (proc->unused && !asked->allow_unused)
                   ? EXIT_UNMATCHED
               : report.total ? EXIT_DIVERGED
                              : EXIT_CLEAN;
    if (cli_flag(args, "update") && code != EXIT_TROUBLE)
        code = EXIT_CLEAN;
    if (cli_json(args)) {
        CLEANUP(json_free)
        json_t *all = json_pack("{s:i, s:o, s:o}", "exit_code", code, "fidelity",
                                fidelity_report_json(&report), "subprocesses", proc_cli_json(proc));
        json_add_canonical(&text, all);
        buf_addc(&text, '\n');
    } else {
        for (const char *line = findings->notes; *line; line += strcspn(line, "\n") + 1)
            buf_addf(&text, "vitro: note: %.*s\n", (int)strcspn(line, "\n"), line);
        proc_cli_add(&text, proc, asked);
        if (findings->text[0])
            buf_addf(&text, "vitro: %s\n", findings->text);
        if (report.total)
            fidelity_report_add(&text, &report, 5);
        if (code || !cli_flag(args, "quiet"))
            add_closing(&text, findings, &report, code);
        if (code)
            buf_addf(&text, "again: vitro replay %s%s\n", repeat->bundle,
                     code == EXIT_DIVERGED ? " --update   (if this is how it should be)" : "");
    }
    (void)fputs(buf_text(&text), stderr);
    if (cli_flag(args, "update") && code == EXIT_CLEAN &&
        (run_file_write(repeat->args, findings, repeat->fresh, &err) < 0 ||
         bundle_replace(repeat->fresh, repeat->bundle, &err) < 0))
        return cli_fail(EXIT_TROUBLE, &err);
    return code;
}

static int replay(const struct cli_args *args)
{
    struct repeat repeat = {.input.fd = -1};
    static struct box_findings findings;
    struct err err = {0};
    const char *const *operands;
    const char *ci = getenv("CI");

    cli_operands(args, &operands);
    if (cli_flag(args, "update") && ci && *ci && !cli_flag(args, "record-in-ci"))
        return cli_usage(&command_replay, "recording is refused while CI is set\n"
                                          "hint: --record-in-ci allows it");
    int code, r = prepare(args, operands[0], &repeat, &err);
    if (r == 0)
        r = box_run(&repeat.plan.box, &findings, &err);
    if (r < 0)
        code = cli_fail(EXIT_TROUBLE, &err);
    else
        code = judge(args, &repeat, &findings);
    if (cli_flag(args, "update") && repeat.fresh)
        (void)dir_remove_all(repeat.fresh, NULL);
    repeat_done(&repeat);
    return code;
}
