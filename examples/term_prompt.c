/* SPDX-License-Identifier: MIT */
/* A person at a prompt: the disclosure must be on the screen before the program waits for the
 * answer. Prints "ok", or the whole story of what went wrong. */
#include <stdio.h>
#include "vitro/term.h"

static const char program[] = "echo 'This will be posted PUBLICLY.'\n"
                              "printf 'Continue? [y/N] '; read answer\n"
                              "[ \"$answer\" = y ] || { echo 'Nothing was sent.'; exit 3; }\n"
                              "sleep 3600; echo 'Sent.'\n";

int main(void)
{
    static const char *const argv[] = {"sh", "-c", program, NULL};
    struct vitro_box_error error = {0};
    vitro_term *t = vitro_term_open(&(struct vitro_term_options){.box.argv = argv}, &error);

    if (!t) {
        (void)fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    int r = vitro_expect(t, "posted PUBLICLY", .before = "y/N");
    if (r == 0)
        r = vitro_expect(t, "y/N", .before_read = 1);
    if (r == 0)
        r = vitro_type(t, "n<Enter>");
    if (r == 0)
        r = vitro_see(t, "Nothing was sent.");
    if (r == 0)
        r = vitro_term_expect_exit(t, 3, 0);
    (void)puts(r < 0 ? vitro_term_failure(t)->text : "ok");
    vitro_term_close(t);
    return r < 0;
}
