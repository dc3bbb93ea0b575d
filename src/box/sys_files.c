/* SPDX-License-Identifier: MIT */
/* sys_files: the stat family in virtual time (file_times.h), and opens of files that stand for the
 * machine (special.c). */
#include "box/file_times.h"
#include "box/numbers.h"
#include "box/policy.h"
#include "box/reads.h"
#include "box/special.h"
#include "box/sub.h"
#include "base/text.h"
#include "base/when.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <linux/stat.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum {
    WRITES_NOTED_MAX = 64
}; /* while the clock stands; their stops take about as long as a wait */

static int64_t shown(struct box *box, struct file_stamp stamp, unsigned which, int64_t seconds,
                     int64_t nanoseconds, bool age)
{
    stamp.which = which;
    stamp.ns = seconds * (int64_t)NS_PER_SEC + nanoseconds;
    return file_times_show(box->times, &stamp, vclock_realtime(&box->clock), age);
}

static void show_timespec(struct box *box, struct file_stamp stamp, unsigned which,
                          struct timespec *time, bool age)
{
    int64_t ns = shown(box, stamp, which, time->tv_sec, time->tv_nsec, age);

    time->tv_sec = ns / (int64_t)NS_PER_SEC;
    time->tv_nsec = ns % (int64_t)NS_PER_SEC;
}

/* note[0]: address of the result, note[1]: whether the call asks for the age; of statx, note[2]:
 * what it asks for. */
static void stat_exit(struct box *box, struct task *task)
{
    struct stat st;
    bool age = task->note[1];

    task->on_exit = NULL;
    if ((long)task_regs(task)->rax != 0 || guest_read(task, task->note[0], &st, sizeof st) < 0)
        return;
    struct stat before = st;
    struct file_stamp stamp = {st.st_dev, st.st_ino, 0, 0};
    show_timespec(box, stamp, WHICH_MTIME, &st.st_mtim, age);
    show_timespec(box, stamp, WHICH_CTIME, &st.st_ctim, age);
    show_timespec(box, stamp, WHICH_ATIME, &st.st_atim, age);
    if (special_is_random(box, st.st_dev, st.st_ino)) {
        st.st_mode = S_IFCHR | 0666;
        st.st_rdev = makedev(1, 9);
    }
    st.st_dev = numbers_device(box, before.st_dev);
    st.st_ino = numbers_inode(box, before.st_dev, before.st_ino);
    if (memcmp(&st, &before, sizeof st) != 0)
        (void)guest_write(task, task->note[0], &st, sizeof st);
}

static enum verdict stat_at(struct task *task, uint64_t address, bool age)
{
    task->note[0] = address;
    task->note[1] = age;
    task->on_exit = stat_exit;
    return VERDICT_EXIT;
}

enum verdict sys_stat(struct box *box, struct task *task)
{
    struct user_regs_struct *regs = task_regs(task);

    (void)box;
    return stat_at(task, regs->rsi, (long)regs->orig_rax == SYS_stat);
}

/* The supervisor looks first: where neither a time nor a device is to be changed, the call needs no
 * second stop. */
static bool fstat_is_plain(struct box *box, struct task *task, int fd)
{
    char path[48];
    struct stat st;

    (void)snprintf(path, sizeof path, "/proc/%d/fd/%d", task->tid, fd);
    if (stat(path, &st) < 0)
        return true; /* the kernel names the error */
    int64_t start = file_times_start(box->times) / (int64_t)NS_PER_SEC;
    return (major(st.st_dev) != 0 || box->options->identity_real) && st.st_mtim.tv_sec < start &&
           st.st_ctim.tv_sec < start && st.st_atim.tv_sec < start;
}

enum verdict sys_newfstatat(struct box *box, struct task *task)
{
    struct user_regs_struct *regs = task_regs(task);

    if (regs->r10 & AT_EMPTY_PATH && fstat_is_plain(box, task, (int)regs->rdi))
        return VERDICT_GO;
    return stat_at(task, regs->rdx, !(regs->r10 & (AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH)));
}

static void show_statx(struct box *box, struct file_stamp stamp, unsigned which,
                       struct statx_timestamp *time, bool age)
{
    int64_t ns = shown(box, stamp, which, time->tv_sec, time->tv_nsec, age);

    time->tv_sec = ns / (int64_t)NS_PER_SEC;
    time->tv_nsec = (unsigned)(ns % (int64_t)NS_PER_SEC);
}

/* The kernel tells the mount unasked; numbers are given to what guests ask for, in that order. */
enum { MOUNT_BITS = STATX_MNT_ID | 0x4000 /* STATX_MNT_ID_UNIQUE, which is none of the box's */ };

