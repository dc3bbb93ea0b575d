/* SPDX-License-Identifier: MIT */
/* What a shim or a double accepts: patterns over a whole call. */
#include "match/call_internal.h"
#include "base/text.h"
#include <errno.h>
#include <string.h>

static int pattern_new(struct match_text **ret, const json_t *value, const char *where,
                       struct err *err)
{
    *ret = mem_alloc(sizeof **ret);
    return match_text_from_json(*ret, value, where, err);
}

static int rule_args(struct call_rule *rule, const json_t *value, const char *where,
                     struct err *err)
{
    const json_t *list = value;
    rule->how = CALL_ARGS_VECTOR;
    if (json_is_object(value) && json_object_size(value) == 1 && json_object_get(value, "subset")) {
        list = json_object_get(value, "subset");
        rule->how = CALL_ARGS_SUBSET;
    }
    if (!json_is_array(list))
        return err_set(err, -EINVAL, "%s.args is neither a list nor {\"subset\": [...]}", where);
    size_t count = json_array_size(list);
    const char *last = count ? json_string_value(json_array_get(list, count - 1)) : NULL;
    if (rule->how == CALL_ARGS_VECTOR && last && strcmp(last, "...") == 0) {
        rule->how = CALL_ARGS_PREFIX;
        count--;
    }
    rule->args = mem_alloc((count + 1) * sizeof *rule->args);
    for (size_t i = 0; i < count; i++) {
        CLEANUP(mem_free) char *name = mem_format("%s.args[%zu]", where, i);
        int r = match_text_from_json(&rule->args[i], json_array_get(list, i), name, err);
        if (r < 0)
            return r;
        rule->arg_count++;
    }
    return 0;
}

static int rule_env(struct call_rule *rule, const json_t *value, const char *where, struct err *err)
{
    if (!json_is_object(value))
        return err_set(err, -EINVAL, "%s.env is no object of names and patterns", where);
    rule->env = mem_alloc((json_object_size(value) + 1) * sizeof *rule->env);
    const char *name;
    json_t *inner;
    json_object_foreach((json_t *)value, name, inner)
    {
        struct call_env_rule *env = &rule->env[rule->env_count++];
        env->name = mem_dup(name);
        env->absent = json_is_null(inner);
        CLEANUP(mem_free) char *named = mem_format("%s.env.%s", where, name);
        int r = env->absent ? 0 : match_text_from_json(&env->value, inner, named, err);
        if (r < 0)
            return r;
    }
    return 0;
}

static int rule_member(struct call_rule *rule, const char *name, const json_t *value,
                       const char *where, struct err *err)
{
    static const char *const known[] = {"program", "args", "env", "stdin", "cwd"};
    CLEANUP(mem_free) char *named = mem_format("%s.%s", where, name);
    if (strcmp(name, "program") == 0)
        return pattern_new(&rule->program, value, named, err);
    if (strcmp(name, "args") == 0)
        return rule_args(rule, value, where, err);
    if (strcmp(name, "env") == 0)
        return rule_env(rule, value, where, err);
    if (strcmp(name, "stdin") == 0)
        return pattern_new(&rule->input, value, named, err);
    if (strcmp(name, "cwd") == 0)
        return pattern_new(&rule->cwd, value, named, err);
    err_set(err, -EINVAL, "%s is not known", named);
    const char *closest = text_closest(name, known, ARRAY_LENGTH(known));
    return closest ? err_hint(err, "did you mean '%s'?", closest)
                   : err_hint(err, "a rule has program, args, env, stdin, cwd");
}

int call_rule_from_json(struct call_rule *rule, const json_t *value, const char *where,
                        struct err *err)
{
    *rule = (struct call_rule){0};
    if (!json_is_object(value))
        return err_set(err, -EINVAL, "%s is no object", where);
    const char *name;
    json_t *inner;
    json_object_foreach((json_t *)value, name, inner)
    {
        int r = rule_member(rule, name, inner, where, err);
        if (r < 0) {
            call_rule_done(rule);
            return r;
        }
    }
    return 0;
}

static int texts_of(struct call_rule *rule, const char *program, const char *const *args,
                    struct err *err)
{
    int r = 0;

