/* SPDX-License-Identifier: MIT */
#include "box/pid_files.h"
#include "box/numbers.h"
#include "base/fd.h"
#include "base/text.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

/* ---- /proc/PID ----------------------------------------------------------------------------- */

static struct process *process_inside(struct box *box, pid_t inside)
{
    for (struct process *process = box->processes; process; process = process->next)
        if (process_pid_inside(process) == inside)
            return process;
    return NULL;
}

static void swap(struct buf *a, struct buf *b)
{
    struct buf old = *a;

    *a = *b;
    *b = old;
}

/* Field `index` (from 1, behind the name) of a /proc/PID/stat line becomes `value`. */
static void set_field(struct buf *line, int index, long long value)
{
    char *at = strrchr(line->data, ')');
    CLEANUP(buf_done) struct buf changed = {0};

    if (!at)
        return;
    at += 2;
    for (int i = 3; i < index && at; i++) {
        at = strchr(at, ' ');
        at = at ? at + 1 : NULL;
    }
    if (!at)
        return;
    buf_add(&changed, line->data, (size_t)(at - line->data));
    buf_addf(&changed, "%lld", value);
    buf_adds(&changed, at + strcspn(at, " \n"));
    swap(line, &changed);
}

static void edit_pid_stat(const struct process *process, struct buf *line)
{
    enum { TICKS = 10000000 };
    char *state = strrchr(line->data, ')');

    if (state && state[1] == ' ' && state[2] == 't')
        state[2] = 'S'; /* held by us: asleep, as far as the guest is concerned */
    for (int field = 10; field <= 13; field++)
        set_field(line, field, 0); /* page faults */
    set_field(line, 14, process ? (long long)process->spin_ns / TICKS : 0);
    for (int field = 15; field <= 17; field++)
        set_field(line, field, 0);
    set_field(line, 22, process ? (long long)process->started_ns / TICKS : 0);
    set_field(line, 18, 20); /* priority, as of an ordinary process */
    set_field(line, 39, 0);  /* the CPU it ran on */
    set_field(line, 40, 0);
    set_field(line, 41, 0);
}

static void set_line(struct buf *text, const char *name, const char *value)
{
    char *line = strstr(text->data, name);
    CLEANUP(buf_done) struct buf changed = {0};

    if (!line)
        return;
    line += strlen(name);
    buf_add(&changed, text->data, (size_t)(line - text->data));
    buf_adds(&changed, value);
    buf_adds(&changed, line + strcspn(line, "\n"));
    swap(text, &changed);
}

static void edit_pid_status(struct buf *text)
{
    if (strstr(text->data, "State:\tt"))
        set_line(text, "State:\t", "S (sleeping)");
    set_line(text, "TracerPid:\t", "0");
    set_line(text, "Cpus_allowed:\t", "1");
    set_line(text, "Cpus_allowed_list:\t", "0");
    set_line(text, "\nvoluntary_ctxt_switches:\t", "0");
    set_line(text, "nonvoluntary_ctxt_switches:\t", "0");
}

/* "/proc/self/stat", "/proc/17/task/18/status", ...: the parts behind the pid; NULL if it is not.
 */
static const char *split_pid(struct task *task, const char *path, pid_t *ret_pid)
{
    if (!text_starts(path, "/proc/"))
        return NULL;
    path += 6;
    size_t length = strcspn(path, "/");
    if (!path[length])
        return NULL;
    if ((length == 4 && memcmp(path, "self", 4) == 0) ||
        (length == 11 && memcmp(path, "thread-self", 11) == 0)) {
        *ret_pid = process_pid_inside(task->process);
        return path + length + 1;
    }
    if (!isdigit((unsigned char)*path))
        return NULL;
    *ret_pid = (pid_t)strtol(path, NULL, 10);
    return path + length + 1;
}

/* "27 1 0:44 / /tmp rw - tmpfs ...": a mount, the one it is on, a device */
static void edit_mount_line(struct box *box, const char *line, struct buf *ret)
{
    unsigned long long id, parent;
    unsigned major_number, minor_number;
    int at = 0;

    if (sscanf(line, "%llu %llu %u:%u%n", &id, &parent, &major_number, &minor_number, &at) != 4) {
        buf_adds(ret, line);
        return;
    }
    id = numbers_mount(box, id); /* before its parent's */
    uint64_t device = numbers_device(box, makedev(major_number, minor_number));
    buf_addf(ret, "%llu %llu %u:%u", id, (unsigned long long)numbers_mount(box, parent),
             major(device), minor(device));
    buf_adds(ret, line + at);
}

