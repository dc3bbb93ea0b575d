/* SPDX-License-Identifier: MIT */
/* pid_files: files below /proc/PID as a guest may see them: in virtual time, without the
 * supervisor, and with the box's numbers for devices and mounts. */
#pragma once
#include "box/box_internal.h"

/* True if the text of this file was made; else the kernel's own is right. */
bool pid_file_add(struct box *box, struct task *task, const char *path, struct buf *buf);
