/* SPDX-License-Identifier: MIT */
/* golden: any text against a golden file; the scenario runner and vitro term use it too. */
#pragma once
#include "term/term_internal.h"

struct match_rules;

bool golden_in_ci(void); /* the variable CI is set, and says so */
/* 0 when they are equal under the rules, or the golden was written. -EPROTO when they differ, with
 * a line by line difference; -ENOENT when there is no golden; -EPERM for an update in CI. */
int golden_compare(const char *path, const char *actual, size_t length, bool update,
                   const struct match_rules *rules, struct buf *difference, struct err *err);
