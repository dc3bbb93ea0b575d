/* SPDX-License-Identifier: MIT */
/* Casts from anywhere are read or refused; what was read is written and read again, the same. */
#include "term/term_internal.h"
#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_again(const struct log *log, const struct cast_meta *meta, int version)
{
    CLEANUP(buf_done) struct buf text = {0}, again = {0};
    struct log copy = {0};
    struct cast_meta copied;

    assert(cast_add(&text, log, meta, version, NULL) == 0);
    assert(cast_read(buf_text(&text), text.length, &copy, &copied, NULL) == 0);
    assert(cast_add(&again, &copy, &copied, version, NULL) == 0);
    assert(text.length == again.length && memcmp(text.data, again.data, text.length) == 0);
    log_done(&copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct log log = {0};
    struct cast_meta meta;
    struct err err = {0};

    if (cast_read((const char *)data, size, &log, &meta, &err) == 0) {
        CLEANUP(screen_free) struct screen *screen = screen_of_log(&log, SIZE_MAX);
        write_again(&log, &meta, 2);
        write_again(&log, &meta, 3);
    } else {
        assert(err.text[0]);
    }
    log_done(&log);
    return 0;
}
