/* SPDX-License-Identifier: MIT */
/* utf8: bytes of a program as text that JSON, XML and people can read. */
#include "term/term_internal.h"
#include "base/text.h"

/* How many bytes at the end may be the beginning of a character. */
size_t utf8_cut_tail(const char *bytes, size_t length)
{
    for (size_t back = 1; back <= 3 && back <= length; back++) {
        unsigned char c = (unsigned char)bytes[length - back];
        size_t need = c >= 0xf0 && c < 0xf8 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;
        if (c >= 0xc0)
            return c < 0xf8 && need > back ? back : 0;
        if (c < 0x80)
            return 0;
    }
    return 0;
}

void utf8_add_clean(struct buf *buf, const char *bytes, size_t length)
{
    for (size_t at = 0; at < length;) {
        size_t run = at;
        while (run < length && (unsigned char)bytes[run] < 0x80)
            run++;
        buf_add(buf, bytes + at, run - at);
        at = run;
        if (at == length)
            return;
        unsigned char c = (unsigned char)bytes[at];
        size_t need = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;
        bool good = need > 1 && need <= length - at && text_is_utf8(bytes + at, need);
        buf_add(buf, good ? bytes + at : "\xef\xbf\xbd", good ? need : 3);
        at += good ? need : 1;
    }
}
