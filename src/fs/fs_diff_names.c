/* SPDX-License-Identifier: MIT */
#include "base/text.h"
#include "fs/fs_diff.h"
#include <string.h>

static const char letters[] = "\a\b\t\n\v\f\r\"\\";
static const char escapes[] = "abtnvfr\"\\";

static bool is_plain(char c)
{
    return c >= ' ' && c < 0x7f && c != '"' &&
           c != '\\'; /* beyond ASCII is quoted: core.quotePath */
}

bool fs_diff_name_is_plain(const char *path)
{
    while (*path && is_plain(*path))
        path++;
    return !*path;
}

void fs_diff_add_name(struct buf *buf, const char *prefix, const char *path)
{
    if (fs_diff_name_is_plain(path)) {
        buf_adds(buf, prefix);
        buf_adds(buf, path);
        return;
    }
    buf_addc(buf, '"');
    buf_adds(buf, prefix);
    for (; *path; path++) {
        const char *letter = strchr(letters, *path);
        if (is_plain(*path))
            buf_addc(buf, *path);
        else if (letter)
            buf_addf(buf, "\\%c", escapes[letter - letters]);
        else
            buf_addf(buf, "\\%03o", (unsigned char)*path);
    }
    buf_addc(buf, '"');
}
