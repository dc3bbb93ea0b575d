/* SPDX-License-Identifier: MIT */
/* loader: takes out the stops that a program's dynamic loader would cause before `main`.
 *
 * glibc's loader reads the time stamp counter some eight times a start, for the figures that
 * LD_DEBUG=statistics prints; in a box each reading is a fault and a stop. It also makes the calls
 * fast.c speeds up, and the first from each place would stop. So the loader's text is searched for
 * both once, and what is found, and what is found out later, is kept by the first bytes of its
 * image (they hold its build id). Every program with that loader is given the patched text at exec,
 * a few pages in one write: loaders are nearly always at the same address.
 *
 * A reading becomes a no-op: what the loader then subtracts is what its registers held, the same on
 * every run. It prints that to nobody, unless LD_DEBUG is set: then its text stays as it is. */
#include "box/box_internal.h"
#include "base/fd.h"
#include "base/trace.h"
#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/param.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
    IMAGE_HEAD = 1024,  /* ELF header, program headers and the build id */
    TEXT_MAX = 1 << 20, /* glibc's has 150 kB */
    PLACES_MAX = 128,
    LEARN_BYTES = 8192,      /* behind the last place, where others may be found out */
    COUNTER_WITHIN = 40,     /* bytes from rdtsc to the shift that joins its halves */
    ENVIRONMENT_MAX = 32768, /* of which LD_DEBUG is looked for */
};

enum { PLACE_RDTSC = -1, PLACE_CPUID = -2 };

struct place {
    uint64_t offset; /* in the text that is kept */
    long call;       /* the number of a fast path's call, or one of the two below */
};

struct range {
    size_t from, to;
};

struct loader {
    struct loader *next;
    char head[IMAGE_HEAD];
    unsigned char *text; /* owned: as it is in the file, from the first place on; NULL: no places */
    uint64_t start;      /* where that is, from the loader's base */
    size_t length;
    struct place places[PLACES_MAX]; /* ascending */
    size_t count;
    uint64_t base;          /* what follows is for a loader at this address; 0: not made yet */
    unsigned char *patched; /* owned */
    struct range ranges[PLACES_MAX];
    size_t range_count;
    unsigned char patches[BOX_PAGE];
    unsigned patch_count;
};

static bool is_counter(const unsigned char *code, size_t left)
{
    size_t within = left < COUNTER_WITHIN ? left : COUNTER_WITHIN;

    return code[1] == 0x31 &&
           memmem(code + 2, within - 2, "\x48\xc1\xe2\x20", 4); /* shl $32, %rdx */
}

static void add_place(struct loader *loader, uint64_t offset, long call)
{
    size_t at = loader->count;

    if (at == PLACES_MAX)
        return;
    while (at && loader->places[at - 1].offset > offset)
        at--;
    memmove(loader->places + at + 1, loader->places + at,
            (loader->count - at) * sizeof *loader->places);
    loader->places[at] = (struct place){offset, call};
    loader->count++;
    loader->base = 0;
}

/* All have this byte: rdtsc is 0f 31; a call is a mov of a constant, then 0f 05; cpuid 0f a2. */
static void search_text(struct loader *loader, const unsigned char *code, size_t length)
{
    const unsigned char *end = code + length, *at = code;

    for (; (at = memchr(at, 0x0f, (size_t)(end - at))) && end - at > 2; at++) {
        const unsigned char *site = at - FAST_MOV_BYTES;
        if (is_counter(at, (size_t)(end - at))) {
            add_place(loader, (uint64_t)(at - code), PLACE_RDTSC);
        } else if (site >= code) {
            long call = fast_call_at(site, (size_t)(site - code), (size_t)(end - site));
            if (loader_cpuid_at(site, (size_t)(end - site)))
                add_place(loader, (uint64_t)(site - code), PLACE_CPUID);
            else if (call >= 0)
                add_place(loader, (uint64_t)(site - code), call);
        }
    }
}

/* Finds the segment with the text in the head of the image. */
static bool text_segment(const char head[IMAGE_HEAD], Elf64_Phdr *ret)
{
    Elf64_Ehdr header;

    memcpy(&header, head, sizeof header);
    if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_phentsize != sizeof *ret)
        return false;
    for (size_t i = 0; i < header.e_phnum; i++) {
        size_t at = header.e_phoff + i * sizeof *ret;
        if (at + sizeof *ret > IMAGE_HEAD)
            return false;
        memcpy(ret, head + at, sizeof *ret);
        if (ret->p_type == PT_LOAD && ret->p_flags & PF_X)
            return ret->p_filesz <= TEXT_MAX;
    }
    return false;
}

static struct loader *add_loader(struct box *box, const char head[IMAGE_HEAD])
{
    struct loader *loader = mem_alloc(sizeof *loader);

    memcpy(loader->head, head, IMAGE_HEAD);
    loader->next = box->loaders;
    box->loaders = loader;
    return loader;
}

/* Keeps no more of the text than what lies between the first place and the last. */
static void search(struct loader *loader, const unsigned char *code, const Elf64_Phdr *segment)
{
    search_text(loader, code, segment->p_filesz);
    if (!loader->count)
        return;
    uint64_t first = loader->places[0].offset;
    loader->length = loader->places[loader->count - 1].offset + FAST_SITE_BYTES - first;
    loader->length = MIN(loader->length + LEARN_BYTES, segment->p_filesz - first);
    loader->start = segment->p_vaddr + first;
    loader->text = mem_alloc(loader->length);
    memcpy(loader->text, code + first, loader->length);
    for (size_t i = 0; i < loader->count; i++)
        loader->places[i].offset -= first;
    trace(TRACE_BOX, "loader: %zu places", loader->count);
}

