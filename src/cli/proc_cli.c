/* SPDX-License-Identifier: MIT */
#include "cli/proc_cli.h"
#include "base/text.h"
#include "base/when.h"
#include "proc/recording.h"
#include <errno.h>
#include <string.h>

/* "git,curl" as often as given, as one list. */
static char **read_names(const struct cli_args *args, const char *name)
{
    const char *const *values;
    size_t given = cli_values(args, name, &values), count = 0;
    char **list = mem_alloc(sizeof *list);

    for (size_t i = 0; i < given; i++)
        for (const char *at = values[i]; *at;) {
            size_t length = strcspn(at, ",");
            if (length) {
                list = mem_grow(list, (count + 2) * sizeof *list);
                list[count++] = mem_dupn(at, length);
                list[count] = NULL;
            }
            at += length;
            at += *at == ',';
        }
    return list;
}

static int read_word(const struct cli_args *args, const char *name, const char *const *words,
                     size_t count, size_t *ret, struct err *err)
{
    const char *text = cli_value(args, name);

    for (size_t i = 0; text && i < count; i++)
        if (strcmp(text, words[i]) == 0) {
            *ret = i;
            return 0;
        }
    if (!text)
        return 0;
    err_set(err, -EINVAL, "--%s '%s' is not known", name, text);
    const char *closest = text_closest(text, words, count);
    return err_hint(err, "write --%s %s", name, closest ? closest : words[0]);
}

static int read_rules(const struct cli_args *args, struct match_rules *rules, struct err *err)
{
    const char *const *values;
    size_t count = cli_values(args, "match-rule", &values);
    int r = 0;

    for (size_t i = 0; r == 0 && i < count; i++)
        r = match_rules_add(rules, values[i], err);
    return r < 0 ? err_wrap(err, "--match-rule") : 0;
}

int proc_cli_read(const struct cli_args *args, struct proc_options *ret, struct proc_cli *keep,
                  struct err *err)
{
    static const char *const misses[] = {"fail", "passthrough", "record"};
    static const char *const orders[] = {"free", "strict"};
    size_t miss = 0, order = 0;
    const char *fields = cli_value(args, "match"), *age = cli_value(args, "max-age");
    const char *const *names;

    keep->only = read_names(args, "tape-only");
    keep->except = read_names(args, "tape-except");
    size_t name_count = cli_values(args, "match-env", &names); /* good until the next question */
    keep->env_names = mem_alloc((name_count + 1) * sizeof *keep->env_names);
    memcpy(keep->env_names, names, name_count * sizeof *names);
    int r = fields ? call_fields_parse(fields, &ret->view.fields, err) : 0;
    if (r < 0)
        return err_wrap(err, "--match");
    if (age && when_parse_duration(age, &ret->max_age_ns, err) < 0)
        return err_wrap(err, "--max-age");
    if ((r = read_rules(args, &keep->rules, err)) < 0 ||
        (r = read_word(args, "on-miss", misses, ARRAY_LENGTH(misses), &miss, err)) < 0 ||
        (r = read_word(args, "order", orders, ARRAY_LENGTH(orders), &order, err)) < 0)
        return r;
    ret->only = (const char *const *)keep->only;
    ret->except = (const char *const *)keep->except;
    ret->view.env_names = keep->env_names;
    ret->view.rules = &keep->rules;
    ret->view.whole_path = cli_flag(args, "match-path");
    ret->on_miss = (enum proc_on_miss)miss;
    ret->strict_order = order == 1;
    return 0;
}

void proc_cli_done(struct proc_cli *keep)
{
    strings_free(keep->only);
    strings_free(keep->except);
    free(keep->env_names);
    match_rules_done(&keep->rules);
    *keep = (struct proc_cli){0};
}

void proc_cli_add(struct buf *buf, const struct proc_findings *findings,
                  const struct proc_options *options)
{
    buf_adds(buf, findings->text);
    if (findings->misses && !options->allow_miss && options->mode != PROC_VERIFY)
        buf_adds(buf, "hint: --on-miss passthrough lets such programs run, --on-miss record "
                      "records them, --allow miss lets the run pass\n");
    if (findings->unused && !options->allow_unused && !options->keep_unused)
        buf_adds(buf, "hint: --allow unused lets the run pass, --proc refresh drops them\n");
}

json_t *proc_cli_json(const struct proc_findings *findings)
{
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:s}", "differences",
                     (json_int_t)findings->differences, "misses", (json_int_t)findings->misses,
                     "passed", (json_int_t)findings->passed, "played", (json_int_t)findings->played,
                     "recorded", (json_int_t)findings->recorded, "troubles",
                     (json_int_t)findings->troubles, "unused", (json_int_t)findings->unused, "text",
                     findings->text);
}
