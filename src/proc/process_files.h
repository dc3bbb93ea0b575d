/* SPDX-License-Identifier: MIT */
/* process_files: makes the recorded changes of files again, in the worktree and nowhere else. */
#pragma once
#include "proc/cassette.h"

int process_files_apply(const struct recording *recording, struct store *store,
                        const char *worktree, struct err *err);
