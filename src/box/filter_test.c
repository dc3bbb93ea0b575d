/* SPDX-License-Identifier: MIT */
/* The seccomp program, run through a small interpreter: every number, both sides of every rule. */
#include "box/policy.h"
#include "lib/check.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/ipc.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

/* ---- the machine ------------------------------------------------------------------------- */

static const uint32_t ALLOWED = SECCOMP_RET_ALLOW, TRACED = SECCOMP_RET_TRACE;

static uint32_t load(const struct seccomp_data *data, uint32_t offset)
{
    uint32_t word;

    CHECK_TRUE(offset % 4 == 0 && offset + 4 <= sizeof *data);
    memcpy(&word, (const char *)data + offset, sizeof word);
    return word;
}

static uint32_t run_filter(const struct sock_fprog *program, const struct seccomp_data *data)
{
    uint32_t a = 0;

    for (size_t at = 0; at < program->len; at++) {
        const struct sock_filter *op = &program->filter[at];
        switch (op->code) {
        case BPF_LD | BPF_W | BPF_ABS:
            a = load(data, op->k);
            break;
        case BPF_ALU | BPF_AND | BPF_K:
            a &= op->k;
            break;
        case BPF_JMP | BPF_JA:
            at += op->k;
            break;
        case BPF_JMP | BPF_JEQ | BPF_K:
            at += a == op->k ? op->jt : op->jf;
            break;
        case BPF_JMP | BPF_JGE | BPF_K:
            at += a >= op->k ? op->jt : op->jf;
            break;
        case BPF_JMP | BPF_JSET | BPF_K:
            at += a & op->k ? op->jt : op->jf;
            break;
        case BPF_RET | BPF_K:
            return op->k;
        default:
            check_fail(__FILE__, __LINE__, "instruction %zu has code %#x", at, op->code);
        }
    }
    check_fail(__FILE__, __LINE__, "ran off the end of the program");
    return 0;
}

static const struct box_options all_virtual = {.proc.mode = PROC_RECORD};
static const struct box_options all_real = {
    .clock.mode = BOX_CLOCK_REAL, .random_real = true, .identity_real = true};

static uint32_t answer_at(const struct box_options *options, uint64_t ip, uint32_t arch,
                          uint32_t number, const uint64_t args[6])
{
    struct seccomp_data data = {.nr = (int)number, .arch = arch, .instruction_pointer = ip};
    struct sock_fprog program;

    fast_init();
    CHECK_INT(filter_build(options, &program), 0);
    memcpy(data.args, args, sizeof data.args);
    return run_filter(&program, &data);
}

static uint32_t answer(uint32_t number, const uint64_t args[6])
{
    return answer_at(&all_virtual, 0x1234, AUDIT_ARCH_X86_64, number, args);
}

