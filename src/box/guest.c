/* SPDX-License-Identifier: MIT */
/* guest: registers, memory and calls of a stopped task. */
#include "box/box_internal.h"
#include "base/fd.h"
#include "base/trace.h"
#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

struct user_regs_struct *task_regs(struct task *task)
{
    if (!task->regs_valid) {
        if (ptrace(PTRACE_GETREGS, task->tid, NULL, &task->regs) < 0)
            memset(&task->regs, 0, sizeof task->regs); /* killed meanwhile; its exit comes next */
        task->regs_valid = true;
        task->regs_dirty = false;
    }
    return &task->regs;
}

void task_set_regs(struct task *task)
{
    task->regs_dirty = true;
}

void task_set_arg(struct task *task, int index, uint64_t value)
{
    struct user_regs_struct *regs = task_regs(task);

    switch (index) {
    case 0:
        regs->rdi = value;
        break;
    case 1:
        regs->rsi = value;
        break;
    case 2:
        regs->rdx = value;
        break;
    case 3:
        regs->r10 = value;
        break;
    case 4:
        regs->r8 = value;
        break;
    default:
        regs->r9 = value;
        break;
    }
    task_set_regs(task);
}

int guest_read(struct task *task, uint64_t address, void *bytes, size_t length)
{
    struct iovec local = {bytes, length}, remote = {(void *)address, length};
    ssize_t count = process_vm_readv(task->tid, &local, 1, &remote, 1, 0);

    return count == (ssize_t)length ? 0 : -EFAULT;
}

int guest_write(struct task *task, uint64_t address, const void *bytes, size_t length)
{
    struct iovec local = {(void *)bytes, length}, remote = {(void *)address, length};
    ssize_t count = process_vm_writev(task->tid, &local, 1, &remote, 1, 0);

    return count == (ssize_t)length ? 0 : -EFAULT;
}

void guest_writes_add(struct guest_writes *writes, uint64_t address, const void *bytes,
                      size_t length)
{
    assert(writes->count < GUEST_WRITES_MAX);
    writes->local[writes->count] = (struct iovec){(void *)bytes, length};
    writes->remote[writes->count++] = (struct iovec){(void *)address, length};
    writes->length += length;
}

int guest_writes_do(struct task *task, const struct guest_writes *writes)
{
    ssize_t count = process_vm_writev(task->tid, writes->local, writes->count, writes->remote,
                                      writes->count, 0);

    return count == (ssize_t)writes->length ? 0 : -EFAULT;
}

/* The guest may not write its own text, so it is written word by word through ptrace. */
int guest_write_text(struct task *task, uint64_t address, const void *code, size_t length)
{
    unsigned char words[24];
    uint64_t start = address & ~UINT64_C(7);
    size_t whole = (address + length - start + 7) & ~(size_t)7;

    if (whole > sizeof words || guest_read(task, start, words, whole) < 0)
        return -EFAULT;
    memcpy(words + (address - start), code, length);
    for (size_t i = 0; i < whole; i += 8) {
        long word;
        memcpy(&word, words + i, sizeof word);
        if (ptrace(PTRACE_POKETEXT, task->tid, start + i, word) < 0)
            return -errno;
    }
    return 0;
}

int guest_read_text(struct task *task, uint64_t address, char *text, size_t size)
{
    size_t have = 0;

    while (have < size) {
        /* Never across a page at once: the next one may not be mapped. */
        size_t step = BOX_PAGE - (address + have) % BOX_PAGE;
        if (step > size - have)
            step = size - have;
        if (step > 256)
            step = 256;
        if (guest_read(task, address + have, text + have, step) < 0)
            return -EFAULT;
        if (memchr(text + have, '\0', step))
            return 0;
        have += step;
    }
    return -ENAMETOOLONG;
}

uint64_t task_scratch(struct task *task)
{
    enum { PIECES = sizeof(((struct box_guest_page *)0)->scratch) / SCRATCH_BYTES };
    struct process *process = task->process;

    _Static_assert(PIECES <= 64, "one bit each");
    for (int i = 0; i < PIECES && task->scratch < 0; i++)
        if (!(process->scratch >> i & 1)) {
            process->scratch |= UINT64_C(1) << i;
            task->scratch = i;
        }
    return task->scratch < 0 ? 0
                             : BOX_BASE + offsetof(struct box_guest_page, scratch) +
                                   (uint64_t)task->scratch * SCRATCH_BYTES;
}

void task_scratch_done(struct task *task)
{
    if (task->scratch >= 0)
        task->process->scratch &= ~(UINT64_C(1) << task->scratch);
    task->scratch = -1;
}

int task_borrow_fd(const struct task *task, int fd)
{
    CLEANUP(fd_close) int pidfd = (int)syscall(SYS_pidfd_open, task->process->pid, 0);

    return pidfd < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, pidfd, fd, 0);
}

void task_resume(struct box *box, struct task *task, int signal)
{
    (void)box;
    if (task->regs_dirty)
        (void)ptrace(PTRACE_SETREGS, task->tid, NULL, &task->regs);
    task->regs_valid = task->regs_dirty = false;
    task->state = TASK_RUNNING;
    if (task->process)
        task->process->stirred = true;
    still_moved(task);
    /* A task that was killed answers ESRCH; its exit is reported by the next wait. */
    const struct process *process = task->process;
    bool calls =
        task->on_exit || (process && (process->watched || process->tapped || process->traces));
    (void)ptrace(calls ? PTRACE_SYSCALL : PTRACE_CONT, task->tid, NULL, signal);
}

void task_skip(struct task *task, long result)
{
    struct user_regs_struct *regs = task_regs(task);

    regs->orig_rax = (unsigned long long)-1;
    regs->rax = (unsigned long long)result;
    task_set_regs(task);
}
