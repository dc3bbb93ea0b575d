/* SPDX-License-Identifier: MIT */
/* vitro test: plays scenarios. (cmd_test.c would be a test program.) The words of `vitro run` that
 * a scenario may use are read here, by the same table and the same code as on the command line. */
#include "cli/box_cli.h"
#include "cli/proc_cli.h"
#include "base/fd.h"
#include "base/text.h"
#include "base/wall.h"
#include "base/when.h"
#include "sandbox/sandbox.h"
#include "script/play.h"
#include "script/script.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static const struct cli_option options[] = {
    {"filter", "TEXT", "only scenarios whose name contains this", 'k', false},
    {"tag", "TAG", "only scenarios with this tag; -TAG: without", 't', true},
    {"set", "NAME=VALUE", "a variable of all scenarios", 0, true},
    {"jobs", "N", "scenarios at once (default: one for each CPU)", 'j', false},
    {"shuffle", "SEED", "in an order of chance, the same for the same seed", 0, false},
    {"seed", "N", "the seed of boxes whose scenario names none (default 1)", 's', false},
    {"repeat", "N", "each scenario so many times; the first failure counts", 0, false},
    {"retries", "N", "more tries for what fails; it is then reported as flaky", 0, false},
    {"fail-fast", NULL, "no new scenario after the first failure", 'x', false},
    {"no-sabotage", NULL, "do not play the sabotages", 0, false},
    {"record", "DIR", "leave a bundle of every program there, and a cast of those in terminals", 0,
     false},
    {"update", NULL, "write goldens that differ or are missing", 'u', false},
    {"format", "FORMAT", "people (default), tap, junit or json", 0, false},
    {"junit", "FILE", "write JUnit XML to this file as well", 0, false},
    {"fmt", NULL, "put the files into their one form instead of playing them", 0, false},
    {"check", NULL, "only read the files; with --fmt, only tell which differ", 0, false},
    {"list", NULL, "only list the scenarios", 'l', false},
    {"words", NULL, "only list the words of the language", 0, false},
    {"sweep", NULL, "clear away sandboxes whose owners were killed", 0, false},
    {"dry-run", NULL, "with --sweep: only list them", 'n', false},
    {"today", "DATE", "the day for quarantines (default: today)", 0, false},
    {0},
};

static const char *const examples[] = {
    "vitro test tests/",
    "all *.vt files below a directory",
    "vitro test feedback.vt:12",
    "the scenario that holds line 12",
    "vitro test --fmt feedback.vt",
    "the file in its one form",
    NULL,
};

static int test(const struct cli_args *args);

const struct command command_test = {
    .name = "test",
    .summary = "play scenarios: what a person would see",
    .operands = "[FILE[:LINE] | DIR]...",
    .operands_min = 0,
    .operands_max = -1,
    .options = options,
    .examples = examples,
    .run = test,
};

/* ---- the words of vitro run ------------------------------------------------------------------ */

static const struct cli_option axis_options[] = {
    BOX_CLI_OPTIONS,
    {"cassette", "PATH", "a bundle or a tape that answers for subprocesses", 0, false},
    PROC_CLI_OPTIONS,
    {0},
};

static const struct command axes_command = {
    .name = "run",
    .operands_min = 0,
    .operands_max = -1,
    .options = axis_options,
};

static bool axis_has_value(const char *name)
{
    for (const struct cli_option *option = axis_options; option->name; option++)
        if (strcmp(option->name, name) == 0)
            return option->value != NULL;
    return false;
}

/* The pairs become a command line; what is read must live until axes_done. */
struct axes_kept {
    struct cli_args *args;
    struct proc_cli proc;
    char *words[130];
    int count;
};

static struct axes_kept kept; /* one at a time: a scenario is one thread of one process */

static void axes_release(void)
{
    for (int i = 0; i < kept.count; i++)
        free(kept.words[i]);
    kept.count = 0;
    kept.args = cli_args_free(kept.args);
    proc_cli_done(&kept.proc);
}

