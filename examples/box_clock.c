/* SPDX-License-Identifier: MIT */
/* Tests a program that waits for an hour, in no time: nothing may come a second before, and the
 * reminder must be there a second later. */
#include "vitro/box.h"
#include <stdio.h>
#include <string.h>

static const uint64_t SECOND = 1000000000;

static int fail(const char *what, const struct vitro_box_error *error)
{
    (void)fprintf(stderr, "%s: %s\n", what, error->text);
    return 1;
}

int main(void)
{
    static const char *const argv[] = {"sh", "-c", "sleep 3600; date +'it is %H:%M'", NULL};
    struct vitro_box_findings findings;
    struct vitro_box_error error;
    struct vitro_box_pending due;

    vitro_box *box = vitro_box_spawn(
        &(struct vitro_box_options){
            .argv = argv, .clock = "2026-01-01T08:00:00Z,manual", .capture_output = 1},
        &error);
    if (!box)
        return fail("spawn", &error);
    if (vitro_box_clock_advance(box, 3599 * SECOND, NULL, &error) < 0)
        return fail("advance", &error);
    if (vitro_box_clock_pending(box, &due, 1, &error) != 1)
        return fail("pending", &error);
    (void)printf("%s waits for %.0f more second\n", due.who, (double)due.in_ns / 1e9);
    if (vitro_box_clock_advance(box, SECOND, NULL, &error) < 0)
        return fail("advance", &error);
    if (vitro_box_wait(box, &findings, &error) < 0)
        return fail("wait", &error);
    (void)printf("it said: %s", findings.output);
    int code = strcmp(findings.output, "it is 09:00\n") == 0 ? findings.exit_code : 1;
    vitro_box_free(box);
    return code;
}
