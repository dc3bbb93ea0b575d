/* SPDX-License-Identifier: MIT */
#include "box/box_internal.h"
#include "lib/check.h"
#include <cpuid.h>
#include <string.h>
#include <sys/mman.h>

enum { NUMBER = 3 };

/* A function that begins with the site: mov $LEAF, %eax; cpuid; then stores what it got at (%rdi).
 */
static const unsigned char function[] = {
    0x53,                      /* push %rbx */
    0xb8, 0,    0,    0,    0, /* mov $LEAF, %eax */
    0x0f, 0xa2,                /* cpuid */
    0x48, 0x89, 0x07,          /* mov %rax, (%rdi) */
    0x48, 0x89, 0x5f, 0x08,    /* mov %rbx, 8(%rdi) */
    0x48, 0x89, 0x4f, 0x10,    /* mov %rcx, 16(%rdi) */
    0x48, 0x89, 0x57, 0x18,    /* mov %rdx, 24(%rdi) */
    0x5b, 0xc3,                /* pop %rbx; ret */
};

static void write_site(unsigned char *code, uint32_t leaf)
{
    memcpy(code, function, sizeof function);
    memcpy(code + 2, &leaf, sizeof leaf);
}

static void unmap_pages_cleanup(unsigned char **pages)
{
    (void)munmap(*pages, 2 * BOX_PAGE);
}

TEST(an_answered_site_gives_what_the_cpu_says)
{
    static const uint32_t leaves[] = {0, 1, 0x80000000, 0x80000001, 0x80000006, 0x80000008};
    CLEANUP(unmap_pages)
    unsigned char *pages =
        mmap((void *)BOX_PATCH_PAGE, 2 * BOX_PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    unsigned char *code = pages + BOX_PAGE;

    CHECK_TRUE(pages == (unsigned char *)BOX_PATCH_PAGE);
    for (size_t i = 0; i < ARRAY_LENGTH(leaves); i++) {
        uint64_t got[4];
        uint32_t eax, ebx, ecx, edx;
        void (*call)(uint64_t *) = (void (*)(uint64_t *))(void *)code;

        write_site(code, leaves[i]);
        CHECK_TRUE(loader_cpuid_at(code + 1, sizeof function - 1));
        CHECK_TRUE(loader_cpuid_patch(NUMBER, (uint64_t)(code + 1), code + 1,
                                      pages + (ptrdiff_t)NUMBER * FAST_PATCH_BYTES));
        CHECK_INT(code[6], 0x0f); /* who jumps here finds it */
        CHECK_INT(code[7], 0xa2);
        memset(got, 0xff, sizeof got);
        call(got);
        __cpuid(leaves[i], eax, ebx, ecx, edx);
        if (leaves[i] == 1)
            ebx &= 0x00ffffff; /* which CPU it was */
        CHECK_INT(got[0], eax);
        CHECK_INT(got[1], ebx);
        CHECK_INT(got[2], ecx);
        CHECK_INT(got[3], edx);
    }
}

TEST(leaves_with_subleaves_and_other_code_stay)
{
    static const uint32_t leaves[] = {2, 4, 7, 0xb, 0xd, 0x40000000, 0x8000001d};
    unsigned char code[sizeof function];

    for (size_t i = 0; i < ARRAY_LENGTH(leaves); i++) {
        write_site(code, leaves[i]);
        CHECK_TRUE(!loader_cpuid_at(code + 1, sizeof code - 1));
    }
    write_site(code, 0);
    CHECK_TRUE(!loader_cpuid_at(code, sizeof code));
    CHECK_TRUE(!loader_cpuid_at(code + 1, 6)); /* the text ends in it */
    CHECK_TRUE(loader_cpuid_at(code + 1, 7));
}

TEST(no_patch_where_no_jump_leads_or_no_place_is_left)
{
    unsigned char code[sizeof function], patch[LOADER_CPUID_SLOTS * FAST_PATCH_BYTES];

    write_site(code, 0);
    CHECK_TRUE(!loader_cpuid_patch(0, BOX_PATCH_PAGE + (UINT64_C(1) << 32), code + 1, patch));
    CHECK_TRUE(!loader_cpuid_patch(FAST_PATCHES_MAX - 1, BOX_PATCH_PAGE, code + 1, patch));
    CHECK_INT(code[1], 0xb8);
}
