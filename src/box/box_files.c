/* SPDX-License-Identifier: MIT */
/* box_files: the view of src/fs in the life of a box: entered by init, its store handed to the
 * supervisor, its changes gathered when the guests are gone; and directory renames that the
 * kernel's overlay refuses. */
#include "box/box_files.h"
#include "tape/tape_data.h"
#include "base/fd.h"
#include "base/fd_pass.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/when.h"
#include "box/meet.h"
#include "box/policy.h"
#include "box/sub.h"
#include "fs/fs.h"
#include "fs/fs_blobs.h"
#include "fs/fs_bundle.h"
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int enter_namespaces(void *door, struct err *err)
{
    return meet_enter(door, err);
}

int box_files_enter(const struct box *box, int socket, int *ret_store, struct err *err)
{
    struct fs_options options = box->options->fs;
    CLEANUP(fd_close) int store = -1;
    struct meet_door door = {.socket = socket, .entered = box->options->net_real};

    options.enter_namespaces = enter_namespaces;
    options.enter_data = &door;
    options.userns = !box->real_root;
    options.started_ns = box->wall_started_ns;
    int r = fs_view_enter(&options, &store, err);
    if (r == 0)
        r = meet_enter(&door, err); /* a view of the machine's own files does not need them */
    if (r < 0)
        return r;
    /* For the files of special.c, and the stub of sub.c. */
    if (mount("vitro", "/proc/driver", "tmpfs", MS_NOSUID | MS_NODEV, "size=16m,mode=755") < 0)
        return err_set(err, -errno, "mount over /proc/driver: %m");
    *ret_store = take_fd(&store);
    return 0;
}

int box_files_entered(int socket, int store, struct err *err)
{
    int r = fs_view_let_go(err);

    if (r < 0)
        return r;
    r = fd_send(socket, 's', &store, store >= 0);
    return r < 0 ? err_set(err, r, "hand over the store: %s", strerror(-r)) : 0;
}

int box_files_receive(struct box *box, const struct msghdr *message)
{
    for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c;
         c = CMSG_NXTHDR((struct msghdr *)message, c))
        if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
            memcpy(&box->store_fd, CMSG_DATA(c), sizeof box->store_fd);
    return 0;
}

/* Where the changes of a run without --record are kept for `vitro diff`: outside of any worktree.
 */
char *box_last_bundle(const char *worktree)
{
    CLEANUP(mem_free) char *real = realpath(worktree ? worktree : ".", NULL);
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    struct hash hash = hash_of(real ? real : "", real ? strlen(real) : 0);
    struct hash_text name = hash_to_text(&hash);

    name.text[16] = '\0';
    if (state && *state)
        return mem_format("%s/vitro/last/%s", state, name.text);
    return mem_format("%s/.local/state/vitro/last/%s", home && *home ? home : "/tmp", name.text);
}

static void tape_changes(struct box *box, const struct fs_changes *changes)
{
    static const enum tape_kind kinds[] = {TAPE_FILE_WRITE, TAPE_FILE_DELETE, TAPE_FILE_RENAME};

    for (size_t i = 0; box->tape && i < changes->count; i++) {
        const struct fs_change *change = &changes->items[i];
        CLEANUP(tape_data_done) struct tape_data data = {0};
        unsigned kind = change->from ? 2 : change->after.type == FS_NONE ? 1 : 0;
        char mode[16];
        if (change->outside)
            continue;
        tape_data_begin(&data);
        if (kind != 1)
            tape_data_hash(&data, "content_hash", &change->after.hash);
        if (kind == 2)
            tape_data_text(&data, "from", change->from);
        if (kind == 0) {
            (void)snprintf(mode, sizeof mode, "%o", change->after.mode);
            tape_data_u64(&data, "len_bytes", change->after.size);
            tape_data_text(&data, "mode", mode);
        }
        tape_data_text(&data, "path", change->path);
        tape_data_end(&data);
        tape_event_data(box, NULL, 1, kinds[kind], &data);
    }
}

static void count_changes(const struct fs_changes *changes, struct box_findings *findings)
{
    for (size_t i = 0; i < changes->count; i++)
        if (changes->items[i].outside)
            findings->files_outside++;
        else
            findings->files_changed++;
}

/* The list, and contents where they can be kept: a run without --record needs a home for that, and
 * one that has none is discarded, as it is by default. *ret_kept: in a bundle. */
static int keep_changes(struct box *box, const char *bundle, struct fs_changes **ret,
                        bool *ret_kept, struct err *err)
{
    CLEANUP(fs_blobs_free) struct fs_blobs *blobs = fs_bundle_begin(bundle);
    bool recorded = box->options->record;
    int r = fs_gather(box->store_fd, blobs, ret, err);

    if (r == 0 && ((*ret)->count || recorded)) {
        r = fs_bundle_write(bundle, *ret, blobs, err);
        *ret_kept = r == 0;
    }
    if (r == 0 || recorded || dir_make_all(bundle, NULL) == 0)
        return r;
    CLEANUP(fs_blobs_free) struct fs_blobs *nowhere = fs_blobs_nowhere();
    *ret = fs_changes_free(*ret);
    return fs_gather(box->store_fd, nowhere, ret, err);
}

