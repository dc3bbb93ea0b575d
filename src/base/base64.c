/* SPDX-License-Identifier: MIT */
#include "base/base64.h"
#include <nettle/base64.h>

void base64_add(struct buf *ret, const void *bytes, size_t length)
{
    buf_reserve(ret, BASE64_ENCODE_RAW_LENGTH(length));
    base64_encode_raw(ret->data + ret->length, length, bytes);
    ret->length += BASE64_ENCODE_RAW_LENGTH(length);
    ret->data[ret->length] = '\0';
}

bool base64_read(struct buf *ret, const char *text, size_t length)
{
    struct base64_decode_ctx context;
    size_t count = 0;

    if (length % 4)
        return false;
    buf_reserve(ret, BASE64_DECODE_LENGTH(length));
    base64_decode_init(&context);
    bool ok =
        base64_decode_update(&context, &count, (uint8_t *)ret->data + ret->length, length, text) &&
        base64_decode_final(&context);
    ret->length += ok ? count : 0;
    ret->data[ret->length] = '\0';
    return ok;
}
