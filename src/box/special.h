/* SPDX-License-Identifier: MIT */
/* special: files that stand for the machine rather than for data.
 *
 * A guest that opens /proc/uptime, /proc/self/stat or the like gets a file written for it at that
 * moment; one that opens /dev/urandom gets a pipe that the supervisor keeps full from a stream of
 * its own, dressed up as the device in fstat. What we know to tell real time or real load, and have
 * no virtual form of, is counted as a leak. The files live on a small tmpfs over /proc/driver,
 * which holds nothing but the real-time clock. */
#pragma once
#include "box/box_internal.h"

#define SPECIAL_DIRECTORY "/proc/driver" /* box->own_dir, but in a bare box */

enum verdict special_open(struct box *box, struct task *task, const char *path, int path_argument);
/* The same for reading and writing: what is read is the machine's. */
void special_opened_both(struct box *box, struct task *task, const char *path);
/* Fills the random pipes again; true if anything was written. */
bool special_refill(struct box *box);
/* True if this inode is one of the random pipes: then st_mode and st_rdev are to be the device's.
 */
bool special_is_random(const struct box *box, uint64_t device, uint64_t inode);
void special_done(struct box *box);
