/* SPDX-License-Identifier: MIT */
/* The recording nearest to a call that none answers, the first thing in which they differ, and the
 * rule that would make them the same. A distance is a sum of what differs, weighed so that the
 * program counts before its arguments, and these before where and with what it was called. Linear
 * in candidates and in arguments. */
#include "match/call_internal.h"
#include "base/text.h"
#include <ctype.h>
#include <string.h>

enum { WEIGH_PROGRAM = 100000, WEIGH_ARGUMENT = 10, WEIGH_CWD = 4, WEIGH_STDIN = 3, WEIGH_ENV = 1 };

static size_t count_args(const struct call *call)
{
    size_t count = 0;
    while (call->argv && call->argv[count])
        count++;
    return count;
}

/* Arguments outside the longest common start and end. */
static size_t args_distance(const struct call *a, const struct call *b)
{
    size_t count_a = count_args(a), count_b = count_args(b), start = 1, end = 0;
    while (start < count_a && start < count_b && strcmp(a->argv[start], b->argv[start]) == 0)
        start++;
    while (start + end < count_a && start + end < count_b &&
           strcmp(a->argv[count_a - 1 - end], b->argv[count_b - 1 - end]) == 0)
        end++;
    size_t longer = count_a > count_b ? count_a : count_b;
    return longer > start + end ? longer - start - end : 0;
}

static size_t distance(const struct call *a, const struct call *b, const struct call_view *view)
{
    size_t sum = 0;
    if (call_counts(view, CALL_PROGRAM) &&
        !text_equal(call_program(a, view), call_program(b, view)))
        sum += WEIGH_PROGRAM * (1 + text_distance(call_program(a, view), call_program(b, view)));
    if (call_counts(view, CALL_ARGV))
        sum += WEIGH_ARGUMENT * args_distance(a, b);
    if (call_counts(view, CALL_CWD) && !text_equal(a->cwd, b->cwd))
        sum += WEIGH_CWD;
    if (call_counts(view, CALL_STDIN) && !text_equal(a->stdin_digest, b->stdin_digest))
        sum += WEIGH_STDIN;
    for (size_t i = 0; call_counts(view, CALL_ENV) && view->env_names && view->env_names[i]; i++)
        sum += text_equal(call_env(a, view->env_names[i]), call_env(b, view->env_names[i]))
                   ? 0
                   : WEIGH_ENV;
    return sum;
}

static bool same(const struct call_view *view, const char *a, const char *b)
{
    if (!a || !b || !view->rules)
        return text_equal(a, b);
    CLEANUP(buf_done) struct buf steady_a = {0};
    CLEANUP(buf_done) struct buf steady_b = {0};
    match_rules_apply(view->rules, a, strlen(a), &steady_a);
    match_rules_apply(view->rules, b, strlen(b), &steady_b);
    return text_equal(buf_text(&steady_a), buf_text(&steady_b));
}

static void rule_add_regex(struct buf *rule, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (!isalnum((unsigned char)text[i]) && !((unsigned char)text[i] & 0x80) &&
            !strchr("_/ ,:;=@%~", text[i]))
            buf_addc(rule, '\\');
        buf_addc(rule, text[i]);
    }
}

static void rule_add_text(struct buf *rule, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        buf_adds(rule, text[i] == '$' ? "$$" : (char[]){text[i], '\0'});
}

/* s|^START.*END$|START*END|, or for texts with nothing in common, the one called the other. */
static char *rule_between(const char *recorded, const char *called)
{
    const char *mark = "/|,#!%:@;~";
    while (*mark && (strchr(recorded, *mark) || strchr(called, *mark)))
        mark++;
    if (!*mark || strchr(recorded, '\n') || strchr(called, '\n'))
        return NULL;
    size_t start = 0, end = 0;
    size_t length_a = strlen(recorded), length_b = strlen(called);
    while (recorded[start] && recorded[start] == called[start])
        start++;
    while (start + end < length_a && start + end < length_b &&
           recorded[length_a - 1 - end] == called[length_b - 1 - end])
        end++;
    struct buf rule = {0};
    buf_addf(&rule, "s%c^", *mark);
    if (start || end) {
        rule_add_regex(&rule, recorded, start);
        buf_adds(&rule, ".*");
        rule_add_regex(&rule, recorded + length_a - end, end);
        buf_addf(&rule, "$%c", *mark);
        rule_add_text(&rule, recorded, start);
        buf_addc(&rule, '*');
        rule_add_text(&rule, recorded + length_a - end, end);
    } else {
        rule_add_regex(&rule, called, length_b);
        buf_addf(&rule, "$%c", *mark);
        rule_add_text(&rule, recorded, length_a);
    }
    buf_addc(&rule, *mark);
    return buf_take(&rule);
}

