/* SPDX-License-Identifier: MIT */
/* loader: takes out the stops that a program's dynamic loader would cause before `main`.
 *
 * glibc's loader reads the time stamp counter some eight times a start, for the figures that
 * LD_DEBUG=statistics prints; in a box each reading is a fault and a stop. It also makes the calls
 * fast.c speeds up, and the first from each place would stop. So at exec the loader's text is
 * searched once for both, the places are kept by the first bytes of its image (they hold its build
 * id), and every later program with that loader gets the same patches at once.
 *
 * A reading becomes a no-op: what the loader then subtracts is what its registers held, the same on
 * every run. It prints that to nobody, unless LD_DEBUG is set: then its text stays as it is. */
#include "box/box_internal.h"
#include "base/fd.h"
#include "base/trace.h"
#include <elf.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    IMAGE_HEAD = 1024,  /* ELF header, program headers and the build id */
    TEXT_MAX = 1 << 20, /* glibc's has 150 kB */
    PLACES_MAX = 64,
    COUNTER_WITHIN = 40,     /* bytes from rdtsc to the shift that joins its halves */
    ENVIRONMENT_MAX = 32768, /* of which LD_DEBUG is looked for */
};

struct place {
    uint64_t offset; /* from the loader's base */
    bool counter;    /* rdtsc; otherwise the call of a fast path */
};

struct loader {
    struct loader *next;
    char head[IMAGE_HEAD];
    struct place places[PLACES_MAX];
    size_t count;
};

static bool is_counter(const unsigned char *code, size_t left)
{
    size_t within = left < COUNTER_WITHIN ? left : COUNTER_WITHIN;

    return code[1] == 0x31 &&
           memmem(code + 2, within - 2, "\x48\xc1\xe2\x20", 4); /* shl $32, %rdx */
}

/* Both begin with this byte: rdtsc is 0f 31; a call is mov $NUMBER, %eax, then 0f 05. */
static void search_text(struct loader *loader, const unsigned char *code, size_t length,
                        uint64_t offset)
{
    const unsigned char *end = code + length, *at = code;

    for (; (at = memchr(at, 0x0f, (size_t)(end - at))) && end - at > 2; at++) {
        bool counter = is_counter(at, (size_t)(end - at));
        const unsigned char *place = counter ? at : at - FAST_MOV_BYTES;
        if (place < code || (!counter && !fast_is_call(place, (size_t)(end - place))))
            continue;
        loader->places[loader->count++] =
            (struct place){offset + (uint64_t)(place - code), counter};
        if (loader->count == PLACES_MAX)
            return;
    }
}

/* The text of the loader, from its file where that is the one that is mapped: reading it in the
 * guest would make pages of its there that it may never use. */
static int read_text(const struct box *box, const struct loader *loader, struct task *task,
                     uint64_t base, const Elf64_Phdr *segment, unsigned char *ret)
{
    struct open_how how = {.flags = O_RDONLY | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT};
    CLEANUP(fd_close)
    int fd =
        (int)syscall(SYS_openat2, box->root_fd, "/lib64/ld-linux-x86-64.so.2", &how, sizeof how);
    char head[IMAGE_HEAD];

    if (fd >= 0 && pread(fd, head, sizeof head, 0) == IMAGE_HEAD &&
        memcmp(head, loader->head, sizeof head) == 0 &&
        pread(fd, ret, segment->p_filesz, (off_t)segment->p_offset) == (ssize_t)segment->p_filesz)
        return 0;
    return guest_read(task, base + segment->p_vaddr, ret, segment->p_filesz);
}

static void search(const struct box *box, struct loader *loader, struct task *task, uint64_t base)
{
    Elf64_Ehdr header;
    memcpy(&header, loader->head, sizeof header);
    if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_phentsize != sizeof(Elf64_Phdr))
        return;
    for (size_t i = 0; i < header.e_phnum; i++) {
        Elf64_Phdr segment;
        size_t at = header.e_phoff + i * sizeof segment;
        if (at + sizeof segment > IMAGE_HEAD)
            return;
        memcpy(&segment, loader->head + at, sizeof segment);
        if (segment.p_type != PT_LOAD || !(segment.p_flags & PF_X) || segment.p_filesz > TEXT_MAX)
            continue;
        CLEANUP(mem_free) unsigned char *code = mem_alloc(segment.p_filesz + 1);
        if (read_text(box, loader, task, base, &segment, code) == 0)
            search_text(loader, code, segment.p_filesz, segment.p_vaddr);
    }
}

static const struct loader *find(struct box *box, struct task *task, uint64_t base)
{
    char head[IMAGE_HEAD];

    if (guest_read(task, base, head, sizeof head) < 0)
        return NULL;
    for (struct loader *loader = box->loaders; loader; loader = loader->next)
        if (memcmp(loader->head, head, sizeof head) == 0)
            return loader;
    struct loader *loader = mem_alloc(sizeof *loader);
    memcpy(loader->head, head, sizeof head);
    search(box, loader, task, base);
    loader->next = box->loaders;
    box->loaders = loader;
    trace(TRACE_BOX, "loader at %#llx: %zu places", (unsigned long long)base, loader->count);
    return loader;
}

/* The environment's texts lie behind each other from `start` up. */
static bool has_ld_debug(struct task *task, uint64_t start, uint64_t end)
{
    if (!start || end <= start)
        return false;
    size_t length = end - start;
    if (length > ENVIRONMENT_MAX)
        return true; /* too much to look through: nothing is patched, and all is right */
    CLEANUP(mem_free) char *texts = mem_alloc(length + 1);
    if (guest_read(task, start, texts, length) < 0)
        return true;
    return memmem(texts, length, "LD_DEBUG=", 9);
}

void loader_prepare(struct box *box, struct task *task, const struct exec_stack *stack)
{
    if (!stack->loader || !vclock_held(&box->clock) || task->process->shares_memory)
        return;
    const struct loader *loader = find(box, task, stack->loader);
    if (!loader || !loader->count || has_ld_debug(task, stack->environment, stack->names))
        return;
    for (size_t i = 0; i < loader->count; i++) {
        uint64_t at = stack->loader + loader->places[i].offset;
        if (loader->places[i].counter)
            (void)guest_write_text(task, at, "\x66\x90", 2);
        else if (!box->options->trace_reads)
            fast_patch_at(task, at);
    }
}

void loader_done(struct box *box)
{
    while (box->loaders) {
        struct loader *next = box->loaders->next;
        free(box->loaders);
        box->loaders = next;
    }
}
