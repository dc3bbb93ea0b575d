/* SPDX-License-Identifier: MIT */
/* vitro help: verbs and topics, and the parts of man pages and completions that come from tables.
 */
#include "cli/cli.h"
#include "base/text.h"
#include <stdio.h>
#include <string.h>

static const char exit_codes[] =
    "exit codes\n\n"
    "`vitro run` and `vitro replay` pass the program's own status through, 128+N for signal N.\n"
    "Theirs otherwise:\n\n"
    "  120  divergence: the run differs from its recording, or from itself\n"
    "  121  leak: the program saw something real that the box could not make virtual\n"
    "  122  unmatched call, or a recording that nothing used\n"
    "  123  deadlock or livelock\n"
    "  124  a ceiling or budget was reached (--timeout, --max-time, --max-steps, --max-procs)\n"
    "  125  vitro itself could not do its work\n"
    "  126  the program is not executable\n"
    "  127  the program was not found\n\n"
    "Checking verbs: 0 clean, 1 findings or divergence, 2 usage or trouble.\n";

static const char formats[] =
    "formats\n\n"
    "  tape         NDJSON, one header line, then one record a line; PATH.cas/ holds what is "
    "large\n"
    "               (man 5 vitro-tape, docs/formats/tape.md)\n"
    "  bundle       a directory with tape, store and manifest.json of one recorded run\n"
    "  annotations  PATH.annotations.jsonl beside a tape\n"
    "  harness      NAME.harness.json beside a program (docs/formats/harness.md)\n"
    "  time         2026-01-31T12:00:00Z, 2026-01-31, @1769860800 (seconds), 1769860800000 (ms)\n"
    "  duration     a number and a unit: 10ns 250us 5ms 90s 10m 1h30m 7d 2w\n";

static const struct cli_option options[] = {{0}};

static int help_completions(const char *shell)
{
    CLEANUP(buf_done) struct buf text = {0};

    if (cli_add_completions(&text, shell) < 0) {
        (void)fprintf(stderr, "vitro: no completions for '%s'\nhint: bash, zsh or fish\n", shell);
        return EXIT_USAGE;
    }
    (void)fputs(buf_text(&text), stdout);
    return EXIT_CLEAN;
}

static int help_man(const char *verb)
{
    CLEANUP(buf_done) struct buf text = {0};

    cli_add_man(&text, verb);
    (void)fputs(buf_text(&text), stdout);
    return EXIT_CLEAN;
}

static int help_run(const struct cli_args *args);

static const char *const examples[] = {
    "vitro help exit-codes",
    "what each exit status means",
    "vitro help completions bash > ~/.local/share/bash-completion/completions/vitro",
    "completions for your shell",
    NULL,
};

const struct command command_help = {
    .name = "help",
    .summary = "explain a verb or a topic (formats, exit-codes)",
    .operands = "[VERB|formats|exit-codes|completions SHELL|man VERB]",
    .operands_max = 3,
    .options = options,
    .examples = examples,
    .run = help_run,
};

static int help_verb(const char *const *words, size_t count)
{
    CLEANUP(buf_done) struct buf text = {0};
    CLEANUP(mem_free)
    char *name = mem_format("%s%s%s%s%s", words[0], count > 1 ? " " : "", count > 1 ? words[1] : "",
                            count > 2 ? " " : "", count > 2 ? words[2] : "");
    const struct command *command = cli_find(name);

    if (command) {
        cli_add_help(&text, command);
    } else {
        for (const struct command *const *c = cli_commands; *c; c++)
            if (text_starts((*c)->name, name) && (*c)->name[strlen(name)] == ' ')
                buf_addf(&text, "  vitro %-18s %s\n", (*c)->name, (*c)->summary);
        if (!text.length)
            return cli_usage(&command_help, "there is no help on '%s'", name);
    }
    (void)fputs(buf_text(&text), stdout);
    return EXIT_CLEAN;
}

static int help_run(const struct cli_args *args)
{
    const char *const *words;
    size_t count = cli_operands(args, &words);
    CLEANUP(buf_done) struct buf text = {0};

    if (count == 2 && strcmp(words[0], "completions") == 0)
        return help_completions(words[1]);
    if (count == 2 && strcmp(words[0], "man") == 0)
        return help_man(words[1]);
    if (count == 1 && strcmp(words[0], "exit-codes") == 0)
        return fputs(exit_codes, stdout), EXIT_CLEAN;
    if (count == 1 && strcmp(words[0], "formats") == 0)
        return fputs(formats, stdout), EXIT_CLEAN;
    if (count > 0)
        return help_verb(words, count);
    cli_add_overview(&text);
    (void)fputs(buf_text(&text), stdout);
    return EXIT_CLEAN;
}