/* "5555-6666 r--p 00000000 00:2c 1234   /usr/bin/head" */
static void edit_map_line(struct box *box, const char *line, struct buf *ret)
{
    unsigned major_number, minor_number;
    int before = 0, behind = 0;

    if (sscanf(line, "%*s %*s %*s %n%x:%x%n", &before, &major_number, &minor_number, &behind) !=
            2 ||
        (!major_number && !minor_number)) {
        buf_adds(ret, line);
        return;
    }
    uint64_t device = numbers_device(box, makedev(major_number, minor_number));
    buf_add(ret, line, (size_t)before);
    buf_addf(ret, "%02x:%02x", major(device), minor(device));
    buf_adds(ret, line + behind);
}

static void edit_lines(struct box *box, struct buf *text,
                       void (*edit)(struct box *box, const char *line, struct buf *ret))
{
    CLEANUP(buf_done) struct buf changed = {0};
    char *save = NULL;

    for (char *line = strtok_r(text->data, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        edit(box, line, &changed);
        buf_addc(&changed, '\n');
    }
    swap(text, &changed);
}

static void set_number_line(struct buf *text, const char *name, uint64_t number)
{
    char value[24];

    (void)snprintf(value, sizeof value, "%llu", (unsigned long long)number);
    set_line(text, name, value);
}

static unsigned long long number_line(const struct buf *text, const char *name)
{
    const char *line = strstr(text->data, name);

    return line ? strtoull(line + strlen(name), NULL, 10) : 0;
}

static void edit_fdinfo(struct box *box, const char *real, struct buf *text)
{
    CLEANUP(buf_done) struct buf file = {0}; /* /proc/1/fdinfo/2 is about /proc/1/fd/2 */
    const char *mark = strstr(real, "/fdinfo/");
    struct stat st;

    set_number_line(text, "mnt_id:\t", numbers_mount(box, number_line(text, "mnt_id:\t")));
    buf_add(&file, real, (size_t)(mark - real));
    buf_addf(&file, "/fd/%s", mark + 8);
    if (stat(file.data, &st) == 0)
        set_number_line(text, "ino:\t", numbers_inode(box, st.st_dev, st.st_ino));
}

enum pid_file { OTHER, STAT, STATUS, SCHEDSTAT, MOUNTINFO, MAPS, FDINFO };

static const char *last_part(const char *name)
{
    const char *slash = strrchr(name, '/');

    return slash ? slash + 1 : name;
}

/* Of "stat", "task/18/maps", "fdinfo/7"; whether the box has something to change in it. */
static enum pid_file kind_of(const struct box *box, const char *name)
{
    static const char *const names[] = {
        [STAT] = "stat",           [STATUS] = "status", [SCHEDSTAT] = "schedstat",
        [MOUNTINFO] = "mountinfo", [MAPS] = "maps",     [FDINFO] = "fdinfo"};
    enum pid_file kind = OTHER;
    const char *last = last_part(name), *slash = last > name ? last - 1 : NULL;

    for (enum pid_file i = STAT; i < FDINFO; i++)
        if (strcmp(last, names[i]) == 0)
            kind = i;
    if (slash && isdigit((unsigned char)*last) && slash - name >= 6 &&
        memcmp(slash - 6, names[FDINFO], 6) == 0)
        kind = FDINFO;
    bool shown = kind >= MOUNTINFO ? !box->options->identity_real : vclock_held(&box->clock);
    return shown ? kind : OTHER;
}

bool pid_file_add(struct box *box, struct task *task, const char *path, struct buf *buf)
{
    enum { BYTES_MAX = 64 << 20 };
    pid_t pid = 0;
    const char *name = split_pid(task, path, &pid);
    char real[256];
    struct err err;

    if (!name)
        return false;
    if (strcmp(last_part(name), "sched") == 0 && vclock_held(&box->clock))
        leak_add(box, task->process, "proc/sched");
    enum pid_file kind = kind_of(box, name);
    if (kind == OTHER || strlen(name) > 64 || strstr(name, ".."))
        return false;
    (void)snprintf(real, sizeof real, "/proc/%d/root/proc/%d/%s", box->init_pid, pid, name);
    if (file_read(real, BYTES_MAX, buf, &err) < 0 || !buf->length)
        return false;
    const struct process *process = process_inside(box, pid);
    switch (kind) {
    case STAT:
        edit_pid_stat(process, buf);
        break;
    case STATUS:
        edit_pid_status(buf);
        break;
    case SCHEDSTAT: /* time on the CPU, time waiting for it, number of turns */
        buf_cut(buf, 0);
        buf_addf(buf, "%llu 0 0\n", process ? (unsigned long long)process->spin_ns : 0);
        break;
    case MOUNTINFO:
        edit_lines(box, buf, edit_mount_line);
        break;
    case MAPS:
        edit_lines(box, buf, edit_map_line);
        break;
    case FDINFO:
        edit_fdinfo(box, real, buf);
        break;
    case OTHER:
        break;
    }
    return true;
}