static int axes_read(const char *const *names, const char *const *values, size_t count,
                     struct box_options *ret, struct err *err)
{
    axes_release();
    for (size_t i = 0; i < count; i++) {
        kept.words[kept.count++] = mem_format("--%s", names[i]);
        if (values[i])
            kept.words[kept.count++] = mem_dup(values[i]);
    }
    kept.words[kept.count++] = mem_dup("program");
    kept.words[kept.count] = NULL;
    int r = cli_parse(&axes_command, kept.count, kept.words, &kept.args, err);
    if (r < 0 || (r = box_cli_read(kept.args, ret, err)) < 0 ||
        (r = proc_cli_read(kept.args, &ret->proc, &kept.proc, err)) < 0)
        return r;
    ret->proc.cassette = cli_value(kept.args, "cassette");
    if (ret->proc.cassette)
        ret->proc.mode = PROC_REPLAY;
    return 0;
}

static void axes_done(struct box_options *box)
{
    (void)box; /* lists were replaced by the play's own */
    axes_release();
}

/* "--net maybe" is "net maybe" in a scenario. */
static void drop_dashes(const char *name, char *text)
{
    CLEANUP(mem_free) char *option = mem_format("--%s", name);

    for (char *at = text; (at = strstr(at, option)); at++)
        memmove(at, at + 2, strlen(at + 2) + 1);
}

static int axis_check(const char *name, const char *value, struct err *err)
{
    CLEANUP(box_cli_done) struct box_options box = {0};

    if (text_starts(name, "wasi")) /* modules are built when they are needed */
        return 0;
    int r = axes_read(&name, &value, 1, &box, err);
    axes_release();
    if (r < 0)
        drop_dashes(name, err->text);
    return r;
}

/* ---- reports --------------------------------------------------------------------------------- */

struct reports {
    struct script_out *out, *junit;
    struct buf junit_text;
    bool live;
};

static void clear_line(const struct reports *reports)
{
    if (reports->live)
        (void)fputs("\r\033[K", stderr);
}

static void on_case(void *context, const struct script_case *which,
                    const struct script_result *result, size_t index)
{
    struct reports *reports = context;
    CLEANUP(buf_done) struct buf text = {0};

    (void)index;
    script_out_case(reports->out, which, result, &text);
    if (reports->junit)
        script_out_case(reports->junit, which, result, &reports->junit_text);
    clear_line(reports);
    (void)fputs(buf_text(&text), stdout);
    (void)fflush(stdout);
}

static void on_progress(void *context, const struct script_case *which, size_t done, size_t total)
{
    const struct reports *reports = context;

    if (!reports->live)
        return;
    clear_line(reports);
    (void)fprintf(stderr, "%zu/%zu  %.60s", done, total, which->name);
    (void)fflush(stderr);
}

/* ---- other things to do with scenarios ------------------------------------------------------- */

static int format_file(const char *path, bool check_only, bool *ret_differs, struct err *err)
{
    CLEANUP(buf_done) struct buf bytes = {0};
    CLEANUP(buf_done) struct buf again = {0};
    CLEANUP(vt_free) struct vt_text *text = NULL;
    int r = file_read(path, VT_BYTES_MAX, &bytes, err);

    if (r < 0 || (r = vt_read(path, buf_text(&bytes), bytes.length, &text, err)) < 0)
        return r;
    vt_format(text, &again);
    *ret_differs = again.length != bytes.length ||
                   memcmp(buf_text(&again), buf_text(&bytes), bytes.length) != 0;
    return *ret_differs && !check_only ? file_write(path, buf_text(&again), again.length, err) : 0;
}

/* Formats every file that was loaded. */
static int format_all(const struct script_set *set, bool check_only)
{
    struct err err = {0};
    size_t differ = 0;

    for (size_t i = 0; i < set->text_count; i++) {
        bool differs;
        if (format_file(set->texts[i]->path, check_only, &differs, &err) < 0)
            return cli_fail(EXIT_USAGE, &err);
        if (differs)
            (void)printf("%s\n", set->texts[i]->path);
        differ += differs;
    }
    return check_only && differ ? EXIT_FINDINGS : EXIT_CLEAN;
}

