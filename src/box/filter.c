/* SPDX-License-Identifier: MIT */
/* filter: policy.def as one seccomp program.
 *
 * A binary search over runs of neighbouring numbers that share an answer, about nine comparisons
 * for any call; calls that are always allowed do not even come here, because the kernel keeps a
 * bitmap of them. Written by hand rather than with libseccomp: the program has to be built in
 * microseconds at every start, and some rules look at arguments in ways that its API has no words
 * for. */
#include "box/policy.h"
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>

enum { PROGRAM_MAX = 2048, RUNS_MAX = POLICY_NUMBER_MAX };

struct program {
    struct sock_filter code[PROGRAM_MAX];
    size_t length;
};

struct run {
    unsigned first; /* number */
    struct policy policy;
};

static void emit(struct program *p, uint16_t code, uint32_t k, uint8_t yes, uint8_t no)
{
    assert(p->length < PROGRAM_MAX);
    p->code[p->length++] = (struct sock_filter){code, yes, no, k};
}

static void emit_load(struct program *p, size_t offset)
{
    emit(p, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

static void emit_load_arg(struct program *p, unsigned index, bool high)
{
    emit_load(p, offsetof(struct seccomp_data, args) + 8 * index + (high ? 4 : 0));
}

static void emit_return(struct program *p, uint32_t action)
{
    emit(p, BPF_RET | BPF_K, action, 0, 0);
}

static void emit_equal(struct program *p, uint32_t value, uint8_t yes, uint8_t no)
{
    emit(p, BPF_JMP | BPF_JEQ | BPF_K, value, yes, no);
}

static void emit_trace(struct program *p)
{
    emit_return(p, SECCOMP_RET_TRACE);
}

static void emit_allow(struct program *p)
{
    emit_return(p, SECCOMP_RET_ALLOW);
}

/* Trace if the 64-bit argument is not zero. */
static void rule_pointer(struct program *p, unsigned index)
{
    emit_load_arg(p, index, false);
    emit_equal(p, 0, 0, 3);
    emit_load_arg(p, index, true);
    emit_equal(p, 0, 0, 1);
    emit_allow(p);
    emit_trace(p);
}

/* Trace if the int argument is above zero: 0 does not wait, a negative one waits for ever. */
static void rule_positive(struct program *p, unsigned index)
{
    emit_load_arg(p, index, false);
    emit_equal(p, 0, 1, 0);
    emit(p, BPF_JMP | BPF_JSET | BPF_K, 0x80000000u, 0, 1);
    emit_allow(p);
    emit_trace(p);
}

/* Trace also 0, which is how loops look that go on when a time is past. */
static void rule_not_negative(struct program *p, unsigned index)
{
    emit_load_arg(p, index, false);
    emit(p, BPF_JMP | BPF_JSET | BPF_K, 0x80000000u, 0, 1);
    emit_allow(p);
    emit_trace(p);
}

/* Trace if the argument, less `mask`, is one of the values. */
static void rule_one_of(struct program *p, unsigned index, uint32_t mask, const uint32_t *values,
                        unsigned count)
{
    emit_load_arg(p, index, false);
    emit(p, BPF_ALU | BPF_AND | BPF_K, mask, 0, 0);
    for (unsigned i = 0; i < count; i++)
        emit_equal(p, values[i], (uint8_t)(count - i), 0);
    emit_allow(p);
    /* Falls through for a match: what follows decides. */
}

static void rule_futex(struct program *p)
{
    /* WAIT, LOCK_PI, WAIT_BITSET, WAIT_REQUEUE_PI, LOCK_PI2 take a timeout; others use the slot. */
    static const uint32_t waits[] = {0, 6, 9, 11, 13};

    rule_one_of(p, 1, 0x7f, waits, ARRAY_LENGTH(waits));
    rule_pointer(p, 3);
}

static void rule_socket_timeout(struct program *p)
{
    static const uint32_t level[] = {SOL_SOCKET};
    /* SO_RCVTIMEO, SO_SNDTIMEO, SO_TIMESTAMP, -NS, -ING, old and new */
    static const uint32_t names[] = {20, 21, 66, 67, 29, 35, 37, 63, 64, 65};

    rule_one_of(p, 1, ~0u, level, 1);
    rule_one_of(p, 2, ~0u, names, ARRAY_LENGTH(names));
    emit_trace(p);
}

/* IPC_STAT and its kin, which tell when something was last done. */
static void rule_ipc_stat(struct program *p, unsigned index)
{
    static const uint32_t queues[] = {IPC_STAT, MSG_STAT, SHM_STAT, SHM_STAT_ANY};
    static const uint32_t semaphores[] = {IPC_STAT, SEM_STAT, SEM_STAT_ANY};

    if (index == 1)
        rule_one_of(p, index, ~0u, queues, ARRAY_LENGTH(queues)); /* MSG_STAT_ANY is SHM_STAT */
    else
        rule_one_of(p, index, ~0u, semaphores, ARRAY_LENGTH(semaphores));
    emit_trace(p);
}

static void rule_flag(struct program *p, unsigned index, uint32_t flag)
{
    emit_load_arg(p, index, false);
    emit(p, BPF_JMP | BPF_JSET | BPF_K, flag, 1, 0);
    emit_allow(p);
    emit_trace(p);
}

/* Opens that only read and do not look like a walk over a tree may be of /dev/urandom or below
 * /proc; opens for writing touch file times. What tree walkers do (O_DIRECTORY, O_PATH, or reading
 * with O_NOFOLLOW) is left alone: it is most of what tar, find, rm and cp -r do. */
static void rule_open(struct program *p, unsigned index)
{
    emit_load_arg(p, index, false);
    emit(p, BPF_JMP | BPF_JSET | BPF_K, O_DIRECTORY | O_PATH, 0, 1);
    emit_allow(p);
    emit(p, BPF_JMP | BPF_JSET | BPF_K, O_ACCMODE | O_CREAT | O_TRUNC, 2, 0);
    emit(p, BPF_JMP | BPF_JSET | BPF_K, O_NOFOLLOW, 0, 1);
    emit_allow(p);
    emit_trace(p);
}

/* Descriptors that standard streams have when they are recorded. Shells keep what they redirected
 * at 10 and 11. */
static void rule_descriptor(struct program *p, enum policy_rule rule)
{
    static const uint32_t in[] = {0}, out[] = {1, 2, 10, FILTER_DESCRIPTORS - 1}, all[] = {0, 1, 2};

    if (rule == RULE_STDIN)
        rule_one_of(p, 0, ~0u, in, ARRAY_LENGTH(in));
    else if (rule == RULE_OUTPUT)
        rule_one_of(p, 0, ~0u, out, ARRAY_LENGTH(out));
    else
        rule_one_of(p, 0, ~0u, all, ARRAY_LENGTH(all));
    emit_trace(p);
}

static void emit_rule(struct program *p, enum policy_rule rule)
{
    static const uint32_t prctls[] = {1, 25, 26}; /* PR_SET_PDEATHSIG, PR_GET_TSC, PR_SET_TSC */
    static const uint32_t internet[] = {AF_INET, AF_INET6};
    static const uint32_t map_vdso[] = {0x2001, 0x2002, 0x2003};

    switch (rule) {
    case RULE_NONE:
        emit_trace(p);
        break;
    case RULE_INT_2:
        rule_not_negative(p, 2);
        break;
    case RULE_POSITIVE_INT_3:
        rule_positive(p, 3);
        break;
    case RULE_POINTER_1:
        rule_pointer(p, 1);
        break;
    case RULE_POINTER_2:
        rule_pointer(p, 2);
        break;
    case RULE_POINTER_3:
        rule_pointer(p, 3);
        break;
    case RULE_POINTER_4:
        rule_pointer(p, 4);
        break;
    case RULE_FUTEX_TIMED:
        rule_futex(p);
        break;
    case RULE_SOCKET_TIMEOUT:
        rule_socket_timeout(p);
        break;
    case RULE_INTERNET:
        rule_one_of(p, 0, ~0u, internet, ARRAY_LENGTH(internet));
        emit_trace(p);
        break;
    case RULE_IPC_STAT_1:
        rule_ipc_stat(p, 1);
        break;
    case RULE_IPC_STAT_2:
        rule_ipc_stat(p, 2);
        break;
    case RULE_CLONE_UNTRACED:
        rule_flag(p, 0, 0x00800000u);
        break;
    case RULE_PRCTL:
        rule_one_of(p, 0, ~0u, prctls, ARRAY_LENGTH(prctls));
        emit_trace(p);
        break;
    case RULE_MAP_VDSO:
        rule_one_of(p, 0, ~0u, map_vdso, ARRAY_LENGTH(map_vdso));
        emit_trace(p);
        break;
    case RULE_OPEN_1:
        rule_open(p, 1);
        break;
    case RULE_OPEN_2:
        rule_open(p, 2);
        break;
    case RULE_STDIN:
    case RULE_OUTPUT:
    case RULE_STDIO:
        rule_descriptor(p, rule);
        break;
    }
}

/* The fast paths of fast.c call from one address each. */
static void emit_fast(struct program *p, long number)
{
    uint64_t ip = fast_passed_ip(number);

    if (!ip)
        return;
    emit_load(p, offsetof(struct seccomp_data, instruction_pointer));
    emit_equal(p, (uint32_t)ip, 0, 3);
    emit_load(p, offsetof(struct seccomp_data, instruction_pointer) + 4);
    emit_equal(p, (uint32_t)(ip >> 32), 0, 1);
    emit_allow(p);
}

static void emit_leaf(struct program *p, const struct policy *policy, long number)
{
    if (policy->kind == POLICY_TRACE)
        emit_fast(p, number);
    switch (policy->kind) {
    case POLICY_ALLOW:
        emit_allow(p);
        break;
    case POLICY_DENY:
        emit_return(p, SECCOMP_RET_ERRNO | (uint32_t)policy->error);
        break;
    case POLICY_UNKNOWN:
        emit_trace(p);
        break;
    case POLICY_TRACE:
        emit_rule(p, policy->rule);
        break;
    }
}

static void emit_tree(struct program *p, const struct run *runs, size_t count)
{
    if (count == 1) {
        emit_leaf(p, &runs[0].policy, runs[0].first);
        return;
    }
    size_t half = count / 2, node = p->length;
    emit(p, BPF_JMP | BPF_JGE | BPF_K, runs[half].first, 0, 0);
    emit_tree(p, runs, half);
    size_t distance = p->length - node - 1;
    if (distance <= UINT8_MAX) {
        p->code[node].jt = (uint8_t)distance;
    } else { /* beyond the reach of a comparison: by a jump behind it */
        emit(p, 0, 0, 0, 0);
        memmove(p->code + node + 2, p->code + node + 1, distance * sizeof *p->code);
        p->code[node].jf = 1;
        p->code[node + 1] = (struct sock_filter){BPF_JMP | BPF_JA, 0, 0, (uint32_t)distance};
    }
    emit_tree(p, runs + half, count - half);
}

static bool axis_is_virtual(const struct box_options *options, enum policy_axis axis)
{
    switch (axis) {
    case AXIS_TIME:
        return options->clock.mode != BOX_CLOCK_REAL;
    case AXIS_RANDOM:
        return !options->random_real;
    case AXIS_IDENTITY:
        return !options->identity_real;
    case AXIS_FILES:
        return options->clock.mode != BOX_CLOCK_REAL || !options->random_real ||
               proc_options_record(&options->proc);
    case AXIS_STREAMS:
    case AXIS_EFFECTS:
        return proc_options_record(&options->proc);
    case AXIS_PROGRAMS:
        return options->proc.mode != PROC_OFF;
    case AXIS_ALWAYS:
        break;
    }
    return true;
}

static bool same_answer(const struct policy *a, const struct policy *b)
{
    return a->kind == b->kind && a->error == b->error && a->rule == b->rule &&
           (a->kind != POLICY_TRACE || a->rule == RULE_NONE) && !a->fast && !b->fast;
}

static size_t collect_runs(const struct box_options *options, struct run *runs)
{
    size_t count = 0;

    for (unsigned number = 0; number < POLICY_NUMBER_MAX; number++) {
        struct policy policy = *policy_of(number);
        if (!axis_is_virtual(options, policy.axis) && policy.kind != POLICY_UNKNOWN)
            policy = (struct policy){.kind = POLICY_ALLOW};
        policy.fast = fast_passed_ip(number) != 0;
        if (count && same_answer(&runs[count - 1].policy, &policy))
            continue;
        runs[count++] = (struct run){number, policy};
    }
    return count;
}

int filter_build(const struct box_options *options, struct sock_fprog *ret)
{
    static struct program program;
    static struct run runs[RUNS_MAX];

    program.length = 0;
    emit_load(&program, offsetof(struct seccomp_data, arch));
    emit_equal(&program, AUDIT_ARCH_X86_64, 1, 0);
    emit_return(&program, SECCOMP_RET_TRACE | 1); /* another ABI: denied and reported */
    emit_load(&program, offsetof(struct seccomp_data, nr));
    emit(&program, BPF_JMP | BPF_JGE | BPF_K, POLICY_NUMBER_MAX, 0, 1);
    emit_trace(&program); /* x32, and numbers nobody knows yet */
    emit_tree(&program, runs, collect_runs(options, runs));
    *ret = (struct sock_fprog){.len = (unsigned short)program.length, .filter = program.code};
    return 0;
}