/* What may be why a run failed is told with it, where no bundle has it. */
static void tell_refused(struct box *box, const struct fs_changes *changes)
{
    bool failed = box->findings->outcome != BOX_EXITED || box->main_status != 0;

    if (failed && changes->refused)
        leak_note(box, "%s", changes->refused);
}

/* The last run of a worktree is the one that was recorded, too. Who has no home gets no name. */
static void name_last(const char *last, const char *record)
{
    CLEANUP(mem_free) char *bundle = realpath(record, NULL);
    CLEANUP(mem_free) char *directory = mem_dupn(last, (size_t)(strrchr(last, '/') - last));

    if (bundle && dir_make_all(directory, NULL) == 0)
        (void)!symlink(bundle, last);
}

int box_files_gather(struct box *box, struct err *err)
{
    CLEANUP(fs_changes_free) struct fs_changes *changes = NULL;
    struct fs_usage usage;
    bool kept = false;

    if (box->store_fd < 0)
        return 0;
    const char *record = box->options->record;
    CLEANUP(mem_free) char *last = box_last_bundle(box->options->fs.worktree);
    (void)dir_remove_all(last, NULL);
    if (record)
        name_last(last, record);
    int r = keep_changes(box, record ? record : last, &changes, &kept, err);
    if (r < 0)
        return err_wrap(err, "keep what the run changed");
    if (!kept)
        tell_refused(box, changes);
    tape_changes(box, changes);
    count_changes(changes, box->findings);
    if (fs_store_usage(box->store_fd, &usage, err) == 0 && usage.full)
        leak_note(box, "the memory for what guests write was full (--size-limit)");
    return 0;
}

void box_files_done(struct box *box)
{
    fd_close(take_fd(&box->store_fd));
}

/* ---- rename -------------------------------------------------------------------------------- */

static int open_base(const struct task *task, int directory)
{
    char path[48];

    if (directory == AT_FDCWD)
        (void)snprintf(path, sizeof path, "/proc/%d/cwd", task->tid);
    else
        (void)snprintf(path, sizeof path, "/proc/%d/fd/%d", task->tid, directory);
    return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* In a process of its own, which joins the guest's mount namespace. */
static int rename_there(struct task *task, const int directories[2], char paths[2][4096],
                        unsigned flags)
{
    char path[48];
    int status = 0, bases[2] = {open_base(task, directories[0]), open_base(task, directories[1])};

    (void)snprintf(path, sizeof path, "/proc/%d/ns/mnt", task->tid);
    int namespace = open(path, O_RDONLY | O_CLOEXEC);
    pid_t pid = fork();
    if (pid == 0) {
        if (setns(namespace, CLONE_NEWNS) < 0)
            _exit(EXDEV);
        _exit(-fs_rename_dir(bases[0], paths[0], bases[1], paths[1], flags));
    }
    fd_close(namespace);
    fd_close(bases[0]);
    fd_close(bases[1]);
    if (pid < 0 || waitpid(pid, &status, 0) < 0 || !WIFEXITED(status))
        return -EXDEV;
    return -WEXITSTATUS(status);
}

static void rename_exit(struct box *box, struct task *task)
{
    struct user_regs_struct *regs = task_regs(task);
    bool at = task->note[0] != SYS_rename;
    const int directories[2] = {at ? (int)regs->rdi : AT_FDCWD, at ? (int)regs->rdx : AT_FDCWD};
    char paths[2][4096];

    (void)box;
    task->on_exit = NULL;
    if ((long)regs->rax != -EXDEV ||
        guest_read_text(task, at ? regs->rsi : regs->rdi, paths[0], sizeof paths[0]) < 0 ||
        guest_read_text(task, at ? regs->r10 : regs->rsi, paths[1], sizeof paths[1]) < 0)
        return;
    unsigned flags = task->note[0] == SYS_renameat2 ? (unsigned)regs->r8 : 0;
    regs->rax = (unsigned long long)rename_there(task, directories, paths, flags);
    task_set_regs(task);
}

/* As real root the kernel redirects directories itself. */
enum verdict sys_rename(struct box *box, struct task *task)
{
    struct user_regs_struct *regs = task_regs(task);
    bool at = (long)regs->orig_rax != SYS_rename;

    files_touch(box, task, at ? (int)regs->rdx : AT_FDCWD, at ? regs->r10 : regs->rsi);
    if (task->process->sub)
        sub_files_rename(box, task, at);
    if (box->store_fd < 0 || box->real_root)
        return VERDICT_GO;
    task->note[0] = task_regs(task)->orig_rax;
    task->on_exit = rename_exit;
    return VERDICT_EXIT;
}
