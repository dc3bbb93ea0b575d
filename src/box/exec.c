/* SPDX-License-Identifier: MIT */
/* exec: what the supervisor does to a new program image before its first instruction.
 *
 * At the exit of execve the stack holds argc, argv, envp and the auxiliary vector. Our pages are
 * mapped (box_abi.h), AT_SYSINFO_EHDR is pointed at our vDSO, the kernel's own is unmapped, and the
 * sixteen bytes behind AT_RANDOM come from the process's stream. The calls that map are made by the
 * guest itself, single-stepped over a `syscall` instruction of the kernel's vDSO. */
#include "box/box_internal.h"
#include "box/sub.h"
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
    const Elf64_Phdr *segments = (const Elf64_Phdr *)(image + ((const Elf64_Ehdr *)image)->e_phoff);
    size_t size = segments[0].p_memsz;
    for (size_t i = 0; i + 1 < size; i++)
        if (memcmp(image + i, "\x0f\x05", 2) == 0) {
            box->kernel_vdso_syscall = i;
            box->kernel_clock_gettime = exec_vdso_symbol(image, "__vdso_clock_gettime");
            return 0;
        }
    return err_set(err, -ENOSYS, "the kernel's vDSO holds no syscall instruction");
}

/* Walks the words of the new stack, a page at most at a time: it may be huge. */
struct stack_walk {
    struct task *task;
    uint64_t next, words[BOX_PAGE / 8];
    size_t at, count;
};

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
    walk = (struct stack_walk){.task = task, .next = task->regs.rsp + 8 * (word + 2)};
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
static int vdso_range(struct task *task, uint64_t vdso, uint64_t *start, uint64_t *end)
{
    static uint64_t before, size;

    if (!size) {
        int r = kernel_vdso_range(task->tid, start, end);
        if (r < 0)
            return r;
        before = vdso - *start;
        size = *end - *start;
    }
    *start = vdso - before;
    *end = *start + size;
    return 0;
}

static int map_pages(struct box *box, struct task *task, uint64_t vdso)
{
    const uint64_t guest_page[6] = {BOX_BASE,
                                    2 * BOX_PAGE,
                                    PROT_READ | PROT_WRITE | PROT_EXEC,
                                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE,
                                    (uint64_t)-1,
                                    0};
    const uint64_t image[6] = {(uint64_t)box->shm_id, BOX_CLOCK_PAGE, SHM_RDONLY | SHM_EXEC};
    uint64_t start = 0, end = 0;
    long result = 0;

    task->note[0] = vdso;
    int r = guest_call(box, task, SYS_mmap, guest_page, &result);
    if (r == 0 && result == (long)BOX_BASE)
        r = guest_call(box, task, SYS_shmat, image, &result);
    if (r < 0 || result != (long)BOX_CLOCK_PAGE)
        return r < 0 ? r : -ENOMEM;
    if (!vclock_held(&box->clock)) /* running clocks read the kernel's */
        return 0;
    r = vdso_range(task, vdso, &start, &end);
    if (r < 0)
        return r;
    const uint64_t unmap[6] = {start, end - start};
    return guest_call(box, task, SYS_munmap, unmap, &result);
}

static int set_guest_page(struct box *box, struct task *task, uint64_t vdso)
{
    const uint64_t words[4] = {0, vdso + box->kernel_clock_gettime, 0,
                               task->process->in_special_directory};

    char path[64] = {0};

    int r = guest_write(task, BOX_BASE, words, sizeof words);
    if (r < 0 || !box->subs)
        return r;
    (void)snprintf(path, sizeof path, "%s", subs_stub_path);
    return guest_write(task, BOX_BASE + offsetof(struct box_guest_page, stub_path), path,
                       sizeof path);
}

static void set_random(struct box *box, struct task *task, uint64_t address)
{
    unsigned char bytes[16];

    if (box->options->random_real || !address)
        return;
    rng_fill(&task->process->random, bytes, sizeof bytes);
    (void)guest_write(task, address, bytes, sizeof bytes);
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

/* Runs at the exit stop of execve. */
void exec_happened(struct box *box, struct task *task)
{
    struct user_regs_struct *regs = task_regs(task);
    struct user_regs_struct saved = *regs;
    struct exec_stack view = {0};

    if (!box->program_started)
        task->process->in_special_directory = files_in_special_directory(task);
    box->program_started = true;
    if (regs->cs != 0x33) {
        refuse_foreign_code(box, task);
        return;
    }
    int r = read_stack(task, &view);
    if (r == 0)
        set_random(box, task, view.random);
    task->process->vdso_ready = false;
    task->process->patches = 0;
    if (r == 0 && (vclock_virtual(&box->clock) || box->subs) && view.vdso) {
        r = map_pages(box, task, view.vdso);
        const uint64_t ours = BOX_IMAGE;
        if (r == 0)
            r = set_guest_page(box, task, view.vdso);
        if (r == 0 && vclock_virtual(&box->clock))
            r = guest_write(task, view.vdso_address, &ours, sizeof ours);
        if (r == 0) {
            task->process->vdso_ready = true;
            loader_prepare(box, task, &view);
        }
        task->regs = saved;
        task->regs_valid = task->regs_dirty = true;
    }
    if (r == -ESRCH)
        return; /* killed meanwhile */
    if (r < 0)
        leak_add(box, task->process, "clock/vdso");
    trace(TRACE_BOX, "exec %s: pages %s (%d)", task->process->path,
          task->process->vdso_ready ? "mapped" : "not mapped", r);
}
