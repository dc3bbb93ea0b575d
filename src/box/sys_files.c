/* SPDX-License-Identifier: MIT */
/* sys_files: file times, and files that stand for the machine. */
#include "box/policy.h"

enum verdict sys_stat(struct box *box, struct task *task)
{
    (void)box;
    (void)task;
    return VERDICT_GO;
}
enum verdict sys_newfstatat(struct box *box, struct task *task)
{
    return sys_stat(box, task);
}
enum verdict sys_statx(struct box *box, struct task *task)
{
    return sys_stat(box, task);
}
enum verdict sys_utimensat(struct box *box, struct task *task)
{
    return sys_stat(box, task);
}
enum verdict sys_utimes(struct box *box, struct task *task)
{
    return sys_stat(box, task);
}
enum verdict sys_open(struct box *box, struct task *task)
{
    return sys_stat(box, task);
}
enum verdict sys_openat(struct box *box, struct task *task)
{
    return sys_stat(box, task);
}
enum verdict sys_openat2(struct box *box, struct task *task)
{
    return sys_stat(box, task);
}
enum verdict sys_creat(struct box *box, struct task *task)
{
    return sys_stat(box, task);
}
