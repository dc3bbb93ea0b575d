/* SPDX-License-Identifier: MIT */
#include "box/policy.h"
#include <errno.h>

/* The numbers by name, so that the check below can refer to them. */
enum {
#define ALLOW(name, number)                   NUMBER_##name = number,
#define DENY(name, number, error)             NUMBER_##name = number,
#define TRACE(name, number, handler)          NUMBER_##name = number,
#define TRACE_IF(name, number, handler, rule) NUMBER_##name = number,
#define SECTION(axis)
#include "box/policy.def"
#undef ALLOW
#undef DENY
#undef TRACE
#undef TRACE_IF
#undef SECTION
};

/* Every call that the installed headers know has a policy, under its right number. A compile error
 * here names a call that is missing in policy.def. */
#define KNOWN(name, number) _Static_assert(NUMBER_##name == number, "policy.def: wrong number");
#include "sys_known.h"
#undef KNOWN

static const struct {
    long number; /* -1: a section starts */
    struct policy policy;
} rows[] = {
#define ALLOW(text, number)      {number, {.name = #text, .kind = POLICY_ALLOW}},
#define DENY(text, number, code) {number, {.name = #text, .kind = POLICY_DENY, .error = code}},
#define TRACE(text, number, function)                                                              \
    {number, {.name = #text, .kind = POLICY_TRACE, .handler = function}},
#define TRACE_IF(text, number, function, when)                                                     \
    {number, {.name = #text, .kind = POLICY_TRACE, .handler = function, .rule = when}},
#define SECTION(where) {-1, {.axis = AXIS_##where}},
#include "box/policy.def"
};

const struct policy *policy_of(long number)
{
    static struct policy table[POLICY_NUMBER_MAX];
    static bool ready;
    static const struct policy unknown = {0};

    if (!ready) {
        enum policy_axis axis = AXIS_ALWAYS;
        for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
            if (rows[i].number < 0) {
                axis = rows[i].policy.axis;
                continue;
            }
            table[rows[i].number] = rows[i].policy;
            table[rows[i].number].axis = axis;
        }
        ready = true;
    }
    return number >= 0 && number < POLICY_NUMBER_MAX ? &table[number] : &unknown;
}

sys_handler policy_handler(long number)
{
    return policy_of(number)->handler;
}

const char *policy_name(long number)
{
    return policy_of(number)->name;
}

enum verdict verdict_skip(struct task *task, long result)
{
    task_skip(task, result);
    return VERDICT_DONE;
}
