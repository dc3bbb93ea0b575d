/* SPDX-License-Identifier: MIT */
/* Whatever a program writes: the screen takes it, in one piece or in many, at any size, and can be
 * shown in every format. */
#include "term/term_internal.h"
#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void show(struct screen *screen)
{
    CLEANUP(buf_done) struct buf text = {0};

    for (enum vitro_term_format format = VITRO_TERM_TEXT; format <= VITRO_TERM_SVG; format++)
        snapshot_add(&text, screen, format);
    term_add_frame(&text, screen);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 4)
        return 0;
    unsigned rows = 1 + data[0] % 50, cols = 2 + data[1] % 100;
    CLEANUP(screen_free) struct screen *whole = screen_new(rows, cols, data[2] % 16);
    CLEANUP(screen_free) struct screen *pieces = screen_new(rows, cols, data[2] % 16);
    CLEANUP(buf_done) struct buf first = {0}, second = {0};
    size_t step = 1 + data[3] % 16;

    data += 4, size -= 4;
    screen_feed(whole, data, size);
    for (size_t at = 0; at < size; at += step)
        screen_feed(pieces, data + at, size - at < step ? size - at : step);
    snapshot_add(&first, whole, VITRO_TERM_TEXT);
    snapshot_add(&second, pieces, VITRO_TERM_TEXT);
    assert(first.length == second.length &&
           (!first.length || memcmp(first.data, second.data, first.length) == 0));
    show(whole);
    screen_resize(whole, 1 + rows / 2, 2 + cols * 2 % 90);
    screen_feed(whole, data, size / 2);
    screen_resize(whole, rows * 2, cols);
    show(whole);
    (void)screen_pen_is_plain(whole);
    CLEANUP(buf_done) struct buf keys = {0};
    CLEANUP(mem_free) char *names = mem_dupn(data, size);
    (void)keys_encode(whole, names, &keys, NULL, NULL);
    return 0;
}
