/* SPDX-License-Identifier: MIT */
/* Any bytes read as a tape: no crash, and what is read can be taken apart or is refused in words.
 */
#include "base/json.h"
#include "tape/tape.h"
#include "tape/tape_reader.h"
#include <assert.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP(tape_reader_free) struct tape_reader *reader = NULL;
    struct tape_reader_options options = {.path = "fuzz",
                                          .bytes = (const char *)data,
                                          .bytes_length = size,
                                          .line_bytes_max = 65536,
                                          .digest = true};
    struct err err = {0};
    struct tape_entry entry;

    if (!size)
        options.bytes = "";
    int r = tape_reader_open(&options, &reader, &err);
    while (r >= 0 && (r = tape_reader_next(reader, &entry, &err)) > 0) {
        CLEANUP(buf_done) struct buf text = {0};
        CLEANUP(json_free) json_t *value = NULL;
        struct err bad = {0};
        tape_entry_add_process(&entry, &text);
        buf_clear(&text);
        int made = tape_entry_data(&entry, &value, &bad);
        assert(made == 0 || bad.text[0]);
        /* What the scanner calls canonical is what canonical JSON would be. */
        if (made == 0 && entry.canonical) {
            CLEANUP(json_free) json_t *raw = NULL;
            made = json_parse(entry.data.text, entry.data.length, "fuzz", &raw, NULL);
            assert(made == 0);
            json_add_canonical(&text, raw);
            assert(text.length == entry.data.length &&
                   memcmp(text.data, entry.data.text, text.length) == 0);
        }
    }
    assert(r >= 0 || strstr(err.text, "fuzz"));
    return 0;
}
