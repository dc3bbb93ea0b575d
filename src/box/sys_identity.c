/* SPDX-License-Identifier: MIT */
/* sys_identity: one machine for everybody: its name, its kernel, its CPUs, the order of its
 * directories. */
#include "box/policy.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

static void uname_exit(struct box *box, struct task *task)
{
    struct utsname name;

    (void)box;
    task->on_exit = NULL;
    if ((long)task_regs(task)->rax < 0 || guest_read(task, task->note[0], &name, sizeof name) < 0)
        return;
    memset(name.release, 0, sizeof name.release);
    memset(name.version, 0, sizeof name.version);
    memcpy(name.release, "6.1.0-vitro", 12);
    memcpy(name.version, "#1 SMP vitro", 13);
    (void)guest_write(task, task->note[0], &name, sizeof name);
}

enum verdict sys_uname(struct box *box, struct task *task)
{
    (void)box;
    task->note[0] = task_regs(task)->rdi;
    task->on_exit = uname_exit;
    return VERDICT_EXIT;
}

static uint64_t visible_cpus(const struct box *box)
{
    unsigned cpus = box->options->cpus;

    return cpus <= 1 ? 1 : cpus >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << cpus) - 1;
}

enum verdict sys_sched_getaffinity(struct box *box, struct task *task)
{
    struct user_regs_struct *regs = task_regs(task);
    uint64_t mask = visible_cpus(box);
    long result = sizeof mask;

    if (regs->rsi < sizeof mask || regs->rsi % sizeof mask)
        return VERDICT_GO; /* EINVAL */
    if (guest_write(task, regs->rdx, &mask, sizeof mask) < 0)
        result = -EFAULT;
    task_skip(task, result);
    return VERDICT_DONE;
}

enum verdict sys_sched_setaffinity(struct box *box, struct task *task)
{
    struct user_regs_struct *regs = task_regs(task);
    uint64_t mask = 0;
    long result = 0;

    if (guest_read(task, regs->rdx, &mask, regs->rsi < sizeof mask ? regs->rsi : sizeof mask) < 0)
        result = -EFAULT;
    else if (!(mask & visible_cpus(box)))
        result = -EINVAL;
    task_skip(task, result);
    return VERDICT_DONE;
}

enum verdict sys_getcpu(struct box *box, struct task *task)
{
    struct user_regs_struct *regs = task_regs(task);
    static const unsigned zero;
    int r = 0;

    (void)box;
    if (regs->rdi)
        r = guest_write(task, regs->rdi, &zero, sizeof zero);
    if (r == 0 && regs->rsi)
        r = guest_write(task, regs->rsi, &zero, sizeof zero);
    task_skip(task, r);
    return VERDICT_DONE;
}

/* The order in which guests run is the box's: asking for another succeeds and changes nothing. */
static enum verdict done(struct task *task, long result)
{
    task_skip(task, result);
    return VERDICT_DONE;
}

enum verdict sys_sched_setparam(struct box *box, struct task *task)
{
    (void)box;
    return done(task, 0);
}

enum verdict sys_sched_setscheduler(struct box *box, struct task *task)
{
    (void)box;
    return done(task, 0);
}

enum verdict sys_sched_setattr(struct box *box, struct task *task)
{
    (void)box;
    return done(task, 0);
}

enum verdict sys_sched_getscheduler(struct box *box, struct task *task)
{
    (void)box;
    return done(task, 0); /* SCHED_OTHER */
}

enum verdict sys_sched_getparam(struct box *box, struct task *task)
{
    static const int priority;

    (void)box;
    return done(task, guest_write(task, task_regs(task)->rsi, &priority, sizeof priority));
}

enum verdict sys_sched_getattr(struct box *box, struct task *task)
{
    struct user_regs_struct *regs = task_regs(task);
    uint32_t attributes[12] = {48}; /* size, then policy 0 and all else 0 */
    size_t size = regs->rdx < sizeof attributes ? regs->rdx : sizeof attributes;

    (void)box;
    return done(task, guest_write(task, regs->rsi, attributes, size));
}

/* ---- directories, sorted ------------------------------------------------------------------- */

struct entry { /* struct linux_dirent64; the older form is the same but for where the type stands */
    uint64_t inode;
    int64_t offset;
    unsigned short length;
    char rest[];
};

struct entry_place {
    const struct entry *entry;
    const char *name;
};

static bool is_number(const char *name)
{
    return *name && name[strspn(name, "0123456789")] == '\0';
}

/* Numbers by their value, as the kernel lists /proc; everything else by its bytes. */
static int by_name(const void *a, const void *b)
{
    const char *x = ((const struct entry_place *)a)->name;
    const char *y = ((const struct entry_place *)b)->name;

    if (is_number(x) && is_number(y) && strlen(x) != strlen(y))
        return strlen(x) < strlen(y) ? -1 : 1;
    return strcmp(x, y);
}

/* Sorts one buffer of entries by name. The offsets stay in their places, so that seeking to one
 * goes on behind as many entries as before. */
static void sort_entries(const char *from, char *to, size_t size, size_t name_at)
{
    struct entry_place *places = mem_alloc(size / 24 * sizeof *places + sizeof *places);
    int64_t *offsets = mem_alloc(size / 24 * sizeof *offsets + sizeof *offsets);
    size_t count = 0, used = 0;

    for (size_t at = 0; at + 24 <= size;) {
        const struct entry *entry = (const struct entry *)(from + at);
        if (entry->length < 24 || at + entry->length > size)
            break;
        places[count] = (struct entry_place){entry, entry->rest + name_at};
        offsets[count++] = entry->offset;
        at += entry->length;
    }
    qsort(places, count, sizeof *places, by_name);
    for (size_t i = 0; i < count; i++) {
        memcpy(to + used, places[i].entry, places[i].entry->length);
        ((struct entry *)(to + used))->offset = offsets[i];
        used += places[i].entry->length;
    }
    free(places);
    free(offsets);
}

static void getdents_exit(struct box *box, struct task *task)
{
    long size = (long)task_regs(task)->rax;

    (void)box;
    task->on_exit = NULL;
    if (size <= 0)
        return;
    CLEANUP(mem_free) char *from = mem_alloc((size_t)size);
    CLEANUP(mem_free) char *to = mem_alloc((size_t)size);
    if (guest_read(task, task->note[0], from, (size_t)size) < 0)
        return;
    sort_entries(from, to, (size_t)size, task->note[1]);
    (void)guest_write(task, task->note[0], to, (size_t)size);
}

static enum verdict sort_on_exit(struct task *task, uint64_t name_at)
{
    task->note[0] = task_regs(task)->rsi;
    task->note[1] = name_at;
    task->on_exit = getdents_exit;
    return VERDICT_EXIT;
}

enum verdict sys_getdents64(struct box *box, struct task *task)
{
    (void)box;
    return sort_on_exit(task, 1); /* behind the type */
}

enum verdict sys_getdents(struct box *box, struct task *task)
{
    (void)box;
    return sort_on_exit(task, 0);
}
