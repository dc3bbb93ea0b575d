/* SPDX-License-Identifier: MIT */
/* Any bytes read as annotations: refused in words, or validated into a report. */
#include "base/json.h"
#include "tape/annotations.h"
#include <assert.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct tape_extent extent = {.records = 4, .last_seq = 3};
    CLEANUP(annotations_done) struct annotations annotations = {0};
    struct err err = {0};

    if (annotations_parse(size ? (const char *)data : "", size, "fuzz", &annotations, &err) < 0) {
        assert(strstr(err.text, "fuzz"));
        return 0;
    }
    CLEANUP(json_free) json_t *report = annotations_validate(&annotations, &extent);
    CLEANUP(buf_done) struct buf text = {0};
    json_add_canonical(&text, report);
    assert(json_is_array(json_object_get(report, "problems")));
    return 0;
}