#define ARGS(...) ((const uint64_t[6]){__VA_ARGS__})
#define CHECK_ANSWER(number, args, wanted)                                                         \
    check_ints(answer(number, args), wanted, "answer to " #number #args, __FILE__, __LINE__)

/* ---- every number -------------------------------------------------------------------------- */

struct row {
    const char *name;
    long number;
    enum policy_kind kind;
    int error;
    enum policy_rule rule;
    enum policy_axis axis;
};

static const struct row rows[] = {
#define ALLOW(text, nr)                   {#text, nr, POLICY_ALLOW, 0, RULE_NONE, 0},
#define DENY(text, nr, code)              {#text, nr, POLICY_DENY, code, RULE_NONE, 0},
#define TRACE(text, nr, handler)          {#text, nr, POLICY_TRACE, 0, RULE_NONE, 0},
#define TRACE_IF(text, nr, handler, rule) {#text, nr, POLICY_TRACE, 0, rule, 0},
#define SECTION(where)                    {NULL, -1, POLICY_UNKNOWN, 0, RULE_NONE, AXIS_##where},
#include "box/policy.def"
};

/* Arguments for which a rule holds, and for which it does not. */
static const struct {
    enum policy_rule rule;
    uint64_t holds[6], not [6];
} samples[] = {
    {RULE_INT_2, {0, 0, 0}, {1, 1, UINT32_MAX, 1, 1, 1}},
    {RULE_POSITIVE_INT_3, {0, 0, 0, 1}, {1, 1, 1, 0, 1, 1}},
    {RULE_POINTER_1, {0, 8}, {1, 0, 1, 1, 1, 1}},
    {RULE_POINTER_2, {0, 0, 8}, {1, 1, 0, 1, 1, 1}},
    {RULE_POINTER_3, {0, 0, 0, 8}, {1, 1, 1, 0, 1, 1}},
    {RULE_POINTER_4, {0, 0, 0, 0, 8}, {1, 1, 1, 1, 0, 1}},
    {RULE_FUTEX_TIMED, {0, FUTEX_WAIT, 0, 8}, {0, FUTEX_WAIT}},
    {RULE_SOCKET_TIMEOUT, {0, SOL_SOCKET, SO_RCVTIMEO}, {0, SOL_SOCKET, SO_KEEPALIVE}},
    {RULE_INTERNET, {AF_INET}, {AF_UNIX, AF_INET}},
    {RULE_IPC_STAT_1, {0, IPC_STAT}, {0, IPC_RMID}},
    {RULE_IPC_STAT_2, {0, 0, IPC_STAT}, {0, IPC_STAT, IPC_RMID}},
    {RULE_CLONE_UNTRACED, {CLONE_UNTRACED | CLONE_VM}, {CLONE_VM, ~UINT64_C(0)}},
    {RULE_PRCTL, {PR_SET_TSC}, {PR_SET_NAME}},
    {RULE_MAP_VDSO, {0x2002}, {0x1002}},
    {RULE_OPEN_1, {0, O_RDONLY}, {0, O_RDONLY | O_DIRECTORY}},
    {RULE_OPEN_2, {0, 0, O_RDONLY}, {0, 0, O_RDONLY | O_DIRECTORY}},
    {RULE_STDIN, {0, 1, 1}, {3}},
    {RULE_OUTPUT, {2, 1, 1}, {3, 1, 2}},
    {RULE_STDIO, {1}, {3, 1}},
};

static size_t sample_of(const struct row *row)
{
    for (size_t i = 0; i < ARRAY_LENGTH(samples); i++)
        if (samples[i].rule == row->rule)
            return i;
    check_fail(__FILE__, __LINE__, "%s has a rule without a sample in this test", row->name);
    return 0;
}

static void check_row(const struct row *row, const struct box_options *options, bool is_virtual)
{
    uint32_t number = (uint32_t)row->number;
    const uint64_t *args = ARGS(0);
    uint32_t wanted = !is_virtual || row->kind == POLICY_ALLOW ? ALLOWED
                      : row->kind == POLICY_DENY ? SECCOMP_RET_ERRNO | (uint32_t)row->error
                                                 : TRACED;

    if (row->rule != RULE_NONE) {
        size_t i = sample_of(row);
        args = samples[i].holds;
        check_ints(answer_at(options, 0, AUDIT_ARCH_X86_64, number, samples[i].not ), ALLOWED,
                   row->name, __FILE__, __LINE__);
    }
    check_ints(answer_at(options, 0, AUDIT_ARCH_X86_64, number, args), wanted, row->name, __FILE__,
               __LINE__);
}

TEST(every_call_of_the_table_gets_its_answer)
{
    bool known[POLICY_NUMBER_MAX] = {0};
    size_t count = 0;

    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++)
        if (rows[i].number >= 0) {
            check_row(&rows[i], &all_virtual, true);
            CHECK_TRUE(!known[rows[i].number]); /* twice in the table */
            known[rows[i].number] = true;
            count++;
        }
    CHECK_TRUE(count > 350);
    for (uint32_t number = 0; number < POLICY_NUMBER_MAX; number++)
        if (!known[number])
            check_ints(answer(number, ARGS(0)), TRACED, "a number without a row", __FILE__,
                       __LINE__);
}

