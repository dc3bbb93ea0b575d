/* SPDX-License-Identifier: MIT */
/* Recording what goes through the standard streams of a subprocess.
 *
 * A call that reads or writes stops twice, before and behind: behind it the number of bytes is
 * known, and they are in the guest's memory. Calls that move bytes without showing them (splice,
 * sendfile) are refused with EINVAL where they touch a recorded stream, and programs fall back to
 * read and write. What the program itself reads of its standard input is kept in the same way
 * (sub_input.c). The order of events is the order in which calls came back. */
#include "box/sub.h"
#include "box/policy.h"
#include "base/text.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

enum { PIECE = 65536, VECTORS_MAX = 1024 };

static bool stat_fd(const struct task *task, int fd, struct stat *ret)
{
    char path[48];

    (void)snprintf(path, sizeof path, "/proc/%d/fd/%d", task->tid, fd);
    return fd >= 0 && stat(path, ret) == 0;
}

static bool is_stream(const struct sub_stream *stream, const struct stat *st)
{
    return stream->open && stream->device == st->st_dev && stream->inode == st->st_ino;
}

/* Which output a descriptor is; 0 for none. Where both are the same thing, its number tells. */
static int output_of(const struct task *task, const struct sub *sub, int fd)
{
    struct stat st;

    if (!stat_fd(task, fd, &st))
        return 0;
    bool out = is_stream(&sub->streams[1], &st), error = is_stream(&sub->streams[2], &st);
    return out && error ? (fd == 2 ? 2 : 1) : out ? 1 : error ? 2 : 0;
}

static bool is_input(const struct task *task, const struct sub *sub, int fd)
{
    struct stat st;

    return stat_fd(task, fd, &st) && is_stream(&sub->streams[0], &st);
}

/* What the program was given: kept for itself, beside what a subprocess reads. */
static bool is_program_input(const struct box *box, const struct task *task, int fd)
{
    struct stat st;

    return box->findings->input == BOX_INPUT_STREAM && stat_fd(task, fd, &st) &&
           sub_input_is(box, &st);
}

static bool is_null(const struct task *task, int fd)
{
    struct stat st;

    return stat_fd(task, fd, &st) && S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3);
}

static struct sub *recorded(const struct task *task)
{
    struct sub *sub = task->process->sub;

    return sub && sub->how == SUB_RECORDED ? sub : NULL;
}

/* ---- behind a call ------------------------------------------------------------------------- */

static void keep_bytes(struct box *box, struct task *task, struct spool *spool, uint64_t address,
                       uint64_t length)
{
    static char piece[PIECE];

    while (length) {
        size_t step = length < PIECE ? (size_t)length : PIECE;
        if (guest_read(task, address, piece, step) < 0 ||
            spool_add(spool, box->subs->directory, piece, step) < 0) {
            sub_trouble(box, "what %s read or wrote could not be kept", task->process->program);
            return;
        }
        address += step;
        length -= step;
    }
}

static void keep_vectors(struct box *box, struct task *task, struct spool *spool, uint64_t address,
                         uint64_t count, uint64_t length)
{
    struct iovec vector;

    for (uint64_t i = 0; length && i < count && i < VECTORS_MAX; i++) {
        if (guest_read(task, address + i * sizeof vector, &vector, sizeof vector) < 0)
            return;
        uint64_t step = vector.iov_len < length ? vector.iov_len : length;
        keep_bytes(box, task, spool, (uint64_t)vector.iov_base, step);
        length -= step;
    }
}

/* Where the bytes of a call are. */
static void keep(struct box *box, struct task *task, struct spool *spool, uint64_t length)
{
    const struct tap *tap = &task->tap;
    struct msghdr message;

    switch (tap->number) {
    case SYS_readv:
    case SYS_writev:
    case SYS_preadv2:
    case SYS_pwritev2:
    case SYS_pwritev:
        keep_vectors(box, task, spool, tap->address, tap->length, length);
        break;
    case SYS_sendmsg:
    case SYS_recvmsg:
        if (guest_read(task, tap->address, &message, sizeof message) == 0)
            keep_vectors(box, task, spool, (uint64_t)message.msg_iov, message.msg_iovlen, length);
        break;
    default:
        keep_bytes(box, task, spool, tap->address, length);
    }
}

