/* SPDX-License-Identifier: MIT */
/* exec: what the supervisor does to a new program image before its first instruction.
 *
 * At the event of an exec the stack holds argc, argv, envp and the auxiliary vector. Our pages are
 * mapped (box_abi.h), AT_SYSINFO_EHDR is pointed at our vDSO, the kernel's own is unmapped, and the
 * sixteen bytes behind AT_RANDOM come from the process's stream. The calls that map are made by the
 * guest itself: a few instructions are written over the kernel's vDSO and run, up to a call that
 * the filter stops. No signal is involved, so what the program was left of blocked and ignored ones
 * stays as it is. */
#include "box/box_internal.h"
#include "box/sub.h"
#include "base/fd.h"
#include "base/trace.h"
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern const char box_vdso_image[], box_exec_calls[], box_exec_calls_end[];

static uint64_t unmap_entry, done_entry; /* offsets in our vDSO */

uint64_t exec_vdso_symbol(const char *image, const char *wanted)
{
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)image;
    const Elf64_Shdr *sections = (const Elf64_Shdr *)(image + header->e_shoff);

    for (int i = 0; i < header->e_shnum; i++) {
        if (sections[i].sh_type != SHT_DYNSYM)
            continue;
        const Elf64_Sym *symbols = (const Elf64_Sym *)(image + sections[i].sh_offset);
        const char *names = image + sections[sections[i].sh_link].sh_offset;
        for (size_t j = 0; j < sections[i].sh_size / sizeof *symbols; j++)
            if (strcmp(names + symbols[j].st_name, wanted) == 0)
                return symbols[j].st_value;
    }
    return 0;
}

int exec_find_kernel_vdso(struct box *box, struct err *err)
{
    const char *image = (const char *)getauxval(AT_SYSINFO_EHDR);

    if (!image)
        return err_set(err, -ENOSYS, "the kernel offers no vDSO");
    box->kernel_clock_gettime = exec_vdso_symbol(image, "__vdso_clock_gettime");
    unmap_entry = exec_vdso_symbol(box_vdso_image, "exec_unmap");
    done_entry = exec_vdso_symbol(box_vdso_image, "exec_done");
    return 0;
}

/* Walks the words of the new stack, a page at most at a time: it may be huge. */
struct stack_walk {
    struct task *task;
    uint64_t next, words[BOX_PAGE / 8];
    size_t at, count;
};

static void walk_skip(struct stack_walk *walk, uint64_t words)
{
    walk->next += 8 * words;
    walk->at += words < walk->count - walk->at ? words : walk->count - walk->at;
}

static bool walk_next(struct stack_walk *walk, uint64_t *ret)
{
    if (walk->at == walk->count) {
        walk->at = 0;
        walk->count = (BOX_PAGE - walk->next % BOX_PAGE) / 8;
        if (guest_read(walk->task, walk->next, walk->words, walk->count * 8) < 0)
            return false;
    }
    walk->next += 8;
    *ret = walk->words[walk->at++];
    return true;
}

static int read_stack(struct task *task, struct exec_stack *stack)
{
    struct stack_walk walk = {.task = task, .next = task->regs.rsp};
    uint64_t word = 0, value = 0;

    if (!walk_next(&walk, &word))
        return -EFAULT;
    walk_skip(&walk, word + 1);             /* argv */
    while (walk_next(&walk, &word) && word) /* envp */
        if (!stack->environment)
            stack->environment = word;
    for (;;) {
        uint64_t at = walk.next;
        if (!walk_next(&walk, &word) || !walk_next(&walk, &value))
            return -EFAULT;
        if (word == AT_NULL)
            return 0;
        if (word == AT_SYSINFO_EHDR) {
            stack->vdso = value;
            stack->vdso_address = at + 8;
        } else if (word == AT_RANDOM) {
            stack->random = value;
        } else if (word == AT_BASE) {
            stack->loader = value;
        } else if (word == AT_EXECFN) {
            stack->names = value;
        }
    }
}

