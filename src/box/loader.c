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
#include "base/trace.h"
#include <elf.h>
#include <string.h>
#include <sys/ptrace.h>

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

    return left > 2 && code[0] == 0x0f && code[1] == 0x31 &&
           memmem(code + 2, within - 2, "\x48\xc1\xe2\x20", 4); /* shl $32, %rdx */
}

static void search_text(struct loader *loader, const unsigned char *code, size_t length,
                        uint64_t offset)
{
    for (size_t i = 0; i < length && loader->count < PLACES_MAX; i++) {
        bool counter = is_counter(code + i, length - i);
        if (counter || fast_is_call(code + i, length - i))
            loader->places[loader->count++] = (struct place){offset + i, counter};
    }
}

static void search(struct loader *loader, struct task *task, uint64_t base)
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
        if (guest_read(task, base + segment.p_vaddr, code, segment.p_filesz) == 0)
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
    search(loader, task, base);
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
