/* SPDX-License-Identifier: MIT */
/* vitro tape verify: is this tape whole, and fit to be shared? */
#include "cli/cmd_tape.h"
#include "tape/tape_verify.h"
#include <stdio.h>

static int verify_run(const struct cli_args *args);

static const struct cli_option options[] = {
    {"secrets", NULL, "look for what looks like a secret, too", 0, false},
    {"complete", NULL, "a tape without its end line is a finding", 0, false},
    {"store", "URL", "ask this HTTP store for contents that are missing here", 0, false},
    {0},
};
static const char *const examples[] = {"vitro tape verify out/ --secrets --complete",
                                       "before a recording is committed", NULL};

const struct command command_tape_verify = {
    .name = "tape verify",
    .summary = "check lines, hashes, contents and the digest of a tape",
    .operands = "TAPE",
    .operands_min = 1,
    .operands_max = 1,
    .options = options,
    .examples = examples,
    .run = verify_run,
};

static void print_text(const char *path, const struct tape_verdict *verdict)
{
    json_t *entry;
    size_t index;

    json_array_foreach(verdict->findings, index, entry)
    {
        json_t *line = json_object_get(entry, "line");
        const char *code = json_string_value(json_object_get(entry, "code"));
        const char *message = json_string_value(json_object_get(entry, "message"));
        if (json_is_integer(line))
            printf("%s:%lld: %s: %s\n", path, (long long)json_integer_value(line), code, message);
        else
            printf("%s: %s: %s\n", path, code, message);
    }
    json_array_foreach(verdict->notes, index, entry) printf("note: %s\n", json_string_value(entry));
    printf("%llu records, %llu contents read, %llu finding%s\n",
           (unsigned long long)verdict->records, (unsigned long long)verdict->contents,
           (unsigned long long)verdict->finding_count, verdict->finding_count == 1 ? "" : "s");
}

static void print_json(const struct tape_verdict *verdict)
{
    json_t *object = json_object();

    json_object_set_new(object, "records", json_integer((json_int_t)verdict->records));
    json_object_set_new(object, "contents", json_integer((json_int_t)verdict->contents));
    json_object_set_new(object, "finding_count", json_integer((json_int_t)verdict->finding_count));
    json_object_set(object, "findings", verdict->findings);
    json_object_set(object, "notes", verdict->notes);
    json_object_set(object, "kinds", verdict->kinds);
    cmd_print_json(object);
}

static int verify_run(const struct cli_args *args)
{
    CLEANUP(mem_free) char *path = cmd_tape_operand(args, 0);
    CLEANUP(store_free) struct store *store = NULL;
    CLEANUP(secrets_free) struct secrets *secrets = NULL;
    CLEANUP(tape_verdict_done) struct tape_verdict verdict = {0};
    struct err err = {0};
    int r = cmd_tape_store(args, path, true, true, &store, &err);

    if (r == 0 && cli_flag(args, "secrets"))
        r = secrets_new(NULL, &secrets, &err);
    if (r == 0)
        r = tape_verify(&(struct tape_verify_options){.path = path,
                                                      .store = store,
                                                      .secrets = secrets,
                                                      .complete = cli_flag(args, "complete")},
                        &verdict, &err);
    if (r < 0)
        return cli_fail(EXIT_USAGE, &err);
    if (cli_json(args))
        print_json(&verdict);
    else
        print_text(path, &verdict);
    return verdict.finding_count ? EXIT_FINDINGS : EXIT_CLEAN;
}
