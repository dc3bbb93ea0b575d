/* SPDX-License-Identifier: MIT */
#include "fs/fs.h"
#include "base/fd.h"
#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* With each of these, real root could reach the disk or the kernel around the view: mount a block
 * device, make its node, open by handle, load a module, write to memory. */
static const int dropped[] = {
    CAP_SYS_ADMIN,
    CAP_MKNOD,
    CAP_DAC_READ_SEARCH,
    CAP_SYS_MODULE,
    CAP_SYS_RAWIO,
    CAP_SYS_BOOT,
    CAP_SYS_TIME,
    CAP_SYSLOG,
    CAP_MAC_ADMIN,
    CAP_MAC_OVERRIDE,
    CAP_BPF,
    CAP_PERFMON,
    CAP_CHECKPOINT_RESTORE,
    CAP_LINUX_IMMUTABLE,
    CAP_WAKE_ALARM,
    CAP_BLOCK_SUSPEND,
    CAP_AUDIT_CONTROL,
    CAP_SYS_PACCT,
};

bool fs_is_real_root(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2];
    CLEANUP(buf_done) struct buf map = {0};
    unsigned inside, outside, count;

    if (geteuid() != 0 || syscall(SYS_capget, &header, data) < 0 ||
        !(data[0].effective & 1u << CAP_SYS_ADMIN))
        return false;
    return file_read("/proc/self/uid_map", 4096, &map, NULL) == 0 &&
           sscanf(buf_text(&map), "%u %u %u", &inside, &outside, &count) == 3 && !inside &&
           !outside && count == 4294967295u;
}

int fs_caps_drop(struct err *err)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2];

    if (syscall(SYS_capget, &header, data) < 0)
        return err_set(err, -errno, "read capabilities: %m");
    for (size_t i = 0; i < ARRAY_LENGTH(dropped); i++) {
        int cap = dropped[i];
        unsigned bit = 1u << (cap % 32),
                 *words[] = {&data[cap / 32].effective, &data[cap / 32].permitted,
                             &data[cap / 32].inheritable};
        /* No right to touch the bounding set: then its capabilities cannot be had by an exec,
         * unless by root. One that this kernel does not know is not there. */
        if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0 && geteuid() == 0 &&
            prctl(PR_CAPBSET_READ, cap, 0, 0, 0) == 1)
            return err_set(err, -EPERM, "give up capability %d: the bounding set keeps it", cap);
        for (size_t w = 0; w < ARRAY_LENGTH(words); w++)
            *words[w] &= ~bit;
    }
    /* The kernel takes a capability out of the ambient set when it leaves the permitted one. */
    if (syscall(SYS_capset, &header, data) < 0)
        return err_set(err, -errno, "give up capabilities: %m");
    return 0;
}
