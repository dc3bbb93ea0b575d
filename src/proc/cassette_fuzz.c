/* SPDX-License-Identifier: MIT */
/* Any bytes as the payload of a recording, and as a plain list: taken, or refused in words; what is
 * taken is written and read again as the same. */
#include "base/json.h"
#include "proc/cassette_internal.h"
#include <assert.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void as_recording(const char *text, size_t size)
{
    CLEANUP(json_free) json_t *tree = NULL;
    CLEANUP(json_free) json_t *again = NULL;
    CLEANUP(recording_done) struct recording first = {0};
    CLEANUP(recording_done) struct recording second = {0};
    CLEANUP(buf_done) struct buf written = {0};
    CLEANUP(buf_done) struct buf rewritten = {0};
    struct err err = {0};

    if (json_parse(text, size, "fuzz", &tree, &err) < 0)
        return;
    if (recording_from_json(tree, tree, "fuzz", &first, &err) < 0) {
        assert(err.text[0]);
        return;
    }
    recording_add_data(&first, &written);
    int r = json_parse(buf_text(&written), written.length, "fuzz", &again, &err);
    assert(r == 0);
    r = recording_from_json(again, NULL, "fuzz", &second, &err);
    assert(r == 0);
    recording_add_data(&second, &rewritten);
    assert(strcmp(buf_text(&written), buf_text(&rewritten)) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP(cassette_free) struct cassette *cassette = cassette_new(&(struct cassette_options){0});
    CLEANUP(buf_done) struct buf text = {0};
    struct err err = {0};

    buf_add(&text, data, size);
    as_recording(buf_text(&text), size);
    if (harn_load(cassette, "fuzz", &text, &err) < 0)
        assert(err.text[0]);
    return 0;
}
