/* SPDX-License-Identifier: MIT */
/* golden: any text against a golden file: screens, transcripts, outputs. Goldens are written when
 * asked for and never in CI; what was seen instead stands beside the golden as PATH.actual. */
#pragma once
#include "match/match.h"

bool golden_in_ci(void); /* the variable CI is set, and says so */
/* `there`: the golden, if there is one, in *ret_golden. */
int golden_read(const char *path, struct buf *ret_golden, bool *ret_there, struct err *err);
/* What to do about an actual text that is not the golden: writes it where `update` says so, or
 * beside. 0: it was written. -EPERM: an update in CI. -ENOENT: there is no golden. -EPROTO: it
 * differs; `what` differs, in words. */
int golden_differs(const char *path, const char *what, const char *actual, size_t length,
                   bool there, bool update, struct err *err);
void golden_same(const char *path); /* nothing stands beside it any more */
/* 0 when they are equal under the rules, or the golden was written; otherwise as golden_differs,
 * with a line by line difference for -EPROTO. `what` is "the screen". */
int golden_compare(const char *path, const char *what, const char *actual, size_t length,
                   bool update, const struct match_rules *rules, struct buf *difference,
                   struct err *err);