void loader_expect(struct box *box)
{
    Elf64_Phdr segment;
    struct stat st;

    if (!vclock_held(&box->clock))
        return;
    CLEANUP(fd_close) int fd = open("/lib64/ld-linux-x86-64.so.2", O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0 || st.st_size < IMAGE_HEAD)
        return;
    size_t size = (size_t)st.st_size;
    const char *image = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (image == MAP_FAILED)
        return;
    if (text_segment(image, &segment) && segment.p_offset <= size &&
        segment.p_filesz <= size - segment.p_offset)
        search(add_loader(box, image), (const unsigned char *)image + segment.p_offset, &segment);
    (void)munmap((void *)image, size);
}

static struct loader *find(struct box *box, struct task *task, uint64_t base)
{
    char head[IMAGE_HEAD];
    Elf64_Phdr segment;

    if (guest_read(task, base, head, sizeof head) < 0)
        return NULL;
    for (struct loader *loader = box->loaders; loader; loader = loader->next)
        if (memcmp(loader->head, head, sizeof head) == 0)
            return loader;
    struct loader *loader = add_loader(box, head);
    if (!text_segment(head, &segment))
        return loader;
    CLEANUP(mem_free) unsigned char *code = mem_alloc(segment.p_filesz + 1);
    if (guest_read(task, base + segment.p_vaddr, code, segment.p_filesz) == 0)
        search(loader, code, &segment);
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

/* Ranges end at the last place of a page whose next page has none: pages that are written to are
 * the process's own from then on. */
static void add_range(struct loader *loader, size_t from, size_t to)
{
    struct range *last = loader->range_count ? &loader->ranges[loader->range_count - 1] : NULL;

    if (last && (loader->base + loader->start + from) / BOX_PAGE -
                        (loader->base + loader->start + last->to) / BOX_PAGE <=
                    1)
        last->to = to;
    else
        loader->ranges[loader->range_count++] = (struct range){from, to};
}

/* Puts a place's patch behind the others, and what leads there into the text. Returns how many
 * bytes of the text changed. */
static size_t make_patch(const struct box *box, struct loader *loader, const struct place *place)
{
    unsigned char *site = loader->patched + place->offset;
    unsigned char *patch = loader->patches + loader->patch_count * FAST_PATCH_BYTES;
    uint64_t at = loader->base + loader->start + place->offset;

    if (place->call == PLACE_RDTSC) {
        memcpy(site, "\x66\x90", 2);
        return 2;
    }
    if (place->call == PLACE_CPUID) {
        if (!loader_cpuid_patch(loader->patch_count, at, site, patch))
            return 0;
        loader->patch_count += LOADER_CPUID_SLOTS;
        return FAST_SITE_BYTES;
    }
    if (box->options->trace_reads ||
        !fast_make_patch(place->call, loader->patch_count, at, site, patch))
        return 0;
    loader->patch_count++;
    return FAST_SITE_BYTES;
}

static void make_patches(const struct box *box, struct loader *loader, uint64_t base)
{
    if (!loader->patched)
        loader->patched = mem_alloc(loader->length);
    memcpy(loader->patched, loader->text, loader->length);
    loader->base = base;
    loader->range_count = loader->patch_count = 0;
    for (size_t i = 0; i < loader->count; i++) {
        size_t changed = make_patch(box, loader, &loader->places[i]);
        if (changed)
            add_range(loader, loader->places[i].offset, loader->places[i].offset + changed);
    }
}

void loader_prepare(struct box *box, struct task *task, const struct exec_stack *stack, int memory,
                    struct guest_writes *writes)
{
    struct process *process = task->process;

    process->loader = NULL;
    if (!stack->loader || !vclock_held(&box->clock) || process->shares_memory)
        return;
    struct loader *loader = find(box, task, stack->loader);
    if (!loader || !loader->text || has_ld_debug(task, stack->environment, stack->names))
        return;
    process->loader = loader;
    process->loader_base = stack->loader;
    if (loader->base != stack->loader)
        make_patches(box, loader, stack->loader);
    for (size_t i = 0; i < loader->range_count; i++) {
        const struct range *range = &loader->ranges[i];
        size_t length = range->to - range->from;
        if (pwrite(memory, loader->patched + range->from, length,
                   (off_t)(loader->base + loader->start + range->from)) != (ssize_t)length)
            return; /* killed meanwhile; jumps lead to the patch page, whose bytes are not there */
    }
    process->patches = loader->patch_count;
    if (loader->patch_count)
        guest_writes_add(writes, BOX_PATCH_PAGE, loader->patches,
                         loader->patch_count * FAST_PATCH_BYTES);
}

void loader_learn(const struct process *process, uint64_t at, long call)
{
    struct loader *loader = process->loader;
    uint64_t offset = loader ? at - process->loader_base - loader->start : 0;

    if (loader && offset < loader->length)
        add_place(loader, offset, call);
}

void loader_done(struct box *box)
{
    while (box->loaders) {
        struct loader *next = box->loaders->next;
        free(box->loaders->text);
        free(box->loaders->patched);
        free(box->loaders);
        box->loaders = next;
    }
}
