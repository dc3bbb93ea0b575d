/* SPDX-License-Identifier: MIT */
/* sys_file_times: utimensat and its elders: what a guest sets is what it sees afterwards, and "now"
 * is the box's. */
#include "box/file_times.h"
#include "box/policy.h"
#include "base/fd.h"
#include "base/when.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

int files_open_named(struct task *task, int directory, uint64_t path_address, int flags)
{
    char path[64], name[4096];

    if (!path_address) {
        (void)snprintf(path, sizeof path, "/proc/%d/fd/%d", task->tid, directory);
        return open(path, O_PATH | O_CLOEXEC);
    }
    if (guest_read_text(task, path_address, name, sizeof name) < 0)
        return -1;
    if (name[0] == '/')
        (void)snprintf(path, sizeof path, "/proc/%d/root", task->tid);
    else if (directory == AT_FDCWD)
        (void)snprintf(path, sizeof path, "/proc/%d/cwd", task->tid);
    else
        (void)snprintf(path, sizeof path, "/proc/%d/fd/%d", task->tid, directory);
    int base = open(path, O_PATH | O_CLOEXEC | O_DIRECTORY);
    if (base < 0)
        return -1;
    int fd =
        fd_open_in(base, name, (uint64_t)(O_PATH | flags), name[0] == '/' ? RESOLVE_IN_ROOT : 0);
    (void)close(base);
    return fd;
}

static bool is_set(const struct timespec *time)
{
    return time->tv_nsec != UTIME_OMIT;
}

static void keep_times(struct box *box, const struct stat *st, const struct timespec times[2])
{
    static const unsigned which[2] = {WHICH_ATIME, WHICH_MTIME};

    for (int i = 0; i < 2; i++)
        if (is_set(&times[i])) {
            struct file_stamp stamp = {st->st_dev, st->st_ino, which[i],
                                       times[i].tv_sec * (int64_t)NS_PER_SEC + times[i].tv_nsec};
            file_times_keep(box->times, &stamp);
            if (stamp.ns >= file_times_start(box->times)) { /* guests could not tell */
                box->sets_new_times = true;
                box->clock.page->fresh[0] = INT64_MAX;
            }
        }
}

/* A time may be stored less finely than it was set, and a file may become another inode when it is
 * written to. Neither happens where guests write as a rule. */
static bool keeps_what_is_set(const struct box *box, int fd)
{
    struct statfs st;

    return !box->options->fs.upper_dir && fstatfs(fd, &st) == 0 &&
           (st.f_type == OVERLAYFS_SUPER_MAGIC || st.f_type == TMPFS_MAGIC);
}

/* note[0]: directory fd, note[1]: path, note[2]: O_NOFOLLOW or 0, note[3]: 1 + the address of the
 * times if they were replaced on our scratch page, note[4]: which were set, in bits, if they are
 * still to be kept. */
static void set_times_exit(struct box *box, struct task *task)
{
    struct stat st;

    task->on_exit = NULL;
    if (task->note[3])
        task_set_arg(task, 2, task->note[3] - 1);
    if ((long)task_regs(task)->rax != 0 || !task->note[4])
        return;
    CLEANUP(fd_close)
    int fd = files_open_named(task, (int)task->note[0], task->note[1], (int)task->note[2]);
    if (fd < 0 || fstat(fd, &st) < 0)
        return;
    struct timespec times[2] = {st.st_atim, st.st_mtim};
    for (int i = 0; i < 2; i++)
        if (!(task->note[4] >> i & 1))
            times[i].tv_nsec = UTIME_OMIT;
    keep_times(box, &st, times);
}

/* What the guest set is shown so; told before it is done where that is the same. */
static bool keep_beforehand(struct box *box, struct task *task, const struct timespec times[2])
{
    CLEANUP(fd_close)
    int fd = files_open_named(task, (int)task->note[0], task->note[1], (int)task->note[2]);
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0 || !keeps_what_is_set(box, fd))
        return false;
    keep_times(box, &st, times);
    return true;
}

static bool is_valid(const struct timespec *time)
{
    return time->tv_nsec == UTIME_OMIT || (time->tv_nsec >= 0 && time->tv_nsec < (int)NS_PER_SEC);
}

static enum verdict keep(struct box *box, struct task *task, const struct timespec times[2])
{
    if (!is_valid(&times[0]) || !is_valid(&times[1]))
        return VERDICT_GO; /* EINVAL */
    task->note[4] = keep_beforehand(box, task, times)
                        ? 0
                        : (unsigned)is_set(&times[0]) | (unsigned)is_set(&times[1]) << 1;
    if (!task->note[3] && !task->note[4])
        return VERDICT_GO;
    task->on_exit = set_times_exit;
    return VERDICT_EXIT;
}

enum verdict sys_utimensat(struct box *box, struct task *task)
{
    struct user_regs_struct *regs = task_regs(task);
    struct timespec times[2] = {{0, UTIME_NOW}, {0, UTIME_NOW}};
    int64_t now = vclock_realtime(&box->clock);
    bool replaced = false;

    if (regs->rdx && guest_read(task, regs->rdx, times, sizeof times) < 0)
        return VERDICT_GO;
    for (int i = 0; i < 2; i++)
        if (times[i].tv_nsec == UTIME_NOW) {
            times[i] = (struct timespec){now / (int64_t)NS_PER_SEC, now % (int64_t)NS_PER_SEC};
            replaced = true;
        }
    task->note[0] = regs->rdi;
    task->note[1] = regs->rsi;
    task->note[2] = regs->r10 & AT_SYMLINK_NOFOLLOW ? O_NOFOLLOW : 0;
    task->note[3] = 0;
    if (replaced && (!task->process->vdso_ready || task->process->shares_memory))
        return VERDICT_GO;
    if (replaced) {
        uint64_t scratch = task_scratch(task);
        if (!scratch || guest_write(task, scratch, times, sizeof times) < 0)
            return VERDICT_GO;
        task->note[3] = regs->rdx + 1;
        task_set_arg(task, 2, scratch);
    }
    return keep(box, task, times);
}

/* The times of the older calls, as utimensat has them. */
static int read_old_times(struct task *task, uint64_t address, struct timespec ret[2])
{
    bool in_seconds = (long)task_regs(task)->orig_rax == SYS_utime;
    int64_t words[4];
    int r = guest_read(task, address, words, in_seconds ? sizeof words / 2 : sizeof words);

    for (int i = 0; r >= 0 && i < 2; i++)
        ret[i] = in_seconds ? (struct timespec){words[i], 0}
                            : (struct timespec){words[2 * i], words[2 * i + 1] * 1000};
    return r;
}

/* The older calls: with times of their own they only have to be remembered; without, they become
 * what the C library makes of them today. */
enum verdict sys_utimes(struct box *box, struct task *task)
{
    struct user_regs_struct *regs = task_regs(task);
    bool at = (long)regs->orig_rax == SYS_futimesat;
    uint64_t path = at ? regs->rsi : regs->rdi, address = at ? regs->rdx : regs->rsi;
    struct timespec times[2];

    if (!address) {
        regs->r10 = 0;
        regs->rdx = 0;
        regs->rsi = path;
        if (!at)
            regs->rdi = (unsigned long long)AT_FDCWD;
        regs->orig_rax = SYS_utimensat;
        task_set_regs(task);
        return sys_utimensat(box, task);
    }
    if (read_old_times(task, address, times) < 0)
        return VERDICT_GO;
    task->note[0] = at ? regs->rdi : (unsigned long long)AT_FDCWD;
    task->note[1] = path;
    task->note[2] = task->note[3] = 0;
    return keep(box, task, times);
}
