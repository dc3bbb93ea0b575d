/* SPDX-License-Identifier: MIT */
/* reads: what guests read, on the tape (--trace-reads): the content of every file they open for
 * reading, and the names of every directory they list. */
#pragma once
#include "box/box_internal.h"
#include "base/buf.h"

/* At the entry of an open: sees to it that a file that gets open is noted. */
enum verdict reads_watch_open(struct box *box, struct task *task, enum verdict verdict,
                              uint64_t flags);
/* `names`: each with its NUL, sorted. */
void reads_note_directory(struct box *box, struct task *task, int fd, const struct buf *names);
void reads_done(struct box *box);
