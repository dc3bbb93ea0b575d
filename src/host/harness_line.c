/* SPDX-License-Identifier: MIT */
/* The line on which something stands in a JSON text. The JSON library does not keep it: the text is
 * walked once more to find it. */
#include "host/harness.h"
#include "tape/json_scan.h"
#include <stdlib.h>

static bool enter_list(struct json_scan *scan, size_t index)
{
    struct span value;

    json_scan_space(scan);
    if (!json_scan_take(scan, '[', "no list"))
        return false;
    for (; index; index--) {
        json_scan_space(scan);
        if (!json_scan_value(scan, &value))
            return false;
        json_scan_space(scan);
        if (!json_scan_take(scan, ',', "no such place"))
            return false;
    }
    json_scan_space(scan);
    return true;
}

/* A member's line is that of its name. */
static bool enter_member(struct json_scan *scan, const char *name, const char **ret_at)
{
    struct json_members members = {0};
    struct span value;

    json_scan_space(scan);
    if (!json_members_begin(scan, &members))
        return false;
    while (json_members_next(scan, &members)) {
        if (span_is(members.key, name)) {
            *ret_at = members.key.text;
            return true;
        }
        if (!json_scan_value(scan, &value))
            return false;
    }
    return false;
}

size_t harness_line(const char *text, size_t length, const char *const *steps, size_t depth)
{
    struct json_scan scan;
    const char *at = text;
    size_t line = 1;

    json_scan_begin(&scan, text, length);
    for (size_t i = 0; i < depth; i++) {
        const char *step = steps[i];
        if (*step == '#') {
            if (!enter_list(&scan, strtoul(step + 1, NULL, 10)))
                break;
            at = scan.next;
        } else if (!enter_member(&scan, step, &at)) {
            break;
        }
    }
    for (const char *p = text; p < at; p++)
        line += *p == '\n';
    return line;
}
