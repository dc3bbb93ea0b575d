/* SPDX-License-Identifier: MIT */
/* json_scan: walks over JSON text in one pass without building anything.
 *
 * Reading a tape means looking at every byte once and keeping a handful of them; a tree a record
 * costs ten times as much (docs/decisions/0001-scanner.md has the figures). The scanner checks the
 * grammar, UTF-8 and depth, and tells on the way whether the text is canonical: members strictly
 * sorted by bytes, no spaces, no escape that need not be, whole numbers only. Text that is not
 * canonical is still fine JSON, but equal values may have other bytes, and a member may stand
 * twice: callers who care turn to json_parse. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { JSON_SCAN_DEPTH_MAX = 64 };

struct span { /* borrowed bytes of a longer text */
    const char *text;
    size_t length;
};

struct json_scan {
    const char *next, *end, *start;
    const char *problem; /* what is wrong at `next`; NULL while nothing is */
    unsigned depth;
    bool canonical;
};

void json_scan_begin(struct json_scan *scan, const char *text, size_t length);
/* Steps over one value of any type; false with `problem` set. */
bool json_scan_value(struct json_scan *scan, struct span *ret);
/* Steps over a string; the span is what stands between the quotes, escapes as written. */
bool json_scan_string(struct json_scan *scan, struct span *ret);
bool json_scan_fail(struct json_scan *scan, const char *problem); /* false */
void json_scan_space(struct json_scan *scan); /* spaces cost the text its canonical mark */
bool json_scan_take(struct json_scan *scan, char c, const char *problem);
size_t json_scan_column(const struct json_scan *scan); /* of `next`, from 1 */

/* Walks the members of an object: begin, then next until it gives false; then look at `problem`.
 * After next the scan stands at the value, which the caller steps over. */
struct json_members {
    struct span key;
    bool first;
};
bool json_members_begin(struct json_scan *scan, struct json_members *members);
bool json_members_next(struct json_scan *scan, struct json_members *members);

/* The whole text is one value; `problem` as above. */
bool json_scan_whole(struct json_scan *scan, const char *text, size_t length);
bool span_is(struct span span, const char *text);
bool span_to_i64(struct span span, int64_t *ret); /* a whole number that fits */
