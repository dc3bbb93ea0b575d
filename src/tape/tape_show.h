/* SPDX-License-Identifier: MIT */
/* tape_show: choosing records, and one line a record for people. */
#pragma once
#include "base/buf.h"
#include "tape/tape_entry.h"
#include <stdbool.h>
#include <stdint.h>

struct tape_filter {          /* zeroed memory lets everything through */
    const char *const *kinds; /* borrowed; any of them */
    size_t kind_count;
    const char *process; /* a process and all it spawned: "1.2" lets "1.2.1" through */
    bool has_from, has_until;
    int64_t from_ns, until_ns; /* since 1970; until is outside */
};

bool tape_filter_fits(const struct tape_filter *filter, const struct tape_entry *entry);
/* "   12  00:00:03.250    1.2     file_read      src/a.c  len_bytes=40" and a newline */
int tape_show_add(struct buf *buf, const struct tape_entry *entry, int64_t start_ns,
                  struct err *err);
