/* SPDX-License-Identifier: MIT */
/* policy: the table of policy.def, as data. */
#pragma once
#include "box/box_internal.h"

enum policy_kind { POLICY_UNKNOWN, POLICY_ALLOW, POLICY_DENY, POLICY_TRACE };
enum policy_axis {
    AXIS_ALWAYS,
    AXIS_TIME,
    AXIS_RANDOM,
    AXIS_IDENTITY,
    AXIS_FILES,
    AXIS_STREAMS,
    AXIS_EFFECTS,
    AXIS_PROGRAMS
};
enum policy_rule { /* on the arguments; the call is allowed where the rule does not hold */
                   RULE_NONE,
                   RULE_INT_2,
                   RULE_POSITIVE_INT_3,
                   RULE_POINTER_1,
                   RULE_POINTER_2,
                   RULE_POINTER_3,
                   RULE_POINTER_4,
                   RULE_FUTEX_TIMED,
                   RULE_SOCKET_TIMEOUT,
                   RULE_INTERNET,
                   RULE_IPC_STAT_1,
                   RULE_IPC_STAT_2,
                   RULE_CLONE_UNTRACED,
                   RULE_PRCTL,
                   RULE_MAP_VDSO,
                   RULE_OPEN_1,
                   RULE_OPEN_2,
                   RULE_STDIN,
                   RULE_OUTPUT,
                   RULE_STDIO,
};

struct policy {
    const char *name;
    sys_handler handler;
    int error;
    enum policy_kind kind;
    enum policy_axis axis;
    enum policy_rule rule;
    bool fast; /* filled in by filter.c */
};

enum { POLICY_NUMBER_MAX = 512 };
const struct policy *policy_of(long number); /* kind POLICY_UNKNOWN beyond the table */

enum verdict verdict_skip(struct task *task, long result); /* the call is not made */

/* sys_wait.c */
bool wait_read_timespec(struct task *task, uint64_t address,
                        int64_t *ret_ns); /* false if the kernel should judge it */
int64_t wait_due_after(struct box *box, int64_t duration_ns);

#define ALLOW(name, number)
#define DENY(name, number, error)
#define TRACE(name, number, handler) enum verdict handler(struct box *box, struct task *task);
#define TRACE_IF(name, number, handler, rule)                                                      \
    enum verdict handler(struct box *box, struct task *task);
#define SECTION(axis)
#include "box/policy.def"
#undef ALLOW
#undef DENY
#undef TRACE
#undef TRACE_IF
#undef SECTION
