/* SPDX-License-Identifier: MIT */
/* Bytes in the plan and the journal. Shared by the shim and the library. */
#include "sandbox/shim/shim_guest.h"
#include "base/text.h"
#include <ctype.h>
#include <stdio.h>
#include <string.h>

json_t *shim_bytes_to_json(const char *bytes, size_t length)
{
    CLEANUP(buf_done) struct buf hex = {0};

    if (text_is_utf8(bytes, length))
        return json_stringn(length ? bytes : "", length);
    for (size_t i = 0; i < length; i++)
        buf_addf(&hex, "%02x", (unsigned char)bytes[i]);
    return json_pack("{s:s}", "hex", buf_text(&hex));
}

bool shim_bytes_from_json(const json_t *value, struct buf *ret)
{
    const char *hex = json_string_value(json_object_get(value, "hex"));
    unsigned byte;

    if (json_is_string(value)) {
        buf_add(ret, json_string_value(value), json_string_length(value));
        return true;
    }
    for (; hex && hex[0] && hex[1]; hex += 2) {
        if (!isxdigit((unsigned char)hex[0]) || !isxdigit((unsigned char)hex[1]) ||
            sscanf(hex, "%2x", &byte) != 1)
            return false;
        buf_addc(ret, (char)byte);
    }
    return hex && !*hex;
}