static void statx_exit(struct box *box, struct task *task)
{
    struct statx st;
    bool age = task->note[1];

    task->on_exit = NULL;
    if ((long)task_regs(task)->rax != 0 || guest_read(task, task->note[0], &st, sizeof st) < 0)
        return;
    struct file_stamp stamp = {makedev(st.stx_dev_major, st.stx_dev_minor), st.stx_ino, 0, 0};
    show_statx(box, stamp, WHICH_MTIME, &st.stx_mtime, age);
    show_statx(box, stamp, WHICH_CTIME, &st.stx_ctime, age);
    show_statx(box, stamp, WHICH_ATIME, &st.stx_atime, age);
    if (st.stx_mask & STATX_BTIME)
        show_statx(box, stamp, WHICH_BTIME, &st.stx_btime, age);
    if (!box->options->identity_real) {
        uint64_t real = makedev(st.stx_dev_major, st.stx_dev_minor);
        uint64_t device = numbers_device(box, real);
        st.stx_dev_major = major(device);
        st.stx_dev_minor = minor(device);
        st.stx_ino = numbers_inode(box, real, st.stx_ino);
        bool asked = task->note[2] & STATX_MNT_ID && st.stx_mask & STATX_MNT_ID;
        st.stx_mnt_id = asked ? numbers_mount(box, st.stx_mnt_id) : 0;
        st.stx_mask &= ~(unsigned)(MOUNT_BITS & ~(asked ? STATX_MNT_ID : 0));
    }
    (void)guest_write(task, task->note[0], &st, sizeof st);
}

enum verdict sys_statx(struct box *box, struct task *task)
{
    struct user_regs_struct *regs = task_regs(task);

    (void)box;
    task->note[0] = regs->r8;
    task->note[1] = !(regs->rdx & (AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH));
    task->note[2] = regs->r10;
    task->on_exit = statx_exit;
    return VERDICT_EXIT;
}

/* ---- opening ------------------------------------------------------------------------------- */

static bool writes(uint64_t flags)
{
    return (flags & O_ACCMODE) != O_RDONLY || flags & (O_CREAT | O_TRUNC);
}

/* Takes "//", "/./" and "/.." out of an absolute path, by its letters alone. */
static void tidy_path(char *path)
{
    char *to = path;

    for (const char *from = path; *from;) {
        size_t length = strcspn(from + 1, "/") + 1; /* one "/name" */
        if (length == 3 && memcmp(from, "/..", 3) == 0) {
            while (to > path && *--to != '/')
                ;
        } else if (length > 1 && !(length == 2 && from[1] == '.')) {
            memmove(to, from, length);
            to += length;
        }
        from += length;
    }
    if (to == path)
        *to++ = '/';
    *to = '\0';
}

bool files_full_path(struct task *task, int directory, uint64_t address, char full[FULL_PATH_MAX])
{
    char name[4096], base[64], where[4096];

    if (guest_read_text(task, address, name, sizeof name) < 0)
        return false;
    if (name[0] == '/') {
        (void)snprintf(full, FULL_PATH_MAX, "%s", name);
    } else {
        if (directory == AT_FDCWD)
            (void)snprintf(base, sizeof base, "/proc/%d/cwd", task->tid);
        else
            (void)snprintf(base, sizeof base, "/proc/%d/fd/%d", task->tid, directory);
        ssize_t length = readlink(base, where, sizeof where - 1);
        if (length <= 0 || where[0] != '/')
            return false;
        where[length] = '\0';
        (void)snprintf(full, FULL_PATH_MAX, "%s/%s", where, name);
    }
    tidy_path(full);
    return true;
}

static void put_time(int64_t to[2], int64_t ns)
{
    to[0] = ns / (int64_t)NS_PER_SEC;
    to[1] = ns % (int64_t)NS_PER_SEC;
}

/* From now on guests need no stop to write to files, nor to look at those that are new. */
static void free_writes(struct box *box)
{
    struct box_clock_page *page = box->clock.page;

    put_time(page->fresh, box->sets_new_times ? INT64_MAX : box->moved_real_ns);
    put_time(page->now, vclock_realtime(&box->clock));
    __atomic_store_n(&page->writes_free, 1, __ATOMIC_RELEASE);
}

/* Its time is noted when the clock moves. Who writes to very many files is not stopped for each:
 * then the clock, before it moves, waits for the one that stamps files (box_move_clock). */
static void note_write(struct box *box, const char *path)
{
    if (!vclock_held(&box->clock))
        return;
    file_times_touch(box->times, path);
    if (++box->writes_noted == WRITES_NOTED_MAX && !box->subs)
        free_writes(box);
}

static enum verdict open_named(struct box *box, struct task *task, int directory, uint64_t address,
                               int path_argument, uint64_t flags)
{
    char full[FULL_PATH_MAX];

    if (!files_full_path(task, directory, address, full))
        return VERDICT_GO;
    if (task->process->sub)
        sub_io_opened(box, task, full);
    if (!writes(flags))
        return special_open(box, task, full, path_argument);
    if ((flags & O_ACCMODE) == O_RDWR)
        special_opened_both(box, task, full);
    note_write(box, full);
    if (task->process->sub)
        sub_files_touch(box, task, full, false);
    return VERDICT_GO;
}