static int list_words(void)
{
    for (const struct play_word *word = play_words; word->name; word++)
        (void)printf("%-11s %s\n            %s\n", word->name, word->help, word->usage);
    (void)puts("And the words of vitro run, for the programs to come:");
    for (const struct cli_option *option = axis_options; option->name; option++)
        (void)printf("%-11s %s\n", option->name, option->help);
    return EXIT_CLEAN;
}

static int sweep(bool dry_run)
{
    CLEANUP(buf_done) struct buf text = {0};
    struct err err = {0};

    if (sandbox_sweep(NULL, dry_run, &text, &err) < 0)
        return cli_fail(EXIT_TROUBLE, &err);
    (void)fputs(buf_text(&text), stdout);
    return EXIT_CLEAN;
}

/* ---- vitro test ------------------------------------------------------------------------------ */

static int read_count(const struct cli_args *args, const char *name, uint64_t max, uint64_t *ret)
{
    const char *text = cli_value(args, name);

    if (!text || (text_to_u64(text, ret) && *ret <= max))
        return 0;
    return cli_usage(&command_test, "--%s '%s' is not a number up to %llu", name, text,
                     (unsigned long long)max);
}

static int read_format(const struct cli_args *args, enum script_format *ret)
{
    static const char *const names[] = {"people", "tap", "junit", "json"};
    const char *text = cli_value(args, "format");

    *ret = cli_json(args) ? SCRIPT_JSON : SCRIPT_PEOPLE;
    for (size_t i = 0; text && i < ARRAY_LENGTH(names); i++)
        if (strcmp(text, names[i]) == 0) {
            *ret = (enum script_format)i;
            return 0;
        }
    return text ? cli_usage(&command_test, "--format '%s' is not people, tap, junit or json", text)
                : 0;
}

static int play(const struct cli_args *args, const struct script_set *set,
                const struct script_options *script, enum script_format format)
{
    struct reports reports = {.live = isatty(STDERR_FILENO) && isatty(STDOUT_FILENO) &&
                                      format == SCRIPT_PEOPLE};
    const char *junit = cli_value(args, "junit");
    struct script_totals totals;
    CLEANUP(buf_done) struct buf text = {0};
    struct err err = {0};

    reports.out = script_out_new(format, cli_colour(STDOUT_FILENO), set->case_count);
    if (junit)
        reports.junit = script_out_new(SCRIPT_JUNIT, false, set->case_count);
    int r = script_suite(set, script, on_case, on_progress, &reports, &totals, &err);
    clear_line(&reports);
    CLEANUP(buf_done) struct buf unused = {0};
    script_unused_goldens(set, &unused);
    for (const char *p = buf_text(&unused); *p; p += strcspn(p, "\n") + 1)
        (void)fprintf(stderr, "vitro: no scenario uses '%.*s'\n", (int)strcspn(p, "\n"), p);
    if (r == 0) {
        script_out_end(reports.out, &totals, &text);
        (void)fputs(buf_text(&text), stdout);
    }
    if (r == 0 && junit) {
        script_out_end(reports.junit, &totals, &reports.junit_text);
        r = file_write(junit, buf_text(&reports.junit_text), reports.junit_text.length, &err);
    }
    buf_done(&reports.junit_text);
    script_out_free(reports.out);
    script_out_free(reports.junit);
    if (r < 0)
        return cli_fail(EXIT_TROUBLE, &err);
    return totals.failed ? EXIT_FINDINGS : EXIT_CLEAN;
}

static int with_files(const struct cli_args *args, struct script_options *script,
                      enum script_format format)
{
    struct script_set set;
    const char *const *paths;
    struct err err = {0};
    int code;

