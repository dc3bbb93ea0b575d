/* SPDX-License-Identifier: MIT */
/* png: pictures in pixels. They need fonts, which are the machine's: rsvg-convert draws the SVG. */
#include "term/term_internal.h"
#include "base/fd.h"
#include "base/scratch.h"
#include "base/tool.h"
#include <errno.h>
#include <string.h>

enum { PNG_BYTES_MAX = 256 << 20 };

static int draw(const char *directory, const void *svg, size_t length, struct buf *ret,
                struct err *err)
{
    CLEANUP(mem_free) char *in = mem_format("%s/in.svg", directory);
    CLEANUP(mem_free) char *out = mem_format("%s/out.png", directory);
    const char *const argv[] = {"rsvg-convert", "--format", "png", "--output", out, in, NULL};
    CLEANUP(buf_done) struct buf said = {0};
    int status = 0, r = file_write(in, svg, length, err);

    if (r < 0)
        return r;
    r = tool_run(argv, NULL, &said, &status);
    if (r == 0 && status == 0)
        return file_read(out, PNG_BYTES_MAX, ret, err);
    (void)err_set(err, r < 0 ? r : -EIO, "rsvg-convert could not draw the picture%s%s",
                  said.length ? ": " : "", buf_text(&said));
    return err_hint(err, "install it (Debian: librsvg2-bin), or take the SVG");
}

int png_of_svg(const void *svg, size_t length, struct buf *ret, struct err *err)
{
    struct scratch scratch = {0};
    int r = scratch_make(NULL, "png", &scratch, err);

    if (r < 0)
        return r;
    r = draw(scratch.path, svg, length, ret, err);
    scratch_remove(&scratch);
    return r;
}

char *vitro_term_png(vitro_term *t, size_t *ret_length)
{
    if (!t)
        return NULL;
    size_t length;
    CLEANUP(mem_free) char *svg = vitro_term_snapshot(t, VITRO_TERM_SVG, &length);
    CLEANUP(buf_done) struct buf png = {0};
    struct err err = {0};

    if (svg && png_of_svg(svg, length, &png, &err) < 0) {
        (void)term_fail(t, VITRO_TERM_TROUBLE, err.code, NULL, "%s", err.text);
        return NULL;
    }
    if (ret_length)
        *ret_length = png.length;
    return svg ? buf_take(&png) : NULL;
}
