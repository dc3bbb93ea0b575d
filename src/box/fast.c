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

static struct {
    long number;
    const char *name, *passed_name;
    uint64_t entry, passed; /* addresses in guests */
} paths[] = {
    {SYS_fstat, "fast_fstat", "fast_fstat_passed", 0, 0},
    {SYS_readlink, "fast_readlink", "fast_readlink_passed", 0, 0},
    {SYS_readlinkat, "fast_readlinkat", "fast_readlinkat_passed", 0, 0},
    {SYS_newfstatat, "fast_newfstatat", "fast_newfstatat_passed", 0, 0},
    {SYS_statx, "fast_statx", "fast_statx_passed", 0, 0},
    {SYS_openat, "fast_openat", "fast_openat_passed", 0, 0},
    {SYS_mkdir, "fast_mkdir", "fast_mkdir_passed", 0, 0},
    {SYS_link, "fast_link", "fast_link_passed", 0, 0},
    {SYS_symlink, "fast_symlink", "fast_symlink_passed", 0, 0},
    {SYS_mkdirat, "fast_mkdirat", "fast_mkdirat_passed", 0, 0},
    {SYS_linkat, "fast_linkat", "fast_linkat_passed", 0, 0},
    {SYS_symlinkat, "fast_symlinkat", "fast_symlinkat_passed", 0, 0},
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

bool fast_in_reach(uint64_t from, uint64_t to)
{
    int64_t distance = (int64_t)(to - from);

    return distance > -INT64_C(0x7fffff00) && distance < INT64_C(0x7fffff00);
}

void fast_put_jump(unsigned char *code, uint64_t at, uint64_t to)
{
    int32_t distance = (int32_t)(to - (at + 5));

    code[0] = 0xe9;
    memcpy(code + 1, &distance, sizeof distance);
}

/* `mov $N, %eax; syscall`, N being the number of a fast path; or, as open() is written, `mov $N,
 * %eax; mov %rdi, %rsi; mov $AT_FDCWD, %edi; syscall`, of which the end is replaced. */
long fast_call_at(const unsigned char *code, size_t before, size_t left)
{
    static const unsigned char shift[] = {0x48, 0x89, 0xfe, 0xbf, 0x9c, 0xff, 0xff, 0xff};
    const unsigned char *mov = code;
    uint32_t number;

    if (left < FAST_SITE_BYTES || code[5] != 0x0f || code[6] != 0x05)
        return -1;
    if (before >= 8 && memcmp(code - 3, shift, sizeof shift) == 0)
        mov = code - 8;
    if (mov[0] != 0xb8)
        return -1;
    memcpy(&number, mov + 1, sizeof number);
    return path_of(number) < ARRAY_LENGTH(paths) ? (long)number : -1;
}

/* A patch is the displaced mov; movabs $back, %rcx; jmp entry */
bool fast_make_patch(long call, unsigned number, uint64_t at, unsigned char *site,
                     unsigned char *patch)
{
    size_t path = path_of(call);
    uint64_t place = BOX_PATCH_PAGE + (uint64_t)number * FAST_PATCH_BYTES;
    uint64_t back = at + FAST_SITE_BYTES;

    if (number >= FAST_PATCHES_MAX || path == ARRAY_LENGTH(paths) ||
        !fast_in_reach(at, BOX_PATCH_PAGE))
        return false;
    memset(patch, 0, FAST_PATCH_BYTES);
    memcpy(patch, site, 5);
    memcpy(patch + 5, "\x48\xb9", 2);
    memcpy(patch + 7, &back, sizeof back);
    fast_put_jump(patch + 15, place + 15, paths[path].entry);
    fast_put_jump(site, at, place);
    site[5] = 0x66; /* a two-byte nop behind the jump, for who disassembles it */
    site[6] = 0x90;
    return true;
}

void fast_patch(struct box *box, struct task *task)
{
    struct process *process = task->process;
    long call = (long)task->regs.orig_rax;
    unsigned char site[FAST_SITE_BYTES], patch[FAST_PATCH_BYTES];
    uint64_t at = task->regs.rip - FAST_SITE_BYTES;
    uint64_t place = BOX_PATCH_PAGE + (uint64_t)process->patches * FAST_PATCH_BYTES;

    if (task->regs.rip >= BOX_BASE && task->regs.rip < BOX_IMAGE + BOX_IMAGE_PAGES * BOX_PAGE)
        return; /* a fast path that wants the supervisor */
    if (path_of(call) == ARRAY_LENGTH(paths) || process->task_count != 1 ||
        process->shares_memory || !process->vdso_ready || !vclock_held(&box->clock) ||
        box->options->trace_reads)
        return;
    if (guest_read(task, at, site, sizeof site) < 0 || (site[0] & 0xf8) != 0xb8 ||
        site[5] != 0x0f || site[6] != 0x05)
        return;
    if (!fast_make_patch(call, process->patches, at, site, patch) ||
        guest_write(task, place, patch, sizeof patch) < 0 ||
        guest_write_text(task, at, site, sizeof site) < 0)
        return;
    process->patches++;
    trace(TRACE_BOX, "%s: patched call %ld at %#llx", process->path, call, (unsigned long long)at);
    loader_learn(process, at, call);
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