/* The range of the kernel's vDSO and its data pages, from /proc/PID/maps. */
static int kernel_vdso_range(pid_t pid, uint64_t *start, uint64_t *end)
{
    char path[40], line[512];

    (void)snprintf(path, sizeof path, "/proc/%d/maps", pid);
    FILE *maps = fopen(path, "re");
    if (!maps)
        return -errno;
    *start = *end = 0;
    while (fgets(line, sizeof line, maps)) {
        unsigned long long from, to;
        if (!strstr(line, "[vvar") && !strstr(line, "[vdso]"))
            continue;
        if (sscanf(line, "%llx-%llx", &from, &to) != 2) // NOLINT(cert-err34-c)
            continue;
        if (!*start)
            *start = from;
        *end = to;
    }
    (void)fclose(maps);
    return *start ? 0 : -ENOENT;
}

/* The distance of the data pages from the vDSO does not change on one kernel: looked up once. */
static int vdso_range(pid_t pid, uint64_t vdso, uint64_t *start, uint64_t *end)
{
    static uint64_t before, size;

    if (!size) {
        int r = kernel_vdso_range(pid, start, end);
        if (r < 0)
            return r;
        before = vdso - *start;
        size = *end - *start;
    }
    *start = vdso - before;
    *end = *start + size;
    return 0;
}

void exec_expect(void)
{
    uint64_t start, end;

    (void)vdso_range(getpid(), getauxval(AT_SYSINFO_EHDR), &start, &end);
}

/* Signals that come before the program's first instruction wait until that is its own. */
struct held_signals {
    int numbers[16];
    size_t count;
};

static void send_held(const struct task *task, const struct held_signals *held)
{
    for (size_t i = 0; i < held->count; i++)
        (void)syscall(SYS_tkill, task->tid, held->numbers[i]);
}

/* Lets the task run to the end of our calls. */
static int run_calls(struct task *task, uint64_t done, struct user_regs_struct *regs, int *status)
{
    struct held_signals held = {0};

    for (;;) {
        if (ptrace(PTRACE_CONT, task->tid, NULL, 0) < 0)
            return -ESRCH;
        pid_t tid;
        do
            tid = waitpid(task->tid, status, __WALL);
        while (tid < 0 && errno == EINTR);
        if (tid < 0)
            return -ESRCH;
        if (!WIFSTOPPED(*status))
            return -ECHILD;
        if (ptrace(PTRACE_GETREGS, task->tid, NULL, regs) < 0)
            return -errno;
        if (regs->rip >= done && regs->rip < done + 16)
            break; /* the call, or the breakpoint behind it */
        int signal = WSTOPSIG(*status);
        if (signal == SIGSEGV && regs->rip == regs->r15) { /* the image is not there */
            send_held(task, &held);
            return -ENOMEM;
        }
        bool is_signal = *status >> 16 == 0 || signal != SIGTRAP; /* or an interrupt of ours */
        if (is_signal && held.count < ARRAY_LENGTH(held.numbers))
            held.numbers[held.count++] = signal;
    }
    send_held(task, &held);
    return 0;
}

/* Maps our pages. -ECHILD: the task died, and *status is how. */
static int map_pages(struct box *box, struct task *task, const struct exec_stack *stack, int memory,
                     int *status)
{
    const uint64_t none = 0, vdso = stack->vdso;
    size_t length = (size_t)(box_exec_calls_end - box_exec_calls);
    struct user_regs_struct regs = task->regs;
    bool held = vclock_held(&box->clock); /* running clocks read the kernel's */
    uint64_t start = 0, end = 0;
    unsigned char kept[64];

    int r = held ? vdso_range(task->tid, vdso, &start, &end) : 0;
    if (r < 0)
        return r;
    if (length > sizeof kept || pread(memory, kept, length, (off_t)vdso) != (ssize_t)length ||
        pwrite(memory, box_exec_calls, length, (off_t)vdso) != (ssize_t)length)
        return -EFAULT;
    regs.rip = vdso;
    regs.orig_rax = (unsigned long long)-1;
    regs.rdi = BOX_BASE;
    regs.rsi = 2 * BOX_PAGE;
    regs.rdx = PROT_READ | PROT_WRITE | PROT_EXEC;
    regs.r10 = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
    regs.r8 = (unsigned long long)-1;
    regs.r9 = 0;
    regs.rbx = (unsigned)box->shm_id;
    regs.rbp = BOX_CLOCK_PAGE;
    regs.r12 = SHM_RDONLY | SHM_EXEC;
    regs.r13 = start;
    regs.r14 = end - start;
    regs.r15 = BOX_IMAGE + (held ? unmap_entry : done_entry);
    if (ptrace(PTRACE_SETREGS, task->tid, NULL, &regs) < 0)
        return -errno;
    r = run_calls(task, BOX_IMAGE + done_entry, &regs, status);
    if (r == 0 && (regs.r8 != BOX_BASE || regs.r9 != BOX_CLOCK_PAGE))
        r = -ENOMEM;
    if (r == -ENOMEM && held) /* it may be gone already */
        (void)pwrite(memory, &none, sizeof none, (off_t)stack->vdso_address);
    else if (!held)
        (void)pwrite(memory, kept, length, (off_t)vdso);
    return r;
}

