/* SPDX-License-Identifier: MIT */
/* The screen against a golden file. */
#include "match/golden.h"
#include "term/term_internal.h"
#include <errno.h>

int vitro_term_golden(vitro_term *t, const char *path, const struct vitro_term_golden *how)
{
    if (!t)
        return -EINVAL;
    if (!path || !*path)
        return term_misuse(t, -EINVAL, "a golden needs a path");
    static const struct vitro_term_golden defaults = {.format = VITRO_TERM_TEXT};
    CLEANUP(match_rules_done) struct match_rules rules = {0};
    CLEANUP(buf_done) struct buf actual = {0}, difference = {0};
    struct err err = {0};
    int r = 0;

    how = how ? how : &defaults;
    for (const char *const *mask = how->mask; r == 0 && mask && *mask; mask++)
        r = match_rules_add(&rules, *mask, &err);
    if (r < 0)
        return term_misuse(t, r, "%s", err.text);
    r = how->settle_first ? vitro_term_settle(t, 0) : 0;
    if (r < 0)
        return r;
    snapshot_add(&actual, term_screen(t), how->format);
    r = golden_compare(path, "the screen", buf_text(&actual), actual.length, how->update != 0,
                       &rules, &difference, &err);
    if (r >= 0)
        return 0;
    return term_fail(t, r == -EPROTO || r == -ENOENT ? VITRO_TERM_WRONG : VITRO_TERM_USAGE, r, NULL,
                     "%s\n%s", err.text, buf_text(&difference));
}
