/* SPDX-License-Identifier: MIT */
/* loader_cpuid: answers a loader's questions about the CPU without asking the CPU.
 *
 * glibc's loader executes cpuid some forty times a start, most of them with the same few leaves. On
 * a virtual machine each is an exit to the hypervisor: 1 to 10 us, a third of what `true` takes. So
 * `mov $LEAF, %eax; cpuid`, as compilers write it, becomes a jump to code that loads what the CPU
 * said once. Only the mov is replaced: whoever jumps to the cpuid itself finds it. Leaves whose
 * answer hangs on %ecx as well stay the CPU's. */
#include "box/box_internal.h"
#include <cpuid.h>
#include <string.h>

struct answer {
    uint32_t leaf, eax, ebx, ecx, edx;
};

static bool is_plain(uint32_t leaf)
{
    return leaf <= 1 || (leaf >= 0x80000000 && leaf <= 0x80000008);
}

static uint32_t leaf_of(const unsigned char *site)
{
    uint32_t leaf;

    memcpy(&leaf, site + 1, sizeof leaf);
    return leaf;
}

static const struct answer *ask(uint32_t leaf)
{
    static struct answer answers[11];
    static size_t count;

    for (size_t i = 0; i < count; i++)
        if (answers[i].leaf == leaf)
            return &answers[i];
    struct answer *answer = &answers[count++];
    answer->leaf = leaf;
    __cpuid(leaf, answer->eax, answer->ebx, answer->ecx, answer->edx);
    if (leaf == 1)
        answer->ebx &= 0x00ffffff; /* not which CPU it was: a box has one, the first */
    return answer;
}

bool loader_cpuid_at(const unsigned char *code, size_t left)
{
    if (left < FAST_SITE_BYTES || code[0] != 0xb8 || code[5] != 0x0f || code[6] != 0xa2 ||
        !is_plain(leaf_of(code)))
        return false;
    (void)ask(leaf_of(code)); /* now: guests may wait for it later */
    return true;
}

/* Four movs of 5 bytes, then the jump back. */
bool loader_cpuid_patch(unsigned number, uint64_t at, unsigned char *site, unsigned char *patch)
{
    const struct answer *answer = ask(leaf_of(site));
    const uint32_t values[] = {answer->eax, answer->ebx, answer->ecx, answer->edx};
    static const unsigned char movs[] = {0xb8, 0xbb, 0xb9, 0xba};
    uint64_t place = BOX_PATCH_PAGE + (uint64_t)number * FAST_PATCH_BYTES;
    size_t length = 0;

    if (number + LOADER_CPUID_SLOTS > FAST_PATCHES_MAX || !fast_in_reach(at, BOX_PATCH_PAGE))
        return false;
    memset(patch, 0, LOADER_CPUID_SLOTS * FAST_PATCH_BYTES);
    for (size_t i = 0; i < ARRAY_LENGTH(movs); i++, length += 5) {
        patch[length] = movs[i];
        memcpy(patch + length + 1, &values[i], sizeof values[i]);
    }
    fast_put_jump(patch + length, place + length, at + FAST_SITE_BYTES);
    fast_put_jump(site, at, place);
    return true;
}
