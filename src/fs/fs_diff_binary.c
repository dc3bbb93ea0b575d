/* SPDX-License-Identifier: MIT */
/* Git's binary patch: the deflated bytes in base 85, 52 to a line, each line led by its length. */
#include "fs/fs_diff.h"
#include <assert.h>
#include <string.h>
#include <zlib.h>

static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                             "!#$%&()*+-;<=>?@^_`{|}~";

static void add_base85(struct buf *buf, const unsigned char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i += 4) {
        uint32_t word = 0;
        char group[5];
        for (size_t j = 0; j < 4; j++)
            word = word << 8 | (i + j < length ? bytes[i + j] : 0);
        for (int j = 4; j >= 0; j--) {
            group[j] = digits[word % 85];
            word /= 85;
        }
        buf_add(buf, group, sizeof group);
    }
}

static void add_literal(struct buf *buf, const struct buf *content)
{
    enum { LINE_BYTES = 52 };
    uLongf length = compressBound(content->length);
    CLEANUP(mem_free) unsigned char *packed = mem_alloc(length);
    int r = compress2(packed, &length, (const Bytef *)buf_text(content), content->length,
                      Z_DEFAULT_COMPRESSION);

    assert(r == Z_OK);
    buf_addf(buf, "literal %zu\n", content->length);
    for (size_t at = 0; at < length; at += LINE_BYTES) {
        size_t count = length - at < LINE_BYTES ? length - at : LINE_BYTES;
        buf_addc(buf, (char)(count <= 26 ? 'A' + count - 1 : 'a' + count - 27));
        add_base85(buf, packed + at, count);
        buf_addc(buf, '\n');
    }
    buf_addc(buf, '\n');
}

void fs_diff_add_binary(struct buf *buf, const struct buf *old_content,
                        const struct buf *new_content)
{
    buf_adds(buf, "GIT binary patch\n");
    add_literal(buf, new_content);
    add_literal(buf, old_content);
}
