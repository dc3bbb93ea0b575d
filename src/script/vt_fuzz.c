/* SPDX-License-Identifier: MIT */
/* Any bytes as a scenario: read, formatted, read again to the same form, checked. */
#include "script/play.h"
#include "script/vt.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    static const char *const axes[] = {"clock", "seed", "allow", NULL};
    struct script_options options = {.axes.names = axes};
    CLEANUP(vt_free) struct vt_text *text = NULL;
    CLEANUP(vt_free) struct vt_text *again = NULL;
    CLEANUP(buf_done) struct buf once = {0};
    CLEANUP(buf_done) struct buf twice = {0};
    struct err err = {0};

    if (vt_read("f", (const char *)data, size, &text, &err) < 0) {
        assert(err.text[0] == 'f' && err.text[1] == ':');
        return 0;
    }
    (void)play_check(text->lines, text->line_count, AT_TOP, &options, &err);
    vt_format(text, &once);
    if (vt_read("f", buf_text(&once), once.length, &again, &err) < 0)
        abort();
    vt_format(again, &twice);
    assert(once.length == twice.length);
    assert(!once.length || memcmp(once.data, twice.data, once.length) == 0);
    return 0;
}
