/* SPDX-License-Identifier: MIT */
/* sys_numbers: calls that tell the kernel's numbers (numbers.h), apart from the stat family. */
#include "box/numbers.h"
#include "box/policy.h"
#include "base/fd.h"
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

/* note[0]: the buffer, note[1]: its size. */
static void readlink_exit(struct box *box, struct task *task)
{
    long length = (long)task_regs(task)->rax;
    char target[64];

    task->on_exit = NULL;
    if (length <= 0 || (size_t)length > sizeof target ||
        guest_read(task, task->note[0], target, (size_t)length) < 0)
        return;
    size_t room = task->note[1] < sizeof target ? (size_t)task->note[1] : sizeof target;
    size_t shown = numbers_link(box, target, (size_t)length, room);
    (void)guest_write(task, task->note[0], target, shown);
    task_regs(task)->rax = shown;
    task_set_regs(task);
}

/* Only what is below /proc can be such a link. */
static enum verdict read_link(struct box *box, struct task *task, int directory, uint64_t path,
                              uint64_t buffer, uint64_t size)
{
    char full[FULL_PATH_MAX];

    if (box->options->identity_real || !files_full_path(task, directory, path, full) ||
        strncmp(full, "/proc/", 6) != 0)
        return VERDICT_GO;
    task->note[0] = buffer;
    task->note[1] = size;
    task->on_exit = readlink_exit;
    return VERDICT_EXIT;
}

enum verdict sys_readlink(struct box *box, struct task *task)
{
    struct user_regs_struct *regs = task_regs(task);

    return read_link(box, task, AT_FDCWD, regs->rdi, regs->rsi, regs->rdx);
}

enum verdict sys_readlinkat(struct box *box, struct task *task)
{
    struct user_regs_struct *regs = task_regs(task);

    return read_link(box, task, (int)regs->rdi, regs->rsi, regs->rdx, regs->r10);
}

/* note[0]: the result, note[1]: the fd, note[2]: the path, or 0. */
static void statfs_exit(struct box *box, struct task *task)
{
    struct statfs fs;
    struct stat st;

    task->on_exit = NULL;
    if ((long)task_regs(task)->rax != 0 || guest_read(task, task->note[0], &fs, sizeof fs) < 0)
        return;
    CLEANUP(fd_close) int fd = files_open_named(task, (int)task->note[1], task->note[2], 0);
    if (fd < 0 || fstat(fd, &st) < 0 || major(st.st_dev) != 0)
        return; /* a disk's is its own */
    uint64_t device = numbers_device(box, st.st_dev);
    memcpy(&fs.f_fsid, &device, sizeof device);
    (void)guest_write(task, task->note[0], &fs, sizeof fs);
}

enum verdict sys_statfs(struct box *box, struct task *task)
{
    struct user_regs_struct *regs = task_regs(task);
    bool by_fd = (long)regs->orig_rax == SYS_fstatfs;

    if (box->options->identity_real)
        return VERDICT_GO;
    task->note[0] = regs->rsi;
    task->note[1] = by_fd ? regs->rdi : (unsigned long long)AT_FDCWD;
    task->note[2] = by_fd ? 0 : regs->rdi;
    task->on_exit = statfs_exit;
    return VERDICT_EXIT;
}
