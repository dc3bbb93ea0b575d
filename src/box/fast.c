/* SPDX-License-Identifier: MIT */
/* fast: takes the stop out of calls that are traced but seldom need it.
 *
 * The first time such a call comes from `mov $CONSTANT, %register; syscall`, as compilers write it,
 * the seven bytes are replaced by a jump to this process's patch page: there the `mov` is done, and
 * then code in our image (guest/vdso_fast.S) makes the call where the filter lets it pass. Only
 * done while the process has one thread, so nobody can be between the two instructions; in what
 * other threads find later, the place is patched already or stays slow. Code that is out of a
 * jump's reach, or that calls otherwise (Go, static programs), stays slow as well: it is right
 * either way. */
#include "box/box_internal.h"
#include "base/trace.h"
#include <string.h>
#include <sys/syscall.h>

extern const char box_vdso_image[];

enum { SITE_BYTES = 7, PATCH_BYTES = 24, PATCHES_MAX = BOX_PAGE / PATCH_BYTES };

static struct {
    long number;
    const char *name, *passed_name;
    uint64_t entry, passed; /* addresses in guests */
} paths[] = {
    {SYS_newfstatat, "fast_newfstatat", "fast_newfstatat_passed", 0, 0},
    {SYS_statx, "fast_statx", "fast_statx_passed", 0, 0},
    {SYS_openat, "fast_openat", "fast_openat_passed", 0, 0},
};

static uint64_t faults[2], slow; /* of fast_openat */

void fast_init(void)
{
    for (size_t i = 0; i < ARRAY_LENGTH(paths); i++) {
        paths[i].entry = BOX_IMAGE + exec_vdso_symbol(box_vdso_image, paths[i].name);
        paths[i].passed = BOX_IMAGE + exec_vdso_symbol(box_vdso_image, paths[i].passed_name);
    }
    faults[0] = BOX_IMAGE + exec_vdso_symbol(box_vdso_image, "fast_openat_first");
    faults[1] = BOX_IMAGE + exec_vdso_symbol(box_vdso_image, "fast_openat_second");
    slow = BOX_IMAGE + exec_vdso_symbol(box_vdso_image, "fast_openat_slow");
}

static size_t path_of(long number)
{
    size_t i = 0;

    while (i < ARRAY_LENGTH(paths) && paths[i].number != number)
        i++;
    return i;
}

uint64_t fast_passed_ip(long number)
{
    size_t i = path_of(number);

    return i < ARRAY_LENGTH(paths) ? paths[i].passed : 0;
}

static bool in_reach(uint64_t from, uint64_t to)
{
    int64_t distance = (int64_t)(to - from);

    return distance > -INT64_C(0x7fffff00) && distance < INT64_C(0x7fffff00);
}

static void put_jump(unsigned char *code, uint64_t at, uint64_t to)
{
    int32_t distance = (int32_t)(to - (at + 5));

    code[0] = 0xe9;
    memcpy(code + 1, &distance, sizeof distance);
}

/* The displaced mov; movabs $back, %rcx; jmp entry */
static int write_patch(struct task *task, uint64_t at, const unsigned char *mov, uint64_t back,
                       uint64_t entry)
{
    unsigned char code[PATCH_BYTES] = {0};

    memcpy(code, mov, 5);
    memcpy(code + 5, "\x48\xb9", 2);
    memcpy(code + 7, &back, sizeof back);
    put_jump(code + 15, at + 15, entry);
    return guest_write(task, at, code, sizeof code);
}

/* `mov $N, %eax; syscall`, N being the number of a fast path. */
bool fast_is_call(const unsigned char *code, size_t left)
{
    uint32_t number;

    if (left < SITE_BYTES || code[0] != 0xb8 || code[5] != 0x0f || code[6] != 0x05)
        return false;
    memcpy(&number, code + 1, sizeof number);
    return path_of(number) < ARRAY_LENGTH(paths);
}

static void patch(struct task *task, uint64_t at, const unsigned char *mov, size_t path)
{
    struct process *process = task->process;
    uint64_t patch = BOX_PATCH_PAGE + process->patches * PATCH_BYTES;
    unsigned char site[SITE_BYTES];

    if (process->patches == PATCHES_MAX || !in_reach(at, BOX_PATCH_PAGE))
        return;
    put_jump(site, at, patch);
    site[5] = 0x66; /* a two-byte nop behind the jump, for who disassembles it */
    site[6] = 0x90;
    if (write_patch(task, patch, mov, at + SITE_BYTES, paths[path].entry) < 0 ||
        guest_write_text(task, at, site, sizeof site) < 0)
        return;
    process->patches++;
    trace(TRACE_BOX, "%s: patched call %ld at %#llx", process->path, paths[path].number,
          (unsigned long long)at);
}

void fast_patch_at(struct task *task, uint64_t at)
{
    unsigned char site[SITE_BYTES];
    uint32_t number;

    if (guest_read(task, at, site, sizeof site) < 0 || !fast_is_call(site, sizeof site))
        return;
    memcpy(&number, site + 1, sizeof number);
    patch(task, at, site, path_of(number));
}

void fast_patch(struct box *box, struct task *task)
{
    struct process *process = task->process;
    size_t i = path_of((long)task->regs.orig_rax);
    unsigned char site[SITE_BYTES];
    uint64_t at = task->regs.rip - SITE_BYTES;

    if (i == ARRAY_LENGTH(paths) || process->task_count != 1 || process->shares_memory ||
        !process->vdso_ready || !vclock_held(&box->clock) || box->options->trace_reads)
        return;
    if (guest_read(task, at, site, sizeof site) < 0 || (site[0] & 0xf8) != 0xb8 ||
        site[5] != 0x0f || site[6] != 0x05)
        return;
    patch(task, at, site, i);
}

bool fast_fault(struct task *task)
{
    struct user_regs_struct *regs = task_regs(task);

    if (regs->rip != faults[0] && regs->rip != faults[1])
        return false;
    regs->rip = slow;
    task_set_regs(task);
    return true;
}