static void miss_set(struct call_miss *miss, enum call_field field, const char *what,
                     const char *recorded, const char *called)
{
    miss->field = field;
    buf_addf(&miss->detail, "%s: recorded ", what);
    recorded ? text_add_quoted(&miss->detail, recorded) : buf_adds(&miss->detail, "none");
    buf_adds(&miss->detail, ", called with ");
    called ? text_add_quoted(&miss->detail, called) : buf_adds(&miss->detail, "none");
    if (recorded && called && field != CALL_STDIN)
        miss->rule = rule_between(recorded, called);
}

static bool miss_argv(const struct call *call, const struct call *near,
                      const struct call_view *view, struct call_miss *miss)
{
    size_t count_a = count_args(near), count_b = count_args(call);
    for (size_t i = 1; i < count_a || i < count_b; i++) {
        const char *recorded = i < count_a ? near->argv[i] : NULL;
        const char *called = i < count_b ? call->argv[i] : NULL;
        if (same(view, recorded, called))
            continue;
        char what[48];
        snprintf(what, sizeof what, "argv[%zu]", i);
        miss_set(miss, CALL_ARGV, what, recorded, called);
        return true;
    }
    return false;
}

static void miss_find(const struct call *call, const struct call *near,
                      const struct call_view *view, struct call_miss *miss)
{
    const char *a = call_program(near, view), *b = call_program(call, view);
    if (call_counts(view, CALL_PROGRAM) && !same(view, a, b)) {
        miss_set(miss, CALL_PROGRAM, "program", a, b);
        return;
    }
    if (call_counts(view, CALL_ARGV) && miss_argv(call, near, view, miss))
        return;
    if (call_counts(view, CALL_CWD) && near->cwd && call->cwd &&
        !same(view, near->cwd, call->cwd)) {
        miss_set(miss, CALL_CWD, "cwd", near->cwd, call->cwd);
        return;
    }
    for (size_t i = 0; call_counts(view, CALL_ENV) && view->env_names && view->env_names[i]; i++) {
        a = call_env(near, view->env_names[i]);
        b = call_env(call, view->env_names[i]);
        if (!same(view, a, b)) {
            CLEANUP(mem_free) char *what = mem_format("env %s", view->env_names[i]);
            miss_set(miss, CALL_ENV, what, a, b);
            return;
        }
    }
    if (call_counts(view, CALL_STDIN) && !text_equal(near->stdin_digest, call->stdin_digest)) {
        miss_set(miss, CALL_STDIN, "stdin", near->stdin_digest, call->stdin_digest);
        return;
    }
    miss->field = CALL_FIELD_COUNT;
    buf_adds(&miss->detail, "every recording of this call was already used");
}

void call_closest(const struct call *call, const struct call_view *view, call_at *at, void *context,
                  size_t count, struct call_miss *ret)
{
    *ret = (struct call_miss){.index = SIZE_MAX, .field = CALL_FIELD_COUNT};
    size_t least = SIZE_MAX;
    for (size_t i = 0; i < count && least; i++) {
        size_t sum = distance(call, at(context, i), view);
        if (sum < least) {
            least = sum;
            ret->index = i;
        }
    }
    if (ret->index != SIZE_MAX)
        miss_find(call, at(context, ret->index), view, ret);
}

void call_miss_done(struct call_miss *miss)
{
    buf_done(&miss->detail);
    free(miss->rule);
    *miss = (struct call_miss){.index = SIZE_MAX};
}