TEST(an_axis_that_is_real_is_let_through)
{
    static const struct {
        struct box_options options;
        bool virtual[8]; /* by axis, in the order of enum policy_axis */
    } cases[] = {
        {{.clock.mode = BOX_CLOCK_REAL}, {true, false, true, true, true}},
        {{.random_real = true}, {true, true, false, true, true}},
        {{.identity_real = true}, {true, true, true, false, true}},
        {{.clock.mode = BOX_CLOCK_REAL, .random_real = true}, {true, false, false, true, false}},
        {{.clock.mode = BOX_CLOCK_SCALED, .clock.scale = 2}, {true, true, true, true, true}},
        {{.clock.mode = BOX_CLOCK_SHIFTED}, {true, true, true, true, true}},
        {{.clock.mode = BOX_CLOCK_MANUAL}, {true, true, true, true, true}},
        {{.clock.mode = BOX_CLOCK_REAL, .random_real = true, .proc.mode = PROC_NEW},
         {true, false, false, true, true, true, true, true}},
        {{.proc.mode = PROC_REPLAY}, {true, true, true, true, true, false, false, true}},
        {{.proc.mode = PROC_REPLAY, .proc.on_miss = PROC_MISS_RECORDS},
         {true, true, true, true, true, true, true, true}},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        enum policy_axis axis = AXIS_ALWAYS;
        for (size_t j = 0; j < ARRAY_LENGTH(rows); j++)
            if (rows[j].number < 0)
                axis = rows[j].axis;
            else
                check_row(&rows[j], &cases[i].options, cases[i].virtual[axis]);
    }
}

TEST(the_real_clock_lets_the_time_family_through_and_keeps_what_the_box_needs)
{
    CHECK_INT(answer_at(&all_real, 0, AUDIT_ARCH_X86_64, SYS_nanosleep, ARGS(1)), ALLOWED);
    CHECK_INT(answer_at(&all_real, 0, AUDIT_ARCH_X86_64, SYS_clock_gettime, ARGS(1)), ALLOWED);
    CHECK_INT(answer_at(&all_real, 0, AUDIT_ARCH_X86_64, SYS_poll, ARGS(0, 0, 5)), ALLOWED);
    CHECK_INT(answer_at(&all_real, 0, AUDIT_ARCH_X86_64, SYS_getrandom, ARGS(1)), ALLOWED);
    CHECK_INT(answer_at(&all_real, 0, AUDIT_ARCH_X86_64, SYS_newfstatat, ARGS(1)), ALLOWED);
    CHECK_INT(answer_at(&all_real, 0, AUDIT_ARCH_X86_64, SYS_execve, ARGS(1)), ALLOWED);
    CHECK_INT(answer_at(&all_real, 0, AUDIT_ARCH_X86_64, SYS_ptrace, ARGS(1)), TRACED);
    CHECK_INT(answer_at(&all_real, 0, AUDIT_ARCH_X86_64, 511, ARGS(0)), TRACED);
}

TEST(numbers_beyond_the_table_are_traced)
{
    static const uint32_t numbers[] = {512,        513,        1000,      0x40000000,
                                       0x40000001, 0x7fffffff, 0xffffffff};

    for (size_t i = 0; i < ARRAY_LENGTH(numbers); i++)
        CHECK_INT(answer(numbers[i], ARGS(0)), TRACED);
}

TEST(a_foreign_architecture_is_traced_with_a_mark_whatever_it_asks)
{
    static const uint32_t arches[] = {AUDIT_ARCH_I386, AUDIT_ARCH_AARCH64, 0};

    for (size_t i = 0; i < ARRAY_LENGTH(arches); i++)
        for (uint32_t number = 0; number < 600; number += 7)
            CHECK_INT(answer_at(&all_virtual, 0, arches[i], number, ARGS(0)), TRACED | 1);
}

/* ---- rules --------------------------------------------------------------------------------- */