static enum verdict open_path(struct box *box, struct task *task, int directory, uint64_t address,
                              int path_argument, uint64_t flags)
{
    enum verdict verdict = open_named(box, task, directory, address, path_argument, flags);

    return reads_watch_open(box, task, verdict, flags);
}

/* Calls that make a name: the time of it, and of its directory, is noted when the clock moves. */
void files_touch(struct box *box, struct task *task, int directory, uint64_t address)
{
    char full[FULL_PATH_MAX];

    if ((!vclock_held(&box->clock) && !task->process->sub) ||
        !files_full_path(task, directory, address, full))
        return;
    note_write(box, full);
    if (task->process->sub)
        sub_files_touch(box, task, full, false);
}

enum verdict sys_make(struct box *box, struct task *task)
{
    files_touch(box, task, AT_FDCWD, task_regs(task)->rdi);
    return VERDICT_GO;
}

enum verdict sys_make_at(struct box *box, struct task *task)
{
    files_touch(box, task, (int)task_regs(task)->rdi, task_regs(task)->rsi);
    return VERDICT_GO;
}

enum verdict sys_symlink(struct box *box, struct task *task)
{
    struct user_regs_struct *regs = task_regs(task);
    bool at = (long)regs->orig_rax == SYS_symlinkat;

    files_touch(box, task, at ? (int)regs->rsi : AT_FDCWD, at ? regs->rdx : regs->rsi);
    return VERDICT_GO;
}

enum verdict sys_link(struct box *box, struct task *task)
{
    struct user_regs_struct *regs = task_regs(task);
    bool at = (long)regs->orig_rax == SYS_linkat;

    files_touch(box, task, at ? (int)regs->rdx : AT_FDCWD, at ? regs->r10 : regs->rsi);
    return VERDICT_GO;
}

enum verdict sys_open(struct box *box, struct task *task)
{
    struct user_regs_struct *regs = task_regs(task);

    return open_path(box, task, AT_FDCWD, regs->rdi, 0, regs->rsi);
}

enum verdict sys_openat(struct box *box, struct task *task)
{
    struct user_regs_struct *regs = task_regs(task);

    return open_path(box, task, (int)regs->rdi, regs->rsi, 1, regs->rdx);
}

enum verdict sys_openat2(struct box *box, struct task *task)
{
    struct user_regs_struct *regs = task_regs(task);
    struct open_how how;

    if (regs->r10 < sizeof how || guest_read(task, regs->rdx, &how, sizeof how) < 0)
        return VERDICT_GO;
    return open_path(box, task, (int)regs->rdi, regs->rsi, 1, how.flags);
}

enum verdict sys_creat(struct box *box, struct task *task)
{
    struct user_regs_struct *regs = task_regs(task);

    return open_path(box, task, AT_FDCWD, regs->rdi, 0, O_WRONLY | O_CREAT | O_TRUNC);
}

/* Relative paths are left to the fast path of openat unless the working directory is special. */
static bool is_special(const char *where)
{
    return strcmp(where, "/") == 0 || text_starts(where, "/proc") || text_starts(where, "/dev") ||
           text_starts(where, "/sys");
}

static bool link_is_special(const char *link)
{
    char where[16] = {0};

    return readlink(link, where, sizeof where - 1) < 0 || is_special(where);
}

bool files_in_special_directory(const struct task *task)
{
    char link[40];

    (void)snprintf(link, sizeof link, "/proc/%d/cwd", task->tid);
    return link_is_special(link);
}

static void set_special(struct task *task, bool special)
{
    struct process *process = task->process;
    uint64_t flag = special;

    if (special == process->in_special_directory)
        return;
    process->in_special_directory = special;
    if (process->vdso_ready)
        (void)guest_write(task, BOX_BASE + offsetof(struct box_guest_page, in_special_directory),
                          &flag, sizeof flag);
}

static void chdir_exit(struct box *box, struct task *task)
{
    (void)box;
    task->on_exit = NULL;
    if ((long)task_regs(task)->rax == 0)
        set_special(task, files_in_special_directory(task));
}

enum verdict sys_chdir(struct box *box, struct task *task)
{
    (void)box;
    task->on_exit = chdir_exit;
    return VERDICT_EXIT;
}

/* Told at the entry, without a second stop: where it fails, the slow path is always right. */
enum verdict sys_fchdir(struct box *box, struct task *task)
{
    char link[48];

    (void)box;
    (void)snprintf(link, sizeof link, "/proc/%d/fd/%d", task->tid, (int)task_regs(task)->rdi);
    if (link_is_special(link))
        set_special(task, true);
    else if (task->process->in_special_directory)
        return sys_chdir(box, task);
    return VERDICT_GO;
}