    if (program) {
        rule->program = mem_alloc(sizeof *rule->program);
        r = match_text_parse(rule->program, program, err);
    }
    size_t count = 0;
    while (args && args[count])
        count++;
    rule->how = args ? CALL_ARGS_VECTOR : CALL_ARGS_ANY;
    if (count && strcmp(args[count - 1], "...") == 0) {
        rule->how = CALL_ARGS_PREFIX;
        count--;
    }
    rule->args = mem_alloc((count + 1) * sizeof *rule->args);
    for (size_t i = 0; r == 0 && i < count; i++)
        if ((r = match_text_parse(&rule->args[i], args[i], err)) == 0)
            rule->arg_count++;
    return r;
}

int call_rule_from_texts(struct call_rule *rule, const char *program, const char *const *args,
                         struct err *err)
{
    *rule = (struct call_rule){0};
    int r = texts_of(rule, program, args, err);
    if (r < 0)
        call_rule_done(rule);
    return r;
}

static bool refuse(struct buf *why, const char *what, const struct match_text *pattern,
                   const char *got)
{
    if (!why)
        return false;
    buf_addf(why, "%s: wants ", what);
    match_text_add(why, pattern);
    buf_adds(why, ", got ");
    got ? text_add_quoted(why, got) : buf_adds(why, "nothing");
    return false;
}

static bool text_fits(const struct match_text *pattern, const char *text)
{
    return text && match_text_fits(pattern, text, strlen(text));
}

static bool some_fits(const struct match_text *pattern, const char *const *args)
{
    for (; *args; args++)
        if (text_fits(pattern, *args))
            return true;
    return false;
}

static bool args_fit(const struct call_rule *rule, const struct call *call, struct buf *why)
{
    static const char *const nothing[] = {NULL};
    const char *const *args = call->argv && call->argv[0] ? call->argv + 1 : nothing;
    size_t count = 0;
    while (args[count])
        count++;
    for (size_t i = 0; i < rule->arg_count; i++) {
        const struct match_text *pattern = &rule->args[i];
        char what[48];
        snprintf(what, sizeof what, "argument %zu", i + 1);
        if (rule->how == CALL_ARGS_SUBSET ? !some_fits(pattern, args)
                                          : i >= count || !text_fits(pattern, args[i]))
            return refuse(why, rule->how == CALL_ARGS_SUBSET ? "some argument" : what, pattern,
                          rule->how == CALL_ARGS_SUBSET || i >= count ? NULL : args[i]);
    }
    if (rule->how == CALL_ARGS_VECTOR && count > rule->arg_count) {
        if (why) {
            buf_addf(why, "argument %zu: wants no more than %zu, got ", rule->arg_count + 1,
                     rule->arg_count);
            text_add_quoted(why, args[rule->arg_count]);
        }
        return false;
    }
    return true;
}

bool call_rule_fits(const struct call_rule *rule, const struct call *call, const char *input,
                    size_t input_length, struct buf *why)
{
    const char *program = call_program(call, &(struct call_view){0});
    if (rule->program && !text_fits(rule->program, program) &&
        !text_fits(rule->program, call->program))
        return refuse(why, "program", rule->program, call->program);
    if (!args_fit(rule, call, why))
        return false;
    if (rule->cwd && !text_fits(rule->cwd, call->cwd))
        return refuse(why, "cwd", rule->cwd, call->cwd);
    for (size_t i = 0; i < rule->env_count; i++) {
        const struct call_env_rule *env = &rule->env[i];
        const char *value = call_env(call, env->name);
        CLEANUP(mem_free) char *what = mem_format("env %s", env->name);
        if (env->absent && value) {
            if (why)
                buf_addf(why, "%s: wants it unset, got '%s'", what, value);
            return false;
        }
        if (!env->absent && !text_fits(&env->value, value))
            return refuse(why, what, &env->value, value);
    }
    if (rule->input && !match_text_fits(rule->input, input ? input : "", input_length))
        return refuse(why, "stdin", rule->input, input ? input : "");
    return true;
}

static void pattern_free(struct match_text *pattern)
{
    if (pattern)
        match_text_done(pattern);
    free(pattern);
}

void call_rule_done(struct call_rule *rule)
{
    pattern_free(rule->program);
    pattern_free(rule->input);
    pattern_free(rule->cwd);
    for (size_t i = 0; i < rule->arg_count; i++)
        match_text_done(&rule->args[i]);
    free(rule->args);
    for (size_t i = 0; i < rule->env_count; i++) {
        free(rule->env[i].name);
        match_text_done(&rule->env[i].value);
    }
    free(rule->env);
    *rule = (struct call_rule){0};
}