TEST(a_futex_is_traced_when_its_operation_waits_and_has_a_timeout)
{
    static const uint32_t waits[] = {FUTEX_WAIT, FUTEX_LOCK_PI, FUTEX_WAIT_BITSET,
                                     FUTEX_WAIT_REQUEUE_PI, 13 /* FUTEX_LOCK_PI2 */};
    static const uint32_t others[] = {FUTEX_WAKE,        FUTEX_FD,          FUTEX_REQUEUE,
                                      FUTEX_CMP_REQUEUE, FUTEX_WAKE_OP,     FUTEX_UNLOCK_PI,
                                      FUTEX_TRYLOCK_PI,  FUTEX_WAKE_BITSET, FUTEX_CMP_REQUEUE_PI};
    static const uint32_t flags[] = {0, FUTEX_PRIVATE_FLAG, FUTEX_CLOCK_REALTIME,
                                     FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME};

    for (size_t f = 0; f < ARRAY_LENGTH(flags); f++) {
        for (size_t i = 0; i < ARRAY_LENGTH(waits); i++) {
            CHECK_ANSWER(SYS_futex, ARGS(1, waits[i] | flags[f], 0, 0x7fff0000), TRACED);
            CHECK_ANSWER(SYS_futex, ARGS(1, waits[i] | flags[f], 0, UINT64_C(1) << 32), TRACED);
            CHECK_ANSWER(SYS_futex, ARGS(1, waits[i] | flags[f], 1, 0, 1, 1), ALLOWED);
        }
        for (size_t i = 0; i < ARRAY_LENGTH(others); i++)
            CHECK_ANSWER(SYS_futex, ARGS(1, others[i] | flags[f], 1, 1, 1, 1), ALLOWED);
    }
}

TEST(poll_and_epoll_are_traced_when_their_timeout_is_above_zero_and_poll_when_it_is_zero)
{
    static const struct {
        uint64_t timeout;
        bool traced;
    } timeouts[] = {{0, false},
                    {1, true},
                    {INT32_MAX, true},
                    {UINT32_MAX, false}, /* -1: for ever */
                    {0x80000000, false},
                    {~UINT64_C(0), false},
                    {UINT64_C(0xffffffff00000005), true}, /* the upper half of an int is noise */
                    {UINT64_C(0xffffffff00000000), false}};

    for (size_t i = 0; i < ARRAY_LENGTH(timeouts); i++) {
        uint64_t t = timeouts[i].timeout;
        uint32_t wanted = timeouts[i].traced ? TRACED : ALLOWED;
        CHECK_ANSWER(SYS_poll, ARGS(1, 1, t), (uint32_t)t == 0 ? TRACED : wanted);
        CHECK_ANSWER(SYS_epoll_wait, ARGS(1, 1, 1, t), wanted);
        CHECK_ANSWER(SYS_epoll_pwait, ARGS(1, 1, 1, t, 1, 1), wanted);
    }
}

TEST(pointers_count_with_both_halves)
{
    CHECK_ANSWER(SYS_ppoll, ARGS(1, 1, 0, 1), ALLOWED);
    CHECK_ANSWER(SYS_ppoll, ARGS(1, 1, 1), TRACED);
    CHECK_ANSWER(SYS_ppoll, ARGS(1, 1, UINT64_C(1) << 40), TRACED);
    CHECK_ANSWER(SYS_select, ARGS(1, 1, 1, 1, 0), ALLOWED);
    CHECK_ANSWER(SYS_select, ARGS(1, 1, 1, 1, UINT64_C(1) << 63), TRACED);
}

TEST(opens_are_traced_unless_they_walk_a_tree)
{
    static const struct {
        uint64_t flags;
        bool traced;
    } opens[] = {{O_RDONLY, true},
                 {O_RDONLY | O_CLOEXEC | O_NONBLOCK, true},
                 {O_WRONLY, true},
                 {O_RDWR, true},
                 {O_RDONLY | O_CREAT, true},
                 {O_RDONLY | O_TRUNC, true},
                 {O_WRONLY | O_NOFOLLOW, true},
                 {O_RDONLY | O_TRUNC | O_NOFOLLOW, true},
                 {O_RDONLY | O_CREAT | O_NOFOLLOW, true},
                 {O_RDONLY | O_NOFOLLOW, false},
                 {O_RDONLY | O_DIRECTORY, false},
                 {O_PATH, false},
                 {O_PATH | O_NOFOLLOW, false}};

    for (size_t i = 0; i < ARRAY_LENGTH(opens); i++) {
        CHECK_ANSWER(SYS_openat, ARGS((uint64_t)AT_FDCWD, 1, opens[i].flags),
                     opens[i].traced ? TRACED : ALLOWED);
        CHECK_ANSWER(SYS_open, ARGS(1, opens[i].flags), opens[i].traced ? TRACED : ALLOWED);
    }
}