static void add_guest_page(const struct box *box, const struct task *task, uint64_t vdso,
                           struct box_guest_page *page, struct guest_writes *writes)
{
    page->kernel_clock_gettime = vdso + box->kernel_clock_gettime;
    page->in_special_directory = task->process->in_special_directory;
    guest_writes_add(writes, BOX_BASE, page, offsetof(struct box_guest_page, slots));
    if (!box->subs)
        return;
    subs_path(box, "stub", page->stub_path);
    guest_writes_add(writes, BOX_BASE + offsetof(struct box_guest_page, stub_path), page->stub_path,
                     sizeof page->stub_path);
}

/* Everything for a program that gets our pages. */
static int prepare(struct box *box, struct task *task, const struct exec_stack *stack,
                   struct box_guest_page *page, struct guest_writes *writes, int *status)
{
    static const uint64_t ours = BOX_IMAGE;
    char path[40];

    (void)snprintf(path, sizeof path, "/proc/%d/mem", task->tid);
    CLEANUP(fd_close) int memory = open(path, O_RDWR | O_CLOEXEC);
    if (memory < 0)
        return -errno;
    int r = map_pages(box, task, stack, memory, status);
    if (r < 0)
        return r;
    add_guest_page(box, task, stack->vdso, page, writes);
    if (vclock_virtual(&box->clock))
        guest_writes_add(writes, stack->vdso_address, &ours, sizeof ours);
    task->process->vdso_ready = true;
    loader_prepare(box, task, stack, memory, writes);
    return 0;
}

static void refuse_foreign_code(struct box *box, struct task *task)
{
    CLEANUP(buf_done) struct buf name = {0};

    task_name(task, &name);
    box_end(box, BOX_REFUSED,
            "%s is a 32-bit program, and a box runs 64-bit x86 code only\n"
            "hint: build it for x86-64, or run it outside the box",
            buf_text(&name));
}

bool exec_happened(struct box *box, struct task *task, int *status)
{
    struct user_regs_struct saved = *task_regs(task);
    struct exec_stack stack = {0};
    struct box_guest_page page = {0};
    struct guest_writes writes = {0};
    unsigned char random[16];

    if (!box->program_started)
        task->process->in_special_directory = files_in_special_directory(task);
    box->program_started = true;
    if (saved.cs != 0x33) {
        refuse_foreign_code(box, task);
        return true;
    }
    int r = read_stack(task, &stack);
    if (r == 0 && stack.random && !box->options->random_real) {
        rng_fill(&task->process->random, random, sizeof random);
        guest_writes_add(&writes, stack.random, random, sizeof random);
    }
    task->process->vdso_ready = false;
    task->process->patches = 0;
    task->process->loader = NULL;
    if (r == 0 && (vclock_virtual(&box->clock) || box->subs) && stack.vdso) {
        r = prepare(box, task, &stack, &page, &writes, status);
        task->regs = saved;
        task->regs.rax = 0; /* as execve leaves it */
        task->regs.orig_rax = (unsigned long long)-1;
        task->regs_valid = task->regs_dirty = true;
    }
    if (r == -ECHILD)
        return false;
    if (writes.count && guest_writes_do(task, &writes) < 0 && r == 0)
        r = -EFAULT;
    if (r < 0 && r != -ESRCH) /* killed: its end is reported by the next wait */
        leak_add(box, task->process, "clock/vdso");
    trace(TRACE_BOX, "exec %s: pages %s (%d)", task->process->path,
          task->process->vdso_ready ? "mapped" : "not mapped", r);
    return true;
}
