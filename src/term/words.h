/* SPDX-License-Identifier: MIT */
/* words: a stream without what nobody sees. Colours, modes, titles and queries stand between the
 * letters of a text and neither move the cursor nor show anything: a person reads over them. What
 * moves the cursor, clears the screen or changes it for another stays in: texts on both sides of it
 * do not belong together. */
#pragma once
#include "base/buf.h"
#include <stddef.h>

struct words {
    struct buf text; /* grows at its end only */
    struct buf cuts; /* of struct words_cut, in order */
    size_t fed;      /* bytes of the stream that were looked at */
};

void words_feed(struct words *words, const struct buf *stream); /* what came since the last time */
/* Where a place of the text is in the stream, and the other way round. */
size_t words_to_stream(const struct words *words, size_t at);
size_t words_from_stream(const struct words *words, size_t offset);
void words_done(struct words *words);
