/* SPDX-License-Identifier: MIT */
/* What is called, as the guest's memory has it at the entry of an exec. */
#include "box/sub.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ARGUMENTS_MAX = 65536, ARGUMENT_BYTES_MAX = 131072 };

static char *read_string(struct task *task, uint64_t address)
{
    CLEANUP(buf_done) struct buf text = {0};
    char piece[512];

    while (text.length < ARGUMENT_BYTES_MAX) {
        size_t step = BOX_PAGE - (address + text.length) % BOX_PAGE;
        step = step < sizeof piece ? step : sizeof piece;
        if (guest_read(task, address + text.length, piece, step) < 0)
            return NULL;
        const char *end = memchr(piece, '\0', step);
        buf_add(&text, piece, end ? (size_t)(end - piece) : step);
        if (end)
            return text.data ? buf_take(&text) : mem_dup("");
    }
    return NULL;
}

/* A NULL-ended list of pointers in the guest; NULL if it cannot be read: the kernel then says so.
 */
static char **read_strings(struct task *task, uint64_t address)
{
    char **list = mem_alloc(8 * sizeof *list);

    for (size_t count = 0; address && count < ARGUMENTS_MAX; count++) {
        uint64_t pointer;
        if (count >= 7 && (count & (count + 1)) == 0)
            list = mem_grow(list, 2 * (count + 1) * sizeof *list);
        list[count] = NULL;
        if (guest_read(task, address + 8 * count, &pointer, sizeof pointer) < 0)
            return strings_free(list);
        if (!pointer)
            return list;
        list[count] = read_string(task, pointer);
        if (!list[count])
            return strings_free(list);
        list[count + 1] = NULL;
    }
    return list;
}

static char *link_of(pid_t tid, const char *name)
{
    char path[64], target[4096];

    (void)snprintf(path, sizeof path, "/proc/%d/%s", tid, name);
    ssize_t length = readlink(path, target, sizeof target - 1);
    return length < 0 ? NULL : mem_dupn(target, (size_t)length);
}

/* The file that is executed, as the guest names it; by descriptor: as the kernel knows it. */
char *sub_read_program(struct task *task)
{
    const struct user_regs_struct *regs = task_regs(task);
    char name[32];

    if ((long)regs->orig_rax == SYS_execve)
        return read_string(task, regs->rdi);
    CLEANUP(mem_free) char *path = read_string(task, regs->rsi);
    if (!path || path[0] == '/')
        return take_ptr(&path);
    (void)snprintf(name, sizeof name, (int)regs->rdi == AT_FDCWD ? "cwd" : "fd/%d", (int)regs->rdi);
    CLEANUP(mem_free) char *base = link_of(task->tid, name);
    if (!base || !*path)
        return take_ptr(&base);
    return mem_format("%s/%s", base, path);
}

void sub_wanted_done(struct sub_wanted *wanted)
{
    free(wanted->program);
    free(wanted->cwd);
    strings_free(wanted->argv);
    strings_free(wanted->env);
}

static int compare_strings(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

bool sub_read_wanted(struct task *task, struct sub_wanted *ret)
{
    const struct user_regs_struct *regs = task_regs(task);
    bool at = (long)regs->orig_rax == SYS_execveat;
    size_t count = 0;

    ret->argv = read_strings(task, at ? regs->rdx : regs->rsi);
    ret->env = read_strings(task, at ? regs->r10 : regs->rdx);
    ret->cwd = link_of(task->tid, "cwd");
    while (ret->env && ret->env[count])
        count++;
    if (count)
        qsort(ret->env, count, sizeof *ret->env, compare_strings);
    return ret->program && ret->argv && ret->env;
}
