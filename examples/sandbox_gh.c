/* SPDX-License-Identifier: MIT */
/* sandbox_gh: a program asks before it posts; gh is played, and nothing else is touched. */
#include "vitro/sandbox.h"
#include <stdio.h>
#include <stdlib.h>

static void need(int r, const char *text)
{
    if (r < 0) {
        fprintf(stderr, "%s\n", text);
        exit(1);
    }
}

int main(void)
{
    static const char *const argv[] = {
        "sh", "-c", "echo posted PUBLICLY; printf 'y/N '; read a; [ $a = y ] && gh issue create",
        NULL};
    struct vitro_box_error error = {0};
    vitro_sandbox *s =
        vitro_sandbox_open(&(struct vitro_sandbox_options){.name = "example"}, &error);

    need(s ? 0 : -1, error.text);
    need(vitro_shim_success(s, "gh", "https://example.test/1\n", &error), error.text);
    vitro_term *t = vitro_sandbox_spawn(s, NULL, argv, &error);
    need(t ? 0 : -1, error.text);
    need(vitro_expect(t, "posted PUBLICLY", .before = "y/N"), vitro_term_failure(t)->text);
    need(vitro_expect(t, "y/N", .before_read = 1), vitro_term_failure(t)->text);
    need(vitro_shim_never_called(s, "gh", NULL, &error), error.text);
    need(vitro_type(t, "y<Enter>"), vitro_term_failure(t)->text);
    need(vitro_term_expect_exit(t, 0, 0), vitro_term_failure(t)->text);
    vitro_term_close(t);
    need(vitro_shim_called(s, "gh", (const char *const[]){"issue", "create", NULL}, NULL, &error),
         error.text);
    need(vitro_sandbox_close(s, &error), error.text);
    puts("asked first, posted once");
    return 0;
}
