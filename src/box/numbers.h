/* SPDX-License-Identifier: MIT */
/* numbers: what guests see of the numbers by which a kernel calls devices without hardware, mounts,
 * and files without a name (pipes, sockets, namespaces).
 *
 * The kernel hands them out by what is free at the moment, so that they differ from run to run, and
 * programs write them down: git keeps the device of each file in its index. Guests see numbers in
 * the order in which the box met what they stand for. A disk keeps its number, and so do the inodes
 * of files that have a name: whatever makes them is in the box, or the same for every run. With
 * --identity real every number is the kernel's. */
#pragma once
#include "box/box_internal.h"

void numbers_expect(struct box *box); /* what can be known before the box is there */
void numbers_open(struct box *box);   /* it has its root */
uint64_t numbers_device(struct box *box, uint64_t device); /* as in st_dev */
/* Of a file on that device, by the kernel's number. */
uint64_t numbers_inode(struct box *box, uint64_t device, uint64_t inode);
uint64_t numbers_mount(struct box *box, uint64_t id);
/* Of a link's target, "pipe:[1234]", in place; anything else stays as it is. */
size_t numbers_link(struct box *box, char *target, size_t length, size_t size);
struct numbers *numbers_free(struct numbers *numbers);