static void tap_exit(struct box *box, struct task *task)
{
    static const enum recording_what whats[] = {RECORDING_IN, RECORDING_OUT, RECORDING_ERR};
    struct tap tap = task->tap;
    struct sub *sub = recorded(task);
    long result = (long)task_regs(task)->rax;

    task->on_exit = tap.next;
    if (tap.is_program_input && result > 0)
        keep(box, task, &box->subs->input, (uint64_t)result);
    else if (tap.is_program_input && result == 0 && tap.length)
        box->findings->input_ends = true;
    if (sub && tap.stream >= 0 && (result > 0 || (result == 0 && tap.stream == 0 && tap.length))) {
        int64_t at = vclock_now(&box->clock) - sub->started_ns;
        if (result > 0) {
            keep(box, task, &sub->streams[tap.stream].spool, (uint64_t)result);
            recording_add_event(&sub->recording, at, whats[tap.stream], (uint64_t)result);
        } else {
            recording_add_event(&sub->recording, at, RECORDING_EOF, 0);
        }
    }
    if (task->on_exit)
        task->on_exit(box, task);
}

/* ---- before a call ------------------------------------------------------------------------- */

static enum verdict tap(struct task *task, int stream, bool is_program_input)
{
    const struct user_regs_struct *regs = task_regs(task);

    if (task->on_exit == tap_exit)
        return VERDICT_EXIT; /* a tapped process stops twice before a call */
    task->tap = (struct tap){stream,    is_program_input, (long)regs->orig_rax,
                             regs->rsi, regs->rdx,        task->on_exit};
    task->on_exit = tap_exit;
    return VERDICT_EXIT;
}

enum verdict sys_stream_read(struct box *box, struct task *task)
{
    const struct sub *sub = recorded(task);
    int fd = (int)task_regs(task)->rdi;
    bool is_ours = sub && is_input(task, sub, fd), is_program = is_program_input(box, task, fd);

    return is_ours || is_program ? tap(task, is_ours ? 0 : -1, is_program) : VERDICT_GO;
}

enum verdict sys_stream_write(struct box *box, struct task *task)
{
    struct sub *sub = recorded(task);
    int stream = sub ? output_of(task, sub, (int)task_regs(task)->rdi) : 0;

    (void)box;
    return stream ? tap(task, stream, false) : VERDICT_GO;
}

enum verdict sys_stream_move(struct box *box, struct task *task)
{
    const struct user_regs_struct *regs = task_regs(task);
    struct sub *sub = recorded(task);
    int in = (int)regs->rdi, out = (int)regs->rdx;

    if (!sub && box->findings->input != BOX_INPUT_STREAM)
        return VERDICT_GO;
    if ((long)regs->orig_rax == SYS_sendfile) {
        out = (int)regs->rdi;
        in = (int)regs->rsi;
    } else if ((long)regs->orig_rax == SYS_tee) {
        out = (int)regs->rsi;
    } else if ((long)regs->orig_rax == SYS_vmsplice) {
        out = (int)regs->rdi;
    }
    if (!(sub && (is_input(task, sub, in) || output_of(task, sub, out))) &&
        !is_program_input(box, task, in))
        return VERDICT_GO;
    return verdict_skip(task, -EINVAL);
}

/* ---- other numbers for a stream ------------------------------------------------------------ */

enum { SHELL_FD = 10 }; /* shells keep what they redirected here, and do not use it meanwhile */

enum verdict sys_stream_copy(struct box *box, struct task *task)
{
    const struct user_regs_struct *regs = task_regs(task);
    struct sub *sub = recorded(task);
    int fd = (int)regs->rdi;

