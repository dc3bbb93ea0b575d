/* SPDX-License-Identifier: MIT */
#include "match/golden.h"
#include "base/fd.h"
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

int golden_read(const char *path, struct buf *ret_golden, bool *ret_there, struct err *err)
{
    *ret_there = file_exists(path);
    return *ret_there ? file_read(path, GOLDEN_BYTES_MAX, ret_golden, err) : 0;
}

void golden_same(const char *path)
{
    CLEANUP(mem_free) char *beside = mem_format("%s.actual", path);

    (void)unlink(beside);
}

int golden_differs(const char *path, const char *what, const char *actual, size_t length,
                   bool there, bool update, struct err *err)
{
    CLEANUP(mem_free) char *beside = mem_format("%s.actual", path);
    bool ci = golden_in_ci();

    if (update && ci)
        return err_set(err, -EPERM,
                       "golden '%s' would be written, and CI is set: goldens are not written in CI",
                       path);
    if (update) {
        (void)unlink(beside);
        return file_write(path, actual, length, err);
    }
    if (!ci)
        (void)file_write(beside, actual, length, NULL);
    if (there)
        return err_set(err, -EPROTO, "%s differs from golden '%s'", what, path);
    err_set(err, -ENOENT, "golden '%s' is not there", path);
    (void)err_hint(err, "look at what was seen%s, and run again with --update",
                   ci ? "" : " (in the .actual beside it)");
    return -ENOENT;
}

int golden_compare(const char *path, const char *what, const char *actual, size_t length,
                   bool update, const struct match_rules *rules, struct buf *difference,
                   struct err *err)
{
    CLEANUP(buf_done) struct buf golden = {0}, masked_golden = {0}, masked = {0};
    bool there;
    int r = golden_read(path, &golden, &there, err);

    if (r < 0)
        return r;
    match_rules_apply(rules, actual, length, &masked);
    match_rules_apply(rules, buf_text(&golden), golden.length, &masked_golden);
    if (there && masked.length == masked_golden.length &&
        memcmp(buf_text(&masked), buf_text(&masked_golden), masked.length) == 0) {
        golden_same(path);
        return 0;
    }
    r = golden_differs(path, what, buf_text(&masked), masked.length, there, update, err);
    if (r == -EPROTO)
        add_difference(difference, buf_text(&masked_golden), buf_text(&masked));
    return r;
}
