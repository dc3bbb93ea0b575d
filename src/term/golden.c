/* SPDX-License-Identifier: MIT */
/* golden: the screen against a file. Goldens are written when asked for and never in CI; what was
 * seen instead stands beside the golden as PATH.actual. */
#include "term/golden.h"
#include "base/fd.h"
#include "match/match.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { GOLDEN_BYTES_MAX = 16 << 20 };

bool golden_in_ci(void)
{
    const char *ci = getenv("CI");

    return ci && *ci && strcmp(ci, "false") != 0 && strcmp(ci, "0") != 0;
}

static void add_line(struct buf *buf, char mark, const char **at)
{
    size_t length = strcspn(*at, "\n");

    buf_addc(buf, mark);
    buf_add(buf, *at, length);
    buf_addc(buf, '\n');
    *at += length + ((*at)[length] == '\n');
}

/* Line by line: what is there in place of what. Screens do not shift, so rows are compared in
 * place. */
static void add_difference(struct buf *buf, const char *golden, const char *actual)
{
    while (*golden || *actual) {
        size_t a = strcspn(golden, "\n"), b = strcspn(actual, "\n");
        if (*golden && *actual && a == b && memcmp(golden, actual, a) == 0) {
            add_line(buf, ' ', &golden);
            actual += b + (actual[b] == '\n');
            continue;
        }
        if (*golden)
            add_line(buf, '-', &golden);
        if (*actual)
            add_line(buf, '+', &actual);
    }
}

int golden_compare(const char *path, const char *actual, size_t length, bool update,
                   const struct match_rules *rules, struct buf *difference, struct err *err)
{
    CLEANUP(mem_free) char *beside = mem_format("%s.actual", path);
    CLEANUP(buf_done) struct buf golden = {0}, masked_golden = {0}, masked = {0};
    bool ci = golden_in_ci();

    match_rules_apply(rules, actual, length, &masked);
    bool there = file_exists(path);
    int r = there ? file_read(path, GOLDEN_BYTES_MAX, &golden, err) : 0;
    if (r < 0)
        return r;
    match_rules_apply(rules, buf_text(&golden), golden.length, &masked_golden);
    if (there && masked.length == masked_golden.length &&
        memcmp(buf_text(&masked), buf_text(&masked_golden), masked.length) == 0) {
        (void)unlink(beside);
        return 0;
    }
    if (update && ci)
        return err_set(err, -EPERM,
                       "golden '%s' would be written, and CI is set: goldens are not written in CI",
                       path);
    if (update) {
        (void)unlink(beside);
        return file_write(path, buf_text(&masked), masked.length, err);
    }
    if (!ci)
        (void)file_write(beside, buf_text(&masked), masked.length, NULL);
    if (!there) {
        err_set(err, -ENOENT, "golden '%s' is not there", path);
        return err_hint(err, "look at what was seen%s, and run again with --update",
                        ci ? "" : " (in the .actual beside it)");
    }
    add_difference(difference, buf_text(&masked_golden), buf_text(&masked));
    return err_set(err, -EPROTO, "the screen differs from golden '%s'", path);
}

int vitro_term_golden(vitro_term *t, const char *path, const struct vitro_term_golden *how)
{
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
    r = golden_compare(path, buf_text(&actual), actual.length, how->update != 0, &rules,
                       &difference, &err);
    if (r >= 0)
        return 0;
    return term_fail(t, r == -EPROTO || r == -ENOENT ? VITRO_TERM_WRONG : VITRO_TERM_USAGE, r, NULL,
                     "%s\n%s", err.text, buf_text(&difference));
}