    if (!cli_operands(args, &paths))
        return cli_usage(&command_test, "which scenarios? name files or directories");
    if (script_load(paths, script, &set, &err) < 0)
        return cli_fail(EXIT_USAGE, &err);
    if (cli_flag(args, "fmt")) {
        code = format_all(&set, cli_flag(args, "check"));
    } else if (cli_flag(args, "check") || cli_flag(args, "list")) {
        for (size_t i = 0; cli_flag(args, "list") && i < set.case_count; i++)
            (void)printf("%s:%u: %s\n", set.cases[i].path, set.cases[i].line, set.cases[i].name);
        code = EXIT_CLEAN;
    } else if (!set.case_count) {
        code =
            cli_fail(EXIT_USAGE, &(struct err){.code = -ENOENT, .text = "no scenario was chosen"});
    } else {
        code = play(args, &set, script, format);
    }
    script_set_done(&set);
    return code;
}

static const char **keep_list(const struct cli_args *args, const char *name)
{
    const char *const *given;
    size_t count = cli_values(args, name, &given);
    const char **list = mem_alloc((count + 1) * sizeof *list);

    if (count)
        memcpy(list, given, count * sizeof *list);
    return list;
}

static int test(const struct cli_args *args)
{
    static const char *names[ARRAY_LENGTH(axis_options)];
    const char *const *given;
    uint64_t jobs = 0, repeat = 0, retries = 0;
    enum script_format format;
    struct err err = {0};
    int code;

    for (size_t i = 0; axis_options[i].name; i++)
        names[i] = axis_options[i].name;
    if (cli_flag(args, "words"))
        return list_words();
    if (cli_flag(args, "sweep"))
        return sweep(cli_flag(args, "dry-run"));
    CLEANUP(mem_free) char *here = getcwd(NULL, 0);
    CLEANUP(mem_free) char *stamp =
        mem_format("%d %llu", (int)getpid(), (unsigned long long)wall_monotonic_ns());
    struct script_options script = {
        .axes = {.names = names,
                 .has_value = axis_has_value,
                 .read = axes_read,
                 .done = axes_done,
                 .check = axis_check},
        .filter = cli_value(args, "filter"),
        .fail_fast = cli_flag(args, "fail-fast"),
        .no_sabotage = cli_flag(args, "no-sabotage"),
        .only_list = cli_flag(args, "list") || cli_flag(args, "fmt"),
        .update = cli_flag(args, "update"),
        .today_ns = wall_now_ns(),
        .stamp = stamp,
    };
    CLEANUP(mem_free) char *record = cli_value(args, "record") && *cli_value(args, "record") != '/'
                                         ? mem_format("%s/%s", here, cli_value(args, "record"))
                                         : mem_dup(cli_value(args, "record"));
    script.record = record;
    CLEANUP(mem_free) const char **tags = keep_list(args, "tag");
    CLEANUP(mem_free) const char **variables = keep_list(args, "set");
    script.tags = tags;
    script.variables = variables;
    for (given = variables; *given; given++)
        if (!strchr(*given, '=') || **given == '=')
            return cli_usage(&command_test, "--set '%s' is not NAME=VALUE", *given);
    if ((code = read_count(args, "jobs", 64, &jobs)) ||
        (code = read_count(args, "repeat", 1000000, &repeat)) ||
        (code = read_count(args, "retries", 100, &retries)) ||
        (code = read_count(args, "shuffle", UINT64_MAX, &script.shuffle)) ||
        (code = read_count(args, "seed", UINT64_MAX, &script.seed)) ||
        (code = read_format(args, &format)))
        return code;
    if (cli_value(args, "today") &&
        when_parse(cli_value(args, "today"), &script.today_ns, &err) < 0)
        return cli_usage(&command_test, "--today: %s", err.text);
    const char *ci = getenv("CI");
    if (script.update && ci && *ci)
        return cli_usage(&command_test, "goldens are not written while CI is set");
    script.jobs = (unsigned)jobs;
    script.repeat = (unsigned)repeat;
    script.retries = (unsigned)retries;
    return with_files(args, &script, format);
}
