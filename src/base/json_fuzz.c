/* SPDX-License-Identifier: MIT */
/* Any bytes read as JSON: what is read is written canonically, and that reads back as the same
 * value and writes as the same bytes. */
#include "base/json.h"
#include <assert.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP(json_free) json_t *value = NULL;
    CLEANUP(json_free) json_t *again = NULL;
    CLEANUP(buf_done) struct buf once = {0};
    CLEANUP(buf_done) struct buf twice = {0};
    struct err err = {0};

    if (json_parse(size ? (const char *)data : "", size, "fuzz", &value, &err) < 0) {
        assert(strstr(err.text, "fuzz"));
        return 0;
    }
    json_add_canonical(&once, value);
    int r = json_parse(once.data, once.length, "again", &again, &err);
    assert(r == 0);
    json_add_canonical(&twice, again);
    assert(once.length == twice.length && memcmp(once.data, twice.data, once.length) == 0);
    return 0;
}
