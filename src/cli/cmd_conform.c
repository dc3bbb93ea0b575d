/* SPDX-License-Identifier: MIT */
/* vitro conform: runs the fixture programs of a directory with their sidecars. */
#include "cli/cli.h"
#include "base/json.h"
#include "base/text.h"
#include "base/when.h"
#include "conform/conform.h"
#include "match/golden.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct cli_option options[] = {
    {"filter", "TEXT", "only fixtures whose name contains this", 'k', false},
    {"jobs", "N", "fixtures at once (default: one for each CPU)", 'j', false},
    {"update", NULL, "write goldens that differ; refused where CI is set", 'u', false},
    {"fail-fast", NULL, "no new fixture after the first failure", 'x', false},
    {"list", NULL, "only list the fixtures and what stands beside them", 'l', false},
    {"timeout", "DURATION", "end a fixture after this much real time (default 1m)", 0, false},
    {"seed", "N", "the seed of fixtures whose sidecar names none (default 1)", 's', false},
    {0},
};

static const char *const examples[] = {
    "vitro conform tests/conformance",
    "every program below a directory that has sidecars",
    "vitro conform --update tests/conformance/greet.sh",
    "what it prints now is what is expected",
    NULL,
};

static int conform(const struct cli_args *args);

const struct command command_conform = {
    .name = "conform",
    .summary = "run fixture programs with their sidecars",
    .operands = "[DIR | PROGRAM]...",
    .operands_min = 1,
    .operands_max = -1,
    .options = options,
    .examples = examples,
    .run = conform,
};

struct output {
    json_t *list; /* owned; NULL: text */
    size_t number;
};

static void add_prefixed(struct buf *ret, const char *prefix, const char *text)
{
    for (const char *p = text; *p; p += strcspn(p, "\n") + (p[strcspn(p, "\n")] == '\n'))
        buf_addf(ret, "%s%.*s\n", prefix, (int)strcspn(p, "\n"), p);
}

static json_t *json_text(const struct buf *text) /* whatever a guest wrote */
{
    json_t *value = json_stringn(buf_text(text), text->length);
    CLEANUP(buf_done) struct buf plain = {0};

    if (value)
        return value;
    text_add_escaped(&plain, text->data, text->length);
    return json_stringn(buf_text(&plain), plain.length);
}

static void on_fixture(void *context, const struct conform_fixture *fixture,
                       const struct conform_result *result)
{
    static const char *const words[] = {"passed", "failed", "skipped"};
    struct output *output = context;
    CLEANUP(buf_done) struct buf text = {0};

    output->number++;
    if (output->list) {
        json_array_append_new(output->list,
                              json_pack("{s:i, s:s, s:s, s:o, s:o, s:I}", "exit_code",
                                        result->exit_code, "name", fixture->name, "status",
                                        words[result->status], "text", json_text(&result->text),
                                        "updated", json_text(&result->updated), "virtual_ns",
                                        (json_int_t)result->virtual_ns));
        return;
    }
    buf_addf(&text, "%s %zu - %s", result->status == CONFORM_FAILED ? "not ok" : "ok",
             output->number, fixture->name);
    if (result->status == CONFORM_SKIPPED)
        buf_addf(&text, " # SKIP %s", buf_text(&result->text));
    buf_addc(&text, '\n');
    if (result->status == CONFORM_FAILED)
        add_prefixed(&text, "#   ", buf_text(&result->text));
    add_prefixed(&text, "#   written: ", buf_text(&result->updated));
    (void)fputs(buf_text(&text), stdout);
    (void)fflush(stdout);
}

static int list(const struct conform_set *set)
{
    for (size_t i = 0; i < set->count; i++) {
        const struct conform_fixture *fixture = &set->fixtures[i];
        (void)printf("%s", fixture->name);
        for (size_t k = 0; k < CONFORM_SIDECARS; k++)
            if (fixture->has & 1u << k)
                (void)printf(" %s", conform_sidecars[k].suffix);
        (void)printf("\n");
    }
    return EXIT_CLEAN;
}

static int run(const struct conform_set *set, const struct conform_options *how, bool json)
{
    struct output output = {.list = json ? json_array() : NULL};
    struct conform_totals totals;
    CLEANUP(buf_done) struct buf text = {0};
    struct err err = {0};

    if (!json)
        (void)printf("1..%zu\n", set->count);
    int r = conform_suite(set, how, on_fixture, &output, &totals, &err);
    if (r == 0 && json) {
        CLEANUP(json_free) json_t *all = json_pack(
            "{s:I, s:O, s:I, s:I}", "failed", (json_int_t)totals.failed, "fixtures", output.list,
            "passed", (json_int_t)totals.passed, "skipped", (json_int_t)totals.skipped);
        json_add_canonical(&text, all);
        buf_addc(&text, '\n');
        (void)fputs(buf_text(&text), stdout);
    } else if (r == 0) {
        (void)printf("%zu passed, %zu failed, %zu skipped\n", totals.passed, totals.failed,
                     totals.skipped);
    }
    json_decref(output.list);
    if (r < 0)
        return cli_fail(EXIT_TROUBLE, &err);
    return totals.failed ? EXIT_FINDINGS : EXIT_CLEAN;
}

static int conform(const struct cli_args *args)
{
    struct conform_options how = {.update = cli_flag(args, "update"),
                                  .fail_fast = cli_flag(args, "fail-fast")};
    const char *jobs = cli_value(args, "jobs"), *seed = cli_value(args, "seed");
    const char *timeout = cli_value(args, "timeout");
    struct conform_set set;
    const char *const *paths;
    struct err err = {0};
    uint64_t number = 0;

    if (jobs && (!text_to_u64(jobs, &number) || !number || number > 64))
        return cli_usage(&command_conform, "--jobs '%s' is not a number from 1 to 64", jobs);
    how.jobs = (unsigned)number;
    if (seed && (!text_to_u64(seed, &how.seed) || !how.seed))
        return cli_usage(&command_conform, "--seed '%s' is not a number from 1", seed);
    if (timeout && when_parse_duration(timeout, &how.timeout_ns, &err) < 0)
        return cli_usage(&command_conform, "--timeout: %s", err.text);
    if (how.update && golden_in_ci())
        return cli_usage(&command_conform, "goldens are not written while CI is set");
    cli_operands(args, &paths);
    if (conform_find(paths, cli_value(args, "filter"), &set, &err) < 0)
        return cli_fail(EXIT_USAGE, &err);
    int code = EXIT_USAGE;
    if (!set.count)
        (void)cli_fail(EXIT_USAGE, &(struct err){.code = -ENOENT, .text = "no fixture was found"});
    else if (cli_flag(args, "list"))
        code = list(&set);
    else
        code = run(&set, &how, cli_json(args));
    conform_set_done(&set);
    return code;
}