TEST(socket_options_are_traced_when_they_are_timeouts)
{
    static const uint32_t timeouts[] = {20, 21, 66, 67};

    for (size_t i = 0; i < ARRAY_LENGTH(timeouts); i++) {
        CHECK_ANSWER(SYS_setsockopt, ARGS(3, SOL_SOCKET, timeouts[i]), TRACED);
        CHECK_ANSWER(SYS_getsockopt, ARGS(3, SOL_SOCKET, timeouts[i]), TRACED);
        CHECK_ANSWER(SYS_setsockopt, ARGS(3, 6 /* TCP */, timeouts[i]), ALLOWED);
    }
    CHECK_ANSWER(SYS_setsockopt, ARGS(3, SOL_SOCKET, SO_REUSEADDR), ALLOWED);
    CHECK_ANSWER(SYS_setsockopt, ARGS(3, SOL_SOCKET, SO_KEEPALIVE), ALLOWED);
}

TEST(clone_is_traced_when_its_child_would_not_be)
{
    CHECK_ANSWER(SYS_clone, ARGS(CLONE_UNTRACED), TRACED);
    CHECK_ANSWER(SYS_clone, ARGS(CLONE_UNTRACED | CLONE_VM | CLONE_THREAD), TRACED);
    CHECK_ANSWER(SYS_clone, ARGS(CLONE_VM | CLONE_THREAD | CLONE_SETTLS), ALLOWED);
    CHECK_ANSWER(SYS_clone, ARGS(0, CLONE_UNTRACED, CLONE_UNTRACED), ALLOWED);
}

TEST(prctl_and_arch_prctl_are_traced_for_the_counter_and_the_vdso)
{
    CHECK_ANSWER(SYS_prctl, ARGS(PR_GET_TSC), TRACED);
    CHECK_ANSWER(SYS_prctl, ARGS(PR_SET_TSC), TRACED);
    CHECK_ANSWER(SYS_prctl, ARGS(PR_SET_PDEATHSIG), TRACED);
    CHECK_ANSWER(SYS_prctl, ARGS(24), ALLOWED);
    CHECK_ANSWER(SYS_prctl, ARGS(27), ALLOWED);
    for (uint64_t code = 0x2001; code <= 0x2003; code++)
        CHECK_ANSWER(SYS_arch_prctl, ARGS(code), TRACED);
    CHECK_ANSWER(SYS_arch_prctl, ARGS(0x1002), ALLOWED); /* ARCH_SET_FS */
    CHECK_ANSWER(SYS_arch_prctl, ARGS(0x2004), ALLOWED);
}

TEST(a_fast_path_passes_from_its_own_address_and_for_its_own_call_only)
{
    static const uint32_t numbers[] = {SYS_newfstatat, SYS_statx, SYS_openat};

    fast_init();
    for (size_t i = 0; i < ARRAY_LENGTH(numbers); i++) {
        uint64_t ip = fast_passed_ip(numbers[i]);
        CHECK_TRUE(ip != 0);
        CHECK_INT(answer_at(&all_virtual, ip, AUDIT_ARCH_X86_64, numbers[i], ARGS(0)), ALLOWED);
        CHECK_INT(answer_at(&all_virtual, ip + 1, AUDIT_ARCH_X86_64, numbers[i], ARGS(0)), TRACED);
        CHECK_INT(
            answer_at(&all_virtual, ip ^ UINT64_C(1) << 32, AUDIT_ARCH_X86_64, numbers[i], ARGS(0)),
            TRACED);
        CHECK_INT(answer_at(&all_virtual, ip, AUDIT_ARCH_X86_64, SYS_nanosleep, ARGS(0)), TRACED);
        CHECK_INT(answer_at(&all_virtual, ip, AUDIT_ARCH_X86_64, numbers[(i + 1) % 3], ARGS(0)),
                  TRACED);
    }
    CHECK_INT(fast_passed_ip(SYS_nanosleep), 0);
}

TEST(the_program_is_short_enough_for_the_kernel)
{
    struct sock_fprog program;

    CHECK_INT(filter_build(&all_virtual, &program), 0);
    CHECK_TRUE(program.len > 100 && program.len < BPF_MAXINSNS);
}
