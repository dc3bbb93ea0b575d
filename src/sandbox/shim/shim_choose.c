/* SPDX-License-Identifier: MIT */
/* Which rule of the plan answers a call. The first that fits and is not used up; rules of kind
 * "plan" also have their turn: all plans before one have been called as often as they want. */
#include "sandbox/shim/shim_guest.h"
#include "base/text.h"
#include <stdio.h>
#include <string.h>

struct rule {
    const json_t *json;
    bool plan;
    json_int_t times, count; /* times 0: any number */
};

static struct rule rule_at(const json_t *command, const json_t *counts, size_t index)
{
    const json_t *rule = json_array_get(json_object_get(command, "rules"), index);
    const char *kind = json_string_value(json_object_get(rule, "kind"));
    const json_t *times = json_object_get(rule, "times");
    bool plan = kind && strcmp(kind, "plan") == 0;

    return (struct rule){
        .json = rule,
        .plan = plan,
        .times = times  ? json_integer_value(times)
                 : plan ? 1
                        : 0,
        .count = json_integer_value(json_array_get(counts, index)),
    };
}

static bool used_up(const struct rule *rule)
{
    return rule->times > 0 && rule->count >= rule->times;
}

static const char *label(const json_t *rule)
{
    const char *text = json_string_value(json_object_get(rule, "label"));

    return text ? text : "";
}

static const json_t *pick_answer(const struct rule *rule)
{
    const json_t *answers = json_object_get(rule->json, "answers");
    size_t count = json_array_size(answers), at = (size_t)rule->count;

    return count ? json_array_get(answers, at < count ? at : count - 1) : NULL;
}

/* The rule whose words are nearest to those of the call, and what did not fit in it. */
static void explain(const struct shim_call *call, const json_t *command, struct buf *ret)
{
    CLEANUP(buf_done) struct buf words = {0};
    const json_t *closest = NULL;
    size_t nearest = SIZE_MAX, index;
    struct call_rule pattern;
    json_t *rule;

    for (const char *const *arg = call->call.argv + 1; call->call.argv[0] && *arg; arg++) {
        buf_adds(&words, words.length ? " " : "");
        text_add_quoted(&words, *arg);
    }
    json_array_foreach(json_object_get(command, "rules"), index, rule)
    {
        size_t distance = text_distance(label(rule), buf_text(&words));
        if (distance < nearest) {
            nearest = distance;
            closest = rule;
        }
    }
    if (!closest)
        return;
    buf_addf(ret, "the closest rule is: %s\n", label(closest));
    if (call_rule_from_json(&pattern, json_object_get(closest, "match"), "match", NULL) < 0)
        return;
    (void)call_rule_fits(&pattern, &call->call, call->input.data, call->input.length, ret);
    call_rule_done(&pattern);
}

static bool fits(const struct shim_call *call, const struct rule *rule)
{
    struct call_rule pattern;
    struct err err = {0};

    if (call_rule_from_json(&pattern, json_object_get(rule->json, "match"), "match", &err) < 0)
        shim_die("the plan of '%s': %s", call->name, err.text);
    bool fit = call_rule_fits(&pattern, &call->call, call->input.data, call->input.length, NULL);
    call_rule_done(&pattern);
    return fit;
}

/* Why a rule that fits may not answer. */
static void hold_against(struct shim_choice *ret, const struct rule *rule, const json_t *first)
{
    if (!used_up(rule)) {
        ret->outcome = "out_of_order";
        buf_clear(&ret->why);
        buf_addf(&ret->why, "this call comes first: %s", label(first));
    } else if (strcmp(ret->outcome, "unmatched") == 0) {
        ret->outcome = "too_many";
        buf_addf(&ret->why, "%s: good for %lld call%s", label(rule->json), (long long)rule->times,
                 rule->times == 1 ? "" : "s");
    }
}

void shim_choose(const struct shim_call *call, const json_t *command, const json_t *counts,
                 struct shim_choice *ret)
{
    size_t rules = json_array_size(json_object_get(command, "rules"));
    const json_t *otherwise = json_object_get(command, "else");
    const json_t *pending = NULL; /* the first plan that wants more calls */

    *ret = (struct shim_choice){.outcome = "unmatched", .rule = -1};
    for (size_t i = 0; i < rules; i++) {
        struct rule rule = rule_at(command, counts, i);

        if (fits(call, &rule)) {
            if (!used_up(&rule) && !(rule.plan && pending)) {
                ret->outcome = "answered";
                ret->answer = pick_answer(&rule);
                ret->rule = (int)i;
                buf_clear(&ret->why);
                return;
            }
            hold_against(ret, &rule, pending);
        }
        if (rule.plan && !used_up(&rule) && !pending)
            pending = rule.json;
    }
    if (strcmp(ret->outcome, "unmatched") != 0)
        return;
    if (json_is_object(otherwise) || (!rules && !otherwise)) {
        ret->outcome = "answered";
        ret->answer = otherwise;
        return;
    }
    explain(call, command, &ret->why);
}
