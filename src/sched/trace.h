/* SPDX-License-Identifier: MIT */
/* What trace.c keeps and trace_export.c writes. */
#pragma once
#include "base/buf.h"
#include <stdint.h>

struct trace_record {
    uint64_t now_ns, at_ns;
    const char *where;
    uint32_t id, task, object, count;
    uint8_t event, op, lane;
};

struct trace {
    struct trace_record *events; /* owned; a ring when limit is set */
    size_t count, capacity, first, limit;
    struct buf text; /* borrowed by vitro_trace_at */
};

const struct trace_record *trace_at(const struct trace *trace, size_t index);