    if (task->process->tapped ||
        (!(sub && (is_input(task, sub, fd) || output_of(task, sub, fd)) && !is_null(task, fd)) &&
         !is_program_input(box, task, fd)))
        return VERDICT_GO;
    switch ((long)regs->orig_rax) {
    case SYS_fcntl:
        if ((regs->rsi != F_DUPFD && regs->rsi != F_DUPFD_CLOEXEC) || regs->rdx == SHELL_FD)
            return VERDICT_GO;
        break;
    case SYS_dup2:
    case SYS_dup3:
        if (regs->rsi <= 2)
            return VERDICT_GO;
        break;
    default:
        break;
    }
    task->process->tapped = true;
    return VERDICT_GO;
}

/* A stream that is opened anew by its name. */
void sub_io_opened(const struct box *box, struct task *task, const char *path)
{
    if ((recorded(task) || box->findings->input == BOX_INPUT_STREAM) &&
        (text_starts(path, "/dev/std") || text_starts(path, "/dev/fd/") ||
         (text_starts(path, "/proc/") && strstr(path, "/fd/")) || strcmp(path, "/dev/tty") == 0))
        task->process->tapped = true;
}

void sub_io_tapped(struct box *box, struct task *task)
{
    const struct user_regs_struct *regs = task_regs(task);

    switch ((long)regs->orig_rax) {
    case SYS_read:
    case SYS_readv:
    case SYS_preadv2:
    case SYS_recvfrom:
    case SYS_recvmsg:
        (void)sys_stream_read(box, task);
        break;
    case SYS_write:
    case SYS_writev:
    case SYS_pwritev2:
    case SYS_sendto:
    case SYS_sendmsg:
        (void)sys_stream_write(box, task);
        break;
    default: /* what moves bytes unseen stops by itself */
        break;
    }
}

/* ---- begin and end ------------------------------------------------------------------------- */

static bool is_terminal(const struct stat *st)
{
    unsigned number = major(st->st_rdev);

    return S_ISCHR(st->st_mode) && ((number >= 136 && number <= 143) || number == 4 || number == 5);
}

/* Whether it was given one of its streams under another number as well. */
static bool has_another(const struct task *task, const struct sub *sub)
{
    char path[40];
    bool found = false;

    (void)snprintf(path, sizeof path, "/proc/%d/fd", task->tid);
    DIR *listing = opendir(path);
    if (!listing)
        return false;
    for (struct dirent *entry; !found && (entry = readdir(listing));) {
        int fd = (int)strtol(entry->d_name, NULL, 10);
        found =
            fd > 2 && (output_of(task, sub, fd) || is_input(task, sub, fd)) && !is_null(task, fd);
    }
    (void)closedir(listing);
    return found;
}

void sub_io_begin(struct box *box, struct task *task, struct sub *sub)
{
    struct stat st;

    (void)box;
    for (int i = 0; i < 3; i++) {
        struct sub_stream *stream = &sub->streams[i];
        stream->open = stat_fd(task, i, &st);
        if (!stream->open)
            continue;
        stream->device = st.st_dev;
        stream->inode = st.st_ino;
        sub->recording.terminal[i] = is_terminal(&st);
    }
    task->process->tapped = has_another(task, sub);
}

int sub_io_end(struct box *box, struct sub *sub, struct err *err)
{
    static const enum recording_what whats[] = {RECORDING_IN, RECORDING_OUT, RECORDING_ERR};
    struct tape_writer *writer = box_tape_writer(box);

    for (int i = 0; i < 3; i++) {
        uint64_t before = sub->streams[i].spool.length;
        int r = spool_put(&sub->streams[i].spool, writer, box->subs->directory,
                          &sub->recording.streams[i], err);
        if (r < 0)
            return r;
        if (i && sub->recording.streams[i].length != before)
            recording_fit_events(&sub->recording, whats[i], sub->recording.streams[i].length);
    }
    return 0;
}
